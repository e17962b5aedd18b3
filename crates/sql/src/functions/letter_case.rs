//! `upper` and `lower`, letter by letter.
//!
//! DataFusion makes `STRASSE` of `straße`, and ends a Greek word with another sigma. To PostgreSQL a letter has one capital or none.
//! Texts of ASCII alone are left to DataFusion.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef, StringArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

const UPPER: &str = "upper";

/// The functions.
pub(crate) const NAMES: [&str; 2] = [UPPER, "lower"];

/// A function of DataFusion's, which gets what is ASCII.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct LetterCase {
    inner: Arc<ScalarUDF>,
}

impl LetterCase {
    pub(crate) fn new(inner: Arc<ScalarUDF>) -> Self {
        Self { inner }
    }

    /// The texts letter by letter; `None` if all is ASCII.
    fn mapped(&self, texts: &ArrayRef) -> Result<Option<ArrayRef>> {
        let plain = cast(texts, &DataType::Utf8)?;
        let plain = plain.as_string::<i32>();
        if plain.is_ascii() {
            return Ok(None);
        }
        let mapped: ArrayRef = match self.name() {
            UPPER => Arc::new(mapped(plain, upper)),
            _ => Arc::new(mapped(plain, lower)),
        };
        Ok(Some(cast(&mapped, texts.data_type())?))
    }
}

impl ScalarUDFImpl for LetterCase {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arguments)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mapped = match args.args.as_slice() {
            [ColumnarValue::Array(texts)] => self.mapped(texts)?.map(ColumnarValue::Array),
            [ColumnarValue::Scalar(text)] => {
                let mapped = self.mapped(&text.to_array()?)?;
                let mapped = mapped.map(|text| ScalarValue::try_from_array(&text, 0));
                mapped.transpose()?.map(ColumnarValue::Scalar)
            }
            _ => None,
        };
        match mapped {
            Some(mapped) => Ok(mapped),
            None => self.inner.invoke_with_args(args),
        }
    }
}

fn mapped(texts: &StringArray, letter: impl Fn(char) -> char) -> StringArray {
    let mut out = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
    let mut text = String::new();
    for letters in texts {
        let Some(letters) = letters else {
            out.append_null();
            continue;
        };
        text.clear();
        text.extend(letters.chars().map(&letter));
        out.append_value(&text);
    }
    out.finish()
}

fn upper(letter: char) -> char {
    match letter {
        _ if letter.is_ascii() => letter.to_ascii_uppercase(),
        // Of these there are capitals in one letter, beside those in two that Rust gives.
        '\u{1F80}'..='\u{1F87}' | '\u{1F90}'..='\u{1F97}' | '\u{1FA0}'..='\u{1FA7}' => {
            behind(letter, 8)
        }
        '\u{1FB3}' | '\u{1FC3}' | '\u{1FF3}' => behind(letter, 9),
        _ => one(letter.to_uppercase()).unwrap_or(letter),
    }
}

fn lower(letter: char) -> char {
    match letter {
        _ if letter.is_ascii() => letter.to_ascii_lowercase(),
        'İ' => 'i',
        _ => one(letter.to_lowercase()).unwrap_or(letter),
    }
}

fn behind(letter: char, distance: u32) -> char {
    char::from_u32(u32::from(letter) + distance).unwrap_or(letter)
}

/// The only letter of what a letter becomes.
fn one(mut letters: impl Iterator<Item = char>) -> Option<char> {
    let only = letters.next();
    only.filter(|_| letters.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_letter_stays_one() {
        let of =
            |text: &str, letter: fn(char) -> char| text.chars().map(letter).collect::<String>();
        assert_eq!(of("straße ŉ ᾳ ǆ ı ŀ", upper), "STRAßE ŉ ᾼ Ǆ I Ŀ");
        assert_eq!(of("ΑΣ İ Ä", lower), "ασ i ä");
    }

    #[test]
    fn what_is_null_stays_so() {
        let texts = StringArray::from(vec![Some("ä"), None, Some("")]);
        let expected = StringArray::from(vec![Some("Ä"), None, Some("")]);
        assert_eq!(mapped(&texts, upper), expected);
    }
}
