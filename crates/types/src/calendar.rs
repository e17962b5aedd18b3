//! The Gregorian calendar, carried on before 1582 as PostgreSQL does.

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Astronomical: 0 is 1 BC.
    pub year: i64,
    /// From 1.
    pub month: i64,
    /// From 1.
    pub day: i64,
}

impl Civil {
    /// The day this many days after 1970-01-01. Years are counted from March, so that a leap
    /// day is the last of its year; an era is the 400 years after which the calendar repeats.
    pub fn of_days(days: i64) -> Self {
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: of_year - (153 * shifted + 2) / 5 + 1,
        }
    }

    /// Days from 1970-01-01 to a day of a year and month.
    pub fn days_of(year: i64, month: i64, day: i64) -> i64 {
        let year = year - i64::from(month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let shifted = (month + 9) % 12;
        let of_year = (153 * shifted + 2) / 5 + day - 1;
        let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
        era * 146_097 + of_era - 719_468
    }

    /// How many days a month has.
    pub fn days_in_month(year: i64, month: i64) -> i64 {
        let (next_year, next) = match month {
            12 => (year + 1, 1),
            month => (year, month + 1),
        };
        Self::days_of(next_year, next, 1) - Self::days_of(year, month, 1)
    }

    /// ISO 8601's year and week of a day: the week is in the year that has its Thursday.
    pub fn iso_week(days: i64) -> (i64, i64) {
        let thursday = days - (days + 3).rem_euclid(7) + 3;
        let year = Self::of_days(thursday).year;
        let week = (thursday - Self::days_of(year, 1, 1)) / 7 + 1;
        (year, week)
    }
}
