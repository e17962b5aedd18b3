//! Time zones, as AT TIME ZONE names them.
//!
//! 1. An abbreviation (`CET`) is an offset, in summer as in winter.
//! 2. A name of the IANA's database (`Europe/Berlin`) has the rules of its place.
//! 3. Anything else is what POSIX has in the variable TZ: an offset that counts to the *west*, behind letters or not.
//!    `+02` and `X2` are two hours behind UTC.
//!
//! Names are taken in any case, as far as each of their words begins with a capital or all is in capitals.
//!
//! Does not: take rules of summer time (`EST5EDT,M3.2.0,M11.1.0`).

use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, Offset, TimeDelta, TimeZone};
use datafusion::arrow::array::timezone::Tz;

use super::calendar::{HOUR_US, MINUTE_US, SECOND_US};
use crate::error::{SqlError, code};

/// A zone.
#[derive(Clone, Copy, Debug)]
pub(super) enum Zone {
    /// Always as many microseconds ahead of UTC.
    Fixed(i64),
    /// By the rules of a place.
    Place(Tz),
}

/// PostgreSQL's abbreviations of zones that are in use, in minutes ahead of UTC: of its default set
/// (`pg_timezone_abbrevs`).
const ABBREVIATIONS: [(&str, i64); 53] = [
    ("ACDT", 630),
    ("ACST", 570),
    ("ADT", -180),
    ("AEDT", 660),
    ("AEST", 600),
    ("AKDT", -480),
    ("AKST", -540),
    ("AST", -240),
    ("AWST", 480),
    ("BRT", -180),
    ("BST", 60),
    ("CDT", -300),
    ("CEST", 120),
    ("CET", 60),
    ("CLT", -180),
    ("CST", -360),
    ("EAT", 180),
    ("EDT", -240),
    ("EEST", 180),
    ("EET", 120),
    ("EST", -300),
    ("GMT", 0),
    ("HKT", 480),
    ("HST", -600),
    ("ICT", 420),
    ("IDT", 180),
    ("IST", 120),
    ("JST", 540),
    ("KST", 540),
    ("MDT", -360),
    ("MEST", 120),
    ("MESZ", 120),
    ("MET", 60),
    ("MEZ", 60),
    ("MSK", 180),
    ("MST", -420),
    ("NDT", -150),
    ("NPT", 345),
    ("NST", -210),
    ("NZDT", 780),
    ("NZST", 720),
    ("PDT", -420),
    ("PHT", 480),
    ("PKT", 300),
    ("PST", -480),
    ("SAST", 120),
    ("SGT", 480),
    ("UCT", 0),
    ("UT", 0),
    ("UTC", 0),
    ("WAT", 60),
    ("Z", 0),
    ("ZULU", 0),
];

/// Hours that an offset may have.
const HOURS_MAX: i64 = 167;

/// Within a gap of local time, so much earlier is before it, and after the change before.
const BEFORE_A_GAP: TimeDelta = TimeDelta::days(1);

impl Zone {
    /// The zone of a name.
    pub(super) fn of(name: &str) -> Result<Self, SqlError> {
        let found = of_abbreviation(name)
            .or_else(|| of_place(name))
            .or_else(|| of_offset(name));
        found.ok_or_else(|| {
            let message = format!("time zone \"{name}\" not recognized");
            SqlError::new(code::INVALID_PARAMETER_VALUE, message)
        })
    }

    /// What a clock in the zone shows at a moment, both in microseconds.
    pub(super) fn local(self, moment_us: i64) -> Result<i64, SqlError> {
        let offset_us = match self {
            Self::Fixed(offset_us) => offset_us,
            Self::Place(place) => {
                let moment = date_time(moment_us)?;
                offset_us(&place.offset_from_utc_datetime(&moment))
            }
        };
        moment_us.checked_add(offset_us).ok_or_else(out_of_range)
    }

    /// When a clock in the zone shows that. What it shows twice is the second time, what it never shows
    /// is as if it had not been changed.
    pub(super) fn moment(self, local_us: i64) -> Result<i64, SqlError> {
        let offset_us = match self {
            Self::Fixed(offset_us) => offset_us,
            Self::Place(place) => {
                let local = date_time(local_us)?;
                match place.offset_from_local_datetime(&local) {
                    chrono::LocalResult::Single(offset) => offset_us(&offset),
                    chrono::LocalResult::Ambiguous(one, other) => {
                        offset_us(&one).min(offset_us(&other))
                    }
                    chrono::LocalResult::None => {
                        let before = local.checked_sub_signed(BEFORE_A_GAP);
                        let before = before.ok_or_else(out_of_range)?;
                        offset_us(&place.offset_from_utc_datetime(&before))
                    }
                }
            }
        };
        local_us.checked_sub(offset_us).ok_or_else(out_of_range)
    }
}

fn offset_us(offset: &impl Offset) -> i64 {
    i64::from(offset.fix().local_minus_utc()) * SECOND_US
}

fn date_time(us: i64) -> Result<NaiveDateTime, SqlError> {
    let date_time = DateTime::from_timestamp_micros(us).ok_or_else(out_of_range)?;
    Ok(date_time.naive_utc())
}

fn out_of_range() -> SqlError {
    SqlError::new(code::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}

fn of_abbreviation(name: &str) -> Option<Zone> {
    let mut known = ABBREVIATIONS.iter();
    let (_, minutes) = known.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(Zone::Fixed(minutes * MINUTE_US))
}

fn of_place(name: &str) -> Option<Zone> {
    // What begins otherwise would be read as an offset to the east.
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    let names = [
        name.to_owned(),
        name.to_ascii_uppercase(),
        with_capitals(name),
    ];
    let place = names.iter().find_map(|name| Tz::from_str(name).ok())?;
    Some(Zone::Place(place))
}

/// `america/NEW_YORK` as `America/New_York`.
fn with_capitals(name: &str) -> String {
    let mut begins = true;
    let letters = name.chars().map(|letter| {
        let capital = std::mem::replace(&mut begins, !letter.is_ascii_alphanumeric());
        match capital {
            true => letter.to_ascii_uppercase(),
            false => letter.to_ascii_lowercase(),
        }
    });
    letters.collect()
}

/// `X2`, `+02`, `-5:30`.
fn of_offset(name: &str) -> Option<Zone> {
    let offset = name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let (west, digits) = match offset.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, offset.strip_prefix('+').unwrap_or(offset)),
    };
    let mut parts = digits.split(':').map(|part| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse::<i64>().ok()).flatten()
    });
    let hours = parts.next()??;
    let minutes = parts.next().map_or(Some(0), |part| part)?;
    let seconds = parts.next().map_or(Some(0), |part| part)?;
    if parts.next().is_some() || hours > HOURS_MAX || minutes > 59 || seconds > 59 {
        return None;
    }
    let us = hours * HOUR_US + minutes * MINUTE_US + seconds * SECOND_US;
    Some(Zone::Fixed(-west * us))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_US: i64 = 24 * HOUR_US;
    /// 2024-03-10 and 2024-11-03, when New York's clocks are changed.
    const SPRING_US: i64 = 19_792 * DAY_US;
    const AUTUMN_US: i64 = 20_030 * DAY_US;

    fn hours_ahead(name: &str, moment_us: i64) -> i64 {
        let local = Zone::of(name).expect("a zone").local(moment_us);
        (local.expect("is in range") - moment_us) / HOUR_US
    }

    #[test]
    fn a_place_has_summer_and_an_abbreviation_has_none() {
        assert_eq!(hours_ahead("America/New_York", SPRING_US), -5);
        assert_eq!(hours_ahead("america/NEW_YORK", AUTUMN_US), -4);
        for moment in [SPRING_US, AUTUMN_US, AUTUMN_US - 90 * DAY_US] {
            assert_eq!(hours_ahead("cet", moment), 1);
            assert_eq!(hours_ahead("Utc", moment), 0);
            assert_eq!(hours_ahead("Asia/Tokyo", moment), 9);
        }
    }

    #[test]
    fn offsets_count_to_the_west() {
        assert_eq!(hours_ahead("+02", 0), -2);
        assert_eq!(hours_ahead("-5", 0), 5);
        assert_eq!(hours_ahead("X3", 0), -3);
        assert_eq!(hours_ahead("Etc/GMT+2", 0), -2);
        for wrong in [
            "",
            "nowhere",
            "+",
            "1:2:3:4",
            "+168",
            "2:60",
            "Europe/Nowhere",
        ] {
            assert!(Zone::of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_a_clock_shows_is_when_it_showed_it() {
        let zone = Zone::of("America/New_York").expect("a zone");
        let hour = |day: i64, halves: i64| day + halves * HOUR_US / 2;
        let moment = |local| zone.moment(local).expect("is in range");
        // 02:30 does not exist in spring, 01:30 is there twice in autumn.
        assert_eq!(moment(hour(SPRING_US, 5)), hour(SPRING_US, 15));
        assert_eq!(moment(hour(AUTUMN_US, 3)), hour(AUTUMN_US, 13));
        for us in (SPRING_US..AUTUMN_US).step_by(7 * HOUR_US as usize) {
            assert_eq!(moment(zone.local(us).expect("is in range")), us);
        }
        assert!(zone.local(i64::MAX - 1).is_err());
    }
}
