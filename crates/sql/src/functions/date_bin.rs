//! `date_bin`: the beginning of the bin that a moment is in; bins are of one length, and one of them begins at an origin.
//!
//! DataFusion's gives nanoseconds, which only reach from 1677 to 2262, and takes months for a length.

use std::sync::Arc;

use datafusion::arrow::array::TimestampMicrosecondArray;
use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::datatypes::{
    DataType, IntervalMonthDayNano, IntervalMonthDayNanoType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::calendar::DAY_US;
use super::constant_call::computed;
use super::intervals::INTERVAL;
use crate::error::{SqlError, code};

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct DateBin {
    signature: Signature,
}

impl DateBin {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for DateBin {
    fn name(&self) -> &'static str {
        "date_bin"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, of: &[DataType]) -> Result<Vec<DataType>> {
        use DataType::{Date32, Duration, Interval, Null, Timestamp, Utf8};
        let is_moment = |of: &DataType| matches!(of, Timestamp(..) | Date32 | Utf8 | Null);
        match of {
            [Interval(_) | Duration(_) | Utf8 | Null, moment, origin]
                if is_moment(moment) && is_moment(origin) =>
            {
                let zone = [moment, origin].into_iter().find_map(|of| match of {
                    Timestamp(_, zone) => zone.clone(),
                    _ => None,
                });
                let moment = Timestamp(TimeUnit::Microsecond, zone);
                Ok(vec![INTERVAL, moment.clone(), moment])
            }
            _ => Err(SqlError::undefined_function(self.name(), of).into()),
        }
    }

    fn return_type(&self, of: &[DataType]) -> Result<DataType> {
        Ok(of[1].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| {
            let column = |place: usize| args.args[place].to_array(rows);
            let (strides, moments, origins) = (column(0)?, column(1)?, column(2)?);
            let strides = strides.as_primitive::<IntervalMonthDayNanoType>().iter();
            let moments = moments.as_primitive::<TimestampMicrosecondType>().iter();
            let origins = origins.as_primitive::<TimestampMicrosecondType>().iter();
            let rows = strides.zip(moments.zip(origins));
            let bins = rows.map(
                |(stride, (moment, origin))| match (stride, moment, origin) {
                    (Some(stride), Some(moment), Some(origin)) => {
                        bin(stride, moment, origin).map(Some)
                    }
                    _ => Ok(None),
                },
            );
            let bins: TimestampMicrosecondArray = bins.collect::<Result<_, SqlError>>()?;
            Ok(Arc::new(bins.with_data_type(args.return_type().clone())))
        })
    }
}

/// Moments are in microseconds.
fn bin(stride: IntervalMonthDayNano, moment: i64, origin: i64) -> Result<i64, SqlError> {
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(SqlError::new(code::FEATURE_NOT_SUPPORTED, message));
    }
    let out_of_range = || SqlError::new(code::DATETIME_FIELD_OVERFLOW, "timestamp out of range");
    let stride = i64::from(stride.days) * DAY_US + stride.nanoseconds / 1_000;
    if stride <= 0 {
        let message = "stride must be greater than zero";
        return Err(SqlError::new(code::DATETIME_FIELD_OVERFLOW, message));
    }
    if moment == i64::MAX || moment == i64::MIN {
        return Ok(moment);
    }
    let since = moment.checked_sub(origin).ok_or_else(out_of_range)?;
    let begin = moment.checked_sub(since.rem_euclid(stride));
    begin.ok_or_else(out_of_range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_begins_at_or_before_the_moment() {
        let hours = |hours: i64| IntervalMonthDayNano::new(0, 0, hours * 3_600_000_000_000);
        assert_eq!(bin(hours(1), 7_200_000_001, 1), Ok(7_200_000_001));
        assert_eq!(bin(hours(1), 7_200_000_000, 1), Ok(3_600_000_001));
        assert_eq!(bin(hours(1), -1, 0), Ok(-3_600_000_000));
        assert_eq!(bin(hours(1), i64::MAX, 0), Ok(i64::MAX));
        assert!(bin(hours(0), 1, 0).is_err());
        assert!(bin(IntervalMonthDayNano::new(1, 0, 0), 1, 0).is_err());
    }
}
