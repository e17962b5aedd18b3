//! Operators and functions that DataFusion has under other names, or means otherwise.
//!
//! ```text
//! mod(a, b)                  a % b
//! current_schema             current_schema()
//! t AT TIME ZONE z           timezone(z, t)                  DataFusion would show the same moment in that zone
//! a SIMILAR TO p ESCAPE e    a ~ similar_to_escape(p, e)     it takes the pattern for a regular expression
//! array_remove(a, e)         array_remove_all(a, e)          it removes, and replaces, the first one
//! array_replace(a, e, f)     array_replace_all(a, e, f)
//! (a, b) IS NULL             a IS NULL AND b IS NULL         a row is NULL, and is not, if all of it is
//! t::varchar(3)              left(t::text, 3)::varchar(3)    it takes the length for a remark
//! t::char(3)                 rtrim(left(t::text, 3))::char(3)
//! t COLLATE "C"              t                               all texts are in that order
//! j['a']                     j -> 'a'                        only a document has keys
//! substring(t FROM 'p')      (regexp_match(t, 'p'))[1]
//! isfinite(t)                t NOT IN ('infinity', '-infinity')
//! age(t)                     age(current_date, t)
//! age(t, u)                  age(t::timestamp, u::timestamp)         it takes no dates
//! array_length(a, 1)         array_length(a, 1)::int                 and others that count: it has bigints
//! ~a                         -1 - a
//! date_trunc(u, t, z)        timezone(z, date_trunc(u, timezone(z, t)))
//! encode('…', f)             encode('…'::bytea, f)
//! encode(b, 'base64')        regexp_replace(encode(b, 'base64pad'), …)   in lines, with padding
//! div(a, b)                  trunc(a::numeric / b::numeric)
//! make_interval(days => 2)   (2) * INTERVAL '1 day'
//! ```

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, CharacterLength, DataType, ExactNumberInfo, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart,
    Statement as Ast, Subscript, TimezoneInfo, UnaryOperator, Value, VisitMut, VisitorMut,
};

use super::casts::{cast, is_quoted};
use super::function_call::{arguments, call};
use crate::functions::types::characters;

/// Functions that DataFusion has by another name than PostgreSQL.
const NAMES: [(&str, &str); 2] = [
    ("array_remove", "array_remove_all"),
    ("array_replace", "array_replace_all"),
];

const TIMESTAMP: DataType = DataType::Timestamp(None, TimezoneInfo::None);

const NUMERIC: DataType = DataType::Numeric(ExactNumberInfo::None);

const INTERVAL: DataType = DataType::Interval {
    fields: None,
    precision: None,
};

/// Functions that give integers, and bigints in DataFusion.
const COUNTS: [&str; 5] = [
    "array_length",
    "array_ndims",
    "array_position",
    "array_upper",
    "cardinality",
];

/// A function that is called without parentheses. The parser knows the others.
const CURRENT_SCHEMA: &str = "current_schema";

/// Puts what DataFusion knows in the place of what it does not.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = statement.visit(&mut Operators);
}

struct Operators;

impl VisitorMut for Operators {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) => {
                if let Some(other) = in_other_words(function) {
                    *expr = other;
                } else {
                    rename(function);
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
            Expr::Collate {
                expr: text,
                collation,
            } if is_by_bytes(collation) => {
                *expr = Expr::Nested(Box::new((**text).clone()));
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                if let Some(part) = part_of_document(root, access_chain) {
                    *expr = part;
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
                if let Some(length) = length_max(data_type) {
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

/// `(left op right)`, whatever stands around it.
fn operation(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::BinaryOp {
        left: Box::new(Expr::Nested(Box::new(left))),
        op,
        right: Box::new(Expr::Nested(Box::new(right))),
    }))
}

/// The fields of `(a, b)` or `ROW(a, b)`.
fn fields_of_row(row: &Expr) -> Option<Vec<Expr>> {
    match row {
        Expr::Tuple(fields) => Some(fields.clone()),
        Expr::Function(function) if name_of(function)?.value.eq_ignore_ascii_case("row") => {
            arguments(function)
        }
        _ => None,
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

fn number(value: u64) -> Expr {
    Expr::value(Value::Number(value.to_string(), false))
}

fn name_of(function: &Function) -> Option<&Ident> {
    function.name.0.last()?.as_ident()
}

/// A call of a function that DataFusion has not, by what it has.
fn in_other_words(function: &Function) -> Option<Expr> {
    let name = name_of(function)?.value.to_ascii_lowercase();
    if name == "make_interval" {
        return interval(function);
    }
    Some(match (name.as_str(), arguments(function)?.as_slice()) {
        ("mod", [left, right]) => operation(left.clone(), BinaryOperator::Modulo, right.clone()),
        ("div", [left, right]) => {
            let [left, right] = [left, right].map(|side| cast(side.clone(), NUMERIC));
            let quotient = operation(left, BinaryOperator::Divide, right);
            call("trunc", [quotient], Vec::new())
        }
        ("age", [moment]) => {
            let midnight = call("current_date", [], Vec::new());
            let moments = [midnight, moment.clone()].map(|moment| cast(moment, TIMESTAMP));
            call("age", moments, Vec::new())
        }
        ("age", [to, from]) => {
            let moments = [to, from].map(|moment| cast(moment.clone(), TIMESTAMP));
            call("age", moments, Vec::new())
        }
        (name, _) if COUNTS.contains(&name) => {
            cast(Expr::Function(function.clone()), DataType::Int(None))
        }
        ("date_trunc", [unit, moment, zone]) => {
            let there = call("timezone", [zone.clone(), moment.clone()], Vec::new());
            let cut = call("date_trunc", [unit.clone(), there], Vec::new());
            call("timezone", [zone.clone(), cut], Vec::new())
        }
        ("isfinite", [moment]) => {
            let endless =
                ["infinity", "-infinity"].map(|text| Value::SingleQuotedString(text.to_owned()));
            Expr::Nested(Box::new(Expr::InList {
                expr: Box::new(Expr::Nested(Box::new(moment.clone()))),
                list: endless.map(Expr::value).to_vec(),
                negated: true,
            }))
        }
        ("encode", [bytes, format]) if is_base64(format) => {
            let encoded = call("encode", [as_bytes(bytes), text("base64pad")], Vec::new());
            // A line has 76 letters, and ends after them, unless padding is among these.
            let lines = [encoded, text("([^=]{76})"), text("\\1\n"), text("g")];
            call("regexp_replace", lines, Vec::new())
        }
        ("encode", [bytes, format]) if is_quoted(bytes) => {
            call("encode", [as_bytes(bytes), format.clone()], Vec::new())
        }
        _ => return None,
    })
}

fn is_base64(format: &Expr) -> bool {
    let format = is_quoted(format).then(|| format.to_string());
    format.is_some_and(|format| format.eq_ignore_ascii_case("'base64'"))
}

/// A literal as bytes; what has a type stays as it is.
fn as_bytes(value: &Expr) -> Expr {
    match is_quoted(value) {
        true => cast(value.clone(), DataType::Bytea),
        false => value.clone(),
    }
}

fn text(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}

/// What `make_interval` adds up: the names of its parameters in their order, and a unit of each.
const INTERVAL_PARTS: [(&str, &str); 7] = [
    ("years", "1 year"),
    ("months", "1 month"),
    ("weeks", "7 days"),
    ("days", "1 day"),
    ("hours", "1 hour"),
    ("mins", "1 minute"),
    ("secs", "1 second"),
];

fn interval(function: &Function) -> Option<Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let parts = list.args.iter().zip(INTERVAL_PARTS);
    let parts = parts.map(|(argument, (_, unit))| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(count)) => Some((count, unit)),
        FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(count),
            ..
        }
        | FunctionArg::ExprNamed {
            name: Expr::Identifier(name),
            arg: FunctionArgExpr::Expr(count),
            ..
        } => {
            let mut parts = INTERVAL_PARTS.iter();
            let (_, unit) = parts.find(|(part, _)| name.value.eq_ignore_ascii_case(part))?;
            Some((count, *unit))
        }
        _ => None,
    });
    let parts: Vec<_> = parts.collect::<Option<_>>()?;
    let parts = parts.into_iter().map(|(count, unit)| {
        let unit = cast(text(unit), INTERVAL);
        operation(count.clone(), BinaryOperator::Multiply, unit)
    });
    parts.reduce(|sum, part| operation(sum, BinaryOperator::Plus, part))
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

/// The first element of a list.
fn first(list: Expr) -> Expr {
    Expr::CompoundFieldAccess {
        root: Box::new(Expr::Nested(Box::new(list))),
        access_chain: vec![AccessExpr::Subscript(Subscript::Index { index: number(1) })],
    }
}

fn rename(function: &mut Function) {
    let known = name_of(function).and_then(|name| {
        let mut names = NAMES.iter();
        names.find(|(theirs, _)| name.value.eq_ignore_ascii_case(theirs))
    });
    if let Some((_, ours)) = known {
        let name = ObjectNamePart::Identifier(Ident::new(*ours));
        function.name = ObjectName(vec![name]);
    }
}
