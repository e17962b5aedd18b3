//! `similar_to_escape(pattern, escape)`: a pattern of SIMILAR TO as a regular expression.
//!
//! DataFusion takes the pattern for a regular expression as it is: `'abc' similar to '(a|b)%'` was false.
//!
//! The whole text has to be like the pattern. `%` is any text and `_` any character; `|*+?{}()[]` are as in regular
//! expressions; a character behind the escape character, and any other, is itself.

use std::sync::Arc;

use datafusion::arrow::array::StringArray;
use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::constant_call::computed;
use crate::error::{SqlError, code};

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct SimilarToEscape {
    signature: Signature,
}

impl SimilarToEscape {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::uniform(2, vec![DataType::Utf8], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for SimilarToEscape {
    fn name(&self) -> &str {
        "similar_to_escape"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        translated(&args, expression)
    }
}

/// Patterns and the texts of their ESCAPE, each pair translated; NULL of NULL.
pub(super) fn translated(
    args: &ScalarFunctionArgs,
    translate: impl Fn(&str, Option<char>) -> Result<String, SqlError>,
) -> Result<ColumnarValue> {
    computed(args, |rows| {
        let [patterns, escapes] = [0, 1].map(|place: usize| args.args[place].to_array(rows));
        let (patterns, escapes) = (patterns?, escapes?);
        let pairs = patterns
            .as_string::<i32>()
            .iter()
            .zip(escapes.as_string::<i32>());
        let translated = pairs.map(|(pattern, escape)| match (pattern, escape) {
            (Some(pattern), Some(escape)) => {
                translate(pattern, escape_character(escape)?).map(Some)
            }
            _ => Ok(None),
        });
        let translated: StringArray = translated.collect::<Result<_, SqlError>>()?;
        Ok(Arc::new(translated))
    })
}

/// The character of ESCAPE, if there is one.
fn escape_character(escape: &str) -> Result<Option<char>, SqlError> {
    let mut characters = escape.chars();
    let (escape, None) = (characters.next(), characters.next()) else {
        let error = SqlError::new(code::INVALID_ESCAPE_SEQUENCE, "invalid escape string");
        return Err(error.with_hint("Escape string must be empty or one character."));
    };
    Ok(escape)
}

/// The pattern as a regular expression.
fn expression(pattern: &str, escape: Option<char>) -> Result<String, SqlError> {
    let mut expression = String::from("^(?s:");
    let (mut escaped, mut in_brackets) = (false, false);
    for character in pattern.chars() {
        match character {
            _ if escaped => {
                push_itself(character, &mut expression);
                escaped = false;
            }
            _ if Some(character) == escape => escaped = true,
            ']' if in_brackets => {
                expression.push(']');
                in_brackets = false;
            }
            '\\' => expression.push_str("\\\\"),
            _ if in_brackets => expression.push(character),
            '[' => {
                expression.push('[');
                in_brackets = true;
            }
            '%' => expression.push_str(".*"),
            '_' => expression.push('.'),
            '(' => expression.push_str("(?:"),
            ')' | '|' | '*' | '+' | '?' | '{' | '}' => expression.push(character),
            _ => push_itself(character, &mut expression),
        }
    }
    expression.push_str(")$");
    Ok(expression)
}

fn push_itself(character: char, expression: &mut String) {
    if character.is_ascii_punctuation() {
        expression.push('\\');
    }
    expression.push(character);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_regular_expressions() {
        let of = |pattern| expression(pattern, Some('\\')).expect("a pattern");
        assert_eq!(of("(a|b)%_"), "^(?s:(?:a|b).*.)$");
        assert_eq!(of("a.b^c$"), "^(?s:a\\.b\\^c\\$)$");
        assert_eq!(of("[a.%]\\%"), "^(?s:[a.%]\\%)$");
        assert_eq!(
            expression("a#%\\", Some('#')).expect("one"),
            "^(?s:a\\%\\\\)$"
        );
        assert_eq!(expression("a\\%", None).expect("none"), "^(?s:a\\\\.*)$");
    }

    #[test]
    fn one_character_escapes_or_none() {
        assert_eq!(escape_character("").expect("none"), None);
        assert_eq!(escape_character("ä").expect("one"), Some('ä'));
        let error = escape_character("!!").expect_err("two");
        assert_eq!(error.message, "invalid escape string");
    }
}
