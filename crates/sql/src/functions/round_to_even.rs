//! `rint`: a floating-point number to the nearest whole one, half to even.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// Rounds as the cast from double precision to an integer does.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct RoundToEven {
    signature: Signature,
}

impl RoundToEven {
    pub(crate) fn new() -> Self {
        let types = vec![DataType::Float32, DataType::Float64];
        Self {
            signature: Signature::uniform(1, types, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for RoundToEven {
    fn name(&self) -> &str {
        "round_to_even"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(match &args.args[0] {
            ColumnarValue::Scalar(value) => {
                let rounded = rounded(&value.to_array()?);
                ColumnarValue::Scalar(ScalarValue::try_from_array(&rounded, 0)?)
            }
            ColumnarValue::Array(array) => ColumnarValue::Array(rounded(array)),
        })
    }
}

fn rounded(array: &ArrayRef) -> ArrayRef {
    if let Some(numbers) = array.as_primitive_opt::<Float32Type>() {
        return Arc::new(numbers.unary::<_, Float32Type>(f32::round_ties_even));
    }
    let numbers = array.as_primitive::<Float64Type>();
    Arc::new(numbers.unary::<_, Float64Type>(f64::round_ties_even))
}
