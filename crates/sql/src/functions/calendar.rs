//! The Gregorian calendar, carried on before 1582 as PostgreSQL does, and the units of time.

pub(crate) const SECOND_US: i64 = 1_000_000;
pub(crate) const MINUTE_US: i64 = 60 * SECOND_US;
pub(crate) const HOUR_US: i64 = 60 * MINUTE_US;
pub(crate) const DAY_US: i64 = 24 * HOUR_US;
/// Four times the seconds of a year of 365.25 days, by which an interval's years count.
pub(crate) const YEAR_SECONDS_QUARTERS: i64 = 126_230_400;

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: i64,
    /// From 1.
    pub(crate) day: i64,
}

impl Civil {
    /// The day this many days after 1970-01-01. Years are counted from March, so that a leap
    /// day is the last of its year; an era is the 400 years after which the calendar repeats.
    pub(crate) fn of_days(days: i64) -> Self {
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
    pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
        let year = year - i64::from(month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let shifted = (month + 9) % 12;
        let of_year = (153 * shifted + 2) / 5 + day - 1;
        let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
        era * 146_097 + of_era - 719_468
    }

    /// How many days a month has.
    pub(crate) fn days_in_month(year: i64, month: i64) -> i64 {
        let (next_year, next) = match month {
            12 => (year + 1, 1),
            month => (year, month + 1),
        };
        Self::days_of(next_year, next, 1) - Self::days_of(year, month, 1)
    }

    /// ISO 8601's year and week of a day: the week is in the year that has its Thursday.
    pub(crate) fn iso_week(days: i64) -> (i64, i64) {
        let thursday = days - (days + 3).rem_euclid(7) + 3;
        let year = Self::of_days(thursday).year;
        let week = (thursday - Self::days_of(year, 1, 1)) / 7 + 1;
        (year, week)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_others_inverse() {
        for days in (-800_000..800_000).step_by(97) {
            let civil = Civil::of_days(days);
            assert_eq!(Civil::days_of(civil.year, civil.month, civil.day), days);
        }
        let leap = Civil {
            year: 2020,
            month: 2,
            day: 29,
        };
        assert_eq!(Civil::of_days(18_321), leap);
        assert_eq!(Civil::days_in_month(1900, 2), 28);
        assert_eq!(Civil::days_in_month(2000, 12), 31);
    }

    #[test]
    fn weeks_belong_to_the_year_of_their_thursday() {
        assert_eq!(Civil::iso_week(Civil::days_of(2021, 1, 3)), (2020, 53));
        assert_eq!(Civil::iso_week(Civil::days_of(2018, 12, 31)), (2019, 1));
    }
}
