//! Quoted literals as values of a type, read as PostgreSQL reads them.
//!
//! Dates and times come in several forms (`2020-1-31`, `20200131`, `2020-01-31T12:00Z`); they
//! are brought into the one form that Arrow reads. A zone means something only to a timestamp
//! that has one; elsewhere it is passed over.

use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::ScalarValue;

use super::interval_text;
use crate::error::{SqlError, code};
use crate::pg_type;

const DECIMAL128_DIGITS: u8 = 38;

/// The value of `text` as a number with the digits that are written, an integer, a date, a
/// time, an interval or bytes; `None` for types that Arrow reads as PostgreSQL does.
pub(crate) fn value(text: &str, data_type: &DataType) -> Result<Option<ScalarValue>, SqlError> {
    match data_type {
        DataType::Int16 | DataType::Int32 | DataType::Int64 => integer(text, data_type).map(Some),
        DataType::Decimal128(..) | DataType::Decimal256(..) => decimal(text).map(Some),
        DataType::Date32 | DataType::Time64(_) | DataType::Timestamp(..) => {
            moment(text, data_type).map(Some)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => interval(text).map(Some),
        DataType::Binary => bytes(text).map(|bytes| Some(ScalarValue::Binary(Some(bytes)))),
        _ => Ok(None),
    }
}

/// `invalid input syntax for type …`
pub(crate) fn invalid(text: &str, data_type: &DataType) -> SqlError {
    let (name, _) = pg_type::names(pg_type::oid(data_type));
    let sqlstate = if data_type.is_temporal() {
        code::INVALID_DATETIME_FORMAT
    } else {
        code::INVALID_TEXT_REPRESENTATION
    };
    SqlError::new(
        sqlstate,
        format!("invalid input syntax for type {name}: \"{text}\""),
    )
}

fn integer(text: &str, data_type: &DataType) -> Result<ScalarValue, SqlError> {
    let plain = text.trim();
    let digits = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid(text, data_type));
    }
    let (name, _) = pg_type::names(pg_type::oid(data_type));
    let number = plain.parse::<i64>().ok();
    let value = number.and_then(|number| {
        ScalarValue::Int64(Some(number))
            .cast_to(data_type)
            .ok()
            .filter(|value| !value.is_null())
    });
    value.ok_or_else(|| {
        SqlError::new(
            code::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value \"{text}\" is out of range for type {name}"),
        )
    })
}

/// A number with as many digits after the point as it is written with.
fn decimal(text: &str) -> Result<ScalarValue, SqlError> {
    let wanted = DataType::Decimal128(DECIMAL128_DIGITS, 0);
    let plain = text.trim();
    let (mantissa, exponent) = match plain.find(['e', 'E']) {
        Some(at) => {
            let exponent = plain[at + 1..].parse::<i32>();
            (&plain[..at], exponent.map_err(|_| invalid(text, &wanted))?)
        }
        None => (plain, 0),
    };
    let written = mantissa
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let scale = i32::try_from(written)
        .unwrap_or(i32::MAX)
        .saturating_sub(exponent)
        .clamp(0, i32::from(DECIMAL128_DIGITS));
    let scale = i8::try_from(scale).expect("is at most 38");
    ScalarValue::Utf8(Some(plain.to_owned()))
        .cast_to(&DataType::Decimal128(DECIMAL128_DIGITS, scale))
        .map_err(|_| invalid(text, &wanted))
}

/// Bytes as `\\x` and two hexadecimal digits each, or as letters, with `\\` before three octal digits or another one.
fn bytes(text: &str) -> Result<Vec<u8>, SqlError> {
    if let Some(digits) = text.strip_prefix("\\x") {
        return hexadecimal(digits);
    }
    let wrong = || invalid(text, &DataType::Binary);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        if *byte != b'\\' {
            bytes.push(*byte);
        } else if let Some(behind) = rest.strip_prefix(b"\\") {
            bytes.push(b'\\');
            rest = behind;
        } else {
            let digits = text
                .get(text.len() - rest.len()..)
                .and_then(|rest| rest.get(..3));
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
            bytes.push(byte.ok_or_else(wrong)?);
            rest = &rest[3..];
        }
    }
    Ok(bytes)
}

/// Blanks may stand between bytes.
fn hexadecimal(digits: &str) -> Result<Vec<u8>, SqlError> {
    let wrong = |message: String| SqlError::new(code::INVALID_PARAMETER_VALUE, message);
    let digits = digits.chars().filter(|digit| !digit.is_ascii_whitespace());
    let digits = digits.map(|digit| {
        let value = digit
            .to_digit(16)
            .and_then(|value| u8::try_from(value).ok());
        value.ok_or_else(|| wrong(format!("invalid hexadecimal digit: \"{digit}\"")))
    });
    let digits = digits.collect::<Result<Vec<u8>, _>>()?;
    if !digits.len().is_multiple_of(2) {
        let message = "invalid hexadecimal data: odd number of digits";
        return Err(wrong(message.to_owned()));
    }
    let pairs = digits.chunks_exact(2);
    Ok(pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn interval(text: &str) -> Result<ScalarValue, SqlError> {
    let of_type = DataType::Interval(IntervalUnit::MonthDayNano);
    let (months, days, microseconds) =
        interval_text::read(text).ok_or_else(|| invalid(text, &of_type))?;
    let nanoseconds = microseconds.checked_mul(1000).ok_or_else(|| {
        let message = format!("interval field value out of range: \"{text}\"");
        SqlError::new(code::DATETIME_FIELD_OVERFLOW, message)
    })?;
    Ok(ScalarValue::new_interval_mdn(months, days, nanoseconds))
}

fn moment(text: &str, data_type: &DataType) -> Result<ScalarValue, SqlError> {
    let plain = text.trim();
    if let Some(endless) = endless(plain, data_type) {
        return Ok(endless);
    }
    let wrong = || invalid(text, data_type);
    let iso = match data_type {
        DataType::Date32 => date(split(plain).0).ok_or_else(wrong)?,
        DataType::Time64(_) => clock(plain).ok_or_else(wrong)?.0,
        _ => {
            let (day, rest) = split(plain);
            let (time, zone) = clock(rest).ok_or_else(wrong)?;
            let zone = match data_type {
                DataType::Timestamp(_, Some(_)) => zone,
                _ => String::new(),
            };
            format!("{}T{time}{zone}", date(day).ok_or_else(wrong)?)
        }
    };
    ScalarValue::Utf8(Some(iso))
        .cast_to(data_type)
        .map_err(|_| no_such_day_or_time(text))
}

/// It looks like a date or a time, but there is none of it.
fn no_such_day_or_time(text: &str) -> SqlError {
    let message = format!("date/time field value out of range: \"{text}\"");
    SqlError::new(code::DATETIME_FIELD_OVERFLOW, message)
}

/// Infinity, as the trees store it.
fn endless(text: &str, data_type: &DataType) -> Option<ScalarValue> {
    let future = match text.to_ascii_lowercase().as_str() {
        "infinity" => true,
        "-infinity" => false,
        _ => return None,
    };
    match data_type {
        DataType::Date32 => Some(ScalarValue::Date32(Some(if future {
            i32::MAX
        } else {
            i32::MIN
        }))),
        DataType::Timestamp(_, zone) => Some(ScalarValue::TimestampMicrosecond(
            Some(if future { i64::MAX } else { i64::MIN }),
            zone.clone(),
        )),
        _ => None,
    }
}

/// The date, and what follows it.
fn split(text: &str) -> (&str, &str) {
    match text.find([' ', 'T', 't']) {
        Some(at) => (&text[..at], text[at + 1..].trim_start()),
        None => (text, ""),
    }
}

/// `year-month-day`, with a digit or two, or no hyphens at all.
fn date(text: &str) -> Option<String> {
    if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..]));
    }
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let plain = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let whole = parts.next().is_none() && year.len() == 4;
    (whole && plain(year, 4) && plain(month, 2) && plain(day, 2))
        .then(|| format!("{year}-{month:0>2}-{day:0>2}"))
}

/// The time of day as `hour:minute:second[.fraction]`, and the zone; midnight where there is
/// none.
fn clock(text: &str) -> Option<(String, String)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.')
        .unwrap_or(text.len());
    let zone = zone(text[end..].trim())?;
    let time = &text[..end];
    let mut parts = time.split(':');
    let hour = parts.next()?;
    if hour.is_empty() {
        return Some(("00:00:00".to_owned(), zone));
    }
    let minute = parts.next()?;
    let second = parts.next().unwrap_or("00");
    if parts.next().is_some() || minute.len() != 2 || hour.len() > 2 {
        return None;
    }
    Some((format!("{hour:0>2}:{minute}:{second}"), zone))
}

/// A zone as Arrow reads it; empty where there is none.
fn zone(text: &str) -> Option<String> {
    match text.to_ascii_lowercase().as_str() {
        "" => Some(String::new()),
        "z" | "utc" | "gmt" => Some("Z".to_owned()),
        offset if offset.starts_with(['+', '-']) => {
            let (hours, minutes) = match offset[1..].split_once(':') {
                Some((hours, minutes)) => (hours, minutes),
                None if offset.len() == 5 => offset[1..].split_at(2),
                None => (&offset[1..], "00"),
            };
            let digits = |part: &str| part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit());
            (digits(hours) && digits(minutes))
                .then(|| format!("{}{hours:0>2}:{minutes:0>2}", &offset[..1]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::TimeUnit;

    use super::*;

    const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

    fn shown(text: &str, data_type: &DataType) -> String {
        match value(text, data_type) {
            Ok(Some(value)) => value.to_string(),
            Ok(None) => "left to Arrow".to_owned(),
            Err(error) => error.code.to_owned(),
        }
    }

    #[test]
    fn dates_and_times_come_in_several_forms() {
        let noon = shown("2020-01-02 12:00:00", &TIMESTAMP);
        for text in [
            "2020-1-2 12:00",
            "20200102T12:00:00.000",
            " 2020-01-02 12:00:00+05 ",
        ] {
            assert_eq!(shown(text, &TIMESTAMP), noon, "{text}");
        }
        let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
        for text in [
            "2020-01-02 14:00+02",
            "2020-01-02T12:00Z",
            "2020-01-02 06:30-0530",
        ] {
            assert_eq!(
                shown(text, &zoned),
                shown("2020-01-02 12:00:00", &zoned),
                "{text}"
            );
        }
        assert_eq!(
            shown("2020-01-02 23:59", &DataType::Date32),
            shown("2020-01-02", &DataType::Date32)
        );
        assert_eq!(
            value("infinity", &DataType::Date32).expect("is a date"),
            Some(ScalarValue::Date32(Some(i32::MAX)))
        );
        for wrong in ["", "2020", "2020-01-01 noon"] {
            assert_eq!(shown(wrong, &TIMESTAMP), "22007", "{wrong}");
        }
        for none in ["2020-13-01", "2020-02-30", "2020-01-01 25:00"] {
            assert_eq!(shown(none, &TIMESTAMP), "22008", "{none}");
        }
    }

    #[test]
    fn bytes_are_hexadecimal_or_letters() {
        for (text, expected) in [
            ("\\x0aFF", &[10, 255][..]),
            ("\\x 0a ff", &[10, 255]),
            ("", &[]),
            ("a\\\\b\\001", b"a\\b\x01"),
        ] {
            assert_eq!(bytes(text).expect(text), expected, "{text}");
        }
        for (wrong, code) in [
            ("\\x0", "22023"),
            ("\\xzz", "22023"),
            ("\\8", "22P02"),
            ("\\", "22P02"),
        ] {
            assert_eq!(bytes(wrong).expect_err(wrong).code, code, "{wrong}");
        }
    }

    #[test]
    fn numbers_keep_their_digits_and_their_range() {
        assert_eq!(
            value("1.50", &DataType::Decimal128(38, 16)).expect("is a number"),
            Some(ScalarValue::Decimal128(Some(150), 38, 2))
        );
        assert_eq!(shown(" 7 ", &DataType::Int16), "7");
        assert_eq!(shown("70000", &DataType::Int16), "22003");
        assert_eq!(shown("18446744073709551613", &DataType::Int64), "22003");
        assert_eq!(shown("1.5", &DataType::Int32), "22P02");
    }
}
