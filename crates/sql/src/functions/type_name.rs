//! `pg_typeof`: the name of an expression's type.
//!
//! A literal without a type, which PostgreSQL calls `unknown`, is `text` here.

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use protocol::encode::wire_type::element_of;

use crate::pg_type;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeName {
    signature: Signature,
}

impl TypeName {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Stable),
        }
    }
}

impl ScalarUDFImpl for TypeName {
    fn name(&self) -> &str {
        "pg_typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let name = name_of(&args.arg_fields[0]);
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8(Some(name))))
    }
}

fn name_of(field: &Field) -> String {
    let oid = pg_type::field_oid(field);
    match element_of(oid).filter(|_| pg_type::is_array(oid)) {
        Some(element) => format!("{}[]", pg_type::names(element).0),
        None => pg_type::names(oid).0.to_owned(),
    }
}
