//! A text without what means nothing: blanks, comments, the case of letters.
//!
//! Two declarations with the same canonical text are the same.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The canonical text of some tokens.
pub(crate) fn text(tokens: &[TokenWithSpan]) -> String {
    let mut text = String::new();
    for token in tokens {
        let word = match &token.token {
            Token::Whitespace(_) | Token::EOF => continue,
            Token::Word(word) if word.quote_style.is_none() => word.value.to_lowercase(),
            other => other.to_string(),
        };
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&word);
    }
    text
}
