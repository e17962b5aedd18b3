//! When an order is placed: the steps of the workload laid over weeks of shop hours.
//!
//! A week has a fixed number of orders, most of them from Monday to Friday, spread evenly over
//! 07:00 to 22:00 with a little noise. Later steps are never earlier.

use super::draw::{Draw, Purpose};

/// Orders attempted from each Monday to Sunday.
const ORDERS_BY_WEEKDAY: [u64; 7] = [3_500, 3_400, 3_300, 3_400, 3_500, 1_700, 1_200];

/// Orders attempted in a week.
pub(crate) const ORDERS_A_WEEK: u64 = 20_000;

const _: () = {
    let mut sum = 0;
    let mut day = 0;
    while day < 7 {
        sum += ORDERS_BY_WEEKDAY[day];
        day += 1;
    }
    assert!(sum == ORDERS_A_WEEK, "the days make the week");
};

/// Monday, 2024-01-01, in days since 1970-01-01: the first day of business.
pub(crate) const FIRST_DAY: i32 = 19_723;

/// Seconds of a day.
const DAY_SECONDS: i64 = 86_400;
/// Microseconds of a day.
pub(crate) const DAY_US: i64 = DAY_SECONDS * 1_000_000;
/// The first order of a day comes at 07:00 or soon after, the last before 22:00.
const OPENS_SECONDS: i64 = 7 * 3_600;
const OPEN_SECONDS: u64 = 15 * 3_600;

/// Microseconds since 1970-01-01 at which the order of `step` is placed, in whole seconds.
pub(crate) fn moment_us(draw: Draw, step: u64) -> i64 {
    let mut of_day = step % ORDERS_A_WEEK;
    let mut weekday = 0;
    while of_day >= ORDERS_BY_WEEKDAY[weekday] {
        of_day -= ORDERS_BY_WEEKDAY[weekday];
        weekday += 1;
    }
    let noise = draw.at(Purpose::OrderMoment, step, 0).below(1_000);
    let open = OPEN_SECONDS * (of_day * 1_000 + noise) / (ORDERS_BY_WEEKDAY[weekday] * 1_000);
    let days = i64::from(FIRST_DAY) + (step / ORDERS_A_WEEK * 7) as i64 + weekday as i64;
    (days * DAY_SECONDS + OPENS_SECONDS + open as i64) * 1_000_000
}

/// The day of a moment, in days since 1970-01-01.
pub(crate) fn day_of(moment_us: i64) -> i32 {
    (moment_us / DAY_US) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_forward_within_shop_hours() {
        let draw = Draw::new(1);
        let mut before = i64::MIN;
        for step in 0..2 * ORDERS_A_WEEK {
            let moment = moment_us(draw, step);
            assert!(moment >= before, "step {step}");
            let hour = moment / 3_600_000_000 % 24;
            assert!((7..22).contains(&hour), "step {step} at {hour} h");
            before = moment;
        }
        assert_eq!(day_of(moment_us(draw, 0)), FIRST_DAY);
        assert_eq!(day_of(moment_us(draw, ORDERS_A_WEEK - 1)), FIRST_DAY + 6);
        assert_eq!(day_of(moment_us(draw, ORDERS_A_WEEK)), FIRST_DAY + 7);
    }
}
