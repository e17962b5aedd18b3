//! Dates and times as PostgreSQL prints, reads and sends them (DateStyle ISO, MDY; UTC).
//!
//! Arrow counts from 1970-01-01, PostgreSQL's binary forms from 2000-01-01. The extreme values
//! of a date or timestamp are the infinities. Years before 1 are printed with a trailing `BC`;
//! the year before 1 AD is 1 BC.

use std::fmt::{self, Write};

use super::EncodeError;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Days between 1970-01-01 and 2000-01-01.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * MICROS_PER_DAY;

const INFINITY: &str = "infinity";
const MINUS_INFINITY: &str = "-infinity";

/// A day of the proleptic Gregorian calendar; `year` 0 is 1 BC.
struct Civil {
    year: i64,
    month: u32,
    day: u32,
}

/// Counts in 400-year eras that begin on 1 March, so that the leap day is an era year's last.
fn civil_from_days(days: i64) -> Civil {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * march_month + 2) / 5 + 1) as u32;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    } as u32;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Civil { year, month, day }
}

fn days_from_civil(Civil { year, month, day }: &Civil) -> i64 {
    let year = year - i64::from(*month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let march_month = (i64::from(*month) + 9) % 12;
    let day_of_year = (153 * march_month + 2) / 5 + i64::from(*day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Writes year, month and day; true when the year is before Christ and ` BC` must follow.
fn write_civil(days: i64, out: &mut impl Write) -> Result<bool, fmt::Error> {
    let Civil { year, month, day } = civil_from_days(days);
    let shown = if year > 0 { year } else { 1 - year };
    write!(out, "{shown:04}-{month:02}-{day:02}")?;
    Ok(year <= 0)
}

/// Prints days since 1970-01-01.
pub fn write_date(days: i32, out: &mut impl Write) -> fmt::Result {
    match days {
        i32::MAX => return out.write_str(INFINITY),
        i32::MIN => return out.write_str(MINUS_INFINITY),
        _ => {}
    }
    if write_civil(i64::from(days), out)? {
        out.write_str(" BC")?;
    }
    Ok(())
}

/// Prints microseconds since midnight.
pub fn write_time(micros: i64, out: &mut impl Write) -> fmt::Result {
    let seconds = micros / MICROS_PER_SECOND;
    let fraction = (micros % MICROS_PER_SECOND).unsigned_abs();
    write!(
        out,
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )?;
    write_fraction(fraction, out)
}

/// Prints a point and the microseconds without trailing zeros, or nothing for zero.
fn write_fraction(mut micros: u64, out: &mut impl Write) -> fmt::Result {
    if micros == 0 {
        return Ok(());
    }
    let mut width = 6;
    while micros.is_multiple_of(10) {
        micros /= 10;
        width -= 1;
    }
    write!(out, ".{micros:0width$}")
}

/// Prints microseconds since 1970-01-01; `zone` (such as `+00`) comes before ` BC`.
pub fn write_timestamp(micros: i64, zone: &str, out: &mut impl Write) -> fmt::Result {
    match micros {
        i64::MAX => return out.write_str(INFINITY),
        i64::MIN => return out.write_str(MINUS_INFINITY),
        _ => {}
    }
    let before_christ = write_civil(micros.div_euclid(MICROS_PER_DAY), out)?;
    out.write_char(' ')?;
    write_time(micros.rem_euclid(MICROS_PER_DAY), out)?;
    out.write_str(zone)?;
    if before_christ {
        out.write_str(" BC")
    } else {
        Ok(())
    }
}

/// PostgreSQL's binary date: days since 2000-01-01, the extremes staying themselves.
pub fn binary_date(days: i32) -> i32 {
    match days {
        i32::MAX | i32::MIN => days,
        _ => days.saturating_sub(EPOCH_DAYS),
    }
}

/// PostgreSQL's binary timestamp: microseconds since 2000-01-01, the extremes staying
/// themselves.
pub fn binary_timestamp(micros: i64) -> i64 {
    match micros {
        i64::MAX | i64::MIN => micros,
        _ => micros.saturating_sub(EPOCH_MICROS),
    }
}

/// The Arrow date of a binary one.
pub fn date_from_binary(days: i32) -> i32 {
    match days {
        i32::MAX | i32::MIN => days,
        _ => days.saturating_add(EPOCH_DAYS),
    }
}

/// The Arrow timestamp of a binary one.
pub fn timestamp_from_binary(micros: i64) -> i64 {
    match micros {
        i64::MAX | i64::MIN => micros,
        _ => micros.saturating_add(EPOCH_MICROS),
    }
}

/// An interval: months, days and microseconds, none of which converts into another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Months, years being twelve.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

impl Interval {
    /// An exact duration as the difference of two timestamps shows it: whole days apart.
    pub fn from_micros(micros: i64) -> Self {
        let days = i32::try_from(micros / MICROS_PER_DAY).unwrap_or(i32::MAX);
        Self {
            months: 0,
            days,
            micros: micros - i64::from(days) * MICROS_PER_DAY,
        }
    }

    /// Prints it in IntervalStyle `postgres`.
    pub fn write(&self, out: &mut impl Write) -> fmt::Result {
        let mut fields = Fields {
            out,
            any: false,
            negative: false,
        };
        fields.write(i64::from(self.months / 12), "year")?;
        fields.write(i64::from(self.months % 12), "mon")?;
        fields.write(i64::from(self.days), "day")?;
        let Fields { any, negative, .. } = fields;
        if any && self.micros == 0 {
            return Ok(());
        }
        if any {
            out.write_char(' ')?;
        }
        if self.micros < 0 {
            out.write_char('-')?;
        } else if negative {
            out.write_char('+')?;
        }
        let micros = self.micros.unsigned_abs();
        let second = MICROS_PER_SECOND.unsigned_abs();
        let seconds = micros / second;
        write!(
            out,
            "{:02}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        )?;
        write_fraction(micros % second, out)
    }

    /// Appends the binary form.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.micros.to_be_bytes());
        out.extend_from_slice(&self.days.to_be_bytes());
        out.extend_from_slice(&self.months.to_be_bytes());
    }

    /// Reads what [`Interval::write`] prints.
    pub fn parse(text: &str) -> Result<Self, EncodeError> {
        let malformed = || EncodeError::malformed("interval", text);
        let mut interval = Self::default();
        let mut words = text.split(' ').filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            if word.contains(':') {
                interval.micros = parse_signed_time(word).ok_or_else(malformed)?;
                continue;
            }
            let count: i32 = word.parse().map_err(|_| malformed())?;
            match words.next().ok_or_else(malformed)?.trim_end_matches('s') {
                "year" => {
                    let months = count.checked_mul(12).ok_or_else(malformed)?;
                    interval.months = interval.months.checked_add(months).ok_or_else(malformed)?;
                }
                "mon" => {
                    interval.months = interval.months.checked_add(count).ok_or_else(malformed)?;
                }
                "day" => interval.days = count,
                _ => return Err(malformed()),
            }
        }
        Ok(interval)
    }
}

/// Writes an interval's fields other than its time: PostgreSQL marks a positive field that
/// follows a negative one with a plus.
struct Fields<'a, W> {
    out: &'a mut W,
    any: bool,
    negative: bool,
}

impl<W: Write> Fields<'_, W> {
    fn write(&mut self, value: i64, unit: &str) -> fmt::Result {
        if value == 0 {
            return Ok(());
        }
        let space = if self.any { " " } else { "" };
        let plus = if self.negative && value > 0 { "+" } else { "" };
        let plural = if value == 1 { "" } else { "s" };
        write!(self.out, "{space}{plus}{value} {unit}{plural}")?;
        self.any = true;
        self.negative = value < 0;
        Ok(())
    }
}

fn parse_signed_time(text: &str) -> Option<i64> {
    match text.strip_prefix('-') {
        Some(rest) => parse_time_micros(rest).map(|micros| -micros),
        None => parse_time_micros(text.strip_prefix('+').unwrap_or(text)),
    }
}

/// `HH:MM:SS[.ffffff]` with any number of hours.
fn parse_time_micros(text: &str) -> Option<i64> {
    let mut fields = text.split(':');
    let (hours, minutes, seconds) = (fields.next()?, fields.next()?, fields.next()?);
    if fields.next().is_some() {
        return None;
    }
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    if fraction.len() > 6 {
        return None;
    }
    let number = |digits: &str| {
        let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if all_digits {
            digits.parse::<i64>().ok()
        } else {
            None
        }
    };
    let fraction = number(&format!("{fraction:0<6}"))?;
    let whole = number(hours)?.checked_mul(3600)? + number(minutes)? * 60 + number(seconds)?;
    whole.checked_mul(MICROS_PER_SECOND)?.checked_add(fraction)
}

/// Reads a printed date.
pub fn parse_date(text: &str) -> Result<i32, EncodeError> {
    match text {
        INFINITY => return Ok(i32::MAX),
        MINUS_INFINITY => return Ok(i32::MIN),
        _ => {}
    }
    let (text, before_christ) = split_era(text);
    parse_days(text, before_christ)
        .and_then(|days| i32::try_from(days).ok())
        .ok_or_else(|| EncodeError::malformed("date", text))
}

/// Reads a printed time of day.
pub fn parse_time(text: &str) -> Result<i64, EncodeError> {
    parse_time_micros(text).ok_or_else(|| EncodeError::malformed("time", text))
}

/// Reads a printed timestamp, with or without time zone.
pub fn parse_timestamp(text: &str) -> Result<i64, EncodeError> {
    match text {
        INFINITY => return Ok(i64::MAX),
        MINUS_INFINITY => return Ok(i64::MIN),
        _ => {}
    }
    let (body, before_christ) = split_era(text);
    let parse = || {
        let (date, time) = body.split_once([' ', 'T'])?;
        let (time, offset_seconds) = split_zone(time)?;
        let days = parse_days(date, before_christ)?;
        let local = days
            .checked_mul(MICROS_PER_DAY)?
            .checked_add(parse_time_micros(time)?)?;
        local.checked_sub(i64::from(offset_seconds) * MICROS_PER_SECOND)
    };
    parse().ok_or_else(|| EncodeError::malformed("timestamp", text))
}

/// Reads a printed time with time zone: microseconds and the zone's seconds east of UTC.
pub fn parse_time_with_zone(text: &str) -> Result<(i64, i32), EncodeError> {
    split_zone(text)
        .and_then(|(time, offset)| Some((parse_time_micros(time)?, offset)))
        .ok_or_else(|| EncodeError::malformed("time with time zone", text))
}

fn split_era(text: &str) -> (&str, bool) {
    match text.strip_suffix(" BC") {
        Some(rest) => (rest, true),
        None => (text, false),
    }
}

fn parse_days(text: &str, before_christ: bool) -> Option<i64> {
    let mut fields = text.split('-');
    let year: i64 = fields.next()?.parse().ok()?;
    let month: u32 = fields.next()?.parse().ok()?;
    let day: u32 = fields.next()?.parse().ok()?;
    let plausible = (1..=12).contains(&month) && (1..=31).contains(&day) && year < 10_000_000;
    if fields.next().is_some() || !plausible {
        return None;
    }
    let year = if before_christ { 1 - year } else { year };
    Some(days_from_civil(&Civil { year, month, day }))
}

/// Splits `13:00:00+05:30` into the time and the zone's seconds east of UTC.
fn split_zone(text: &str) -> Option<(&str, i32)> {
    let Some(at) = text.find(['+', '-', 'Z']) else {
        return Some((text, 0));
    };
    let (time, zone) = text.split_at(at);
    if zone == "Z" {
        return Some((time, 0));
    }
    let (sign, digits) = zone.split_at(1);
    let mut seconds = 0;
    let mut unit = 3600;
    for field in digits.split(':') {
        seconds += i32::from(field.parse::<u8>().ok()?) * unit;
        unit /= 60;
    }
    Some((time, if sign == "-" { -seconds } else { seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(micros: i64, zone: &str) -> String {
        let mut out = String::new();
        write_timestamp(micros, zone, &mut out).expect("a string takes it");
        out
    }

    fn date(days: i32) -> String {
        let mut out = String::new();
        write_date(days, &mut out).expect("a string takes it");
        out
    }

    #[test]
    fn dates_print_and_parse_over_the_whole_range() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(-719_163), "0001-12-31 BC");
        assert_eq!(date(i32::MAX), "infinity");
        assert_eq!(date(2_145_042_905), "5874897-12-31");
        assert_eq!(date(-2_440_550), "4713-01-01 BC");
        for days in [
            -2_451_507 - 100,
            -719_163,
            -719_162,
            -1,
            0,
            59,
            60,
            11_016,
            2_000_000,
        ] {
            assert_eq!(parse_date(&date(days)).ok(), Some(days));
        }
    }

    #[test]
    fn timestamps_print_fraction_zone_and_era_in_order() {
        assert_eq!(timestamp(0, "+00"), "1970-01-01 00:00:00+00");
        assert_eq!(timestamp(-1, ""), "1969-12-31 23:59:59.999999");
        assert_eq!(timestamp(1_500_000, ""), "1970-01-01 00:00:01.5");
        let ides = days_from_civil(&Civil {
            year: -43,
            month: 3,
            day: 15,
        }) * MICROS_PER_DAY;
        assert_eq!(timestamp(ides, "+00"), "0044-03-15 00:00:00+00 BC");
        assert_eq!(timestamp(i64::MIN, "+00"), "-infinity");
        assert_eq!(
            parse_timestamp("0044-03-15 00:00:00+00 BC").ok(),
            Some(ides)
        );
        assert_eq!(parse_timestamp("1970-01-01 05:30:00+05:30").ok(), Some(0));
    }

    #[test]
    fn midnight_at_the_end_of_the_day_is_24() {
        let mut out = String::new();
        write_time(MICROS_PER_DAY, &mut out).expect("a string takes it");
        assert_eq!(out, "24:00:00");
    }

    #[test]
    fn binary_forms_count_from_2000() {
        assert_eq!(binary_date(EPOCH_DAYS), 0);
        assert_eq!(binary_date(i32::MAX), i32::MAX);
        assert_eq!(binary_timestamp(0), -EPOCH_MICROS);
        assert_eq!(timestamp_from_binary(binary_timestamp(7)), 7);
        assert_eq!(date_from_binary(binary_date(-7)), -7);
    }

    #[test]
    fn intervals_print_and_parse_in_the_postgres_style() {
        for (months, days, micros, text) in [
            (0, 0, 0, "00:00:00"),
            (
                14,
                3,
                4 * 3600 * MICROS_PER_SECOND,
                "1 year 2 mons 3 days 04:00:00",
            ),
            (-1, 2, -1, "-1 mons +2 days -00:00:00.000001"),
            (0, 1, 0, "1 day"),
            (0, -1, MICROS_PER_SECOND, "-1 days +00:00:01"),
            (0, 0, -90 * 60 * MICROS_PER_SECOND, "-01:30:00"),
        ] {
            let interval = Interval {
                months,
                days,
                micros,
            };
            let mut out = String::new();
            interval.write(&mut out).expect("a string takes it");
            assert_eq!(out, text);
            assert_eq!(Interval::parse(text).ok(), Some(interval));
        }
    }
}
