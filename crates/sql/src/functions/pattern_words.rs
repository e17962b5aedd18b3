//! Patterns in other words: those of LIKE, SIMILAR TO and `~` as the engine has them, each by a function of a pattern and a text that says how
//! it is meant.

use std::sync::Arc;

use datafusion::arrow::array::StringArray;
use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::constant_call::computed;
use super::{like_escape, regular_expressions, similar};
use crate::error::{SqlError, code};

/// All of them.
pub(crate) fn functions() -> [ScalarUDF; 3] {
    [Syntax::Like, Syntax::Similar, Syntax::Regular].map(|syntax| {
        ScalarUDF::from(PatternWords {
            syntax,
            signature: Signature::uniform(2, vec![DataType::Utf8], Volatility::Immutable),
        })
    })
}

/// Whose patterns are put in other words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Syntax {
    Like,
    Similar,
    Regular,
}

impl Syntax {
    /// A pattern as the engine has it. `manner`: its escape character, or the letters of a regular expression.
    fn in_engine_words(self, pattern: &str, manner: &str) -> Result<String, SqlError> {
        match self {
            Self::Like => like_escape::escaped(pattern, escape_character(manner)?),
            Self::Similar => {
                let expression = similar::expression(pattern, escape_character(manner)?);
                regular_expressions::in_engine_words(&expression, "")
            }
            Self::Regular => regular_expressions::in_engine_words(pattern, manner),
        }
    }
}

/// One of the functions.
#[derive(Debug, PartialEq, Eq, Hash)]
struct PatternWords {
    syntax: Syntax,
    signature: Signature,
}

impl ScalarUDFImpl for PatternWords {
    fn name(&self) -> &str {
        match self.syntax {
            Syntax::Like => "like_escape",
            Syntax::Similar => "similar_to_escape",
            Syntax::Regular => "regular_expression",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| {
            let [patterns, manners] = [0, 1].map(|place: usize| args.args[place].to_array(rows));
            let (patterns, manners) = (patterns?, manners?);
            let pairs = patterns
                .as_string::<i32>()
                .iter()
                .zip(manners.as_string::<i32>());
            let words = pairs.map(|pair| match pair {
                (Some(pattern), Some(manner)) => {
                    self.syntax.in_engine_words(pattern, manner).map(Some)
                }
                _ => Ok(None),
            });
            let words: StringArray = words.collect::<Result<_, SqlError>>()?;
            Ok(Arc::new(words))
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_character_escapes_or_none() {
        assert_eq!(escape_character("").expect("none"), None);
        assert_eq!(escape_character("ä").expect("one"), Some('ä'));
        let error = escape_character("!!").expect_err("two");
        assert_eq!(error.message, "invalid escape string");
    }
}
