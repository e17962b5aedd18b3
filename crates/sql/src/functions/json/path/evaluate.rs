//! What a path finds in a document.
//!
//! Items are texts of JSON in their one form: parts of the document as they stand there, or what the path computes. A
//! path is followed depth first, item by item, so that what is found before an error is known (`silent` keeps it). Whoever asks only
//! whether there is anything takes no list ([`Found`]), and hears of the first item.
//!
//! * In lax mode a step that takes no array takes its elements, and one that takes an array takes anything else for an array of one.
//! * An error inside a predicate makes it unknown. That a variable is not there is an error everywhere.
//! * `.**` looks into whatever is there: what a step behind it does not find below is no error in strict mode either.
//!
//! Source: PostgreSQL's jsonpath_exec.c, by whose functions the cases here are told apart.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::number::Number;
use super::syntax::{Comparison, Expr, LEAVES, Method, Operation, Path, Predicate, Step};
use crate::error::{SqlError, code};
use crate::functions::json::document::{self, Kind};

/// A text of JSON.
pub(super) type Item<'e> = Cow<'e, str>;

/// Where items go; `None` if it is enough that there is one.
type Found<'f, 'e> = Option<&'f mut Vec<Item<'e>>>;

/// Why nothing is found.
#[derive(Debug)]
pub(super) enum Failure {
    /// Is unknown inside a predicate, and can be ignored outside.
    Ignorable(SqlError),
    Error(SqlError),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Self::Error(error)
    }
}

fn ignorable<T>(code: &'static str, message: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Ignorable(SqlError::new(code, message)))
}

/// Whether a predicate holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    True,
    False,
    Unknown,
}

impl Truth {
    fn of(is_true: bool) -> Self {
        match is_true {
            true => Self::True,
            false => Self::False,
        }
    }

    fn json(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Unknown => "null",
        }
    }
}

/// A path in a document.
pub(super) struct Evaluation<'e> {
    pub(super) path: &'e Path,
    pub(super) document: &'e str,
    /// An object with the values of variables.
    pub(super) variables: &'e str,
}

/// What an expression is in.
#[derive(Clone, Copy)]
struct Scope<'s, 'e> {
    /// What a filter is asked about.
    current: &'s Item<'e>,
    /// Elements of the array that a subscript is for.
    length: i64,
    /// Whether what is not there is no error.
    is_lenient: bool,
}

impl<'e> Evaluation<'e> {
    /// Appends what the path finds, also what it finds before it fails.
    pub(super) fn items(&self, found: &mut Vec<Item<'e>>) -> Result<(), Failure> {
        self.start(Some(found)).map(|_| ())
    }

    /// Whether the path finds anything. In strict mode all of it is looked at, for errors.
    pub(super) fn exists(&self) -> Result<bool, Failure> {
        if self.path.is_lax {
            return self.start(None);
        }
        let mut found = Vec::new();
        self.items(&mut found)?;
        Ok(!found.is_empty())
    }

    fn start(&self, found: Found<'_, 'e>) -> Result<bool, Failure> {
        let root = Cow::Borrowed(self.document);
        let scope = Scope {
            current: &root,
            length: 0,
            is_lenient: self.path.is_lax,
        };
        self.expr(&self.path.expr, &root, scope, found)
    }

    /// Appends what an expression gives for an item; whether it gives anything.
    fn expr(
        &self,
        expr: &'e Expr,
        item: &Item<'e>,
        scope: Scope<'_, 'e>,
        found: Found<'_, 'e>,
    ) -> Result<bool, Failure> {
        match expr {
            Expr::Steps(base, steps) => self.base(base, steps, item, scope, found),
            base => self.base(base, &[], item, scope, found),
        }
    }

    /// The same of what steps lead to from an expression.
    fn base(
        &self,
        base: &'e Expr,
        steps: &'e [Step],
        item: &Item<'e>,
        scope: Scope<'_, 'e>,
        found: Found<'_, 'e>,
    ) -> Result<bool, Failure> {
        let first = match base {
            Expr::Literal(text) => Cow::Borrowed(text.as_str()),
            Expr::Variable(name) => self.variable(name)?,
            Expr::Root => Cow::Borrowed(self.document),
            Expr::Current => scope.current.clone(),
            Expr::Last => Cow::Owned((scope.length - 1).to_string()),
            Expr::Sign {
                is_negative,
                operand,
            } => {
                // Only whoever takes the results hears of what is no number.
                let is_heard = found.is_some() || !steps.is_empty();
                let operands = self.sequence(operand, true, item, scope)?;
                return each(operands, found, |operand, found| match number(&operand)? {
                    Some(number) => {
                        let signed = Cow::Owned(signed(*is_negative, number).text());
                        self.next(steps, signed, scope, found)
                    }
                    None if is_heard => sign_of_other(*is_negative),
                    None => Ok(false),
                });
            }
            Expr::Arithmetic(operation, left, right) => {
                let left = self.sequence(left, true, item, scope)?;
                let right = self.sequence(right, true, item, scope)?;
                let left = operand(*operation, "left", &left)?;
                let right = operand(*operation, "right", &right)?;
                let computed = left.computed(*operation, right);
                Cow::Owned(computed.map_err(Failure::Ignorable)?.text())
            }
            Expr::Predicate(predicate) => {
                Cow::Borrowed(self.predicate(predicate, item, scope)?.json())
            }
            Expr::Steps(..) => unreachable!("the parser puts all steps in one list"),
        };
        self.next(steps, first, scope, found)
    }

    fn variable(&self, name: &str) -> Result<Item<'e>, Failure> {
        match document::field(self.variables, name)? {
            Some(value) => Ok(Cow::Borrowed(value)),
            None => {
                let message = format!("could not find jsonpath variable \"{name}\"");
                Err(SqlError::new(code::UNDEFINED_OBJECT, message).into())
            }
        }
    }

    /// What an expression gives as an operand; `unwraps`: in lax mode elements take the places of arrays.
    fn sequence(
        &self,
        expr: &'e Expr,
        unwraps: bool,
        item: &Item<'e>,
        scope: Scope<'_, 'e>,
    ) -> Result<Vec<Item<'e>>, Failure> {
        let mut found = Vec::new();
        self.expr(expr, item, scope, Some(&mut found))?;
        if !(unwraps && self.path.is_lax) {
            return Ok(found);
        }
        let mut unwrapped = Vec::with_capacity(found.len());
        for item in found {
            match Kind::of(&item) {
                Kind::Array => unwrapped.extend(elements(&item)?),
                _ => unwrapped.push(item),
            }
        }
        Ok(unwrapped)
    }

    /// Goes on with an item that the steps before led to.
    fn next(
        &self,
        steps: &'e [Step],
        item: Item<'e>,
        scope: Scope<'_, 'e>,
        found: Found<'_, 'e>,
    ) -> Result<bool, Failure> {
        if let Some((step, rest)) = steps.split_first() {
            return self.step(step, rest, &item, self.path.is_lax, scope, found);
        }
        if let Some(found) = found {
            found.push(item);
        }
        Ok(true)
    }

    /// Takes a step, then the others. `unwraps`: of an array its elements take it.
    fn step(
        &self,
        step: &'e Step,
        rest: &'e [Step],
        item: &Item<'e>,
        unwraps: bool,
        scope: Scope<'_, 'e>,
        found: Found<'_, 'e>,
    ) -> Result<bool, Failure> {
        let kind = Kind::of(item);
        let takes_array = matches!(
            step,
            Step::AnyElement
                | Step::Elements(_)
                | Step::Descendants { .. }
                | Step::Method(Method::Type | Method::Size)
        );
        if kind == Kind::Array && unwraps && !takes_array {
            return each(elements(item)?, found, |element, found| {
                self.step(step, rest, &element, false, scope, found)
            });
        }
        match step {
            Step::Key(key) if kind == Kind::Object => match field(item, key)? {
                Some(value) => self.next(rest, value, scope, found),
                None if scope.is_lenient => Ok(false),
                None => ignorable(
                    code::SQL_JSON_MEMBER_NOT_FOUND,
                    format!("JSON object does not contain key \"{key}\""),
                ),
            },
            Step::AnyKey if kind == Kind::Object => each(values(item)?, found, |value, found| {
                self.next(rest, value, scope, found)
            }),
            Step::AnyElement if kind == Kind::Array => {
                each(elements(item)?, found, |element, found| {
                    self.next(rest, element, scope, found)
                })
            }
            Step::AnyElement if self.path.is_lax => self.next(rest, item.clone(), scope, found),
            Step::Elements(ranges) if kind == Kind::Array || self.path.is_lax => {
                self.elements(ranges, rest, item, scope, found)
            }
            Step::Descendants { first, last } => {
                let scope = Scope {
                    is_lenient: true,
                    ..scope
                };
                self.levels(rest, item, 0, (*first, *last), scope, found)
            }
            Step::Filter(predicate) => {
                let inside = Scope {
                    current: item,
                    ..scope
                };
                match self.predicate(predicate, item, inside)? {
                    Truth::True => self.next(rest, item.clone(), scope, found),
                    Truth::False | Truth::Unknown => Ok(false),
                }
            }
            Step::Method(Method::Size) if kind == Kind::Array => {
                let length = document::length(item)?.to_string();
                self.next(rest, Cow::Owned(length), scope, found)
            }
            Step::Method(Method::Size) if self.path.is_lax => {
                self.next(rest, Cow::Borrowed("1"), scope, found)
            }
            Step::Method(method) if *method != Method::Size => {
                let value = computed(*method, item)?;
                self.next(rest, value, scope, found)
            }
            _ if scope.is_lenient => Ok(false),
            Step::Method(_) => ignorable(
                code::SQL_JSON_ARRAY_NOT_FOUND,
                "jsonpath item method .size() can only be applied to an array",
            ),
            Step::Key(_) => ignorable(
                code::SQL_JSON_MEMBER_NOT_FOUND,
                "jsonpath member accessor can only be applied to an object",
            ),
            Step::AnyKey => ignorable(
                code::SQL_JSON_OBJECT_NOT_FOUND,
                "jsonpath wildcard member accessor can only be applied to an object",
            ),
            Step::AnyElement => ignorable(
                code::SQL_JSON_ARRAY_NOT_FOUND,
                "jsonpath wildcard array accessor can only be applied to an array",
            ),
            Step::Elements(_) => ignorable(
                code::SQL_JSON_ARRAY_NOT_FOUND,
                "jsonpath array accessor can only be applied to an array",
            ),
        }
    }

    /// Goes on with ranges of an array's elements; anything else is the one element of an array.
    fn elements(
        &self,
        ranges: &'e [(Expr, Option<Expr>)],
        rest: &'e [Step],
        item: &Item<'e>,
        scope: Scope<'_, 'e>,
        found: Found<'_, 'e>,
    ) -> Result<bool, Failure> {
        let elements = match Kind::of(item) {
            Kind::Array => elements(item)?,
            _ => vec![item.clone()],
        };
        let length = i64::try_from(elements.len()).unwrap_or(i64::MAX);
        let scope = Scope { length, ..scope };
        each(ranges, found, |(from, to), found| {
            let from = self.place(from, item, scope)?;
            let to = to.as_ref().map(|to| self.place(to, item, scope));
            let to = to.transpose()?.unwrap_or(from);
            if !scope.is_lenient && (from < 0 || from > to || to >= length) {
                return ignorable(
                    code::INVALID_SQL_JSON_SUBSCRIPT,
                    "jsonpath array subscript is out of bounds",
                );
            }
            let places = from.max(0)..=to.min(length - 1);
            let of_range = places.filter_map(|place| elements.get(usize::try_from(place).ok()?));
            each(of_range, found, |element, found| {
                self.next(rest, element.clone(), scope, found)
            })
        })
    }

    /// The place that a subscript gives.
    fn place(&self, expr: &'e Expr, item: &Item<'e>, scope: Scope<'_, 'e>) -> Result<i64, Failure> {
        let given = self.sequence(expr, false, item, scope)?;
        let number = match given.as_slice() {
            [one] => number(one)?,
            _ => None,
        };
        let Some(number) = number else {
            return ignorable(
                code::INVALID_SQL_JSON_SUBSCRIPT,
                "jsonpath array subscript is not a single numeric value",
            );
        };
        match number.place() {
            Some(place) => Ok(place),
            None => ignorable(
                code::INVALID_SQL_JSON_SUBSCRIPT,
                "jsonpath array subscript is out of integer range",
            ),
        }
    }

    /// Goes on with an item on a level, if that is wanted, and with what is below it.
    fn levels(
        &self,
        rest: &'e [Step],
        item: &Item<'e>,
        level: u32,
        (first, last): (u32, u32),
        scope: Scope<'_, 'e>,
        mut found: Found<'_, 'e>,
    ) -> Result<bool, Failure> {
        let is_leaf = (first, last) == (LEAVES, LEAVES) && Kind::of(item).is_scalar();
        let is_wanted = level >= first || is_leaf && level > 0;
        let any = is_wanted && self.next(rest, item.clone(), scope, found.as_deref_mut())?;
        if level == last || any && found.is_none() {
            return Ok(any);
        }
        let below = each(parts(item)?, found, |part, found| {
            self.levels(rest, &part, level + 1, (first, last), scope, found)
        })?;
        Ok(any | below)
    }

    /// Whether a predicate holds for an item.
    fn predicate(
        &self,
        predicate: &'e Predicate,
        item: &Item<'e>,
        scope: Scope<'_, 'e>,
    ) -> Result<Truth, Failure> {
        let holds = |predicate: &'e Predicate| self.predicate(predicate, item, scope);
        Ok(match predicate {
            Predicate::And(left, right) => match holds(left)? {
                Truth::False => Truth::False,
                left => match holds(right)? {
                    Truth::True => left,
                    right => right,
                },
            },
            Predicate::Or(left, right) => match holds(left)? {
                Truth::True => Truth::True,
                left => match holds(right)? {
                    Truth::False => left,
                    right => right,
                },
            },
            Predicate::Not(operand) => match holds(operand)? {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Unknown => Truth::Unknown,
            },
            Predicate::IsUnknown(operand) => Truth::of(holds(operand)? == Truth::Unknown),
            of_items => match self.of_items(of_items, item, scope) {
                Err(Failure::Ignorable(_)) => Truth::Unknown,
                result => result?,
            },
        })
    }

    /// The same of one that has no predicates in it.
    fn of_items(
        &self,
        predicate: &'e Predicate,
        item: &Item<'e>,
        scope: Scope<'_, 'e>,
    ) -> Result<Truth, Failure> {
        let sequence = |expr: &'e Expr, unwraps| self.sequence(expr, unwraps, item, scope);
        match predicate {
            Predicate::Exists(expr) if self.path.is_lax => {
                Ok(Truth::of(self.expr(expr, item, scope, None)?))
            }
            Predicate::Exists(expr) => Ok(Truth::of(!sequence(expr, false)?.is_empty())),
            Predicate::Compare(comparison, left, right) => {
                let (left, right) = (sequence(left, true)?, sequence(right, true)?);
                self.any(pairs(&left, &right), |(left, right)| {
                    compared(*comparison, left, right)
                })
            }
            Predicate::StartsWith(text, beginning) => {
                let (texts, beginnings) = (sequence(text, true)?, sequence(beginning, false)?);
                self.any(pairs(&texts, &beginnings), |(text, beginning)| {
                    Ok(match (string(text)?, string(beginning)?) {
                        (Some(text), Some(beginning)) => Truth::of(text.starts_with(&*beginning)),
                        _ => Truth::Unknown,
                    })
                })
            }
            Predicate::Matches(text, is_match) => self.any(sequence(text, true)?.iter(), |text| {
                let text = string(text)?;
                Ok(text.map_or(Truth::Unknown, |text| Truth::of(is_match(&text))))
            }),
            Predicate::And(..)
            | Predicate::Or(..)
            | Predicate::Not(_)
            | Predicate::IsUnknown(_) => self.predicate(predicate, item, scope),
        }
    }

    /// Whether any of the cases holds. In strict mode one that is unknown makes it unknown.
    fn any<C>(
        &self,
        cases: impl Iterator<Item = C>,
        holds: impl Fn(C) -> Result<Truth, SqlError>,
    ) -> Result<Truth, Failure> {
        let mut truth = Truth::False;
        for case in cases {
            match holds(case)? {
                Truth::True if self.path.is_lax => return Ok(Truth::True),
                Truth::True if truth == Truth::False => truth = Truth::True,
                Truth::Unknown if !self.path.is_lax => return Ok(Truth::Unknown),
                Truth::Unknown => truth = Truth::Unknown,
                Truth::True | Truth::False => {}
            }
        }
        Ok(truth)
    }
}

/// Follows items, up to the first that leads anywhere if that is enough; whether any did.
fn each<'e, I>(
    items: impl IntoIterator<Item = I>,
    mut found: Found<'_, 'e>,
    mut follow: impl FnMut(I, Found<'_, 'e>) -> Result<bool, Failure>,
) -> Result<bool, Failure> {
    let mut any = false;
    for item in items {
        any |= follow(item, found.as_deref_mut())?;
        if any && found.is_none() {
            break;
        }
    }
    Ok(any)
}

/// Both sides of each pair.
fn pairs<'p, T>(left: &'p [T], right: &'p [T]) -> impl Iterator<Item = (&'p T, &'p T)> {
    let with_right = move |left| right.iter().map(move |right| (left, right));
    left.iter().flat_map(with_right)
}

/// Parts of an item, borrowed from what it is borrowed from.
fn split<'e>(
    item: &Item<'e>,
    of: impl for<'a> Fn(&'a str) -> Result<Vec<&'a str>, SqlError>,
) -> Result<Vec<Item<'e>>, SqlError> {
    Ok(match item {
        Cow::Borrowed(text) => of(text)?.into_iter().map(Cow::Borrowed).collect(),
        Cow::Owned(text) => {
            let parts = of(text)?.into_iter();
            parts.map(|part| Cow::Owned(part.to_owned())).collect()
        }
    })
}

fn elements<'e>(item: &Item<'e>) -> Result<Vec<Item<'e>>, SqlError> {
    split(item, document::elements)
}

fn values<'e>(item: &Item<'e>) -> Result<Vec<Item<'e>>, SqlError> {
    split(item, |text| {
        let members = document::members(text)?.into_iter();
        Ok(members.map(|(_, value)| value).collect())
    })
}

/// Elements or values.
fn parts<'e>(item: &Item<'e>) -> Result<Vec<Item<'e>>, SqlError> {
    match Kind::of(item) {
        Kind::Array => elements(item),
        _ => values(item),
    }
}

fn field<'e>(item: &Item<'e>, key: &str) -> Result<Option<Item<'e>>, SqlError> {
    let found = split(item, |text| {
        let found = document::field(text, key)?;
        Ok(found.into_iter().collect())
    })?;
    Ok(found.into_iter().next())
}

fn string<'i>(item: &'i Item<'_>) -> Result<Option<Cow<'i, str>>, SqlError> {
    match Kind::of(item) {
        Kind::String => document::text(item),
        _ => Ok(None),
    }
}

fn number(item: &Item<'_>) -> Result<Option<Number>, SqlError> {
    match Kind::of(item) {
        Kind::Number => Number::parse(item).map(Some),
        _ => Ok(None),
    }
}

/// The one number that an operand of an operation has to be.
fn operand(operation: Operation, side: &str, items: &[Item<'_>]) -> Result<Number, Failure> {
    let number = match items {
        [one] => number(one)?,
        _ => None,
    };
    let symbol = operation.symbol();
    match number {
        Some(number) => Ok(number),
        None => ignorable(
            code::SINGLETON_SQL_JSON_ITEM_REQUIRED,
            format!("{side} operand of jsonpath operator {symbol} is not a single numeric value"),
        ),
    }
}

fn signed(is_negative: bool, number: Number) -> Number {
    match is_negative {
        true => number.negated(),
        false => number,
    }
}

fn sign_of_other<T>(is_negative: bool) -> Result<T, Failure> {
    let symbol = if is_negative { "-" } else { "+" };
    ignorable(
        code::SQL_JSON_NUMBER_NOT_FOUND,
        format!("operand of unary jsonpath operator {symbol} is not a numeric value"),
    )
}

/// What a method other than `size()` makes of an item.
fn computed<'e>(method: Method, item: &Item<'e>) -> Result<Item<'e>, Failure> {
    let of_number = |of: fn(Number) -> Number| match number(item)? {
        Some(number) => Ok(Cow::Owned(of(number).text())),
        None => {
            let name = method.name();
            let message =
                format!("jsonpath item method .{name}() can only be applied to a numeric value");
            ignorable(code::NON_NUMERIC_SQL_JSON_ITEM, message)
        }
    };
    match (method, Kind::of(item)) {
        (Method::Type | Method::Size, kind) => Ok(Cow::Owned(format!("\"{}\"", kind.name()))),
        (Method::Double, Kind::Number) => Ok(item.clone()),
        (Method::Double, Kind::String) => double(item),
        (Method::Double, _) => ignorable(
            code::NON_NUMERIC_SQL_JSON_ITEM,
            "jsonpath item method .double() can only be applied to a string or numeric value",
        ),
        (Method::Absolute, _) => of_number(Number::absolute),
        (Method::Floor, _) => of_number(Number::floor),
        (Method::Ceiling, _) => of_number(Number::ceiling),
    }
}

/// The number that a text is.
fn double<'e>(item: &Item<'e>) -> Result<Item<'e>, Failure> {
    let text = string(item)?.unwrap_or_default();
    let value = text.trim().parse().ok();
    match value.filter(|value: &f64| value.is_finite()) {
        Some(value) => Ok(Cow::Owned(Number::from_double(value)?.text())),
        None => ignorable(
            code::NON_NUMERIC_SQL_JSON_ITEM,
            "string argument of jsonpath item method .double() is not a valid representation of a double precision number",
        ),
    }
}

fn compared(comparison: Comparison, left: &Item<'_>, right: &Item<'_>) -> Result<Truth, SqlError> {
    let kinds = (Kind::of(left), Kind::of(right));
    let order = match kinds {
        (Kind::Null, Kind::Null) => Ordering::Equal,
        (Kind::Null, _) | (_, Kind::Null) => {
            return Ok(Truth::of(comparison == Comparison::NotEqual));
        }
        // `false` stands before `true` in the alphabet, too.
        (Kind::Boolean, Kind::Boolean) => left.cmp(right),
        (Kind::Number, Kind::Number) => Number::parse(left)?.compare(Number::parse(right)?),
        (Kind::String, Kind::String) => string(left)?.cmp(&string(right)?),
        _ => return Ok(Truth::Unknown),
    };
    Ok(Truth::of(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }))
}
