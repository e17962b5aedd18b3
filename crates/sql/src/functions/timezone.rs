//! `timezone(zone, moment)`, which AT TIME ZONE stands for.
//!
//! A moment (`timestamptz`) becomes what a clock in the zone shows then (`timestamp`), and what a clock shows becomes the moment.
//! A date, and a literal, is the moment at which it begins in UTC, as in a session of PostgreSQL's in UTC.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{ArrayRef, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{
    DataType, IntervalMonthDayNano, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::intervals::INTERVAL;
use super::zone::Zone;
use crate::error::{SqlError, code};

const CLOCK: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

fn moment_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()))
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Timezone {
    signature: Signature,
}

impl Timezone {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Timezone {
    fn name(&self) -> &str {
        "timezone"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let unknown = || SqlError::undefined_function(self.name(), arguments);
        let [zone, time] = arguments else {
            return Err(unknown().into());
        };
        let zone = match zone {
            DataType::Interval(_) => INTERVAL,
            text if text.is_string() || *text == DataType::Null => DataType::Utf8,
            _ => return Err(unknown().into()),
        };
        let time = match time {
            DataType::Timestamp(_, None) => CLOCK,
            DataType::Timestamp(..) | DataType::Date32 | DataType::Null => moment_type(),
            text if text.is_string() => moment_type(),
            _ => return Err(unknown().into()),
        };
        Ok(vec![zone, time])
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(match arguments {
            [_, DataType::Timestamp(_, None)] => moment_type(),
            _ => CLOCK,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let times = args.args[1].to_array(rows)?;
        let changed = match &args.args[0] {
            ColumnarValue::Scalar(zone) => {
                let zone = zone_of(zone)?;
                changed(&times, |_| Ok(zone))?
            }
            ColumnarValue::Array(zones) => changed(&times, |row| {
                zone_of(&ScalarValue::try_from_array(zones, row)?)
            })?,
        };
        Ok(ColumnarValue::Array(changed))
    }
}

/// The zone that a text or an interval names. `None` for NULL.
fn zone_of(name: &ScalarValue) -> Result<Option<Zone>> {
    match name {
        ScalarValue::IntervalMonthDayNano(None) => Ok(None),
        ScalarValue::IntervalMonthDayNano(Some(interval)) => Ok(Some(of_interval(*interval)?)),
        text => match text.try_as_str().flatten() {
            Some(name) => Ok(Some(Zone::of(name)?)),
            None => Ok(None),
        },
    }
}

/// Time that a zone is ahead of UTC.
fn of_interval(interval: IntervalMonthDayNano) -> Result<Zone, SqlError> {
    if interval.months != 0 || interval.days != 0 {
        let message = "interval time zone must not include months or days";
        return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, message));
    }
    Ok(Zone::Fixed(interval.nanoseconds / 1000))
}

/// Moments as clocks show them, or the other way round. Infinite ones stay.
fn changed(times: &ArrayRef, zone: impl Fn(usize) -> Result<Option<Zone>>) -> Result<ArrayRef> {
    let is_clock = *times.data_type() == CLOCK;
    let times = times.as_primitive::<TimestampMicrosecondType>();
    let changed = times.iter().enumerate().map(|(row, time)| {
        let Some(time) = time else {
            return Ok(None);
        };
        if time == i64::MAX || time == i64::MIN {
            return Ok(Some(time));
        }
        let changed = zone(row)?.map(|zone| match is_clock {
            true => zone.moment(time),
            false => zone.local(time),
        });
        Ok(changed.transpose()?)
    });
    let changed: TimestampMicrosecondArray = changed.collect::<Result<_>>()?;
    Ok(match is_clock {
        true => Arc::new(changed.with_timezone("+00:00")),
        false => Arc::new(changed),
    })
}
