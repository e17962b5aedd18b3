//! Texts as values of a type that is stored as text: read, in the one spelling that PostgreSQL has for each, or known to be such.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::cast::as_string_array;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::literals::text_as;
use crate::table::column::OID_KEY;

/// Takes texts for values of a type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TextIn {
    name: &'static str,
    oid: u32,
    is_read: bool,
    signature: Signature,
}

impl TextIn {
    /// Reads any texts, under the name of PostgreSQL's function that does.
    pub(super) fn reading(name: &'static str, oid: u32) -> Self {
        Self::new(name, oid, true)
    }

    /// Takes texts as they are: it is known what they are.
    pub(crate) fn as_is(oid: u32) -> Self {
        Self::new("text_as_is", oid, false)
    }

    fn new(name: &'static str, oid: u32, is_read: bool) -> Self {
        Self {
            name,
            oid,
            is_read,
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for TextIn {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of what is read is known by its field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let text = &args.arg_fields[0];
        let data_type = match self.is_read {
            true => DataType::Utf8,
            false => text.data_type().clone(),
        };
        let field = Field::new(text.name(), data_type, text.is_nullable());
        let metadata = [(OID_KEY.to_owned(), self.oid.to_string())].into();
        Ok(Arc::new(field.with_metadata(metadata)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if !self.is_read {
            return Ok(args.args[0].clone());
        }
        let texts = cast(&args.args[0].to_array(args.number_rows)?, &DataType::Utf8)?;
        let mut read = StringBuilder::with_capacity(texts.len(), 0);
        for text in as_string_array(&texts)? {
            let value = text.map(|text| text_as(text, self.oid)).transpose()?;
            read.append_option(value);
        }
        let read: ArrayRef = Arc::new(read.finish());
        Ok(ColumnarValue::Array(read))
    }
}
