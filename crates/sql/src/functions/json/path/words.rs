//! The words of a path.

use std::iter::Peekable;
use std::str::Chars;

use crate::error::{SqlError, code};

/// What a path is written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A name or a key word.
    Name(String),
    /// In double quotes.
    Text(String),
    Number(String),
    /// `$name`
    Variable(String),
    Symbol(&'static str),
}

/// The longer ones first.
const SYMBOLS: [&str; 27] = [
    "**", "&&", "||", "==", "!=", "<>", "<=", ">=", "<", ">", "!", "?", "(", ")", "[", "]", "{",
    "}", ".", ",", "*", "+", "-", "/", "%", "@", "$",
];

/// What ends a name.
const SPECIAL: &str = "?%$.[]{}()|&!=<>@#,*:-+/\\\"";

/// `syntax error at … of jsonpath input`
pub(super) fn syntax_error(at: Option<&Word>) -> SqlError {
    let place = match at {
        None => "at end".to_owned(),
        Some(Word::Symbol(symbol)) => format!("at or near \"{symbol}\""),
        Some(Word::Variable(name)) => format!("at or near \"${name}\""),
        Some(Word::Name(text) | Word::Text(text) | Word::Number(text)) => {
            format!("at or near \"{text}\"")
        }
    };
    invalid(format!("syntax error {place} of jsonpath input"))
}

pub(super) fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(code::SYNTAX_ERROR, message)
}

/// All words of a path.
pub(super) fn words(path: &str) -> Result<Vec<Word>, SqlError> {
    let mut words = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let (word, behind) = match first {
            blank if blank.is_ascii_whitespace() => {
                rest = rest.trim_start_matches(|letter: char| letter.is_ascii_whitespace());
                continue;
            }
            '/' if rest.starts_with("/*") => {
                let end = rest[2..].find("*/");
                let end =
                    end.ok_or_else(|| invalid("unexpected end of comment of jsonpath input"))?;
                rest = &rest[2 + end + 2..];
                continue;
            }
            '"' => {
                let (text, behind) = quoted(&rest[1..])?;
                (Word::Text(text), behind)
            }
            '$' => variable(rest)?,
            '.' if rest[1..].starts_with(|letter: char| letter.is_ascii_digit()) => number(rest)?,
            digit if digit.is_ascii_digit() => number(rest)?,
            letter if !SPECIAL.contains(letter) => {
                let (name, behind) = rest.split_at(name_length(rest));
                (Word::Name(name.to_owned()), behind)
            }
            _ => {
                let mut symbols = SYMBOLS.into_iter();
                let found = symbols.find(|symbol| rest.starts_with(symbol));
                let symbol = found.ok_or_else(|| {
                    invalid(format!(
                        "syntax error at or near \"{first}\" of jsonpath input"
                    ))
                })?;
                (Word::Symbol(symbol), &rest[symbol.len()..])
            }
        };
        words.push(word);
        rest = behind;
    }
    Ok(words)
}

/// Bytes of the name that a text begins with.
fn name_length(text: &str) -> usize {
    let is_end = |letter: char| letter.is_ascii_whitespace() || SPECIAL.contains(letter);
    text.find(is_end).unwrap_or(text.len())
}

fn variable(text: &str) -> Result<(Word, &str), SqlError> {
    let behind = &text[1..];
    if let Some(behind) = behind.strip_prefix('"') {
        let (name, behind) = quoted(behind)?;
        return Ok((Word::Variable(name), behind));
    }
    Ok(match behind.split_at(name_length(behind)) {
        ("", behind) => (Word::Symbol("$"), behind),
        (name, behind) => (Word::Variable(name.to_owned()), behind),
    })
}

fn number(text: &str) -> Result<(Word, &str), SqlError> {
    let digits = |text: &str| {
        let end = text.find(|letter: char| !letter.is_ascii_digit());
        end.unwrap_or(text.len())
    };
    let mut end = digits(text);
    if text[end..].starts_with('.') {
        end += 1 + digits(&text[end + 1..]);
    }
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let sign = exponent.len() - unsigned.len();
        if digits(unsigned) > 0 {
            end += 1 + sign + digits(unsigned);
        }
    }
    let (number, behind) = text.split_at(end);
    if name_length(behind) > 0 {
        let message = format!(
            "trailing junk after numeric literal at or near \"{number}\" of jsonpath input"
        );
        return Err(invalid(message));
    }
    Ok((Word::Number(number.to_owned()), behind))
}

/// A text up to its closing quote, and what is behind that.
fn quoted(text: &str) -> Result<(String, &str), SqlError> {
    let mut letters = text.chars().peekable();
    let mut out = String::new();
    loop {
        match letters.next() {
            None => {
                return Err(invalid(
                    "unterminated quoted string at end of jsonpath input",
                ));
            }
            Some('"') => break,
            Some('\\') => out.push(escaped(&mut letters)?),
            Some(letter) => out.push(letter),
        }
    }
    let behind: usize = letters.map(char::len_utf8).sum();
    Ok((out, &text[text.len() - behind..]))
}

/// The character behind a backslash.
fn escaped(letters: &mut Peekable<Chars>) -> Result<char, SqlError> {
    let wrong = || invalid("invalid escape sequence of jsonpath input");
    Ok(match letters.next().ok_or_else(wrong)? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        'x' => char::from_u32(hexadecimal(letters, 2)?).ok_or_else(wrong)?,
        'u' if letters.next_if_eq(&'{').is_some() => {
            let digits: String =
                std::iter::from_fn(|| letters.next_if(|letter| *letter != '}')).collect();
            letters.next_if_eq(&'}').ok_or_else(wrong)?;
            let number = u32::from_str_radix(&digits, 16).map_err(|_| wrong())?;
            char::from_u32(number).ok_or_else(wrong)?
        }
        'u' => match hexadecimal(letters, 4)? {
            high @ 0xd800..0xdc00 => {
                let is_pair = letters.next() == Some('\\') && letters.next() == Some('u');
                let low = if is_pair { hexadecimal(letters, 4)? } else { 0 };
                let units = [high, low].map(|unit| u16::try_from(unit).unwrap_or_default());
                let pair = char::decode_utf16(units).next();
                pair.and_then(Result::ok).ok_or_else(wrong)?
            }
            unit => char::from_u32(unit).ok_or_else(wrong)?,
        },
        other => other,
    })
}

fn hexadecimal(letters: &mut Peekable<Chars>, digits: usize) -> Result<u32, SqlError> {
    let mut number = 0;
    for _ in 0..digits {
        let digit = letters.next().and_then(|letter| letter.to_digit(16));
        let digit = digit.ok_or_else(|| invalid("invalid escape sequence of jsonpath input"))?;
        number = number * 16 + digit;
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_word_by_word() {
        let name = |text: &str| Word::Name(text.to_owned());
        let expected = vec![
            name("lax"),
            Word::Symbol("$"),
            Word::Symbol("."),
            name("käse_1"),
            Word::Symbol("["),
            Word::Number("0".to_owned()),
            name("to"),
            name("last"),
            Word::Symbol("]"),
            Word::Symbol("."),
            Word::Symbol("**"),
            Word::Symbol("?"),
            Word::Symbol("("),
            Word::Symbol("@"),
            Word::Symbol(">="),
            Word::Variable("x".to_owned()),
            Word::Symbol("&&"),
            Word::Number(".5e-1".to_owned()),
            Word::Symbol(")"),
        ];
        let path = "lax $.käse_1[0 to last].** ? (@ >= $x /* a remark */ && .5e-1)";
        assert_eq!(words(path).expect("is a path"), expected);
    }

    #[test]
    fn texts_have_escapes() {
        let text = |path: &str| match words(path).expect("is a text").as_slice() {
            [Word::Text(text)] => text.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(text(r#""a\"b\\c\/d""#), r#"a"b\c/d"#);
        assert_eq!(text(r#""\u00e4\x41\u{1F600}\ud83d\ude00""#), "äA😀😀");
        for wrong in [r#""a"#, r#""\u12""#, r#""\ud83d""#, "1a", "/* a", "|"] {
            assert!(words(wrong).is_err(), "{wrong}");
        }
    }
}
