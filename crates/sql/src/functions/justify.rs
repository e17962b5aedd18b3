//! `justify_hours`, `justify_days` and `justify_interval`: intervals whose parts are not longer than the next larger one.
//!
//! 24 hours become a day, and 30 days a month. All parts that are changed have one sign afterwards.

use std::sync::Arc;

use datafusion::arrow::array::IntervalMonthDayNanoArray;
use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::calendar::DAY_US;
use super::constant_call::computed;
use super::intervals::INTERVAL;
use crate::error::{SqlError, code};

const DAYS_OF_MONTH: i32 = 30;
const DAY_NANOS: i64 = DAY_US * 1_000;

/// All of them.
pub(crate) fn functions() -> [ScalarUDF; 3] {
    let function = |name, justified| {
        ScalarUDF::from(Justify {
            name,
            justified,
            signature: Signature::exact(vec![INTERVAL], Volatility::Immutable),
        })
    };
    [
        function("justify_hours", Justified::Hours),
        function("justify_days", Justified::Days),
        function("justify_interval", Justified::All),
    ]
}

/// Which parts are made shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Justified {
    Hours,
    Days,
    All,
}

impl Justified {
    /// The interval with shorter parts; `None` if there is none with so many days or months.
    fn of(self, interval: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
        match self {
            Self::Hours => {
                let interval = carry_hours(interval)?;
                Some(one_sign_of_hours(interval))
            }
            Self::Days => {
                let mut interval = carry_days(interval)?;
                if interval.months > 0 && interval.days < 0 {
                    borrow_month(&mut interval, 1);
                } else if interval.months < 0 && interval.days > 0 {
                    borrow_month(&mut interval, -1);
                }
                Some(interval)
            }
            Self::All => {
                let mut interval = interval;
                let [days, time] =
                    [i64::from(interval.days), interval.nanoseconds].map(i64::signum);
                if days == time {
                    // There is room for the days that come out of the time.
                    interval = carry_days(interval)?;
                }
                let mut interval = carry_days(carry_hours(interval)?)?;
                // The sign of what is shorter than a month.
                let rest = match interval.days {
                    0 => interval.nanoseconds.signum(),
                    days => i64::from(days.signum()),
                };
                if interval.months > 0 && rest < 0 {
                    borrow_month(&mut interval, 1);
                } else if interval.months < 0 && rest > 0 {
                    borrow_month(&mut interval, -1);
                }
                Some(one_sign_of_hours(interval))
            }
        }
    }
}

/// Makes days of all hours that are enough for it.
fn carry_hours(interval: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
    let days = i32::try_from(interval.nanoseconds / DAY_NANOS).ok()?;
    Some(IntervalMonthDayNano {
        days: interval.days.checked_add(days)?,
        nanoseconds: interval.nanoseconds % DAY_NANOS,
        ..interval
    })
}

/// Makes months of all days that are enough for it.
fn carry_days(interval: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
    Some(IntervalMonthDayNano {
        months: interval.months.checked_add(interval.days / DAYS_OF_MONTH)?,
        days: interval.days % DAYS_OF_MONTH,
        ..interval
    })
}

/// Makes days of a month that has this sign.
fn borrow_month(interval: &mut IntervalMonthDayNano, sign: i32) {
    interval.months -= sign;
    interval.days += sign * DAYS_OF_MONTH;
}

/// Makes hours of a day if hours and days have different signs.
fn one_sign_of_hours(mut interval: IntervalMonthDayNano) -> IntervalMonthDayNano {
    let sign = interval.days.signum();
    if i64::from(sign) * interval.nanoseconds.signum() < 0 {
        interval.days -= sign;
        interval.nanoseconds += i64::from(sign) * DAY_NANOS;
    }
    interval
}

/// One of the functions.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Justify {
    name: &'static str,
    justified: Justified,
    signature: Signature,
}

impl ScalarUDFImpl for Justify {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(INTERVAL)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| {
            let intervals = args.args[0].to_array(rows)?;
            let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
            let justified: IntervalMonthDayNanoArray = intervals.try_unary(|interval| {
                let overflow =
                    || SqlError::new(code::DATETIME_FIELD_OVERFLOW, "interval out of range");
                self.justified.of(interval).ok_or_else(overflow)
            })?;
            Ok(Arc::new(justified))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = DAY_NANOS / 24;

    fn of(justified: Justified, parts: (i32, i32, i64)) -> (i32, i32, i64) {
        let interval = IntervalMonthDayNano::new(parts.0, parts.1, parts.2 * HOUR);
        let interval = justified.of(interval).expect("is in range");
        (interval.months, interval.days, interval.nanoseconds / HOUR)
    }

    #[test]
    fn parts_are_carried_as_postgresql_carries_them() {
        let hours = |parts| of(Justified::Hours, parts);
        assert_eq!(hours((0, 0, 27)), (0, 1, 3));
        assert_eq!(hours((0, 1, -2)), (0, 0, 22));
        assert_eq!(hours((0, -1, 50)), (0, 1, 2));
        let days = |parts| of(Justified::Days, parts);
        assert_eq!(days((0, 35, 0)), (1, 5, 0));
        assert_eq!(days((1, -40, 0)), (0, -10, 0));
        assert_eq!(days((-1, 40, 0)), (0, 10, 0));
        let all = |parts| of(Justified::All, parts);
        assert_eq!(all((1, 0, -1)), (0, 29, 23));
        assert_eq!(all((-1, 40, 30)), (0, 11, 6));
        assert_eq!(all((0, 33, 50)), (1, 5, 2));
        assert_eq!(all((1, -33, 0)), (0, -3, 0));
    }
}
