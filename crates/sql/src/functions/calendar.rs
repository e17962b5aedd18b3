//! The units of time, and the calendar.

pub(crate) use types::calendar::Civil;

pub(crate) const SECOND_US: i64 = 1_000_000;
pub(crate) const MINUTE_US: i64 = 60 * SECOND_US;
pub(crate) const HOUR_US: i64 = 60 * MINUTE_US;
pub(crate) const DAY_US: i64 = 24 * HOUR_US;
/// Four times the seconds of a year of 365.25 days, by which an interval's years count.
pub(crate) const YEAR_SECONDS_QUARTERS: i64 = 126_230_400;

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
