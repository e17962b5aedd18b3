//! `date_trunc`: moments, intervals and times of day, which are intervals, without what is smaller than a unit.
//!
//! DataFusion's knows neither intervals nor decades, centuries and millennia, takes `hour` but not `hours`, and no unit that differs
//! from row to row.
//!
//! Units up to a day are whole numbers of microseconds since 1970, those of the calendar begin on a day of [`Civil`]. A moment with a time
//! zone is cut in UTC, the session's; another zone is told by a third argument, which [`crate::rewrite`] puts around the call.
//! Infinity stays what it is.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef, PrimitiveArray, new_null_array};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, IntervalMonthDayNano, IntervalMonthDayNanoType,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::calendar::{Civil, DAY_US, HOUR_US, MINUTE_US, SECOND_US};
use super::constant_call::computed;
use super::extract::Part;
use super::intervals::INTERVAL;
use crate::error::SqlError;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct DateTrunc {
    signature: Signature,
}

impl DateTrunc {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &'static str {
        "date_trunc"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, of: &[DataType]) -> Result<Vec<DataType>> {
        let cut = match of {
            [
                DataType::Utf8 | DataType::Null,
                DataType::Timestamp(_, zone),
            ] => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
            [
                DataType::Utf8 | DataType::Null,
                DataType::Date32 | DataType::Utf8 | DataType::Null,
            ] => DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
            [
                DataType::Utf8 | DataType::Null,
                DataType::Interval(_) | DataType::Duration(_),
            ] => INTERVAL,
            [DataType::Utf8 | DataType::Null, DataType::Time64(_)] => {
                DataType::Time64(TimeUnit::Microsecond)
            }
            _ => return Err(SqlError::undefined_function(self.name(), of).into()),
        };
        Ok(vec![DataType::Utf8, cut])
    }

    fn return_type(&self, of: &[DataType]) -> Result<DataType> {
        Ok(match &of[1] {
            DataType::Time64(_) => INTERVAL,
            cut => cut.clone(),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of = args.return_field.data_type().clone();
        if let ColumnarValue::Scalar(ScalarValue::Utf8(unit)) = &args.args[0] {
            let unit = unit.as_deref().map(|unit| Part::named(unit, &of));
            let unit = unit.transpose()?;
            return computed(&args, |rows| {
                let values = args.args[1].to_array(rows)?;
                match unit {
                    Some(unit) => cut_by(&values, &of, unit),
                    None => Ok(new_null_array(&of, rows)),
                }
            });
        }
        computed(&args, |rows| {
            let units = args.args[0].to_array(rows)?;
            let units = units.as_string::<i32>();
            let unit = |row| match units.is_null(row) {
                true => Ok(None),
                false => Part::named(units.value(row), &of).map(Some),
            };
            cut_all(&args.args[1].to_array(rows)?, &of, unit)
        })
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        Ok(match inputs[0].sort_properties {
            SortProperties::Singleton => inputs[1].sort_properties,
            _ => SortProperties::Unordered,
        })
    }
}

/// Cuts the values by one unit.
fn cut_by(values: &ArrayRef, of: &DataType, unit: Part) -> Result<ArrayRef> {
    let refused = || refused(unit);
    Ok(match of {
        DataType::Timestamp(..) => {
            let values = values.as_primitive::<TimestampMicrosecondType>();
            let cut = |value| moment(value, unit).ok_or_else(refused);
            let cut = values.try_unary::<_, TimestampMicrosecondType, SqlError>(cut)?;
            Arc::new(cut.with_data_type(of.clone()))
        }
        _ => {
            let values = as_intervals(values);
            let values = values.as_primitive::<IntervalMonthDayNanoType>();
            let cut = |value| interval(value, unit).ok_or_else(refused);
            Arc::new(values.try_unary::<_, IntervalMonthDayNanoType, SqlError>(cut)?)
        }
    })
}

fn refused(unit: Part) -> SqlError {
    SqlError::not_supported(format!("date_trunc to {unit:?}"))
}

/// Cuts the values, each by the unit of its row; NULL where there is no unit.
fn cut_all(
    values: &ArrayRef,
    of: &DataType,
    unit: impl Fn(usize) -> Result<Option<Part>, SqlError>,
) -> Result<ArrayRef> {
    Ok(match of {
        DataType::Timestamp(..) => {
            let cut = each::<TimestampMicrosecondType>(values, unit, moment)?;
            Arc::new(cut.with_data_type(of.clone()))
        }
        _ => {
            let values = as_intervals(values);
            Arc::new(each::<IntervalMonthDayNanoType>(&values, unit, interval)?)
        }
    })
}

/// Intervals; times of day are those since midnight.
fn as_intervals(values: &ArrayRef) -> ArrayRef {
    let Some(times) = values.as_primitive_opt::<Time64MicrosecondType>() else {
        return values.clone();
    };
    let interval = |micros: i64| IntervalMonthDayNano::new(0, 0, micros * 1_000);
    Arc::new(times.unary::<_, IntervalMonthDayNanoType>(interval))
}

fn each<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    unit: impl Fn(usize) -> Result<Option<Part>, SqlError>,
    cut: impl Fn(T::Native, Part) -> Option<T::Native>,
) -> Result<PrimitiveArray<T>, SqlError> {
    let values = values.as_primitive::<T>();
    let cells = values.iter().enumerate().map(|(row, value)| {
        let (Some(value), Some(unit)) = (value, unit(row)?) else {
            return Ok(None);
        };
        cut(value, unit).map(Some).ok_or_else(|| refused(unit))
    });
    cells.collect()
}

/// A moment in microseconds since 1970, cut; `None` if that cannot be.
fn moment(value: i64, unit: Part) -> Option<i64> {
    if value == i64::MAX || value == i64::MIN {
        return Some(value);
    }
    if let Some(length) = length_us(unit) {
        return Some(value - value.rem_euclid(length));
    }
    let days = value.div_euclid(DAY_US);
    let Civil { year, month, .. } = Civil::of_days(days);
    // A century begins with its year 1.
    let first_of = |years: i64| (year - 1).div_euclid(years) * years + 1;
    let first_day = match unit {
        Part::Week => days - (days + 3).rem_euclid(7),
        Part::Month => Civil::days_of(year, month, 1),
        Part::Quarter => Civil::days_of(year, (month - 1) / 3 * 3 + 1, 1),
        Part::Year => Civil::days_of(year, 1, 1),
        Part::Decade => Civil::days_of(year.div_euclid(10) * 10, 1, 1),
        Part::Century => Civil::days_of(first_of(100), 1, 1),
        Part::Millennium => Civil::days_of(first_of(1_000), 1, 1),
        _ => return None,
    };
    Some(first_day * DAY_US)
}

/// An interval, cut towards zero; `None` if that cannot be.
fn interval(value: IntervalMonthDayNano, unit: Part) -> Option<IntervalMonthDayNano> {
    let IntervalMonthDayNano {
        months,
        days,
        nanoseconds,
    } = value;
    let of_months = |count: i32| IntervalMonthDayNano::new(months - months % count, 0, 0);
    Some(match unit {
        Part::Month => of_months(1),
        Part::Quarter => of_months(3),
        Part::Year => of_months(12),
        Part::Decade => of_months(120),
        Part::Century => of_months(1_200),
        Part::Millennium => of_months(12_000),
        Part::Day => IntervalMonthDayNano::new(months, days, 0),
        unit => {
            let length = length_us(unit)? * 1_000;
            IntervalMonthDayNano::new(months, days, nanoseconds - nanoseconds % length)
        }
    })
}

/// Microseconds of a unit that is always as long.
fn length_us(unit: Part) -> Option<i64> {
    Some(match unit {
        Part::Microseconds => 1,
        Part::Milliseconds => 1_000,
        Part::Second => SECOND_US,
        Part::Minute => MINUTE_US,
        Part::Hour => HOUR_US,
        Part::Day => DAY_US,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first day of a unit, from a day: both as year, month, day.
    fn first_day(unit: Part, (year, month, day): (i64, i64, i64)) -> (i64, i64, i64) {
        let late = Civil::days_of(year, month, day) * DAY_US + 23 * HOUR_US;
        let cut = moment(late, unit).expect("it can be cut");
        assert_eq!(cut % DAY_US, 0);
        let day = Civil::of_days(cut / DAY_US);
        (day.year, day.month, day.day)
    }

    /// Expected: PostgreSQL 15's. Year 0 is 1 BC.
    #[test]
    fn units_of_the_calendar_begin_on_their_first_day() {
        assert_eq!(first_day(Part::Week, (2020, 1, 5)), (2019, 12, 30));
        assert_eq!(first_day(Part::Quarter, (2020, 12, 31)), (2020, 10, 1));
        assert_eq!(first_day(Part::Decade, (1999, 5, 5)), (1990, 1, 1));
        assert_eq!(first_day(Part::Decade, (-9, 5, 5)), (-10, 1, 1));
        assert_eq!(first_day(Part::Century, (2000, 5, 5)), (1901, 1, 1));
        assert_eq!(first_day(Part::Century, (0, 5, 5)), (-99, 1, 1));
        assert_eq!(first_day(Part::Millennium, (2001, 5, 5)), (2001, 1, 1));
        assert_eq!(moment(-1, Part::Hour), Some(-HOUR_US));
        assert_eq!(moment(i64::MAX, Part::Year), Some(i64::MAX));
    }

    #[test]
    fn intervals_are_cut_towards_zero() {
        let of = IntervalMonthDayNano::new;
        let cut = |unit| interval(of(-41, -10, -3_600_000_000_001), unit);
        assert_eq!(cut(Part::Year), Some(of(-36, 0, 0)));
        assert_eq!(cut(Part::Quarter), Some(of(-39, 0, 0)));
        assert_eq!(cut(Part::Day), Some(of(-41, -10, 0)));
        assert_eq!(cut(Part::Hour), Some(of(-41, -10, -3_600_000_000_000)));
        assert_eq!(cut(Part::Week), None);
    }
}
