//! `to_date(text, format)` and `to_timestamp(text, format)`, the inverse of `to_char`; and
//! `to_timestamp(seconds)`.
//!
//! A [`mod@format`] is cut into pieces, and the text is read piece by piece. As in PostgreSQL a separator stands for any
//! other or for none, blanks before and after a field are passed over, and the format's rest is left alone where the
//! text ends. What a text does not say is the first of its kind; the year is 1 BC.
//!
//! Does not: patterns that few use (`CC`, `J`, `WW`, `IYYY`, `BC`, `TZ`, `FX` …), which are refused (0A000).

mod format;

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{ArrayRef, Date32Array, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{DataType, Float64Type, TimeUnit};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::calendar::DAY_US;
use crate::error::{SqlError, code};
use format::Format;

const SECOND_US: f64 = 1e6;
/// The largest number of a timestamp's microseconds, as a float.
const MICROS_MAX: f64 = 9.2e18;

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wanted {
    Date,
    Moment,
}

/// Reads dates or moments.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct FromChar {
    wanted: Wanted,
    signature: Signature,
}

impl FromChar {
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            signature: Signature::user_defined(Volatility::Stable),
        }
    }
}

impl ScalarUDFImpl for FromChar {
    fn name(&self) -> &str {
        match self.wanted {
            Wanted::Date => "to_date",
            Wanted::Moment => "to_timestamp",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let is_text = |argument: &DataType| argument.is_string() || *argument == DataType::Null;
        match arguments {
            [text, format] if is_text(text) && is_text(format) => {
                Ok(vec![DataType::Utf8, DataType::Utf8])
            }
            [seconds]
                if self.wanted == Wanted::Moment && (seconds.is_numeric() || is_text(seconds)) =>
            {
                Ok(vec![DataType::Float64])
            }
            _ => Err(SqlError::undefined_function(self.name(), arguments).into()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.wanted {
            Wanted::Date => DataType::Date32,
            Wanted::Moment => DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let moments = match args.args.as_slice() {
            [seconds] => of_seconds(&seconds.to_array(rows)?)?,
            [texts, ColumnarValue::Scalar(format)] => {
                let format = format.try_as_str().flatten().map(Format::new).transpose()?;
                let texts = texts.to_array(rows)?;
                let texts = texts.as_string::<i32>().iter();
                let read = texts.map(|text| read(text, format.as_ref()));
                read.collect::<Result<Vec<_>, _>>()?
            }
            [texts, formats] => {
                let (texts, formats) = (texts.to_array(rows)?, formats.to_array(rows)?);
                let formats = formats.as_string::<i32>().iter();
                let pairs = texts.as_string::<i32>().iter().zip(formats);
                let read = pairs.map(|(text, format)| {
                    read(text, format.map(Format::new).transpose()?.as_ref())
                });
                read.collect::<Result<Vec<_>, _>>()?
            }
            _ => unreachable!("one argument or two are coerced"),
        };
        Ok(ColumnarValue::Array(self.typed(moments)))
    }
}

impl FromChar {
    /// Microseconds as what is wanted.
    fn typed(&self, moments: Vec<Option<i64>>) -> ArrayRef {
        if self.wanted == Wanted::Moment {
            let moments = TimestampMicrosecondArray::from(moments);
            return Arc::new(moments.with_timezone("+00:00"));
        }
        let days = moments.into_iter().map(|micros| {
            let days = micros?.div_euclid(DAY_US);
            Some(i32::try_from(days).expect("a timestamp's days are few"))
        });
        Arc::new(days.collect::<Date32Array>())
    }
}

fn read(text: Option<&str>, format: Option<&Format>) -> Result<Option<i64>, SqlError> {
    match (text, format) {
        (Some(text), Some(format)) => format.read(text).map(Some),
        _ => Ok(None),
    }
}

/// Moments so many seconds after 1970. The infinite ones stay.
fn of_seconds(seconds: &ArrayRef) -> Result<Vec<Option<i64>>, SqlError> {
    let seconds = seconds.as_primitive::<Float64Type>();
    let moments = seconds.iter().map(|seconds| match seconds {
        None => Ok(None),
        Some(f64::INFINITY) => Ok(Some(i64::MAX)),
        Some(f64::NEG_INFINITY) => Ok(Some(i64::MIN)),
        Some(seconds) => {
            let micros = (seconds * SECOND_US).round_ties_even();
            if micros.is_nan() || micros.abs() > MICROS_MAX {
                let message = format!("timestamp out of range: \"{seconds}\"");
                return Err(SqlError::new(code::DATETIME_FIELD_OVERFLOW, message));
            }
            #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
            let micros = micros as i64;
            Ok(Some(micros))
        }
    });
    moments.collect()
}
