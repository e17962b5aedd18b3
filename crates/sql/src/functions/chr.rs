//! `chr`: the character with a number.
//!
//! It has PostgreSQL's errors where there is none; DataFusion gives the character 0, which no text may have.

use std::sync::Arc;

use datafusion::arrow::array::StringBuilder;
use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::constant_call::computed;
use crate::error::{SqlError, code};

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Chr {
    signature: Signature,
}

impl Chr {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::uniform(1, vec![DataType::Int64], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Chr {
    fn name(&self) -> &str {
        "chr"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| {
            let numbers = args.args[0].to_array(rows)?;
            let mut texts = StringBuilder::new();
            for number in numbers.as_primitive::<Int64Type>() {
                match number.map(character).transpose()? {
                    Some(character) => texts.append_value(character.encode_utf8(&mut [0; 4])),
                    None => texts.append_null(),
                }
            }
            Ok(Arc::new(texts.finish()))
        })
    }
}

fn character(number: i64) -> Result<char, SqlError> {
    let character = u32::try_from(number).ok().and_then(char::from_u32);
    let (code, message) = match (number, character) {
        (..0, _) => (
            code::INVALID_PARAMETER_VALUE,
            "character number must be positive".to_owned(),
        ),
        (0, _) => (
            code::PROGRAM_LIMIT_EXCEEDED,
            "null character not permitted".to_owned(),
        ),
        (_, Some(character)) => return Ok(character),
        (0x11_0000.., None) => (
            code::PROGRAM_LIMIT_EXCEEDED,
            format!("requested character too large for encoding: {number}"),
        ),
        (_, None) => (
            code::PROGRAM_LIMIT_EXCEEDED,
            format!("requested character not valid for encoding: {number}"),
        ),
    };
    Err(SqlError::new(code, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_without_a_character_are_errors() {
        assert_eq!(character(228), Ok('ä'));
        let error = |number| {
            let error = character(number).expect_err("no character");
            (error.code, error.message)
        };
        assert_eq!(
            error(-1),
            ("22023", "character number must be positive".to_owned())
        );
        assert_eq!(
            error(0),
            ("54000", "null character not permitted".to_owned())
        );
        assert_eq!(
            error(1_114_112),
            (
                "54000",
                "requested character too large for encoding: 1114112".to_owned()
            )
        );
        assert_eq!(
            error(55_296),
            (
                "54000",
                "requested character not valid for encoding: 55296".to_owned()
            )
        );
    }
}
