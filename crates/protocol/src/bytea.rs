//! PostgreSQL's texts of byte strings, read.

/// Bytes in PostgreSQL's hexadecimal form, or in its older escaped one; `None` if it is neither.
pub fn parse(text: &str) -> Option<Vec<u8>> {
    if let Some(digits) = text.strip_prefix("\\x") {
        let digit = |c: u8| (c as char).to_digit(16).and_then(|d| u8::try_from(d).ok());
        let pair = |pair: &[u8]| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        };
        return digits.as_bytes().chunks(2).map(pair).collect();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => return Some(out),
            [b'\\', b'\\', rest @ ..] => {
                out.push(b'\\');
                rest
            }
            [
                b'\\',
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                rest @ ..,
            ] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest
            }
            [b'\\', ..] => return None,
            [byte, rest @ ..] => {
                out.push(*byte);
                rest
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_nothing_else() {
        assert_eq!(parse("\\x00ff"), Some(vec![0, 255]));
        assert_eq!(parse("a\\\\\\001"), Some(vec![b'a', b'\\', 1]));
        assert_eq!(parse("\\x0"), None);
        assert_eq!(parse("\\9"), None);
    }
}
