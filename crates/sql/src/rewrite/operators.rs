//! Operators, casts and forms of their own that DataFusion has not, or means otherwise.
//!
//! ```text
//! current_schema             current_schema()
//! t AT TIME ZONE z           timezone(z, t)                  DataFusion would show the same moment in that zone
//! a SIMILAR TO p ESCAPE e    a ~ similar_to_escape(p, e)     it takes the pattern for a regular expression
//! a ~ p, a ~* p              a ~ regular_expression(p, …)   its patterns are others
//! a LIKE p ESCAPE '!'        a LIKE like_escape(p, '!')      it knows no other than the backslash
//! (a, b) IS NULL             a IS NULL AND b IS NULL         a row is NULL, and is not, if all of it is
//! (a, b) < (c, d)            … field by field                [`row_comparisons`]
//! (a, b) OVERLAPS (c, d)     … by comparisons                [`overlaps`]
//! t::varchar(3)              left(t::text, 3)::varchar(3)    it takes the length for a remark
//! t::char(3)                 rtrim(left(t::text, 3))::char(3)
//! interval '1-2'             '1-2'::interval                it does not read all that PostgreSQL writes
//! 'today'::date              current_date                    [`named_moments`]
//! t COLLATE "C"              t                               all texts are in that order
//! j['a']                     j -> 'a'                        only a document has keys
//! a[:2]                      a[1:2]                          it wants both bounds
//! t ^@ p                     starts_with(t, p)
//! substring(t FROM 'p')      (regexp_match(t, 'p'))[1]
//! ~a                         -1 - a
//! a # b                      (a | b) - (a & b)               it takes a # a for 0 where a is NULL, too
//! -interval '1 h 2 m'        -(interval '1 h 2 m')           it puts the sign into the text, before the hours only
//! |/ a, ||/ a, @ a           sqrt(a::float8), cbrt(a::float8), abs(a)
//! ```
//!
//! Calls of functions: [`calls`].

use std::ops::ControlFlow;

use datafusion::arrow::compute::kernels::cast_utils::parse_interval_month_day_nano;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, CharacterLength, DataType, Expr, Interval, ObjectName,
    ObjectNamePart, Statement as Ast, Subscript, TypedString, UnaryOperator, Value, ValueWithSpan,
    VisitorMut,
};

use super::casts::{INTERVAL, cast, is_quoted};
use super::function_call::call;
use super::operation::{number, operation};
use super::row_comparisons::fields_of_row;
use super::walk::walk_mut;
use super::{calls, named_moments, overlaps, row_comparisons};
use crate::functions::types::characters;

/// A function that is called without parentheses. The parser knows the others.
const CURRENT_SCHEMA: &str = "current_schema";

/// Puts what DataFusion knows in the place of what it does not.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Operators);
}

struct Operators;

impl VisitorMut for Operators {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) => {
                if let Some(other) = calls::in_other_words(function) {
                    *expr = other;
                } else {
                    calls::rename(function);
                }
            }
            Expr::UnaryOp {
                op: UnaryOperator::BitwiseNot,
                expr: bits,
            } => {
                let ones = Expr::UnaryOp {
                    op: UnaryOperator::Minus,
                    expr: Box::new(number(1)),
                };
                *expr = operation(ones, BinaryOperator::Minus, (**bits).clone());
            }
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr: interval,
            } if matches!(interval.as_ref(), Expr::Interval(_)) => {
                **interval = Expr::Nested(interval.clone());
            }
            Expr::UnaryOp { op, expr: value } => {
                if let Some(call) = root_or_absolute(*op, value) {
                    *expr = call;
                }
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Overlaps,
                right,
            } => {
                if let Some(comparison) = overlaps::compared(left, right) {
                    *expr = comparison;
                }
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::PGBitwiseXor,
                right,
            } => {
                let of_bits = |op| operation((**left).clone(), op, (**right).clone());
                let either = of_bits(BinaryOperator::BitwiseOr);
                *expr = operation(
                    either,
                    BinaryOperator::Minus,
                    of_bits(BinaryOperator::BitwiseAnd),
                );
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::PGStartsWith,
                right,
            } => {
                let arguments = [(**left).clone(), (**right).clone()];
                *expr = call("starts_with", arguments, Vec::new());
            }
            Expr::BinaryOp { op, right, .. } if of_regular_expression(op).is_some() => {
                if let Some((sensitive, letters)) = of_regular_expression(op) {
                    let letters = Expr::value(Value::SingleQuotedString(letters.to_owned()));
                    let pattern = [(**right).clone(), letters];
                    *op = sensitive;
                    **right = call("regular_expression", pattern, Vec::new());
                }
            }
            Expr::BinaryOp { .. }
            | Expr::InList { .. }
            | Expr::Between { .. }
            | Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..) => {
                if let Some(by_fields) = row_comparisons::by_fields(expr) {
                    *expr = by_fields;
                }
            }
            Expr::Like {
                pattern,
                escape_char,
                ..
            }
            | Expr::ILike {
                pattern,
                escape_char,
                ..
            } => {
                if let Some(escape) = escape_char.take_if(|escape| !is_backslash(escape)) {
                    let arguments = [(**pattern).clone(), Expr::Value(escape)];
                    **pattern = call("like_escape", arguments, Vec::new());
                }
            }
            Expr::Interval(interval) => {
                if let Some(text) = unread(interval) {
                    *expr = cast(text.clone(), INTERVAL);
                }
            }
            Expr::TypedString(TypedString {
                data_type, value, ..
            }) => {
                if let Some(moment) = named_moments::moment(value, data_type) {
                    *expr = moment;
                }
            }
            Expr::Collate {
                expr: text,
                collation,
            } if is_by_bytes(collation) => {
                *expr = Expr::Nested(Box::new((**text).clone()));
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                if let Some(part) = part_of_document(root, access_chain) {
                    *expr = part;
                } else {
                    access_chain.iter_mut().for_each(fill_bounds);
                }
            }
            Expr::Substring {
                expr: text,
                substring_from: Some(pattern),
                substring_for: None,
                ..
            } if is_quoted(pattern) => {
                let arguments = [(**text).clone(), (**pattern).clone()];
                *expr = first(call("regexp_match", arguments, Vec::new()));
            }
            Expr::Identifier(name)
                if name.quote_style.is_none()
                    && name.value.eq_ignore_ascii_case(CURRENT_SCHEMA) =>
            {
                *expr = call(CURRENT_SCHEMA, [], Vec::new());
            }
            Expr::AtTimeZone {
                timestamp,
                time_zone,
            } => {
                let arguments = [(**time_zone).clone(), (**timestamp).clone()];
                *expr = call("timezone", arguments, Vec::new());
            }
            Expr::IsNull(row) => {
                if let Some(fields) = fields_of_row(row) {
                    *expr = all(fields, Expr::IsNull);
                }
            }
            Expr::IsNotNull(row) => {
                if let Some(fields) = fields_of_row(row) {
                    *expr = all(fields, Expr::IsNotNull);
                }
            }
            Expr::SimilarTo {
                negated,
                expr: text,
                pattern,
                escape_char,
            } => {
                let backslash = || Value::SingleQuotedString("\\".to_owned()).into();
                let escape = Expr::Value(escape_char.take().unwrap_or_else(backslash));
                let pattern = [(**pattern).clone(), escape];
                let pattern = call("similar_to_escape", pattern, Vec::new());
                let matches = match negated {
                    true => BinaryOperator::PGRegexNotMatch,
                    false => BinaryOperator::PGRegexMatch,
                };
                *expr = operation((**text).clone(), matches, pattern);
            }
            Expr::Cast {
                expr: value,
                data_type,
                ..
            } => {
                if let Expr::Value(name) = value.as_ref()
                    && let Some(moment) = named_moments::moment(name, data_type)
                {
                    *expr = moment;
                } else if let Some(length) = length_max(data_type) {
                    let text = cast((**value).clone(), DataType::Text);
                    let cut = call("left", [text, number(length)], Vec::new());
                    **value = match data_type {
                        DataType::Char(_) | DataType::Character(_) => {
                            call("rtrim", [cut], Vec::new())
                        }
                        _ => cut,
                    };
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Whether all of the fields are so.
fn all(fields: Vec<Expr>, is: impl Fn(Box<Expr>) -> Expr) -> Expr {
    let tests = fields
        .into_iter()
        .map(|field| is(Box::new(Expr::Nested(Box::new(field)))));
    let all = tests.reduce(|all, test| operation(all, BinaryOperator::And, test));
    all.unwrap_or_else(|| Expr::value(Value::Boolean(true)))
}

/// The text of an interval without units that DataFusion does not read. The others stay: a window's frame takes no cast.
fn unread(interval: &Interval) -> Option<&Expr> {
    let has_units = interval.leading_field.is_some() || interval.leading_precision.is_some();
    let Expr::Value(value) = interval.value.as_ref() else {
        return None;
    };
    let Value::SingleQuotedString(text) = &value.value else {
        return None;
    };
    let is_unread = !has_units && parse_interval_month_day_nano(text).is_err();
    is_unread.then_some(&interval.value)
}

/// A root, or a number without its sign.
fn root_or_absolute(op: UnaryOperator, value: &Expr) -> Option<Expr> {
    let double = || cast(value.clone(), DataType::Float8);
    Some(match op {
        UnaryOperator::PGSquareRoot => call("sqrt", [double()], Vec::new()),
        UnaryOperator::PGCubeRoot => call("cbrt", [double()], Vec::new()),
        UnaryOperator::PGAbs => call("abs", [value.clone()], Vec::new()),
        _ => return None,
    })
}

/// An operator of regular expressions as one that heeds case, and the letters that say whether this one does.
fn of_regular_expression(op: &BinaryOperator) -> Option<(BinaryOperator, &'static str)> {
    Some(match op {
        BinaryOperator::PGRegexMatch => (BinaryOperator::PGRegexMatch, ""),
        BinaryOperator::PGRegexIMatch => (BinaryOperator::PGRegexMatch, "i"),
        BinaryOperator::PGRegexNotMatch => (BinaryOperator::PGRegexNotMatch, ""),
        BinaryOperator::PGRegexNotIMatch => (BinaryOperator::PGRegexNotMatch, "i"),
        _ => return None,
    })
}

fn is_backslash(escape: &ValueWithSpan) -> bool {
    matches!(&escape.value, Value::SingleQuotedString(escape) if escape == "\\")
}

/// Characters that a text type has at most.
fn length_max(data_type: &DataType) -> Option<u64> {
    match data_type {
        DataType::CharacterVarying(length)
        | DataType::CharVarying(length)
        | DataType::Varchar(length) => match length {
            Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
            _ => None,
        },
        other => characters(other),
    }
}

/// Whether a collation orders texts by their bytes, as all are ordered here.
fn is_by_bytes(collation: &ObjectName) -> bool {
    let name = collation.0.last().and_then(ObjectNamePart::as_ident);
    name.is_some_and(|name| ["C", "POSIX", "ucs_basic"].contains(&name.value.as_str()))
}

/// A part of a document by keys and indexes, of which one is a key: an array has none.
fn part_of_document(document: &Expr, access: &[AccessExpr]) -> Option<Expr> {
    let steps = access.iter().map(|step| match step {
        AccessExpr::Subscript(Subscript::Index { index }) => Some(index),
        _ => None,
    });
    let steps: Vec<&Expr> = steps.collect::<Option<_>>()?;
    let has_key = steps.iter().any(|step| is_quoted(step));
    has_key.then(|| {
        let steps = steps.into_iter();
        steps.fold(document.clone(), |part, step| {
            operation(part, BinaryOperator::Arrow, step.clone())
        })
    })
}

/// Writes the bounds of a slice that are left out.
fn fill_bounds(access: &mut AccessExpr) {
    if let AccessExpr::Subscript(Subscript::Slice {
        lower_bound,
        upper_bound,
        ..
    }) = access
    {
        lower_bound.get_or_insert_with(|| number(1));
        upper_bound.get_or_insert_with(|| number(i32::MAX.unsigned_abs().into()));
    }
}

/// The first element of a list.
fn first(list: Expr) -> Expr {
    Expr::CompoundFieldAccess {
        root: Box::new(Expr::Nested(Box::new(list))),
        access_chain: vec![AccessExpr::Subscript(Subscript::Index { index: number(1) })],
    }
}
