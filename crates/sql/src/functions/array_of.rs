//! `array_of(x)`: an array in the form that functions of arrays take.
//!
//! Tables keep arrays as the texts that the source sends, because a column of PostgreSQL's may have arrays of any dimensions and
//! bounds. Where the elements are asked for the text is taken apart; what is a list already stays as it is.
//! [`array_arguments`](crate::rewrite::array_arguments) puts the calls.
//!
//! Does not: arrays of more than one dimension, and of types that the source made (enums, composites), which are
//! refused.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, ListArray, StringBuilder};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::cast::as_string_array;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use protocol::encode::array::{self, ArrayLiteral};
use protocol::encode::wire_type::element_of;

use crate::error::{SqlError, code};
use crate::pg_type;
use crate::table::column::OID_KEY;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ArrayOf {
    /// What elements are, where no column tells it.
    element: Option<FieldRef>,
    signature: Signature,
}

impl ArrayOf {
    /// Of a column of arrays, whose field tells what they are of.
    pub(crate) fn new() -> Self {
        Self::with(None)
    }

    /// Of texts that are cast to an array of such elements.
    pub(crate) fn texts(element: FieldRef) -> Self {
        Self::with(Some(element))
    }

    fn with(element: Option<FieldRef>) -> Self {
        Self {
            element,
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for ArrayOf {
    fn name(&self) -> &str {
        crate::rewrite::array_arguments::ARRAY_OF
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of an array is known by its field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let field = &args.arg_fields[0];
        if field.data_type().is_list() {
            return Ok(Arc::clone(field));
        }
        if let Some(element) = &self.element {
            let list = DataType::List(Arc::clone(element));
            return Ok(Arc::new(Field::new(field.name(), list, true)));
        }
        let element = element_field(field)?;
        let oid = pg_type::field_oid(field).to_string();
        let list = Field::new(field.name(), DataType::List(element), field.is_nullable());
        Ok(Arc::new(
            list.with_metadata([(OID_KEY.to_owned(), oid)].into()),
        ))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if args.arg_fields[0].data_type().is_list() {
            return Ok(args.args[0].clone());
        }
        let DataType::List(element) = args.return_field.data_type() else {
            return internal_err!("an array is a list");
        };
        match &args.args[0] {
            ColumnarValue::Array(texts) => {
                Ok(ColumnarValue::Array(Arc::new(lists(texts, element)?)))
            }
            ColumnarValue::Scalar(text) => {
                let list = Arc::new(lists(&text.to_array()?, element)?);
                Ok(ColumnarValue::Scalar(ScalarValue::List(list)))
            }
        }
    }
}

/// The elements of a column of arrays.
fn element_field(field: &Field) -> Result<FieldRef, SqlError> {
    let oid = pg_type::field_oid(field);
    let element = element_of(oid).filter(|_| pg_type::is_array(oid));
    let data_type = element.and_then(pg_type::data_type);
    let (Some(element), Some(data_type)) = (element, data_type) else {
        let message = match field.data_type().is_string() {
            true => "elements of an array whose type is not known, or of none at all",
            false => "elements of what is no array",
        };
        return Err(SqlError::new(code::DATATYPE_MISMATCH, message));
    };
    let metadata = [(OID_KEY.to_owned(), element.to_string())].into();
    Ok(Arc::new(
        Field::new("item", data_type, true).with_metadata(metadata),
    ))
}

fn lists(texts: &ArrayRef, element: &FieldRef) -> Result<ListArray> {
    let texts = datafusion::arrow::compute::cast(texts, &DataType::Utf8)?;
    let texts = as_string_array(&texts)?;
    let mut elements = StringBuilder::new();
    let mut lengths = Vec::with_capacity(texts.len());
    for text in texts {
        let cells = text.map(cells).transpose()?.unwrap_or_default();
        lengths.push(cells.len());
        elements.extend(cells);
    }
    let elements: ArrayRef = Arc::new(elements.finish());
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let elements = cast_with_options(&elements, element.data_type(), &strict)?;
    let nulls = texts.iter().map(|text| text.is_some()).collect::<Vec<_>>();
    Ok(ListArray::try_new(
        Arc::clone(element),
        OffsetBuffer::from_lengths(lengths),
        elements,
        Some(NullBuffer::from(nulls)),
    )?)
}

/// An array as its text has it.
pub(super) fn literal(text: &str) -> Result<ArrayLiteral, SqlError> {
    array::parse(text).ok_or_else(|| {
        let message = format!("malformed array literal: \"{text}\"");
        SqlError::new(code::INVALID_TEXT_REPRESENTATION, message)
    })
}

/// The elements of an array's text.
fn cells(text: &str) -> Result<Vec<Option<String>>, SqlError> {
    let array = literal(text)?;
    if array.dimensions.len() > 1 {
        return Err(SqlError::not_supported(
            "elements of an array of more than one dimension",
        ));
    }
    Ok(array.elements)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::StringArray;
    use datafusion::arrow::array::cast::AsArray;
    use datafusion::arrow::datatypes::Int32Type;

    use super::*;

    fn of(oid: u32) -> Field {
        let metadata = [(OID_KEY.to_owned(), oid.to_string())].into();
        Field::new("", DataType::Utf8, true).with_metadata(metadata)
    }

    #[test]
    fn texts_are_taken_apart() {
        let element = element_field(&of(1007)).expect("integer[]");
        let texts: ArrayRef = Arc::new(StringArray::from(vec![
            Some("{1,NULL,3}"),
            None,
            Some("{}"),
            Some("{-7}"),
        ]));
        let lists = lists(&texts, &element).expect("arrays");
        let numbers = |row: usize| {
            let list = lists.value(row);
            list.as_primitive::<Int32Type>().iter().collect::<Vec<_>>()
        };
        assert_eq!(numbers(0), [Some(1), None, Some(3)]);
        assert!(lists.is_null(1));
        assert_eq!(numbers(2), []);
        assert_eq!(numbers(3), [Some(-7)]);
    }

    #[test]
    fn what_has_no_elements_here_is_refused() {
        let text = element_field(&of(25)).expect_err("a text");
        assert_eq!(text.code, code::DATATYPE_MISMATCH);
        let more = cells("{{1,2},{3,4}}").expect_err("two dimensions");
        assert_eq!(more.code, "0A000");
        assert!(cells("{1").is_err());
    }
}
