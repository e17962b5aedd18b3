//! `like_escape(pattern, escape)`: a pattern of LIKE whose escape character is the backslash.
//!
//! DataFusion knows no other. In `a LIKE like_escape('50!%', '!')` the pattern is `50\%`.
//!
//! An escape character that ends the pattern is an error here, whatever the text is; to PostgreSQL only where a text is like the pattern
//! up to there, and goes on.

use crate::error::{SqlError, code};

/// The pattern with backslashes in the place of `escape`.
pub(super) fn escaped(pattern: &str, escape: Option<char>) -> Result<String, SqlError> {
    let mut out = String::with_capacity(pattern.len());
    let mut is_escaped = false;
    for character in pattern.chars() {
        if Some(character) == escape && !is_escaped {
            out.push('\\');
            is_escaped = true;
            continue;
        }
        if character == '\\' && !is_escaped {
            out.push('\\');
        }
        out.push(character);
        is_escaped = false;
    }
    if is_escaped {
        let message = "LIKE pattern must not end with escape character";
        return Err(SqlError::new(code::INVALID_ESCAPE_SEQUENCE, message));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_character_gives_way_to_the_backslash() {
        let of = |pattern, escape| escaped(pattern, escape).expect("a pattern");
        assert_eq!(of("a!%b!!c\\d!e", Some('!')), "a\\%b\\!c\\\\d\\e");
        assert_eq!(of("a\\b", None), "a\\\\b");
        assert_eq!(of("a\\%\\\\", Some('\\')), "a\\%\\\\");
        assert_eq!(of("aä_ä%", Some('ä')), "a\\_\\%");
    }

    #[test]
    fn what_escapes_nothing_is_refused() {
        let error = escaped("a!", Some('!')).expect_err("nothing is escaped");
        assert_eq!(
            error.message,
            "LIKE pattern must not end with escape character"
        );
    }
}
