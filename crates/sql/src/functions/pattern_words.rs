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

/// A pattern in the words of the engine.
type InOtherWords = fn(pattern: &str, manner: &str) -> Result<String, SqlError>;

/// All of them.
pub(crate) fn functions() -> [ScalarUDF; 3] {
    let all: [(&'static str, InOtherWords); 3] = [
        ("like_escape", |pattern, escape| {
            like_escape::escaped(pattern, escape_character(escape)?)
        }),
        ("similar_to_escape", |pattern, escape| {
            let expression = similar::expression(pattern, escape_character(escape)?);
            regular_expressions::in_engine_words(&expression, "")
        }),
        ("regular_expression", regular_expressions::in_engine_words),
    ];
    all.map(|(name, in_other_words)| {
        ScalarUDF::from(PatternWords {
            name,
            in_other_words,
            signature: Signature::uniform(2, vec![DataType::Utf8], Volatility::Immutable),
        })
    })
}

/// One of the functions.
#[derive(Debug)]
struct PatternWords {
    name: &'static str,
    in_other_words: InOtherWords,
    signature: Signature,
}

impl PartialEq for PatternWords {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PatternWords {}

impl std::hash::Hash for PatternWords {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for PatternWords {
    fn name(&self) -> &str {
        self.name
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
                (Some(pattern), Some(manner)) => (self.in_other_words)(pattern, manner).map(Some),
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
