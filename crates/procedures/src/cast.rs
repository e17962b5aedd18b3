//! Values of one type as values of another: what PostgreSQL's casts do.

use std::borrow::Cow;

use oltp::Rejection;

use crate::calendar;
use crate::datum::Datum;
use crate::fault::code;
use crate::numeric::Numeric;
use crate::sql_type::SqlType;

/// Whether values of a type can be stored where another one is declared, without a word.
pub(crate) fn is_assignable(from: SqlType, to: SqlType) -> bool {
    let both_numbers = from.number_rank().is_some() && to.number_rank().is_some();
    both_numbers
        || from == to
        || (from.is_text() && to.is_text())
        || matches!(
            (from, to),
            (
                SqlType::Date | SqlType::Timestamp | SqlType::TimestampTz,
                SqlType::Date | SqlType::Timestamp | SqlType::TimestampTz,
            ) | (SqlType::Timestamp, SqlType::Time)
        )
}

/// Whether CAST goes from one type to another.
pub(crate) fn is_castable(from: SqlType, to: SqlType) -> bool {
    is_assignable(from, to)
        || (from.is_text() && to != SqlType::Bytea)
        || (to.is_text() && !matches!(from, SqlType::Real | SqlType::Double | SqlType::Bytea))
        || matches!(
            (from, to),
            (SqlType::Boolean, SqlType::Integer) | (SqlType::Integer, SqlType::Boolean)
        )
}

/// A value as one of another type.
pub(crate) fn cast<'a>(
    datum: Datum<'a>,
    from: SqlType,
    to: SqlType,
) -> Result<Datum<'a>, Rejection> {
    if datum.is_null() {
        return Ok(datum);
    }
    if from.is_text() && !to.is_text() {
        let Datum::Bytes(text) = &datum else {
            unreachable!("text is bytes");
        };
        return parse(&String::from_utf8_lossy(text), to);
    }
    match to {
        SqlType::Text | SqlType::Varchar(None) => Ok(as_text(datum, from)),
        SqlType::Varchar(Some(length)) => shorten(as_text(datum, from), length),
        SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => as_int(&datum, to),
        SqlType::Numeric(digits) => as_numeric(&datum, digits),
        SqlType::Real => as_real(&datum),
        SqlType::Double => as_double(&datum).map(Datum::Double),
        SqlType::Boolean => Ok(match datum {
            Datum::Int(int) => Datum::Bool(int != 0),
            other => other,
        }),
        SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::TimestampTz => {
            as_moment(datum, from, to)
        }
        SqlType::Bytea => Ok(datum),
    }
}

fn out_of_range(to: SqlType) -> Rejection {
    Rejection::new(
        code::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("{} out of range", to.name()),
    )
}

fn as_int<'a>(datum: &Datum<'_>, to: SqlType) -> Result<Datum<'a>, Rejection> {
    let int = match datum {
        Datum::Int(int) => Some(*int),
        Datum::Bool(bit) => Some(i64::from(*bit)),
        Datum::Numeric(number) => number.to_int(),
        Datum::Real(float) => whole(f64::from(*float)),
        Datum::Double(float) => whole(*float),
        Datum::Null | Datum::Bytes(_) => unreachable!("neither is a number"),
    };
    int_of(int.ok_or_else(|| out_of_range(to))?, to)
}

/// Halves go to the even number, as in PostgreSQL.
fn whole(float: f64) -> Option<i64> {
    let rounded = float.round_ties_even();
    // The bounds are floats; i64::MAX is not.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded);
    fits.then_some(rounded as i64)
}

/// A whole number, if the type has it.
pub(crate) fn int_of<'a>(int: i64, to: SqlType) -> Result<Datum<'a>, Rejection> {
    let (least, most) = to.int_bounds().expect("a type of whole numbers");
    if (least..=most).contains(&int) {
        Ok(Datum::Int(int))
    } else {
        Err(out_of_range(to))
    }
}

fn as_numeric<'a>(datum: &Datum<'_>, digits: Option<(u8, u8)>) -> Result<Datum<'a>, Rejection> {
    let of_float = |text: String| {
        let parsed = Numeric::parse(&text);
        parsed.unwrap_or_else(|| {
            let message = format!("{text} is not a numeric value");
            Err(Rejection::new(code::NUMERIC_VALUE_OUT_OF_RANGE, message))
        })
    };
    let number = match datum {
        Datum::Int(int) => Numeric::of_int(*int),
        Datum::Numeric(number) => *number,
        Datum::Real(float) => of_float(float.to_string())?,
        Datum::Double(float) => of_float(float.to_string())?,
        _ => unreachable!("no number"),
    };
    let fitted = match digits {
        Some((precision, scale)) => number.fit(precision, scale)?,
        None => number,
    };
    Ok(Datum::Numeric(fitted))
}

fn as_double(datum: &Datum<'_>) -> Result<f64, Rejection> {
    Ok(match datum {
        Datum::Int(int) => *int as f64,
        Datum::Numeric(number) => number.to_double(),
        Datum::Real(float) => f64::from(*float),
        Datum::Double(float) => *float,
        _ => unreachable!("no number"),
    })
}

fn as_real<'a>(datum: &Datum<'_>) -> Result<Datum<'a>, Rejection> {
    if let Datum::Real(float) = datum {
        return Ok(Datum::Real(*float));
    }
    let double = as_double(datum)?;
    let real = double as f32;
    if real.is_infinite() && double.is_finite() {
        return Err(out_of_range(SqlType::Real));
    }
    Ok(Datum::Real(real))
}

/// Dates and times as each other. The time zone is UTC.
fn as_moment<'a>(datum: Datum<'a>, from: SqlType, to: SqlType) -> Result<Datum<'a>, Rejection> {
    let Datum::Int(int) = datum else {
        unreachable!("dates and times are whole numbers");
    };
    let converted = match (from, to) {
        (SqlType::Date, SqlType::Timestamp | SqlType::TimestampTz) => calendar::midnight(int),
        (SqlType::Timestamp | SqlType::TimestampTz, SqlType::Date) => Some(calendar::day_of(int)),
        (SqlType::Timestamp, SqlType::Time) => {
            Some(int - calendar::midnight(calendar::day_of(int)).unwrap_or(int))
        }
        _ => Some(int),
    };
    converted.map(Datum::Int).ok_or_else(|| {
        let message = "date out of range for timestamp";
        Rejection::new(code::DATETIME_FIELD_OVERFLOW, message)
    })
}

/// A value as text.
fn as_text(datum: Datum<'_>, from: SqlType) -> Datum<'_> {
    let text = match (&datum, from) {
        (Datum::Bytes(_), _) => return datum,
        (Datum::Bool(bit), _) => bit.to_string(),
        (Datum::Int(days), SqlType::Date) => calendar::date_text(*days),
        (Datum::Int(micros), SqlType::Time) => calendar::time_text(*micros),
        (Datum::Int(micros), SqlType::Timestamp) => calendar::timestamp_text(*micros),
        (Datum::Int(micros), SqlType::TimestampTz) => {
            format!("{}+00", calendar::timestamp_text(*micros))
        }
        (Datum::Int(int), _) => int.to_string(),
        (Datum::Numeric(number), _) => number.to_string(),
        (Datum::Real(_) | Datum::Double(_) | Datum::Null, _) => {
            unreachable!("is_castable leaves floats out")
        }
    };
    Datum::text(text)
}

fn shorten(text: Datum<'_>, length: u32) -> Result<Datum<'_>, Rejection> {
    let Datum::Bytes(bytes) = &text else {
        unreachable!("text is bytes");
    };
    let characters = String::from_utf8_lossy(bytes);
    let characters = characters.trim_end_matches(' ').chars().count();
    if characters as u64 <= u64::from(length) {
        return Ok(match text {
            // Blanks beyond the length are cut off, as the standard has it.
            Datum::Bytes(bytes) => Datum::Bytes(cut(bytes, length as usize)),
            other => other,
        });
    }
    Err(Rejection::new(
        code::STRING_DATA_RIGHT_TRUNCATION,
        format!("value too long for type character varying({length})"),
    ))
}

fn cut(bytes: Cow<'_, [u8]>, length: usize) -> Cow<'_, [u8]> {
    let text = String::from_utf8_lossy(&bytes);
    match text.char_indices().nth(length) {
        Some((end, _)) => Cow::Owned(bytes[..end].to_vec()),
        None => {
            drop(text);
            bytes
        }
    }
}

/// A value from text, such as that of a literal.
pub(crate) fn parse<'a>(text: &str, to: SqlType) -> Result<Datum<'a>, Rejection> {
    let blank_free = text.trim();
    let malformed = |code| {
        let name = to.unbounded().name();
        let message = format!("invalid input syntax for type {name}: \"{text}\"");
        Rejection::new(code, message)
    };
    let moment = |parsed: Option<i64>| {
        let bad = || malformed(code::INVALID_DATETIME_FORMAT);
        parsed.map(Datum::Int).ok_or_else(bad)
    };
    let bad = || malformed(code::INVALID_TEXT_REPRESENTATION);
    match to {
        SqlType::Text | SqlType::Varchar(None) => Ok(Datum::text(text)),
        SqlType::Varchar(Some(length)) => shorten(Datum::text(text), length),
        SqlType::Boolean => parse_bool(blank_free).map(Datum::Bool).ok_or_else(bad),
        SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => {
            let number = Numeric::parse(blank_free).ok_or_else(bad)?;
            let has_digits_only = !blank_free.contains(['.', 'e', 'E']);
            let int = number.ok().and_then(Numeric::to_int);
            let int = int.filter(|_| has_digits_only);
            match int {
                Some(int) => int_of(int, to),
                None if has_digits_only => Err(out_of_range(to)),
                None => Err(bad()),
            }
        }
        SqlType::Numeric(digits) => {
            let number = Numeric::parse(blank_free).ok_or_else(bad)??;
            as_numeric(&Datum::Numeric(number), digits)
        }
        SqlType::Real => blank_free.parse().map(Datum::Real).map_err(|_| bad()),
        SqlType::Double => blank_free.parse().map(Datum::Double).map_err(|_| bad()),
        SqlType::Bytea => parse_bytes(text).ok_or_else(bad),
        SqlType::Date => moment(calendar::parse_timestamp(blank_free).map(calendar::day_of)),
        SqlType::Time => moment(calendar::parse_time(blank_free)),
        SqlType::Timestamp => moment(calendar::parse_timestamp(blank_free)),
        SqlType::TimestampTz => moment(calendar::parse_timestamptz(blank_free)),
    }
}

fn parse_bool(text: &str) -> Option<bool> {
    let lower = text.to_ascii_lowercase();
    let begins = |word: &str| !lower.is_empty() && word.starts_with(&lower);
    match lower.as_str() {
        "1" | "on" => Some(true),
        "0" | "of" | "off" => Some(false),
        _ if begins("true") || begins("yes") => Some(true),
        _ if begins("false") || begins("no") => Some(false),
        _ => None,
    }
}

/// Bytes in hexadecimal form, behind `\x`.
fn parse_bytes<'a>(text: &str) -> Option<Datum<'a>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(pair).collect();
    Some(Datum::Bytes(Cow::Owned(bytes?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(result: Result<Datum<'_>, Rejection>) -> String {
        match result {
            Ok(Datum::Bytes(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(datum) => format!("{datum:?}"),
            Err(rejection) => rejection.code.to_owned(),
        }
    }

    #[test]
    fn text_becomes_values_as_in_postgresql() {
        let parsed = |text, to| outcome(parse(text, to));
        assert_eq!(parsed(" 7 ", SqlType::Integer), "Int(7)");
        assert_eq!(parsed("3000000000", SqlType::Integer), "22003");
        assert_eq!(parsed("7.0", SqlType::Integer), "22P02");
        assert_eq!(parsed("yes", SqlType::Boolean), "Bool(true)");
        assert_eq!(parsed("maybe", SqlType::Boolean), "22P02");
        assert_eq!(parsed("1970-01-02", SqlType::Date), "Int(1)");
        assert_eq!(parsed("1970-02-30", SqlType::Date), "22007");
        assert_eq!(parsed("1234.5", SqlType::Numeric(Some((5, 2)))), "22003");
        assert_eq!(parsed("abc", SqlType::Varchar(Some(3))), "abc");
        assert_eq!(parsed("abc  ", SqlType::Varchar(Some(3))), "abc");
        assert_eq!(parsed("abcd", SqlType::Varchar(Some(3))), "22001");
        assert_eq!(parsed("\\x6869", SqlType::Bytea), "hi");
        assert_eq!(parsed("\\x6", SqlType::Bytea), "22P02");
    }

    #[test]
    fn numbers_round_as_in_postgresql() {
        let double = |float, to| outcome(cast(Datum::Double(float), SqlType::Double, to));
        assert_eq!(double(2.5, SqlType::Integer), "Int(2)");
        assert_eq!(double(3e9, SqlType::Integer), "22003");
        assert_eq!(double(1e300, SqlType::Real), "22003");
        assert_eq!(double(f64::NAN, SqlType::Numeric(None)), "22003");
        let number = Numeric {
            unscaled: 25,
            scale: 1,
        };
        let numeric = SqlType::Numeric(None);
        let cast_to = |to| outcome(cast(Datum::Numeric(number), numeric, to));
        assert_eq!(cast_to(SqlType::Integer), "Int(3)");
        assert_eq!(cast_to(SqlType::Text), "2.5");
    }

    #[test]
    fn dates_and_times_become_each_other_and_text() {
        let moment = calendar::parse_timestamp("2026-11-24 12:30:15").expect("a timestamp");
        let to = |to| outcome(cast(Datum::Int(moment), SqlType::Timestamp, to));
        assert_eq!(to(SqlType::Text), "2026-11-24 12:30:15");
        let day = cast(Datum::Int(moment), SqlType::Timestamp, SqlType::Date);
        assert_eq!(
            outcome(cast(day.expect("a date"), SqlType::Date, SqlType::Text)),
            "2026-11-24"
        );
        let far = cast(
            Datum::Int(i32::MAX.into()),
            SqlType::Date,
            SqlType::Timestamp,
        );
        assert_eq!(outcome(far), "22008");
    }
}
