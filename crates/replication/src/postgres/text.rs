//! PostgreSQL's text form of values, parsed into columns.
//!
//! The same parsers serve COPY and the replication stream, which print values alike under the
//! session settings of [`super::connection`]: ISO dates, UTC, hexadecimal bytea, shortest
//! floats. A value either parses exactly or is an error that names it: nothing is rounded,
//! clipped or made NULL. The error says whether the column could hold it as text; then that is what
//! becomes of the column (see [`super::changes`]).
//!
//! The hot types are parsed by hand, byte by byte, because a general parser costs several times
//! more than the rest of decoding a row.

use types::{Column, ColumnBuilder, ColumnType, TableSchema};

use super::types::is_blank_padded;

const DAY_US: i64 = 86_400_000_000;
/// Days from 0000-03-01 of the proleptic Gregorian calendar to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;
/// Characters of a value that an error shows at most.
const SHOWN_CHARACTERS: usize = 80;

/// A value that its column cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "column \"{column}\" has the value {text:?}, which cannot be stored as {}",
    shown_type(*.column_type)
)]
pub struct CellError {
    /// The column.
    pub column: String,
    /// The value, shortened.
    pub text: String,
    /// What was expected.
    pub column_type: ColumnType,
}

impl CellError {
    /// Whether the value could be kept as its text.
    pub fn fits_text(&self) -> bool {
        self.column_type != ColumnType::Text
    }
}

fn shown_type(column_type: ColumnType) -> String {
    match column_type {
        ColumnType::Decimal { precision, scale } => format!("numeric({precision},{scale})"),
        column_type => format!("{column_type:?}").to_lowercase(),
    }
}

/// How a column's values are parsed.
#[derive(Clone, Debug)]
pub struct CellParser {
    column: String,
    column_type: ColumnType,
    trim_blanks: bool,
}

/// The text is not a value of the type.
struct NotAValue;

impl CellParser {
    /// The parsers of a table's source columns, in order.
    pub fn for_schema(schema: &TableSchema) -> Vec<Self> {
        let columns = schema.columns.iter().filter(|c| !c.hidden);
        columns.map(Self::new).collect()
    }

    /// The parser of a column.
    pub fn new(column: &Column) -> Self {
        Self {
            column: column.name.clone(),
            column_type: column.column_type,
            trim_blanks: is_blank_padded(column.source_type.oid),
        }
    }

    /// Appends one value. On an error nothing was appended.
    #[inline]
    pub fn append(&self, text: &[u8], builder: &mut ColumnBuilder) -> Result<(), CellError> {
        self.try_append(text, builder)
            .map_err(|NotAValue| self.error(text))
    }

    #[inline]
    fn try_append(&self, text: &[u8], builder: &mut ColumnBuilder) -> Result<(), NotAValue> {
        match builder {
            ColumnBuilder::Int32(b) => b.append_value(narrow(parse_integer(text)?)?),
            ColumnBuilder::Int64(b) => b.append_value(parse_integer(text)?),
            ColumnBuilder::Int16(b) => b.append_value(narrow(parse_integer(text)?)?),
            ColumnBuilder::Text(b) => b.append_value(self.parse_text(text)?),
            ColumnBuilder::Decimal(b) => b.append_value(self.parse_decimal(text)?),
            ColumnBuilder::Bool(b) => b.append_value(parse_bool(text)?),
            ColumnBuilder::Date(b) => b.append_value(parse_date(text)?),
            ColumnBuilder::Time(b) => b.append_value(parse_time(text)?),
            ColumnBuilder::Timestamp(b) => b.append_value(parse_timestamp(text)?),
            ColumnBuilder::Float32(b) => b.append_value(parse_float(text)?),
            ColumnBuilder::Float64(b) => b.append_value(parse_float(text)?),
            ColumnBuilder::Bytes(b) => b.append_value(parse_bytea(text)?),
            ColumnBuilder::UInt64(b) => {
                b.append_value(u64::try_from(parse_integer(text)?).map_err(|_| NotAValue)?);
            }
        }
        Ok(())
    }

    fn parse_text<'a>(&self, text: &'a [u8]) -> Result<&'a str, NotAValue> {
        let text = if self.trim_blanks {
            trim_blanks(text)
        } else {
            text
        };
        str::from_utf8(text).map_err(|_| NotAValue)
    }

    fn parse_decimal(&self, text: &[u8]) -> Result<i128, NotAValue> {
        match self.column_type {
            ColumnType::Decimal { precision, scale } => parse_decimal(text, precision, scale),
            _ => Err(NotAValue),
        }
    }

    #[cold]
    fn error(&self, text: &[u8]) -> CellError {
        let text = String::from_utf8_lossy(text);
        let mut shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        CellError {
            column: self.column.clone(),
            text: shown,
            column_type: self.column_type,
        }
    }
}

fn trim_blanks(text: &[u8]) -> &[u8] {
    let end = text
        .iter()
        .rposition(|&b| b != b' ')
        .map_or(0, |last| last + 1);
    &text[..end]
}

fn narrow<T: TryFrom<i64>>(value: i64) -> Result<T, NotAValue> {
    T::try_from(value).map_err(|_| NotAValue)
}

/// Splits a minus sign off.
#[inline]
fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        text => (false, text),
    }
}

#[inline]
fn digit(byte: u8) -> Result<u8, NotAValue> {
    let digit = byte.wrapping_sub(b'0');
    if digit < 10 {
        Ok(digit)
    } else {
        Err(NotAValue)
    }
}

#[inline]
fn parse_integer(text: &[u8]) -> Result<i64, NotAValue> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() || digits.len() > 19 {
        return Err(NotAValue);
    }
    // Nineteen digits always fit.
    let mut value = 0_u64;
    for &byte in digits {
        value = value * 10 + u64::from(digit(byte)?);
    }
    let value = if negative {
        0_i64.checked_sub_unsigned(value)
    } else {
        i64::try_from(value).ok()
    };
    value.ok_or(NotAValue)
}

/// Digits alone, at most nine.
#[inline]
fn parse_digits(digits: &[u8]) -> Result<u32, NotAValue> {
    if digits.is_empty() || digits.len() > 9 {
        return Err(NotAValue);
    }
    digits
        .iter()
        .try_fold(0, |value, &byte| Ok(value * 10 + u32::from(digit(byte)?)))
}

/// The unscaled integer of a decimal with exactly `scale` places.
fn parse_decimal(text: &[u8], precision: u8, scale: i8) -> Result<i128, NotAValue> {
    let (negative, digits) = split_sign(text);
    let scale = usize::try_from(scale).map_err(|_| NotAValue)?;
    let point = digits.iter().position(|&b| b == b'.');
    let (whole, fraction) = match point {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, &[][..]),
    };
    if whole.is_empty() || fraction.len() > scale || (point.is_some() && fraction.is_empty()) {
        return Err(NotAValue);
    }
    let value = append_digits(append_digits(0, whole)?, fraction)?;
    let value = 10_i128
        .checked_pow((scale - fraction.len()) as u32)
        .and_then(|factor| value.checked_mul(factor))
        .filter(|&value| value < 10_i128.pow(u32::from(precision)))
        .ok_or(NotAValue)?;
    Ok(if negative { -value } else { value })
}

/// `value` with decimal digits appended, in 64-bit steps as long as they fit.
fn append_digits(value: i128, digits: &[u8]) -> Result<i128, NotAValue> {
    digits.chunks(18).try_fold(value, |value, chunk| {
        let mut low = 0_u64;
        for &byte in chunk {
            low = low * 10 + u64::from(digit(byte)?);
        }
        if value == 0 {
            return Ok(i128::from(low));
        }
        let factor = 10_i128.pow(chunk.len() as u32);
        let shifted = value.checked_mul(factor).ok_or(NotAValue)?;
        shifted.checked_add(i128::from(low)).ok_or(NotAValue)
    })
}

fn parse_bool(text: &[u8]) -> Result<bool, NotAValue> {
    match text {
        b"t" => Ok(true),
        b"f" => Ok(false),
        _ => Err(NotAValue),
    }
}

fn parse_float<T: std::str::FromStr>(text: &[u8]) -> Result<T, NotAValue> {
    // Rust's parser is exact and knows NaN and Infinity as PostgreSQL spells them; its other
    // spellings never come from a server.
    str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(NotAValue)
}

/// Splits ` BC` off.
fn split_era(text: &[u8]) -> (bool, &[u8]) {
    match text.strip_suffix(b" BC") {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

fn parse_date(text: &[u8]) -> Result<i32, NotAValue> {
    match text {
        b"infinity" => return Ok(i32::MAX),
        b"-infinity" => return Ok(i32::MIN),
        _ => {}
    }
    let (before_christ, text) = split_era(text);
    let days = parse_calendar_day(text, before_christ)?;
    i32::try_from(days)
        .ok()
        .filter(|&d| d != i32::MAX && d != i32::MIN)
        .ok_or(NotAValue)
}

/// `year-month-day` as days since 1970-01-01; the year has four digits or more.
fn parse_calendar_day(text: &[u8], before_christ: bool) -> Result<i64, NotAValue> {
    let year_bytes = text
        .len()
        .checked_sub(6)
        .filter(|&n| n >= 4)
        .ok_or(NotAValue)?;
    let (year, rest) = text.split_at(year_bytes);
    let [b'-', m1, m2, b'-', d1, d2] = *rest else {
        return Err(NotAValue);
    };
    let year = i64::from(parse_digits(year)?);
    let (month, day) = (parse_digits(&[m1, m2])?, parse_digits(&[d1, d2])?);
    let year = if before_christ { 1 - year } else { year };
    let days = month
        .checked_sub(1)
        .and_then(|m| days_in_month(year, m))
        .ok_or(NotAValue)?;
    if day == 0 || day > days {
        return Err(NotAValue);
    }
    Ok(days_since_1970(year, i64::from(month), i64::from(day)))
}

/// The length of a month (0 = January), if there is such a month.
fn days_in_month(year: i64, month: u32) -> Option<u32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if leap { 29 } else { 28 };
    [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        .get(month as usize)
        .copied()
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar: years begin in March, so that the
/// leap day is the last of its year, and come in eras of 400.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - DAYS_TO_1970
}

/// `hour:minute:second[.fraction]` as microseconds since midnight, 24:00:00 included.
fn parse_time(text: &[u8]) -> Result<i64, NotAValue> {
    let [h1, h2, b':', m1, m2, b':', s1, s2, fraction @ ..] = text else {
        return Err(NotAValue);
    };
    let two = |a: u8, b: u8| parse_digits(&[a, b]).map(i64::from);
    let (hour, minute, second) = (two(*h1, *h2)?, two(*m1, *m2)?, two(*s1, *s2)?);
    if minute > 59 || second > 60 {
        return Err(NotAValue);
    }
    let time = ((hour * 60 + minute) * 60 + second) * 1_000_000 + parse_fraction(fraction)?;
    if time <= DAY_US {
        Ok(time)
    } else {
        Err(NotAValue)
    }
}

/// `.digits`, at most six, as microseconds; nothing is zero.
fn parse_fraction(text: &[u8]) -> Result<i64, NotAValue> {
    match text {
        [] => Ok(0),
        [b'.', digits @ ..] if digits.len() <= 6 => {
            let missing = 6 - digits.len() as u32;
            Ok(i64::from(parse_digits(digits)?) * 10_i64.pow(missing))
        }
        _ => Err(NotAValue),
    }
}

/// `date time[offset][ BC]` as microseconds since 1970-01-01 (UTC where there is an offset).
fn parse_timestamp(text: &[u8]) -> Result<i64, NotAValue> {
    match text {
        b"infinity" => return Ok(i64::MAX),
        b"-infinity" => return Ok(i64::MIN),
        _ => {}
    }
    let (before_christ, text) = split_era(text);
    let space = text.iter().position(|&b| b == b' ').ok_or(NotAValue)?;
    let (date, time) = (&text[..space], &text[space + 1..]);
    let (time, offset) = match time.iter().position(|&b| b == b'+' || b == b'-') {
        Some(at) => (&time[..at], parse_offset(&time[at..])?),
        None => (time, 0),
    };
    let days = parse_calendar_day(date, before_christ)?;
    let within_day = parse_time(time)? - offset;
    days.checked_mul(DAY_US)
        .and_then(|value| value.checked_add(within_day))
        .filter(|&value| value != i64::MAX && value != i64::MIN)
        .ok_or(NotAValue)
}

/// `±hh[:mm[:ss]]` as microseconds.
fn parse_offset(text: &[u8]) -> Result<i64, NotAValue> {
    let (sign, text) = text.split_first().ok_or(NotAValue)?;
    let mut seconds = 0;
    let mut unit = 3600;
    for part in text.split(|&b| b == b':') {
        if part.len() != 2 || unit == 0 {
            return Err(NotAValue);
        }
        seconds += i64::from(parse_digits(part)?) * unit;
        unit /= 60;
    }
    Ok(if *sign == b'-' { -seconds } else { seconds } * 1_000_000)
}

/// `\x` and two hexadecimal digits a byte.
fn parse_bytea(text: &[u8]) -> Result<Vec<u8>, NotAValue> {
    let digits = text.strip_prefix(b"\\x").ok_or(NotAValue)?;
    if digits.len() % 2 != 0 {
        return Err(NotAValue);
    }
    let nibble = |byte: u8| char::from(byte).to_digit(16).ok_or(NotAValue);
    digits
        .chunks_exact(2)
        .map(|pair| Ok((nibble(pair[0])? << 4 | nibble(pair[1])?) as u8))
        .collect()
}

#[cfg(test)]
mod tests;
