//! `generate_series` of moments whose bounds have several types.
//!
//! | bounds | series of |
//! |---|---|
//! | `timestamp`, `timestamp`; `timestamp`, `date` | `timestamp` |
//! | `timestamptz` and any; `date`, `date` | `timestamptz` |
//!
//! DataFusion wants both to be of one type, and has series of dates.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::intervals::INTERVAL;
use super::taken_types::taken_types;

/// The name of the function.
pub(crate) const NAME: &str = "generate_series";

/// DataFusion's function, with bounds of one type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Series {
    inner: Arc<ScalarUDF>,
    signature: Signature,
}

impl Series {
    pub(crate) fn new(inner: Arc<ScalarUDF>) -> Self {
        Self {
            inner,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Series {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [from, to, DataType::Interval(_)] => match bound(from, to) {
                Some(bound) => Ok(vec![bound.clone(), bound, INTERVAL]),
                None => taken_types(&self.inner, types),
            },
            types => taken_types(&self.inner, types),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.inner.invoke_with_args(args)
    }
}

/// The type of both bounds; `None` where one is no moment.
fn bound(from: &DataType, to: &DataType) -> Option<DataType> {
    let plain = DataType::Timestamp(TimeUnit::Microsecond, None);
    let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
    match (from, to) {
        (DataType::Timestamp(_, None), DataType::Timestamp(_, None) | DataType::Date32)
        | (DataType::Date32, DataType::Timestamp(_, None)) => Some(plain),
        (
            DataType::Timestamp(..) | DataType::Date32,
            DataType::Timestamp(..) | DataType::Date32,
        ) => Some(zoned),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_counts_and_two_dates_have_one() {
        let plain = DataType::Timestamp(TimeUnit::Microsecond, None);
        let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
        let date = DataType::Date32;
        for (from, to, expected) in [
            (&plain, &date, Some(&plain)),
            (&date, &plain, Some(&plain)),
            (&date, &date, Some(&zoned)),
            (&zoned, &plain, Some(&zoned)),
            (&zoned, &date, Some(&zoned)),
            (&DataType::Int64, &date, None),
        ] {
            assert_eq!(bound(from, to).as_ref(), expected);
        }
    }
}
