//! `length` and `octet_length` of bytes.
//!
//! DataFusion takes bytes for the letters of a text.

use std::sync::Arc;

use datafusion::arrow::array::{Array, BinaryArray, Int32Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_binary_array;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::taken_types::taken_types;

/// The functions, by the names under which DataFusion has them.
pub(crate) const NAMES: [&str; 2] = ["character_length", "octet_length"];

/// DataFusion's function, which counts bytes of bytes.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ByteLength {
    inner: Arc<ScalarUDF>,
    signature: Signature,
}

impl ByteLength {
    pub(crate) fn new(inner: Arc<ScalarUDF>) -> Self {
        Self {
            inner,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for ByteLength {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if let [of] = types
            && of.is_binary()
        {
            return Ok(vec![DataType::Binary]);
        }
        taken_types(&self.inner, types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Binary] => Ok(DataType::Int32),
            types => self.inner.return_type(types),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else {
            return self.inner.invoke_with_args(args);
        };
        if value.data_type() != DataType::Binary {
            return self.inner.invoke_with_args(args);
        }
        let bytes = cast(&value.to_array(args.number_rows)?, &DataType::Binary)?;
        Ok(ColumnarValue::Array(Arc::new(lengths(as_binary_array(
            &bytes,
        )?))))
    }
}

fn lengths(bytes: &BinaryArray) -> Int32Array {
    let lengths = bytes.offsets().lengths();
    let lengths = lengths.map(|length| i32::try_from(length).unwrap_or(i32::MAX));
    Int32Array::new(lengths.collect(), bytes.nulls().cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted() {
        let bytes = BinaryArray::from(vec![Some(&[0xc3, 0xa4][..]), None, Some(&[])]);
        assert_eq!(
            lengths(&bytes),
            Int32Array::from(vec![Some(2), None, Some(0)])
        );
    }
}
