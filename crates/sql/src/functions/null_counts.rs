//! `num_nulls` and `num_nonnulls`: how many of their arguments are NULL, or are not.
//!
//! One VARIADIC array in the place of arguments is not taken apart.

use std::sync::Arc;

use datafusion::arrow::array::{Array, Int32Array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Both functions.
pub(crate) fn functions() -> [ScalarUDF; 2] {
    [true, false].map(|nulls| ScalarUDF::from(NullCount::new(nulls)))
}

/// One of them.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NullCount {
    /// Whether NULLs are what it counts.
    nulls: bool,
    signature: Signature,
}

impl NullCount {
    fn new(nulls: bool) -> Self {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Self { nulls, signature }
    }
}

impl ScalarUDFImpl for NullCount {
    fn name(&self) -> &str {
        if self.nulls {
            "num_nulls"
        } else {
            "num_nonnulls"
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int32)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let mut counts = vec![0; rows];
        for argument in &args.args {
            let values = argument.to_array(rows)?;
            let nulls = values.logical_nulls();
            for (row, count) in counts.iter_mut().enumerate() {
                let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                *count += i32::from(is_null == self.nulls);
            }
        }
        Ok(ColumnarValue::Array(Arc::new(Int32Array::from(counts))))
    }
}
