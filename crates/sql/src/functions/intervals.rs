//! `interval * number`, `number * interval`, `interval / number`, `timestamp - timestamp`, `age`,
//! and the length by which intervals compare.
//!
//! A product's fraction of a month becomes days of a month of 30 days, a fraction of a day
//! microseconds (PostgreSQL's `interval_mul`). An age counts in whole years, months and days
//! (`timestamp_age`), a difference in days and time. Two intervals are as long as each other if
//! they are with months of 30 days and days of 24 hours.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{ArrayRef, Decimal128Array, IntervalMonthDayNanoArray};
use datafusion::arrow::datatypes::{
    DataType, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::calendar::{Civil, DAY_US};
use super::constant_call::computed;
use crate::error::{SqlError, code};

/// The type of intervals.
pub(super) const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const DAYS_OF_MONTH: f64 = 30.0;
/// Digits of an interval's length in microseconds.
const SPAN_DIGITS: u8 = 25;
const DAY_SECONDS: f64 = 86_400.0;

/// A function that gives intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Multiply,
    Divide,
    /// Of two timestamps.
    Difference,
    Age,
}

/// Computes intervals.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Intervals {
    operation: Operation,
    signature: Signature,
}

impl Intervals {
    pub(crate) fn new(operation: Operation) -> Self {
        let arguments = match operation {
            Operation::Age | Operation::Difference => vec![TIMESTAMP, TIMESTAMP],
            Operation::Multiply | Operation::Divide => vec![INTERVAL, DataType::Float64],
        };
        Self {
            operation,
            signature: Signature::exact(arguments, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Intervals {
    fn name(&self) -> &str {
        match self.operation {
            Operation::Multiply => "interval_mul",
            Operation::Divide => "interval_div",
            Operation::Difference => "timestamp_sub",
            Operation::Age => "age",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(INTERVAL)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| {
            let (left, right) = (args.args[0].to_array(rows)?, args.args[1].to_array(rows)?);
            Ok(Arc::new(self.compute(&left, &right)?))
        })
    }
}

impl Intervals {
    fn compute(&self, left: &ArrayRef, right: &ArrayRef) -> Result<IntervalMonthDayNanoArray> {
        let between = match self.operation {
            Operation::Age => Some(age as fn(i64, i64) -> IntervalMonthDayNano),
            Operation::Difference => Some(difference as _),
            Operation::Multiply | Operation::Divide => None,
        };
        if let Some(between) = between {
            let left = left.as_primitive::<TimestampMicrosecondType>();
            let right = right.as_primitive::<TimestampMicrosecondType>();
            let pairs = left.iter().zip(right.iter());
            return Ok(pairs.map(|(a, b)| Some(between(a?, b?))).collect());
        }
        let intervals = left.as_primitive::<IntervalMonthDayNanoType>();
        let factors = right.as_primitive::<Float64Type>();
        let pairs = intervals.iter().zip(factors.iter());
        pairs
            .map(|(interval, factor)| match (interval, factor) {
                (Some(interval), Some(factor)) => self.scaled(interval, factor).map(Some),
                _ => Ok(None),
            })
            .collect::<Result<_>>()
    }

    fn scaled(&self, interval: IntervalMonthDayNano, number: f64) -> Result<IntervalMonthDayNano> {
        let of = |part: f64| match self.operation {
            Operation::Divide => part / number,
            _ => part * number,
        };
        if self.operation == Operation::Divide && number == 0.0 {
            return Err(SqlError::new(code::DIVISION_BY_ZERO, "division by zero").into());
        }
        let [months, days] = [interval.months, interval.days].map(|part| of(f64::from(part)));
        let micros = of(interval.nanoseconds as f64 / 1_000.0);
        let interval = carried(months, days, micros).ok_or_else(out_of_range)?;
        Ok(interval)
    }
}

/// There is no interval so long.
pub(super) fn out_of_range() -> SqlError {
    SqlError::new(code::DATETIME_FIELD_OVERFLOW, "interval out of range")
}

/// An interval of parts with fractions: those of months become days, those of days microseconds.
pub(super) fn carried(months: f64, days: f64, micros: f64) -> Option<IntervalMonthDayNano> {
    let (whole_months, whole_days) = (whole(months)?, whole(days)?);
    let rest_of_month = rounded((months - f64::from(whole_months)) * DAYS_OF_MONTH);
    let more_days = rest_of_month.trunc();
    let rest_of_days = days - f64::from(whole_days) + rest_of_month - more_days;
    let seconds = rounded(rest_of_days * DAY_SECONDS);
    let full_days = (seconds / DAY_SECONDS).trunc();
    let micros = (micros + (seconds - full_days * DAY_SECONDS) * 1e6).round_ties_even();
    let days = whole(f64::from(whole_days) + more_days + full_days)?;
    (micros.abs() * 1_000.0 < i64::MAX as f64).then_some(IntervalMonthDayNano {
        months: whole_months,
        days,
        nanoseconds: micros as i64 * 1_000,
    })
}

/// The integer part, if it is one of 32 bits.
fn whole(number: f64) -> Option<i32> {
    let whole = number.trunc();
    (whole >= f64::from(i32::MIN) && whole <= f64::from(i32::MAX)).then_some(whole as i32)
}

/// Without what binary fractions add to the sixth digit (PostgreSQL's `TSROUND`).
fn rounded(number: f64) -> f64 {
    (number * 1e6).round_ties_even() / 1e6
}

/// Days and the time that is left.
fn difference(later: i64, earlier: i64) -> IntervalMonthDayNano {
    let micros = later.saturating_sub(earlier);
    IntervalMonthDayNano {
        months: 0,
        days: (micros / DAY_US) as i32,
        nanoseconds: micros % DAY_US * 1_000,
    }
}

/// From `earlier` to `later` in years, months and days, then time; negative the other way round.
fn age(later: i64, earlier: i64) -> IntervalMonthDayNano {
    if later < earlier {
        let age = age(earlier, later);
        return IntervalMonthDayNano {
            months: -age.months,
            days: -age.days,
            nanoseconds: -age.nanoseconds,
        };
    }
    let split = |micros: i64| {
        let days = micros.div_euclid(DAY_US);
        (Civil::of_days(days), micros.rem_euclid(DAY_US))
    };
    let ((to, to_time), (from, from_time)) = (split(later), split(earlier));
    let mut time = to_time - from_time;
    let mut days = to.day - from.day;
    let mut months = (to.year - from.year) * 12 + to.month - from.month;
    if time < 0 {
        time += DAY_US;
        days -= 1;
    }
    if days < 0 {
        // A month that is not over is as long as the one in which it began.
        days += Civil::days_in_month(from.year, from.month);
        months -= 1;
    }
    IntervalMonthDayNano {
        months: months as i32,
        days: days as i32,
        nanoseconds: time * 1_000,
    }
}

/// Gives an interval's length in microseconds.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    signature: Signature,
}

impl Span {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::exact(vec![INTERVAL], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Span {
    fn name(&self) -> &str {
        "interval_span"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Decimal128(SPAN_DIGITS, 0))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| spans(&args.args[0].to_array(rows)?))
    }
}

/// The lengths of intervals in microseconds.
pub(super) fn spans(intervals: &ArrayRef) -> Result<ArrayRef> {
    let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
    let span = |interval: IntervalMonthDayNano| {
        let days = i128::from(interval.months) * 30 + i128::from(interval.days);
        days * i128::from(DAY_US) + i128::from(interval.nanoseconds / 1_000)
    };
    let spans: Decimal128Array = intervals.unary(span);
    Ok(Arc::new(spans.with_precision_and_scale(SPAN_DIGITS, 0)?))
}

/// The interval so far on the way from one to another.
pub(super) fn between(
    low: IntervalMonthDayNano,
    high: IntervalMonthDayNano,
    part: f64,
) -> Result<IntervalMonthDayNano, SqlError> {
    let [months, days] = [(low.months, high.months), (low.days, high.days)]
        .map(|(low, high)| (f64::from(high) - f64::from(low)) * part);
    let micros = (high.nanoseconds as f64 - low.nanoseconds as f64) / 1_000.0 * part;
    let way = carried(months, days, micros).ok_or_else(out_of_range)?;
    let sum = || {
        Some(IntervalMonthDayNano {
            months: low.months.checked_add(way.months)?,
            days: low.days.checked_add(way.days)?,
            nanoseconds: low.nanoseconds.checked_add(way.nanoseconds)?,
        })
    };
    sum().ok_or_else(out_of_range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(months: i32, days: i32, seconds: i64) -> IntervalMonthDayNano {
        IntervalMonthDayNano {
            months,
            days,
            nanoseconds: seconds * 1_000_000_000,
        }
    }

    #[test]
    fn fractions_are_carried_down_as_postgresql_carries_them() {
        let scaled = |operation, of, number| {
            Intervals::new(operation)
                .scaled(of, number)
                .expect("is in range")
        };
        let half = scaled(Operation::Multiply, interval(3, 1, 0), 0.5);
        assert_eq!(half, interval(1, 15, 12 * 3600));
        let third = scaled(Operation::Divide, interval(0, 1, 0), 3.0);
        assert_eq!(third, interval(0, 0, 8 * 3600));
        let nothing = Intervals::new(Operation::Divide).scaled(interval(0, 1, 0), 0.0);
        assert!(nothing.is_err());
    }

    #[test]
    fn ages_count_whole_months_and_days() {
        let day = |year, month, day| Civil::days_of(year, month, day) * DAY_US;
        assert_eq!(age(day(2020, 3, 1), day(2020, 1, 31)), interval(1, 1, 0));
        assert_eq!(age(day(2020, 1, 31), day(2020, 3, 1)), interval(-1, -1, 0));
        assert_eq!(
            difference(day(2020, 3, 1), day(2020, 1, 31)),
            interval(0, 30, 0)
        );
    }
}
