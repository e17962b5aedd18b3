//! Formats, cut into fields and what stands between them; and what a text says by one.

use crate::error::{SqlError, code};
use crate::functions::calendar::{Civil, DAY_US, HOUR_US, MINUTE_US, SECOND_US};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const DAYS: [&str; 7] = [
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];
/// Letters of a short name.
const SHORT: usize = 3;
const YEAR_MAX: i64 = 9999;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// So many digits.
    Year(usize),
    Month,
    MonthName,
    MonthShort,
    Day,
    DayOfYear,
    DayName,
    DayShort,
    Quarter,
    Hour24,
    Hour12,
    Minute,
    Second,
    /// So many digits of the second's fraction.
    Fraction(usize),
    /// Before or after noon, with points or without.
    Half(bool),
    ZoneHour,
    ZoneMinute,
    /// A pattern of PostgreSQL's that is not read here.
    Refused,
}

/// Patterns, those first that begin as others do.
const PATTERNS: [(&str, Field); 37] = [
    ("YYYY", Field::Year(4)),
    ("YYY", Field::Year(3)),
    ("YY", Field::Year(2)),
    ("Y,YYY", Field::Refused),
    ("Y", Field::Year(1)),
    ("MONTH", Field::MonthName),
    ("MON", Field::MonthShort),
    ("MM", Field::Month),
    ("MI", Field::Minute),
    ("MS", Field::Fraction(3)),
    ("DDD", Field::DayOfYear),
    ("DD", Field::Day),
    ("DAY", Field::DayName),
    ("DY", Field::DayShort),
    ("D", Field::Refused),
    ("HH24", Field::Hour24),
    ("HH12", Field::Hour12),
    ("HH", Field::Hour12),
    ("SSSS", Field::Refused),
    ("SS", Field::Second),
    ("US", Field::Fraction(6)),
    ("AM", Field::Half(false)),
    ("PM", Field::Half(false)),
    ("A.M.", Field::Half(true)),
    ("P.M.", Field::Half(true)),
    ("AD", Field::Refused),
    ("BC", Field::Refused),
    ("Q", Field::Quarter),
    ("TZH", Field::ZoneHour),
    ("TZM", Field::ZoneMinute),
    ("TZ", Field::Refused),
    ("CC", Field::Refused),
    ("FF", Field::Refused),
    ("FX", Field::Refused),
    ("I", Field::Refused),
    ("J", Field::Refused),
    ("W", Field::Refused),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// A blank or a separator.
    Between,
    /// A letter that stands for any other.
    Letter(char),
    Field {
        field: Field,
        /// However many digits there are.
        bare: bool,
        /// An ordinal's ending follows.
        ordinal: bool,
    },
}

impl Piece {
    fn begins_with_digit(self) -> bool {
        match self {
            Self::Between => false,
            Self::Letter(letter) => letter.is_ascii_digit(),
            Self::Field { field, .. } => !matches!(
                field,
                Field::MonthName
                    | Field::MonthShort
                    | Field::DayName
                    | Field::DayShort
                    | Field::Half(_)
                    | Field::ZoneHour
            ),
        }
    }
}

/// A format.
#[derive(Clone, Debug)]
pub(super) struct Format {
    pieces: Vec<Piece>,
}

impl Format {
    pub(super) fn new(format: &str) -> Result<Self, SqlError> {
        let mut pieces = Vec::new();
        let mut rest = format;
        while let Some(first) = rest.chars().next() {
            if let Some(quoted) = rest.strip_prefix('"') {
                let (text, after) = quoted.split_once('"').unwrap_or((quoted, ""));
                pieces.extend(text.chars().map(Piece::Letter));
                rest = after;
                continue;
            }
            let bare = rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm"));
            let found = pattern(bare.unwrap_or(rest));
            if let Some((pattern, field)) = found {
                if field == Field::Refused {
                    let what = format!("the pattern {pattern} of to_date and to_timestamp");
                    return Err(SqlError::not_supported(what));
                }
                rest = &bare.unwrap_or(rest)[pattern.len()..];
                let after = rest.strip_prefix("TH").or_else(|| rest.strip_prefix("th"));
                rest = after.unwrap_or(rest);
                pieces.push(Piece::Field {
                    field,
                    bare: bare.is_some(),
                    ordinal: after.is_some(),
                });
            } else if let Some(after) = bare {
                rest = after;
            } else {
                pieces.push(match first.is_ascii_whitespace() || is_separator(first) {
                    true => Piece::Between,
                    false => Piece::Letter(first),
                });
                rest = &rest[first.len_utf8()..];
            }
        }
        Ok(Self { pieces })
    }

    /// The moment that a text says, in microseconds.
    pub(super) fn read(&self, text: &str) -> Result<i64, SqlError> {
        let mut reader = Reader::new(text);
        for (at, piece) in self.pieces.iter().enumerate() {
            if at == 0 || matches!(piece, Piece::Field { .. }) {
                reader.skip_blanks();
            }
            if reader.rest.is_empty() {
                break;
            }
            match *piece {
                Piece::Between => reader.between(),
                Piece::Letter(_) => reader.letter(),
                Piece::Field {
                    field,
                    bare,
                    ordinal,
                } => {
                    let next = self.pieces.get(at + 1);
                    let ends = next.is_none_or(|next| !next.begins_with_digit());
                    reader.field(field, bare || ordinal || ends)?;
                    if ordinal {
                        reader.advance(2);
                    }
                    reader.skipped = 0;
                    reader.skip_blanks();
                }
            }
        }
        reader.said.moment(text)
    }
}

/// The pattern that a format begins with: in capitals, in small letters, or a name with a capital.
fn pattern(format: &str) -> Option<(&'static str, Field)> {
    PATTERNS.into_iter().find(|(pattern, field)| {
        let Some(written) = format.get(..pattern.len()) else {
            return false;
        };
        let is_name = matches!(
            field,
            Field::MonthName | Field::MonthShort | Field::DayName | Field::DayShort
        );
        let lower = pattern.to_ascii_lowercase();
        let capital = format!("{}{}", &pattern[..1], &lower[1..]);
        written == *pattern || written == lower || is_name && written == capital
    })
}

fn is_separator(letter: char) -> bool {
    letter.is_ascii_graphic() && !letter.is_ascii_alphanumeric()
}

/// What a text says so far. `None` and zero are the same, as in PostgreSQL.
#[derive(Debug, Default)]
struct Said {
    year: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    hour: i64,
    /// The hour is one of twelve.
    half_days: bool,
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    millis: i64,
    micros: i64,
    zone_sign: i64,
    zone_hour: i64,
    zone_minute: i64,
}

impl Said {
    fn moment(&self, text: &str) -> Result<i64, SqlError> {
        let out_of_range = || {
            let message = format!("date/time field value out of range: \"{text}\"");
            SqlError::new(code::DATETIME_FIELD_OVERFLOW, message)
        };
        let within = |value: i64, max: i64| (0..=max).contains(&value);
        let hour = self.hour_of_day()?;
        let time_fits = within(hour, 23) && within(self.minute, 59) && within(self.second, 59);
        let zone_fits = within(self.zone_hour, 15) && within(self.zone_minute, 59);
        if !time_fits || !zone_fits || !(-YEAR_MAX..=YEAR_MAX).contains(&self.year) {
            return Err(out_of_range());
        }
        let days = self.days()?.ok_or_else(out_of_range)?;
        let zone = self.zone_sign * (self.zone_hour * HOUR_US + self.zone_minute * MINUTE_US);
        let time = hour * HOUR_US + self.minute * MINUTE_US + self.second * SECOND_US;
        Ok(days * DAY_US + time + self.millis * 1000 + self.micros - zone)
    }

    fn hour_of_day(&self) -> Result<i64, SqlError> {
        if !self.half_days {
            return Ok(self.hour);
        }
        if !(1..=12).contains(&self.hour) {
            let message = format!("hour \"{}\" is invalid for the 12-hour clock", self.hour);
            return Err(SqlError::new(code::INVALID_DATETIME_FORMAT, message)
                .with_hint("Use the 24-hour clock, or give an hour between 1 and 12."));
        }
        Ok(match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        })
    }

    /// Days since 1970; `None` if there is no such day.
    fn days(&self) -> Result<Option<i64>, SqlError> {
        let (mut month, mut day) = (self.month.max(1), self.day.max(1));
        if self.month < 0 || self.day < 0 || month > 12 {
            return Ok(None);
        }
        if self.day_of_year != 0 && (month <= 1 || day <= 1) {
            if self.year == 0 {
                let message = "cannot calculate day of year without year information";
                return Err(SqlError::new(code::INVALID_DATETIME_FORMAT, message));
            }
            let first = Civil::days_of(self.year, 1, 1);
            let length = Civil::days_of(self.year + 1, 1, 1) - first;
            if !(1..=length).contains(&self.day_of_year) {
                return Ok(None);
            }
            let civil = Civil::of_days(first + self.day_of_year - 1);
            month = if month <= 1 { civil.month } else { month };
            day = if day <= 1 { civil.day } else { day };
        }
        let exists = day <= Civil::days_in_month(self.year, month);
        Ok(exists.then(|| Civil::days_of(self.year, month, day)))
    }
}

struct Reader<'t> {
    rest: &'t str,
    /// The letter before the rest.
    last: char,
    /// Letters passed over beyond those that the format has.
    skipped: i32,
    said: Said,
}

impl<'t> Reader<'t> {
    fn new(rest: &'t str) -> Self {
        Self {
            rest,
            last: ' ',
            skipped: 0,
            said: Said::default(),
        }
    }

    fn advance(&mut self, letters: usize) {
        for _ in 0..letters {
            let Some(first) = self.rest.chars().next() else {
                return;
            };
            self.last = first;
            self.rest = &self.rest[first.len_utf8()..];
        }
    }

    fn skip_blanks(&mut self) {
        while self
            .rest
            .starts_with(|letter: char| letter.is_ascii_whitespace())
        {
            self.advance(1);
            self.skipped += 1;
        }
    }

    fn between(&mut self) {
        let there = |letter: char| letter.is_ascii_whitespace() || is_separator(letter);
        if self.rest.starts_with(there) {
            self.advance(1);
        } else {
            self.skipped -= 1;
        }
    }

    fn letter(&mut self) {
        if self.skipped > 0 {
            self.skipped -= 1;
        } else {
            self.advance(1);
        }
    }

    fn field(&mut self, field: Field, open: bool) -> Result<(), SqlError> {
        match field {
            Field::Year(digits) => {
                let (year, written) = self.number(digits, open)?;
                let whole = digits == 4 || written >= 4;
                set(
                    &mut self.said.year,
                    if whole { year } else { near_2020(year) },
                )
            }
            Field::Month => {
                let (month, _) = self.number(2, open)?;
                set(&mut self.said.month, month)
            }
            Field::MonthName => {
                let month = self.name(&MONTHS, usize::MAX)?;
                set(&mut self.said.month, month + 1)
            }
            Field::MonthShort => {
                let month = self.name(&MONTHS, SHORT)?;
                set(&mut self.said.month, month + 1)
            }
            Field::Day => {
                let (day, _) = self.number(2, open)?;
                set(&mut self.said.day, day)
            }
            Field::DayOfYear => {
                let (day, _) = self.number(3, open)?;
                set(&mut self.said.day_of_year, day)
            }
            Field::DayName => self.name(&DAYS, usize::MAX).map(|_| ()),
            Field::DayShort => self.name(&DAYS, SHORT).map(|_| ()),
            Field::Quarter => self.number(1, open).map(|_| ()),
            Field::Hour24 | Field::Hour12 => {
                let (hour, _) = self.number(2, open)?;
                self.said.half_days |= field == Field::Hour12;
                set(&mut self.said.hour, hour)
            }
            Field::Minute => {
                let (minute, _) = self.number(2, open)?;
                set(&mut self.said.minute, minute)
            }
            Field::Second => {
                let (second, _) = self.number(2, open)?;
                set(&mut self.said.second, second)
            }
            Field::Fraction(digits) => self.fraction(digits, open),
            Field::Half(points) => self.half(points),
            Field::ZoneHour => {
                self.zone_sign();
                let (hour, _) = self.number(2, open)?;
                set(&mut self.said.zone_hour, hour)
            }
            Field::ZoneMinute => {
                if self.said.zone_sign == 0 {
                    self.said.zone_sign = 1;
                }
                let (minute, _) = self.number(2, open)?;
                set(&mut self.said.zone_minute, minute)
            }
            Field::Refused => unreachable!("a format has none"),
        }
    }

    fn fraction(&mut self, digits: usize, open: bool) -> Result<(), SqlError> {
        let (mut part, written) = self.number(digits, open)?;
        for _ in written..digits {
            part *= 10;
        }
        match digits {
            3 => set(&mut self.said.millis, part),
            _ => set(&mut self.said.micros, part),
        }
    }

    fn half(&mut self, points: bool) -> Result<(), SqlError> {
        let names: [&str; 2] = if points {
            ["a.m.", "p.m."]
        } else {
            ["am", "pm"]
        };
        let half = self.name(&names, usize::MAX)?;
        self.said.afternoon = Some(half == 1);
        self.said.half_days = true;
        Ok(())
    }

    /// A minus may have been passed over as a separator.
    fn zone_sign(&mut self) {
        let minus = match self.rest.chars().next() {
            Some(sign @ ('+' | '-' | ' ')) => {
                self.advance(1);
                sign == '-'
            }
            _ => self.skipped > 0 && self.last == '-',
        };
        self.said.zone_sign = if minus { -1 } else { 1 };
    }

    /// A number of so many digits, or of all that there are, and how many letters it has.
    fn number(&mut self, digits: usize, open: bool) -> Result<(i64, usize), SqlError> {
        let limit = if open { usize::MAX } else { digits };
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let in_number = self.rest.bytes().enumerate();
        let length = in_number
            .take_while(|(at, byte)| *at < limit && (*at < sign || byte.is_ascii_digit()))
            .count();
        let too_short = !open && length < digits;
        if length == sign || too_short {
            return Err(invalid(self.rest));
        }
        let number = self.rest[..length].parse::<i32>();
        let number = number.map_err(|_| {
            let message = format!(
                "value for \"{}\" in source string is out of range",
                self.rest
            );
            SqlError::new(code::DATETIME_FIELD_OVERFLOW, message)
        })?;
        self.advance(length);
        Ok((i64::from(number), length))
    }

    /// Which of these names comes, of which so many letters are written.
    fn name(&mut self, names: &[&str], letters: usize) -> Result<i64, SqlError> {
        for (which, name) in (0..).zip(names) {
            let name = &name[..name.len().min(letters)];
            let written = self.rest.get(..name.len());
            if written.is_some_and(|written| written.eq_ignore_ascii_case(name)) {
                self.advance(name.len());
                return Ok(which);
            }
        }
        Err(invalid(self.rest))
    }
}

fn invalid(text: &str) -> SqlError {
    let message = format!("invalid value \"{text}\" for a field of the format");
    SqlError::new(code::INVALID_DATETIME_FORMAT, message)
}

/// A field that comes twice has to say the same.
fn set(field: &mut i64, value: i64) -> Result<(), SqlError> {
    if *field != 0 && *field != value {
        let message = "conflicting values for a field in the formatting string";
        return Err(SqlError::new(code::INVALID_DATETIME_FORMAT, message)
            .with_detail("This value contradicts a previous setting for the same field type."));
    }
    *field = value;
    Ok(())
}

/// A year of less than four digits is one near 2020.
fn near_2020(year: i64) -> i64 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, format: &str) -> Result<i64, &'static str> {
        let format = Format::new(format).map_err(|error| error.code)?;
        format.read(text).map_err(|error| error.code)
    }

    #[test]
    fn separators_and_blanks_are_taken_lightly() {
        let day = Civil::days_of(2024, 1, 5) * DAY_US;
        for (text, format) in [
            ("2024-01-05", "YYYY-MM-DD"),
            ("20240105", "YYYYMMDD"),
            ("2024/1/5", "yyyy-mm-dd"),
            (" 2024  -  01 05 more", "YYYY-MM-DD"),
            ("January   5, 2024", "FMMonth DD, YYYY"),
            ("5 of jan 24", "DD \"of\" Mon YY"),
            ("2024 5", "YYYY DDD"),
        ] {
            assert_eq!(read(text, format), Ok(day), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_date_says_why() {
        for (text, format, code) in [
            ("2024-02-30", "YYYY-MM-DD", "22008"),
            ("abc", "YYYY", "22007"),
            ("2024-Xxx", "YYYY-Mon", "22007"),
            ("13", "HH12", "22007"),
            ("25", "HH24", "22008"),
            ("2024", "J", "0A000"),
        ] {
            assert_eq!(read(text, format), Err(code), "{text}");
        }
    }
}
