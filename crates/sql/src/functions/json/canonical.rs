//! The one text that a `jsonb` has, as PostgreSQL writes it.
//!
//! 1. Keys stand in the order of their lengths, then of their bytes; of one that comes twice the last counts.
//! 2. A blank follows every comma and colon, and there is no other.
//! 3. Numbers are written as `numeric` is: no exponent, no negative zero, all digits behind the point.
//! 4. Strings have no escapes but those that they need.

use super::document::{Kind, elements, members, text};
use super::invalid;
use crate::error::{SqlError, code};

/// Objects and arrays in each other. PostgreSQL's bound is its stack, some thousands.
const DEPTH_MAX: usize = 1000;

/// Digits before and behind the point that a `numeric` has at most (PostgreSQL's manual, 8.1.2).
const DIGITS_MAX: usize = 131_072;
const SCALE_MAX: usize = 16_383;

/// The text of a document.
pub(crate) fn canonical(document: &str) -> Result<String, SqlError> {
    super::document::check(document)?;
    let mut out = String::with_capacity(document.len() + 16);
    write(document, DEPTH_MAX, &mut out)?;
    Ok(out)
}

/// Appends a value's text.
fn write(value: &str, depth: usize, out: &mut String) -> Result<(), SqlError> {
    if depth == 0 {
        return Err(SqlError::new(
            code::STATEMENT_TOO_COMPLEX,
            format!("a JSON document of more than {DEPTH_MAX} levels"),
        ));
    }
    match Kind::of(value) {
        Kind::Object => write_members(sorted(members(value)?), out, |value, out| {
            write(value, depth - 1, out)
        }),
        Kind::Array => write_elements(elements(value)?, out, |value, out| {
            write(value, depth - 1, out)
        }),
        Kind::String => {
            write_string(&text(value)?.unwrap_or_default(), out);
            Ok(())
        }
        Kind::Number => {
            out.push_str(&number(value.trim())?);
            Ok(())
        }
        Kind::Boolean | Kind::Null => {
            out.push_str(value.trim());
            Ok(())
        }
    }
}

/// Appends an object of members that are in order.
pub(super) fn write_members<K: AsRef<str>, V>(
    members: impl IntoIterator<Item = (K, V)>,
    out: &mut String,
    mut write: impl FnMut(V, &mut String) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    out.push('{');
    for (place, (key, value)) in members.into_iter().enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        write_string(key.as_ref(), out);
        out.push_str(": ");
        write(value, out)?;
    }
    out.push('}');
    Ok(())
}

/// Appends an array.
pub(super) fn write_elements<V>(
    elements: impl IntoIterator<Item = V>,
    out: &mut String,
    mut write: impl FnMut(V, &mut String) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    out.push('[');
    for (place, value) in elements.into_iter().enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        write(value, out)?;
    }
    out.push(']');
    Ok(())
}

/// Members in the order of `jsonb`, each key once.
pub(super) fn sorted<K: AsRef<str>, V>(mut members: Vec<(K, V)>) -> Vec<(K, V)> {
    fn order(key: &str) -> (usize, &str) {
        (key.len(), key)
    }
    // Of equal keys the last one comes first, and stays. Sorting keeps the order of equals.
    members.reverse();
    members.sort_by(|(left, _), (right, _)| order(left.as_ref()).cmp(&order(right.as_ref())));
    members.dedup_by(|(later, _), (earlier, _)| later.as_ref() == earlier.as_ref());
    members
}

/// Appends a string in quotes.
pub(super) fn write_string(text: &str, out: &mut String) {
    let quoted = serde_json::to_string(text).expect("a string can be written");
    out.push_str(&quoted);
}

/// A JSON number as `numeric` is written.
pub(super) fn number(written: &str) -> Result<String, SqlError> {
    let (sign, size) = match written.strip_prefix('-') {
        Some(size) => ("-", size),
        None => ("", written),
    };
    let (mantissa, exponent) = match size.find(['e', 'E']) {
        Some(at) => (&size[..at], &size[at + 1..]),
        None => (size, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (whole, fraction) = match exponent {
        "0" => (whole.to_owned(), fraction.to_owned()),
        exponent => shifted(whole, fraction, exponent)?,
    };
    let is_zero = [&whole, &fraction]
        .into_iter()
        .all(|digits| digits.bytes().all(|digit| digit == b'0'));
    let sign = if is_zero { "" } else { sign };
    let point = if fraction.is_empty() { "" } else { "." };
    Ok(format!("{sign}{whole}{point}{fraction}"))
}

/// Digits before and behind the point, which is moved by an exponent.
fn shifted(whole: &str, fraction: &str, exponent: &str) -> Result<(String, String), SqlError> {
    let too_large = || {
        SqlError::new(
            code::NUMERIC_VALUE_OUT_OF_RANGE,
            "value overflows numeric format",
        )
    };
    let exponent: i32 = exponent.parse().map_err(|_| too_large())?;
    let by = usize::try_from(exponent.unsigned_abs()).map_err(invalid)?;
    let (whole, fraction) = if exponent >= 0 {
        if whole.len() + by > DIGITS_MAX {
            return Err(too_large());
        }
        let (before, behind) = fraction.split_at(by.min(fraction.len()));
        let zeros = "0".repeat(by - before.len());
        (format!("{whole}{before}{zeros}"), behind.to_owned())
    } else {
        if fraction.len() + by > SCALE_MAX {
            return Err(too_large());
        }
        let (before, behind) = whole.split_at(whole.len().saturating_sub(by));
        let zeros = "0".repeat(by - behind.len());
        (before.to_owned(), format!("{zeros}{behind}{fraction}"))
    };
    let significant = whole.trim_start_matches('0');
    let whole = if significant.is_empty() {
        "0"
    } else {
        significant
    };
    Ok((whole.to_owned(), fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_one_text() {
        for (written, expected) in [
            (
                r#"{"bb":1,"a":[1,2 ],"c":{},  "a" : [ ]}"#,
                r#"{"a": [], "c": {}, "bb": 1}"#,
            ),
            (
                r#"["é", "\u00e9\/\n", "\u001F"]"#,
                "[\"é\", \"é/\\n\", \"\\u001f\"]",
            ),
            (" true ", "true"),
            ("[null,false]", "[null, false]"),
        ] {
            assert_eq!(canonical(written).expect(written), expected);
            assert_eq!(canonical(expected).expect(expected), expected);
        }
    }

    #[test]
    fn numbers_are_numeric() {
        for (written, expected) in [
            ("1.0", "1.0"),
            ("-0", "0"),
            ("-0.0", "0.0"),
            ("1e2", "100"),
            ("1.50E1", "15.0"),
            ("1.5e3", "1500"),
            ("-1.5e-1", "-0.15"),
            ("12e-3", "0.012"),
            ("0e5", "0"),
            ("10e-1", "1.0"),
            ("12345678901234567890123.5", "12345678901234567890123.5"),
        ] {
            assert_eq!(number(written).expect(written), expected, "{written}");
        }
        assert_eq!(number("1e200000").expect_err("too large").code, "22003");
        assert_eq!(
            number("1e-99999999999").expect_err("too small").code,
            "22003"
        );
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
        assert_eq!(canonical(&deep).expect_err("too deep").code, "54001");
    }
}
