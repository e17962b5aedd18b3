//! `sign`: -1, 0 or 1, as a numeric of a numeric and as a float of any other number.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{ArrayRef, Decimal128Array, Float64Array};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float64Type, i256};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::SqlError;

const NUMERIC: DataType = DataType::Decimal128(1, 0);

/// Tells a number's sign.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sign {
    signature: Signature,
}

impl Sign {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Sign {
    fn name(&self) -> &str {
        "sign"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        match arguments {
            [number] if number.is_decimal() => Ok(vec![number.clone()]),
            [number] if number.is_numeric() || *number == DataType::Null => {
                Ok(vec![DataType::Float64])
            }
            _ => Err(SqlError::undefined_function(self.name(), arguments).into()),
        }
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [number] if number.is_decimal() => Ok(NUMERIC),
            _ => Ok(DataType::Float64),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = matches!(args.args[0], ColumnarValue::Scalar(_));
        let numbers = args.args[0].to_array(if constant { 1 } else { args.number_rows })?;
        let signs = signs(&numbers)?;
        if constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                &signs, 0,
            )?));
        }
        Ok(ColumnarValue::Array(signs))
    }
}

fn signs(numbers: &ArrayRef) -> Result<ArrayRef> {
    let exact = |signs: Decimal128Array| signs.with_precision_and_scale(1, 0);
    Ok(match numbers.data_type() {
        DataType::Decimal128(..) => {
            let numbers = numbers.as_primitive::<Decimal128Type>();
            Arc::new(exact(numbers.unary(i128::signum))?)
        }
        DataType::Decimal256(..) => {
            let numbers = numbers.as_primitive::<Decimal256Type>();
            let sign = |number: i256| number.signum().as_i128();
            Arc::new(exact(numbers.unary(sign))?)
        }
        _ => {
            let numbers = numbers.as_primitive::<Float64Type>();
            let sign = |number: f64| {
                if number > 0.0 {
                    1.0
                } else if number < 0.0 {
                    -1.0
                } else {
                    number
                }
            };
            let signs: Float64Array = numbers.unary(sign);
            Arc::new(signs)
        }
    })
}
