//! Bytes and texts: `convert_from`, `convert_to` and `get_byte`.
//!
//! Does not: encodings other than `UTF8` and `LATIN1`, which are refused as if they were none.

use std::fmt::Write;
use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BinaryBuilder, Int32Array, StringArray, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType, Int32Type};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::constant_call::computed;
use crate::error::{SqlError, code};

/// All of them.
pub(crate) fn functions() -> [ScalarUDF; 3] {
    [Form::ToText, Form::ToBytes, Form::Byte].map(|form| {
        ScalarUDF::from(Encodings {
            form,
            signature: Signature::user_defined(Volatility::Immutable),
        })
    })
}

/// What is made of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    ToText,
    ToBytes,
    Byte,
}

/// One of the functions.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Encodings {
    form: Form,
    signature: Signature,
}

impl ScalarUDFImpl for Encodings {
    fn name(&self) -> &str {
        match self.form {
            Form::ToText => "convert_from",
            Form::ToBytes => "convert_to",
            Form::Byte => "get_byte",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let text = |of: &DataType| of.is_string() || of.is_null();
        let bytes = |of: &DataType| of.is_binary() || of.is_null();
        let integer = |of: &DataType| of.is_integer() || of.is_null();
        match (self.form, arguments) {
            (Form::ToText, [of, encoding]) if bytes(of) && text(encoding) => {
                Ok(vec![DataType::Binary, DataType::Utf8])
            }
            (Form::ToBytes, [of, encoding]) if text(of) && text(encoding) => {
                Ok(vec![DataType::Utf8, DataType::Utf8])
            }
            (Form::Byte, [of, place]) if bytes(of) && integer(place) => {
                Ok(vec![DataType::Binary, DataType::Int32])
            }
            _ => Err(SqlError::undefined_function(self.name(), arguments).into()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.form {
            Form::ToText => DataType::Utf8,
            Form::ToBytes => DataType::Binary,
            Form::Byte => DataType::Int32,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| {
            let (values, others) = (args.args[0].to_array(rows)?, args.args[1].to_array(rows)?);
            let result: ArrayRef = match self.form {
                Form::ToText => {
                    Arc::new(texts(values.as_binary::<i32>(), others.as_string::<i32>())?)
                }
                Form::ToBytes => {
                    Arc::new(bytes(values.as_string::<i32>(), others.as_string::<i32>())?)
                }
                Form::Byte => {
                    let pairs = values.as_binary::<i32>().iter();
                    let pairs = pairs.zip(others.as_primitive::<Int32Type>());
                    let found = pairs.map(|(bytes, place)| match (bytes, place) {
                        (Some(bytes), Some(place)) => byte(bytes, place).map(Some),
                        _ => Ok(None),
                    });
                    Arc::new(found.collect::<Result<Int32Array, SqlError>>()?)
                }
            };
            Ok(result)
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Latin1,
}

impl Encoding {
    /// The encoding of a name, whatever signs there are between its letters. `role` is for the error.
    fn named(name: &str, role: &str) -> Result<Self, SqlError> {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let letters: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
        match letters.as_str() {
            "utf8" | "unicode" => Ok(Self::Utf8),
            "latin1" | "iso88591" => Ok(Self::Latin1),
            _ => {
                let message = format!("invalid {role} encoding name \"{name}\"");
                Err(SqlError::new(code::INVALID_PARAMETER_VALUE, message))
            }
        }
    }
}

fn texts(values: &BinaryArray, encodings: &StringArray) -> Result<StringArray, SqlError> {
    let mut texts = StringBuilder::new();
    let mut text = String::new();
    for (bytes, encoding) in values.iter().zip(encodings) {
        let (Some(bytes), Some(encoding)) = (bytes, encoding) else {
            texts.append_null();
            continue;
        };
        match Encoding::named(encoding, "source")? {
            Encoding::Utf8 => texts.append_value(utf8(bytes)?),
            Encoding::Latin1 => {
                if bytes.contains(&0) {
                    return Err(not_of("LATIN1", &[0]));
                }
                text.clear();
                text.extend(bytes.iter().copied().map(char::from));
                texts.append_value(&text);
            }
        }
    }
    Ok(texts.finish())
}

fn bytes(texts: &StringArray, encodings: &StringArray) -> Result<BinaryArray, SqlError> {
    let mut values = BinaryBuilder::new();
    for (text, encoding) in texts.iter().zip(encodings) {
        let (Some(text), Some(encoding)) = (text, encoding) else {
            values.append_null();
            continue;
        };
        match Encoding::named(encoding, "destination")? {
            Encoding::Utf8 => values.append_value(text),
            Encoding::Latin1 => {
                let bytes = text.chars().map(latin1);
                values.append_value(bytes.collect::<Result<Vec<_>, _>>()?);
            }
        }
    }
    Ok(values.finish())
}

fn latin1(character: char) -> Result<u8, SqlError> {
    u8::try_from(character).map_err(|_| {
        let bytes = hex(character.encode_utf8(&mut [0; 4]).as_bytes());
        let message = format!(
            "character with byte sequence {bytes} in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\""
        );
        SqlError::new(code::UNTRANSLATABLE_CHARACTER, message)
    })
}

/// The text that bytes are. A text has no zero.
fn utf8(bytes: &[u8]) -> Result<&str, SqlError> {
    let text = std::str::from_utf8(bytes);
    let valid = text.map_or_else(|error| error.valid_up_to(), str::len);
    let zero = bytes[..valid].iter().position(|byte| *byte == 0);
    match (zero, text) {
        (None, Ok(text)) => Ok(text),
        (zero, _) => {
            let rest = &bytes[zero.unwrap_or(valid)..];
            let length = rest.first().map_or(0, |first| character_length(*first));
            Err(not_of("UTF8", &rest[..length.min(rest.len())]))
        }
    }
}

/// Bytes of a character that begins with this one.
fn character_length(first: u8) -> usize {
    match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    }
}

fn not_of(encoding: &str, bytes: &[u8]) -> SqlError {
    let bytes = hex(bytes);
    let message = format!("invalid byte sequence for encoding \"{encoding}\": {bytes}");
    SqlError::new(code::CHARACTER_NOT_IN_REPERTOIRE, message)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let blank = if text.is_empty() { "" } else { " " };
        write!(text, "{blank}0x{byte:02x}").expect("a string can be written");
    }
    text
}

fn byte(bytes: &[u8], place: i32) -> Result<i32, SqlError> {
    let byte = usize::try_from(place).ok();
    let byte = byte.and_then(|place| bytes.get(place)).copied();
    byte.map(i32::from).ok_or_else(|| {
        let last = i64::try_from(bytes.len()).unwrap_or(i64::MAX) - 1;
        let message = format!("index {place} out of valid range, 0..{last}");
        SqlError::new(code::ARRAY_SUBSCRIPT_ERROR, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_shown() {
        assert_eq!(utf8(b"\xc3\xa4"), Ok("ä"));
        let error = |bytes: &[u8]| utf8(bytes).expect_err("no text").message;
        let of = |bytes: &str| format!("invalid byte sequence for encoding \"UTF8\": {bytes}");
        assert_eq!(error(b"\xff\x61"), of("0xff"));
        assert_eq!(error(b"\x61\0\xff"), of("0x00"));
        assert_eq!(error(b"\xe2\x82"), of("0xe2 0x82"));
        assert_eq!(error(b"\xe2\x82\x61"), of("0xe2 0x82 0x61"));
    }

    #[test]
    fn encodings_have_names_in_several_spellings() {
        assert_eq!(Encoding::named("utf-8", "source"), Ok(Encoding::Utf8));
        assert_eq!(Encoding::named("ISO_8859_1", ""), Ok(Encoding::Latin1));
        let error = Encoding::named("nope", "source").expect_err("no encoding");
        assert_eq!(error.message, "invalid source encoding name \"nope\"");
        assert_eq!(latin1('ä'), Ok(0xe4));
        assert_eq!(latin1('€').expect_err("not in it").code, "22P05");
    }

    #[test]
    fn bytes_are_counted_from_0() {
        assert_eq!(byte(&[1, 255], 1), Ok(255));
        let error = byte(&[], 0).expect_err("no byte");
        assert_eq!(error.message, "index 0 out of valid range, 0..-1");
        assert!(byte(&[1], -1).is_err());
    }
}
