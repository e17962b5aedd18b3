//! `similar_to_escape(pattern, escape)`: a pattern of SIMILAR TO as a regular expression.
//!
//! DataFusion takes the pattern for a regular expression as it is: `'abc' similar to '(a|b)%'` was false.
//!
//! The whole text has to be like the pattern. `%` is any text and `_` any character; `|*+?{}()[]` are as in regular
//! expressions; `\d` and its like behind the escape character are, too; any other character is itself.

/// The pattern as a regular expression of PostgreSQL's.
pub(super) fn expression(pattern: &str, escape: Option<char>) -> String {
    let mut expression = String::from("^(?:");
    let (mut escaped, mut in_brackets) = (false, false);
    for character in pattern.chars() {
        match character {
            // `\d` and its like are what they are in regular expressions.
            _ if escaped => {
                expression.extend(['\\', character]);
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
    expression
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
        let of = |pattern| expression(pattern, Some('\\'));
        assert_eq!(of("(a|b)%_"), "^(?:(?:a|b).*.)$");
        assert_eq!(of("a.b^c$"), "^(?:a\\.b\\^c\\$)$");
        assert_eq!(of("[a.%]\\%\\d"), "^(?:[a.%]\\%\\d)$");
        assert_eq!(expression("a#%\\", Some('#')), "^(?:a\\%\\\\)$");
        assert_eq!(expression("a\\%", None), "^(?:a\\\\.*)$");
    }
}
