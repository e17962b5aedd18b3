//! Intervals out of texts, in the forms that PostgreSQL reads.
//!
//! ```text
//! 1 year 2 mons -3 days 30:05:06.5      numbers with units, and a time of any length
//! 1.5 hours ago, @ 2h 30m               with fractions, turned round, without blanks
//! 3 04:05                               days before a time
//! 1-2                                   years and months
//! P1Y2M3DT4H5M6S                        ISO 8601
//! ```
//!
//! A fraction of a unit goes into the units below it: half a month is fifteen days, half a day twelve hours. Units may come twice, and
//! signs are of the number that they stand before.

const DAY_US: f64 = 86_400e6;

/// Months, days and microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct IntervalText {
    months: f64,
    days: f64,
    microseconds: f64,
}

/// The interval of a text: months, days and microseconds. `None` if it is none or too long.
pub(super) fn read(text: &str) -> Option<(i32, i32, i64)> {
    let text = text.trim().to_ascii_lowercase();
    let interval = match text.strip_prefix('p') {
        Some(parts) => iso(parts)?,
        None => plain(&text)?,
    };
    interval.whole()
}

impl IntervalText {
    fn add(&mut self, number: f64, unit: Unit) {
        let (whole, fraction) = (number.trunc(), number.fract());
        match unit {
            Unit::Months(months) if months > 1.0 => self.months += (number * months).round(),
            Unit::Months(_) => {
                self.months += whole;
                self.add(fraction * 30.0, Unit::Days(1.0));
            }
            Unit::Days(days) => {
                let days = number * days;
                self.days += days.trunc();
                self.microseconds += days.fract() * DAY_US;
            }
            Unit::Microseconds(length) => self.microseconds += number * length,
        }
    }

    fn turned(self) -> Self {
        Self {
            months: -self.months,
            days: -self.days,
            microseconds: -self.microseconds,
        }
    }

    fn whole(self) -> Option<(i32, i32, i64)> {
        let of_32_bits = |number: f64| {
            let fits = number.abs() < f64::from(i32::MAX);
            #[expect(clippy::cast_possible_truncation, reason = "it fits, and is whole")]
            fits.then_some(number as i32)
        };
        let microseconds = self.microseconds.round();
        // Beyond 2^53 a float tells no microseconds; that is 285 years.
        let fits = microseconds.abs() < 9e18;
        #[expect(clippy::cast_possible_truncation, reason = "it fits, and is whole")]
        let microseconds = fits.then_some(microseconds as i64)?;
        Some((
            of_32_bits(self.months)?,
            of_32_bits(self.days)?,
            microseconds,
        ))
    }
}

/// A unit, as so many months, days or microseconds.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Months(f64),
    Days(f64),
    Microseconds(f64),
}

const HOUR: Unit = Unit::Microseconds(3600e6);
const MINUTE: Unit = Unit::Microseconds(60e6);
const SECOND: Unit = Unit::Microseconds(1e6);
const DAY: Unit = Unit::Days(1.0);
const MONTH: Unit = Unit::Months(1.0);
const YEAR: Unit = Unit::Months(12.0);

fn unit(name: &str) -> Option<Unit> {
    Some(match name {
        "us" | "usec" | "usecs" | "microsecond" | "microseconds" => Unit::Microseconds(1.0),
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => Unit::Microseconds(1e3),
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE,
        "h" | "hr" | "hrs" | "hour" | "hours" => HOUR,
        "d" | "day" | "days" => DAY,
        "w" | "week" | "weeks" => Unit::Days(7.0),
        "mon" | "mons" | "month" | "months" => MONTH,
        "y" | "yr" | "yrs" | "year" | "years" => YEAR,
        "dec" | "decs" | "decade" | "decades" => Unit::Months(120.0),
        "c" | "cent" | "century" | "centuries" => Unit::Months(1200.0),
        "mil" | "mils" | "millennium" | "millennia" => Unit::Months(12_000.0),
        _ => return None,
    })
}

fn plain(text: &str) -> Option<IntervalText> {
    let text = text.strip_prefix('@').unwrap_or(text);
    let mut words = words(text);
    let is_turned = words.last() == Some(&"ago");
    if is_turned {
        words.pop();
    }
    if words.is_empty() {
        return None;
    }
    let mut interval = IntervalText::default();
    let mut rest = words.into_iter().peekable();
    while let Some(word) = rest.next() {
        if word.contains(':') {
            interval.microseconds += time(word)?;
        } else if let Some(months) = years_and_months(word) {
            interval.months += months;
        } else {
            let number = number(word)?;
            let unit = match rest.peek() {
                None => SECOND,
                Some(next) if next.contains(':') => DAY,
                Some(_) => unit(rest.next()?)?,
            };
            interval.add(number, unit);
        }
    }
    Some(match is_turned {
        true => interval.turned(),
        false => interval,
    })
}

/// Words between blanks, numbers apart from the units behind them.
fn words(text: &str) -> Vec<&str> {
    let words = text.split_whitespace().flat_map(|word| {
        let unit = word.find(|letter: char| letter.is_ascii_alphabetic());
        let (number, unit) = word.split_at(unit.unwrap_or(word.len()));
        [number, unit]
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// A number with digits alone, a sign before and a fraction behind.
fn number(word: &str) -> Option<f64> {
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let is_number = digits.contains(|letter: char| letter.is_ascii_digit())
        && digits
            .chars()
            .all(|letter| letter.is_ascii_digit() || letter == '.');
    is_number.then(|| word.parse().ok()).flatten()
}

/// `hours:minutes`, with seconds behind or without, in microseconds.
fn time(word: &str) -> Option<f64> {
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let parts = digits.split(':').map(|part| {
        let is_plain = !part.starts_with(['+', '-']);
        is_plain.then(|| number(part)).flatten()
    });
    let parts = parts.collect::<Option<Vec<_>>>()?;
    let (hours, minutes, seconds) = match parts.as_slice() {
        [hours, minutes] => (hours, minutes, &0.0),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    let is_time = hours.fract() == 0.0 && minutes.fract() == 0.0;
    if !is_time || *minutes >= 60.0 || *seconds > 60.0 {
        return None;
    }
    let microseconds = (hours * 3600.0 + minutes * 60.0) * 1e6 + (seconds * 1e6).round();
    Some(match word.starts_with('-') {
        true => -microseconds,
        false => microseconds,
    })
}

/// `years-months`, in months.
fn years_and_months(word: &str) -> Option<f64> {
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let (years, months) = digits.split_once('-')?;
    let whole = |part: &str| part.parse::<u16>().ok().map(f64::from);
    let (years, months) = (whole(years)?, whole(months)?);
    if months >= 12.0 {
        return None;
    }
    let months = years * 12.0 + months;
    Some(match word.starts_with('-') {
        true => -months,
        false => months,
    })
}

/// What follows the `P` of ISO 8601.
fn iso(text: &str) -> Option<IntervalText> {
    let (date, time) = match text.split_once('t') {
        Some((date, time)) => (date, time),
        None => (text, ""),
    };
    let mut interval = IntervalText::default();
    let date_unit = |letter| {
        Some(match letter {
            'y' => YEAR,
            'm' => MONTH,
            'w' => Unit::Days(7.0),
            'd' => DAY,
            _ => return None,
        })
    };
    let time_unit = |letter| {
        Some(match letter {
            'h' => HOUR,
            'm' => MINUTE,
            's' => SECOND,
            _ => return None,
        })
    };
    iso_part(date, date_unit, &mut interval)?;
    iso_part(time, time_unit, &mut interval)?;
    (!text.is_empty()).then_some(interval)
}

fn iso_part(
    mut text: &str,
    unit: impl Fn(char) -> Option<Unit>,
    interval: &mut IntervalText,
) -> Option<()> {
    while !text.is_empty() {
        let end = text.find(|letter: char| letter.is_ascii_alphabetic())?;
        let (digits, rest) = text.split_at(end);
        let letter = rest.chars().next()?;
        interval.add(number(digits)?, unit(letter)?);
        text = &rest[1..];
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected are PostgreSQL 15's.
    #[test]
    fn all_forms_are_read() {
        const HOUR_US: i64 = 3_600_000_000;
        for (text, expected) in [
            (
                "1 year 2 mons 3 days 30:05:06.789",
                (14, 3, 30 * HOUR_US + 306_789_000),
            ),
            (
                "-1 year -2 mons +3 days -04:05:06",
                (-14, 3, -14_706_000_000),
            ),
            ("1.5 hours ago", (0, 0, -5_400_000_000)),
            ("@ 2h 30m", (0, 0, 9_000_000_000)),
            ("3 04:05", (0, 3, 14_700_000_000)),
            ("1-2", (14, 0, 0)),
            ("-1-2", (-14, 0, 0)),
            ("P1Y2M3DT4H5M6.5S", (14, 3, 14_706_500_000)),
            ("PT36H", (0, 0, 36 * HOUR_US)),
            ("0.5 month", (0, 15, 0)),
            ("1.5 days", (0, 1, 12 * HOUR_US)),
            ("1.5 years", (18, 0, 0)),
            ("1.5 weeks", (0, 10, 12 * HOUR_US)),
            ("10", (0, 0, 10_000_000)),
            ("90 minutes", (0, 0, 5_400_000_000)),
            ("1 decade 1 century", (1320, 0, 0)),
            ("250 ms 3 us", (0, 0, 250_003)),
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_interval_is_none() {
        for text in [
            "",
            "day",
            "1 fortnight",
            "1:2:3:4",
            "a b",
            "P",
            "PT1X",
            "1-13",
            "1:60",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read("3000000000 days"), None);
    }
}
