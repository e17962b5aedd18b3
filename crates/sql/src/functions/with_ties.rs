//! `with_ties(n)`: marks the count of FETCH FIRST n ROWS WITH TIES until the plan is there, where [`ties`](crate::rewrite::ties) takes
//! the mark away.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// The name of the function.
pub(crate) const WITH_TIES: &str = "with_ties";

/// Is never computed.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct WithTies {
    signature: Signature,
}

impl WithTies {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::exact(vec![DataType::Int64], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for WithTies {
    fn name(&self) -> &str {
        WITH_TIES
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{WITH_TIES} stands for a clause")
    }
}
