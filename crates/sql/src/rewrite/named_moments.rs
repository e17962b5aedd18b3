//! Moments with names in casts: `'today'::date`, `timestamp 'now'`, `'epoch'::timestamptz`.
//!
//! Does not: such names as literals without a type, beside a column of times.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, TimezoneInfo, Value, ValueWithSpan,
};

use super::casts::cast;
use super::function_call::call;
use super::operation::{number, operation, text};

/// What the name in a quoted literal stands for in this type; `None` if it is none.
pub(super) fn moment(literal: &ValueWithSpan, data_type: &DataType) -> Option<Expr> {
    let Value::SingleQuotedString(name) = &literal.value else {
        return None;
    };
    let is_date = matches!(data_type, DataType::Date);
    if !is_date && !matches!(data_type, DataType::Timestamp(..)) {
        return None;
    }
    let today = || call("current_date", [], Vec::new());
    let moment = match name.trim().to_ascii_lowercase().as_str() {
        "now" if !is_date => call("now", [], Vec::new()),
        "now" | "today" => today(),
        "tomorrow" => operation(today(), BinaryOperator::Plus, number(1)),
        "yesterday" => operation(today(), BinaryOperator::Minus, number(1)),
        "epoch" => text(match data_type {
            DataType::Timestamp(_, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone) => {
                "1970-01-01 00:00:00+00"
            }
            _ => "1970-01-01",
        }),
        _ => return None,
    };
    Some(cast(moment, data_type.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_moments_of_the_type() {
        let named = |name: &str, data_type: DataType| {
            let literal = Value::SingleQuotedString(name.to_owned()).with_empty_span();
            moment(&literal, &data_type).map(|moment| moment.to_string())
        };
        let timestamp = DataType::Timestamp(None, TimezoneInfo::None);
        for (name, data_type, expected) in [
            ("today", DataType::Date, Some("(current_date())::DATE")),
            (
                " Yesterday",
                DataType::Date,
                Some("(((current_date()) - (1)))::DATE"),
            ),
            ("now", timestamp.clone(), Some("(now())::TIMESTAMP")),
            ("epoch", timestamp, Some("('1970-01-01')::TIMESTAMP")),
            ("today", DataType::Text, None),
            ("noon", DataType::Date, None),
        ] {
            assert_eq!(named(name, data_type).as_deref(), expected, "{name}");
        }
    }
}
