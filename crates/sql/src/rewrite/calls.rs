//! Functions that DataFusion has under other names, or not at all but in other words.
//!
//! ```text
//! mod(a, b)                  a % b
//! div(a, b)                  trunc(a::numeric / b::numeric)
//! array_remove(a, e)         array_remove_all(a, e)          it removes, and replaces, the first one
//! array_replace(a, e, f)     array_replace_all(a, e, f)
//! array_length(a, 1)         array_length(a, 1)::int         and others that count: it has bigints
//! date(t)                    t::date
//! isfinite(t)                t NOT IN ('infinity', '-infinity')
//! age(t)                     age(current_date, t)
//! age(t, u)                  age(t::timestamp, u::timestamp) it takes no dates
//! date_trunc(u, t, z)        timezone(z, date_trunc(u, timezone(z, t)))   of hours and less: t - what is cut off there
//! date_bin('…', t, o)        date_bin('…'::interval, t, o)
//! localtime                  localtimestamp::time
//! make_interval(days => 2)   (2) * INTERVAL '1 day'
//! make_timestamp(y, m, d, …) make_date(y, m, d)::timestamp + …
//! encode('…', f)             encode('…'::bytea, f)            and others that take bytes
//! encode(b, 'base64')        regexp_replace(encode(b, 'base64pad'), …)   in lines, with padding
//! ```

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, ObjectName, ObjectNamePart, TimezoneInfo,
};

use super::casts::{INTERVAL, cast, is_quoted};
use super::function_call::{arguments, call};
use super::operation::{operation, text};

/// Functions that DataFusion has by another name than PostgreSQL.
const NAMES: [(&str, &str); 2] = [
    ("array_remove", "array_remove_all"),
    ("array_replace", "array_replace_all"),
];

const TIMESTAMP: DataType = DataType::Timestamp(None, TimezoneInfo::None);

const NUMERIC: DataType = DataType::Numeric(ExactNumberInfo::None);

/// Functions of bytes and something else.
const OF_BYTES: [&str; 3] = ["convert_from", "encode", "get_byte"];

/// The time of day, which is called without parentheses.
const LOCALTIME: &str = "localtime";

/// Functions that give integers, and bigints in DataFusion.
const COUNTS: [&str; 5] = [
    "array_length",
    "array_ndims",
    "array_position",
    "array_upper",
    "cardinality",
];

fn name_of(function: &Function) -> Option<&Ident> {
    function.name.0.last()?.as_ident()
}

/// A call of a function that DataFusion has not, by what it has.
pub(super) fn in_other_words(function: &Function) -> Option<Expr> {
    let name = name_of(function)?.value.to_ascii_lowercase();
    if name == "make_interval" {
        return interval(function);
    }
    if name == LOCALTIME && function.args == FunctionArguments::None {
        let mut now = function.clone();
        now.name = ObjectName::from(vec![Ident::new("localtimestamp")]);
        let time = DataType::Time(None, TimezoneInfo::None);
        return Some(cast(Expr::Function(now), time));
    }
    Some(match (name.as_str(), arguments(function)?.as_slice()) {
        ("mod", [left, right]) => operation(left.clone(), BinaryOperator::Modulo, right.clone()),
        ("div", [left, right]) => {
            let [left, right] = [left, right].map(|side| cast(side.clone(), NUMERIC));
            let quotient = operation(left, BinaryOperator::Divide, right);
            call("trunc", [quotient], Vec::new())
        }
        ("date", [moment]) => cast(moment.clone(), DataType::Date),
        ("make_timestamp", parts) => timestamp(parts)?,
        ("make_timestamptz", [parts @ .., zone]) if parts.len() == 6 => {
            let there = timestamp(parts)?;
            call("timezone", [zone.clone(), there], Vec::new())
        }
        ("make_timestamptz", parts) => {
            let zoned = DataType::Timestamp(None, TimezoneInfo::Tz);
            cast(timestamp(parts)?, zoned)
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
            let moment = cast(moment.clone(), DataType::Timestamp(None, TimezoneInfo::Tz));
            let there = call("timezone", [zone.clone(), moment.clone()], Vec::new());
            let cut = call("date_trunc", [unit.clone(), there.clone()], Vec::new());
            match is_of_clock(unit) {
                // An hour that is there twice would be told as the later one.
                true => operation(
                    moment,
                    BinaryOperator::Minus,
                    operation(there, BinaryOperator::Minus, cut),
                ),
                false => call("timezone", [zone.clone(), cut], Vec::new()),
            }
        }
        ("date_bin", [stride, moment, origin]) if is_quoted(stride) => {
            let stride = cast(stride.clone(), INTERVAL);
            call(
                "date_bin",
                [stride, moment.clone(), origin.clone()],
                Vec::new(),
            )
        }
        ("isfinite", [moment]) => Expr::Nested(Box::new(Expr::InList {
            expr: Box::new(Expr::Nested(Box::new(moment.clone()))),
            list: ["infinity", "-infinity"].map(text).to_vec(),
            negated: true,
        })),
        ("encode", [bytes, format]) if is_base64(format) => {
            let encoded = call("encode", [as_bytes(bytes), text("base64pad")], Vec::new());
            // A line has 76 letters, and ends after them, unless padding is among these.
            let lines = [encoded, text("([^=]{76})"), text("\\1\n"), text("g")];
            call("regexp_replace", lines, Vec::new())
        }
        (name, [bytes, rest]) if OF_BYTES.contains(&name) && is_quoted(bytes) => {
            call(name, [as_bytes(bytes), rest.clone()], Vec::new())
        }
        _ => return None,
    })
}

/// Whether a unit is shorter than a day.
fn is_of_clock(unit: &Expr) -> bool {
    const STEMS: [&str; 5] = ["microsec", "millisec", "sec", "min", "hour"];
    let name = is_quoted(unit).then(|| unit.to_string().to_ascii_lowercase());
    name.is_some_and(|name| {
        STEMS
            .iter()
            .any(|stem| name.starts_with(&format!("'{stem}")))
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

/// A moment out of year, month, day, hour, minute and second.
fn timestamp(parts: &[Expr]) -> Option<Expr> {
    let [year, month, day, time @ ..] = parts else {
        return None;
    };
    let date = [year, month, day].map(Expr::clone);
    let midnight = cast(call("make_date", date, Vec::new()), TIMESTAMP);
    let units = INTERVAL_PARTS.iter().skip(INTERVAL_PARTS.len() - 3);
    let since = time.iter().zip(units);
    let since = sum_of_units(since.map(|(count, (_, unit))| (count, *unit)))?;
    (time.len() == 3).then(|| operation(midnight, BinaryOperator::Plus, since))
}

/// An interval out of so many of each unit; `None` of none.
fn sum_of_units<'a>(counts: impl Iterator<Item = (&'a Expr, &'static str)>) -> Option<Expr> {
    let parts = counts.map(|(count, unit)| {
        let unit = cast(text(unit), INTERVAL);
        operation(count.clone(), BinaryOperator::Multiply, unit)
    });
    parts.reduce(|sum, part| operation(sum, BinaryOperator::Plus, part))
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
    sum_of_units(parts.into_iter())
}

/// Gives a function DataFusion's name for it.
pub(super) fn rename(function: &mut Function) {
    let known = name_of(function).and_then(|name| {
        let mut names = NAMES.iter();
        names.find(|(theirs, _)| name.value.eq_ignore_ascii_case(theirs))
    });
    if let Some((_, ours)) = known {
        let name = ObjectNamePart::Identifier(Ident::new(*ours));
        function.name = ObjectName(vec![name]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_its_day_and_the_time_since_midnight() {
        let parts = [2020_u64, 2, 29, 8, 15, 30].map(super::super::operation::number);
        let moment = timestamp(&parts).expect("six parts").to_string();
        assert!(
            moment.contains("(make_date(2020, 2, 29))::TIMESTAMP"),
            "{moment}"
        );
        for unit in [
            "(8) * (('1 hour')::INTERVAL)",
            "(30) * (('1 second')::INTERVAL)",
        ] {
            assert!(moment.contains(unit), "{moment}");
        }
        assert_eq!(timestamp(&parts[..5]), None);
    }
}
