//! Templates of moments, cut into fields and the text between them.
//!
//! Known are the patterns of years (`YYYY`, `YYY`, `YY`, `Y`, `Y,YYY`, `IYYY`, `BC`), months (`MM`, `Mon`, `Month`, `RM`), days (`DD`,
//! `DDD`, `IDDD`, `D`, `ID`, `Dy`, `Day`, `J`), weeks (`WW`, `IW`, `W`), quarters (`Q`), centuries (`CC`), times
//! (`HH24`, `HH12`, `HH`, `MI`, `SS`, `SSSS`, `MS`, `US`, `FF1` to `FF6`, `AM`, `PM`, `a.m.`), `FM` in front, `TH`
//! behind, and text in double quotes. Everything else stands for itself, as in PostgreSQL. [`interval`] has what they mean for intervals.
//!
//! Does not: zones (`TZ`, `OF`) and `TM`, which stand for themselves, too.

mod interval;

use std::fmt::Write;

use crate::functions::calendar::{Civil, DAY_US, HOUR_US, MINUTE_US, SECOND_US};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
/// Names in full are padded to the longest one's length.
const NAME_LENGTH: usize = 9;
const ROMAN: [&str; 12] = [
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII",
];
const ROMAN_LENGTH: usize = 4;
/// The Julian day of 1970-01-01.
const JULIAN_1970: i64 = 2_440_588;
/// Digits of a second's fraction.
const FRACTION_DIGITS: u32 = 6;

/// How the letters of a name are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Letters {
    Upper,
    Capital,
    Lower,
}

impl Letters {
    fn of(self, name: &str) -> String {
        match self {
            Self::Upper => name.to_ascii_uppercase(),
            Self::Capital => name.to_owned(),
            Self::Lower => name.to_ascii_lowercase(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// The last so many digits.
    Year(u32),
    IsoYear(u32),
    /// With a comma behind the thousands.
    YearInGroups,
    /// Before or after the year 1; with points or without.
    Era(Letters, bool),
    Century,
    Quarter,
    Month,
    MonthName(Letters),
    MonthShort(Letters),
    MonthRoman(Letters),
    IsoWeek,
    Week,
    WeekOfMonth,
    DayOfYear,
    IsoDayOfYear,
    /// The Julian day.
    Julian,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    DayName(Letters),
    DayShort(Letters),
    Hour24,
    Hour12,
    Minute,
    Second,
    SecondOfDay,
    /// The first so many digits of the second's fraction.
    Fraction(u32),
    /// Before or after noon; with points or without.
    Half(Letters, bool),
}

impl Field {
    /// Whether it has all of its digits with `FM`, too.
    fn is_always_filled(self) -> bool {
        matches!(self, Self::Fraction(_) | Self::Year(1))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field {
        field: Field,
        /// Without zeros and blanks that only fill.
        bare: bool,
        /// An ordinal's ending, and whether in capitals.
        ordinal: Option<bool>,
    },
}

/// Patterns, the longer before the shorter that it starts with. Numbers are recognised in either
/// case, names in each.
const NUMBERS: [(&str, Field); 36] = [
    ("Y,YYY", Field::YearInGroups),
    ("YYYY", Field::Year(4)),
    ("YYY", Field::Year(3)),
    ("YY", Field::Year(2)),
    ("Y", Field::Year(1)),
    ("IYYY", Field::IsoYear(4)),
    ("IYY", Field::IsoYear(3)),
    ("IY", Field::IsoYear(2)),
    ("IDDD", Field::IsoDayOfYear),
    ("ID", Field::IsoDayOfWeek),
    ("IW", Field::IsoWeek),
    ("I", Field::IsoYear(1)),
    ("J", Field::Julian),
    ("CC", Field::Century),
    ("Q", Field::Quarter),
    ("MM", Field::Month),
    ("WW", Field::Week),
    ("W", Field::WeekOfMonth),
    ("DDD", Field::DayOfYear),
    ("DD", Field::Day),
    ("D", Field::DayOfWeek),
    ("HH24", Field::Hour24),
    ("HH12", Field::Hour12),
    ("HH", Field::Hour12),
    ("MI", Field::Minute),
    ("SSSSS", Field::SecondOfDay),
    ("SSSS", Field::SecondOfDay),
    ("SS", Field::Second),
    ("MS", Field::Fraction(3)),
    ("US", Field::Fraction(6)),
    ("FF1", Field::Fraction(1)),
    ("FF2", Field::Fraction(2)),
    ("FF3", Field::Fraction(3)),
    ("FF4", Field::Fraction(4)),
    ("FF5", Field::Fraction(5)),
    ("FF6", Field::Fraction(6)),
];
const NAMES: [(&str, Field); 30] = [
    ("MONTH", Field::MonthName(Letters::Upper)),
    ("Month", Field::MonthName(Letters::Capital)),
    ("month", Field::MonthName(Letters::Lower)),
    ("MON", Field::MonthShort(Letters::Upper)),
    ("Mon", Field::MonthShort(Letters::Capital)),
    ("mon", Field::MonthShort(Letters::Lower)),
    ("DAY", Field::DayName(Letters::Upper)),
    ("Day", Field::DayName(Letters::Capital)),
    ("day", Field::DayName(Letters::Lower)),
    ("DY", Field::DayShort(Letters::Upper)),
    ("Dy", Field::DayShort(Letters::Capital)),
    ("dy", Field::DayShort(Letters::Lower)),
    ("RM", Field::MonthRoman(Letters::Upper)),
    ("rm", Field::MonthRoman(Letters::Lower)),
    ("BC", Field::Era(Letters::Upper, false)),
    ("AD", Field::Era(Letters::Upper, false)),
    ("bc", Field::Era(Letters::Lower, false)),
    ("ad", Field::Era(Letters::Lower, false)),
    ("B.C.", Field::Era(Letters::Upper, true)),
    ("A.D.", Field::Era(Letters::Upper, true)),
    ("b.c.", Field::Era(Letters::Lower, true)),
    ("a.d.", Field::Era(Letters::Lower, true)),
    ("AM", Field::Half(Letters::Upper, false)),
    ("PM", Field::Half(Letters::Upper, false)),
    ("am", Field::Half(Letters::Lower, false)),
    ("pm", Field::Half(Letters::Lower, false)),
    ("A.M.", Field::Half(Letters::Upper, true)),
    ("P.M.", Field::Half(Letters::Upper, true)),
    ("a.m.", Field::Half(Letters::Lower, true)),
    ("p.m.", Field::Half(Letters::Lower, true)),
];

/// A template cut into pieces.
#[derive(Debug)]
pub(super) struct MomentTemplate {
    pieces: Vec<Piece>,
}

impl MomentTemplate {
    pub(super) fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if first == '"' {
                let (quoted, after) = quoted(&rest[1..]);
                push_text(&mut pieces, &quoted);
                rest = after;
                continue;
            }
            if let Some(after) = rest.strip_prefix("\\\"") {
                push_text(&mut pieces, "\"");
                rest = after;
                continue;
            }
            let bare = rest
                .get(..2)
                .is_some_and(|two| two.eq_ignore_ascii_case("FM"));
            let at = if bare { &rest[2..] } else { rest };
            match field(at) {
                Some((field, length)) => {
                    let mut after = &at[length..];
                    let ordinal = ordinal(after);
                    if ordinal.is_some() {
                        after = &after[2..];
                    }
                    pieces.push(Piece::Field {
                        field,
                        bare,
                        ordinal,
                    });
                    rest = after;
                }
                None if bare => rest = at,
                None => {
                    push_text(&mut pieces, &rest[..first.len_utf8()]);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        Self { pieces }
    }

    /// Appends the text of a moment, in microseconds since 1970-01-01.
    pub(super) fn write(&self, micros: i64, out: &mut String) {
        let moment = Moment::new(micros);
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Field {
                    field,
                    bare,
                    ordinal,
                } => moment.write(*field, *bare, *ordinal, out),
            }
        }
    }
}

/// The text up to the next quote, and what is behind that. A backslash takes the meaning from the character behind it.
fn quoted(text: &str) -> (String, &str) {
    let mut quoted = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => quoted.extend(characters.next()),
            character => quoted.push(character),
        }
    }
    (quoted, characters.as_str())
}

fn push_text(pieces: &mut Vec<Piece>, more: &str) {
    match pieces.last_mut() {
        Some(Piece::Text(text)) => text.push_str(more),
        _ => pieces.push(Piece::Text(more.to_owned())),
    }
}

/// The field whose pattern a text starts with, and the pattern's length.
fn field(text: &str) -> Option<(Field, usize)> {
    let name = NAMES.iter().find(|(pattern, _)| text.starts_with(pattern));
    let number = || {
        NUMBERS.iter().find(|(pattern, _)| {
            let start = text.get(..pattern.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(pattern))
        })
    };
    name.or_else(number)
        .map(|(pattern, field)| (*field, pattern.len()))
}

fn ordinal(text: &str) -> Option<bool> {
    match text.get(..2) {
        Some("TH") => Some(true),
        Some("th") => Some(false),
        _ => None,
    }
}

/// A moment's parts.
struct Moment {
    days: i64,
    time: i64,
    civil: Civil,
}

impl Moment {
    fn new(micros: i64) -> Self {
        let days = micros.div_euclid(DAY_US);
        Self {
            days,
            time: micros.rem_euclid(DAY_US),
            civil: Civil::of_days(days),
        }
    }

    fn day_of_year(&self) -> i64 {
        self.days - Civil::days_of(self.civil.year, 1, 1) + 1
    }

    /// From Sunday, 0.
    fn day_of_week(&self) -> i64 {
        (self.days + 4).rem_euclid(7)
    }

    fn write(&self, field: Field, bare: bool, ordinal: Option<bool>, out: &mut String) {
        let month = (self.civil.month - 1) as usize;
        let day = DAYS[self.day_of_week() as usize];
        let width = if bare { 0 } else { NAME_LENGTH };
        match field {
            Field::MonthName(letters) => push_padded(&letters.of(MONTHS[month]), width, out),
            Field::DayName(letters) => push_padded(&letters.of(day), width, out),
            Field::MonthShort(letters) => out.push_str(&letters.of(&MONTHS[month][..3])),
            Field::DayShort(letters) => out.push_str(&letters.of(&day[..3])),
            Field::MonthRoman(letters) => push_roman(month, letters, bare, out),
            Field::Half(letters, points) => {
                push_half(self.time < 12 * HOUR_US, letters, points, out);
            }
            Field::Era(letters, points) => {
                let era = match (self.civil.year > 0, points) {
                    (true, false) => "AD",
                    (false, false) => "BC",
                    (true, true) => "A.D.",
                    (false, true) => "B.C.",
                };
                out.push_str(&letters.of(era));
            }
            Field::YearInGroups => push_in_groups(counted(self.civil.year), ordinal, out),
            field => {
                let (number, digits) = self.number(field);
                let is_filled = !bare || field.is_always_filled();
                push_number(number, if is_filled { digits } else { 0 }, ordinal, out);
            }
        }
    }

    /// A field that is a number, and how many digits it has at least.
    fn number(&self, field: Field) -> (i64, usize) {
        let year = |year: i64, digits: u32| match digits {
            4 => (counted(year), 4),
            digits => (counted(year) % 10_i64.pow(digits), digits as usize),
        };
        let hour = self.time / HOUR_US;
        match field {
            Field::Year(digits) => year(self.civil.year, digits),
            Field::IsoYear(digits) => year(Civil::iso_week(self.days).0, digits),
            Field::Century if self.civil.year <= 0 => (self.civil.year / 100 - 1, 3),
            Field::Century => ((self.civil.year + 99) / 100, 2),
            Field::Quarter => ((self.civil.month + 2) / 3, 1),
            Field::Month => (self.civil.month, 2),
            Field::IsoWeek => (Civil::iso_week(self.days).1, 2),
            Field::Week => ((self.day_of_year() - 1) / 7 + 1, 2),
            Field::WeekOfMonth => ((self.civil.day - 1) / 7 + 1, 1),
            Field::DayOfYear => (self.day_of_year(), 3),
            Field::IsoDayOfYear => (iso_day_of_year(self.days), 3),
            Field::Julian => (self.days + JULIAN_1970, 1),
            Field::DayOfWeek => (self.day_of_week() + 1, 1),
            Field::IsoDayOfWeek => (iso_day_of_week(self.days), 1),
            Field::Hour24 => (hour, 2),
            Field::Hour12 => ((hour + 11) % 12 + 1, 2),
            Field::Minute => (self.time / MINUTE_US % 60, 2),
            Field::Second => (self.time / SECOND_US % 60, 2),
            Field::SecondOfDay => (self.time / SECOND_US, 1),
            Field::Fraction(digits) => fraction(self.time % SECOND_US, digits),
            _ => (self.civil.day, 2),
        }
    }
}

/// A year as it is counted: those before the year 1 from 1 on, too.
fn counted(year: i64) -> i64 {
    if year > 0 { year } else { 1 - year }
}

fn iso_day_of_week(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

fn iso_day_of_year(days: i64) -> i64 {
    (Civil::iso_week(days).1 - 1) * 7 + iso_day_of_week(days)
}

/// The first digits of a second's fraction, and how many they are.
fn fraction(micros: i64, digits: u32) -> (i64, usize) {
    let unit = 10_i64.pow(FRACTION_DIGITS - digits);
    (micros / unit, digits as usize)
}

fn push_padded(text: &str, width: usize, out: &mut String) {
    write!(out, "{text:width$}").expect("a string can be written");
}

/// A month from 0 on.
fn push_roman(month: usize, letters: Letters, bare: bool, out: &mut String) {
    let width = if bare { 0 } else { ROMAN_LENGTH };
    push_padded(&letters.of(ROMAN[month]), width, out);
}

fn push_half(is_first: bool, letters: Letters, points: bool, out: &mut String) {
    let half = match (is_first, points) {
        (true, false) => "AM",
        (false, false) => "PM",
        (true, true) => "A.M.",
        (false, true) => "P.M.",
    };
    out.push_str(&letters.of(half));
}

/// A year with a comma behind its thousands.
fn push_in_groups(year: i64, ordinal: Option<bool>, out: &mut String) {
    push_number(year / 1_000, 0, None, out);
    out.push(',');
    push_number(year % 1_000, 3, ordinal, out);
}

fn push_number(number: i64, digits: usize, ordinal: Option<bool>, out: &mut String) {
    write!(out, "{number:0digits$}").expect("a string can be written");
    if let Some(capitals) = ordinal {
        out.push_str(ending(number, capitals));
    }
}

/// `st`, `nd`, `rd` or `th`.
fn ending(number: i64, capitals: bool) -> &'static str {
    let number = number.abs();
    let (lower, upper) = match (number % 10, number % 100 / 10 == 1) {
        (1, false) => ("st", "ST"),
        (2, false) => ("nd", "ND"),
        (3, false) => ("rd", "RD"),
        _ => ("th", "TH"),
    };
    if capitals { upper } else { lower }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(template: &str) -> String {
        // Sunday, 2020-03-01 13:04:05.678901
        let micros = 18_322 * DAY_US + 13 * HOUR_US + 4 * MINUTE_US + 5_678_901;
        of(micros, template)
    }

    fn of(micros: i64, template: &str) -> String {
        let mut out = String::new();
        MomentTemplate::new(template).write(micros, &mut out);
        out
    }

    #[test]
    fn templates_are_filled_as_postgresql_fills_them() {
        for (template, expected) in [
            ("YYYY-MM-DD HH24:MI:SS.US", "2020-03-01 13:04:05.678901"),
            ("Day, DD Month", "Sunday   , 01 March    "),
            ("FMDay, FMDDth FMMonth", "Sunday, 1st March"),
            ("dy DY mon MON", "sun SUN mar MAR"),
            ("HH:MI am, HH12 P.M.", "01:04 pm, 01 P.M."),
            ("IYYY-IW-ID, WW, Q, DDD, D", "2020-09-7, 09, 1, 061, 1"),
            ("\"year\" YY, CC", "year 20, 21"),
            ("yyyymmdd", "20200301"),
            ("MS é", "678 é"),
            ("J FMJ Jth", "2458910 2458910 2458910th"),
            ("RM|FMrm|Y,YYY|BC a.d.", "III |iii|2,020|AD a.d."),
            ("FF1 FF3 FMFF6 IDDD I", "6 678 678901 063 0"),
            ("\\\"YYYY \"a\\\"b\"", "\"2020 a\"b"),
        ] {
            assert_eq!(written(template), expected, "{template}");
        }
    }

    #[test]
    fn years_before_the_first_are_counted_backwards() {
        let ides = Civil::days_of(-43, 3, 15) * DAY_US;
        assert_eq!(
            of(ides, "YYYY BC CC J Y,YYY YYY"),
            "0044 BC -01 1705428 0,044 044"
        );
    }
}
