//! Dates and times as text, in ISO form: how literals are written and how they are shown.
//!
//! Dates are days since 1970-01-01, times microseconds. Years go from 1 to 9999: what is before or behind
//! them can be stored, and comes in as a parameter.

use types::calendar::Civil;

const DAY_US: i64 = 86_400_000_000;

fn digits(text: &str, least: usize, most: usize) -> Option<i64> {
    let fits = (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.parse().ok())?
}

/// `2026-11-24`
pub fn parse_date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (year, month, day) = (
        digits(parts.next()?, 4, 4)?,
        digits(parts.next()?, 1, 2)?,
        digits(parts.next()?, 1, 2)?,
    );
    let days = Civil::days_of(year, month, day);
    let is_date =
        year > 0 && parts.next().is_none() && Civil::of_days(days) == (Civil { year, month, day });
    is_date.then_some(days)
}

/// `12:30`, `12:30:15.25`
pub fn parse_time(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let (hour, minute) = (digits(parts.next()?, 1, 2)?, digits(parts.next()?, 2, 2)?);
    let (second, micros) = match parts.next() {
        None => (0, 0),
        Some(seconds) => {
            let (whole, behind) = seconds.split_once('.').unwrap_or((seconds, "0"));
            let micros = digits(behind, 1, 6)? * 10i64.pow(6 - behind.len() as u32);
            (digits(whole, 2, 2)?, micros)
        }
    };
    let total = ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros;
    let is_time = parts.next().is_none() && minute < 60 && second < 60 && total <= DAY_US;
    is_time.then_some(total)
}

/// `2026-11-24 12:30:15`, without time zone. A date alone is its midnight.
pub fn parse_timestamp(text: &str) -> Option<i64> {
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00"));
    Some(parse_date(date)? * DAY_US + parse_time(time.trim())?)
}

/// The same with an offset such as `+01`, `+01:30` or `Z`; without one it is UTC.
pub fn parse_timestamptz(text: &str) -> Option<i64> {
    if let Some(utc) = text.strip_suffix(['Z', 'z']) {
        return parse_timestamp(utc.trim_end());
    }
    // The date has hyphens, too.
    let zone = text.get(10..)?.find(['+', '-']).map(|at| at + 10);
    let Some(at) = zone else {
        return parse_timestamp(text);
    };
    let (local, offset) = text.split_at(at);
    let (hours, minutes) = offset[1..].split_once(':').unwrap_or((&offset[1..], "00"));
    let minutes = digits(hours, 1, 2)? * 60 + digits(minutes, 2, 2)?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    Some(parse_timestamp(local.trim_end())? - sign * minutes * 60_000_000)
}

/// The day on which a moment is.
pub fn day_of(timestamp_us: i64) -> i64 {
    timestamp_us.div_euclid(DAY_US)
}

/// Midnight of a day; `None` when no timestamp reaches it.
pub fn midnight(days: i64) -> Option<i64> {
    days.checked_mul(DAY_US)
}

/// As it is read.
pub fn date_text(days: i64) -> String {
    let Civil { year, month, day } = Civil::of_days(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// As it is read, without zeros at the end.
pub fn time_text(micros: i64) -> String {
    let (seconds, behind) = (micros / 1_000_000, micros % 1_000_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let whole = format!("{hour:02}:{minute:02}:{second:02}");
    if behind == 0 {
        return whole;
    }
    format!("{whole}.{behind:06}")
        .trim_end_matches('0')
        .to_owned()
}

/// As it is read.
pub fn timestamp_text(timestamp_us: i64) -> String {
    let days = day_of(timestamp_us);
    format!(
        "{} {}",
        date_text(days),
        time_text(timestamp_us.rem_euclid(DAY_US))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_come_back() {
        for text in [
            "1970-01-01",
            "2000-02-29",
            "2026-11-24",
            "0001-01-01",
            "9999-12-31",
        ] {
            assert_eq!(parse_date(text).map(date_text).as_deref(), Some(text));
        }
        assert_eq!(parse_date("1970-01-02"), Some(1));
        assert_eq!(parse_date("2000-01-01"), Some(10_957));
        for text in [
            "00:00:00",
            "12:30:15",
            "23:59:59.000001",
            "24:00:00",
            "01:02:03.5",
        ] {
            assert_eq!(parse_time(text).map(time_text).as_deref(), Some(text));
        }
        let text = "1999-12-31 23:59:59.25";
        assert_eq!(
            parse_timestamp(text).map(timestamp_text).as_deref(),
            Some(text)
        );
    }

    #[test]
    fn offsets_are_subtracted() {
        let utc = parse_timestamptz("2026-11-24 11:00:00Z");
        for text in [
            "2026-11-24 12:00:00+01",
            "2026-11-24T09:30-01:30",
            "2026-11-24 11:00",
        ] {
            assert_eq!(parse_timestamptz(text), utc, "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2026-1-1-1",
            "0000-01-01",
            "x-y-z",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
        for text in [
            "",
            "12",
            "24:00:00.1",
            "12:60",
            "12:00:61",
            "12:00:00.1234567",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
        assert_eq!(parse_timestamptz("short"), None);
    }
}
