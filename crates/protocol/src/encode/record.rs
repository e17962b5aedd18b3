//! Rows as values: how PostgreSQL's `record_out` quotes a field.

use std::fmt::{self, Write};

use super::array::is_space;

/// Appends one field of a row, quoted where PostgreSQL quotes it. A NULL is no text at all.
pub fn write_field(text: &str, out: &mut impl Write) -> fmt::Result {
    let special = |c: char| matches!(c, '"' | '\\' | '(' | ')' | ',') || is_space(c);
    if !text.is_empty() && !text.contains(special) {
        return out.write_str(text);
    }
    out.write_char('"')?;
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.write_char(c)?;
        }
        out.write_char(c)?;
    }
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_needed() {
        for (text, expected) in [
            ("plain", "plain"),
            ("", "\"\""),
            ("NULL", "NULL"),
            ("{x}", "{x}"),
            ("a b", "\"a b\""),
            ("(1,2)", "\"(1,2)\""),
            ("say \"\\\"", "\"say \"\"\\\\\"\"\""),
        ] {
            let mut out = String::new();
            write_field(text, &mut out).expect("a string takes it");
            assert_eq!(out, expected);
        }
    }
}
