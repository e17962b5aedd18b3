//! PostgreSQL's array literals: writing one, and reading one into its elements.

use std::fmt::{self, Write};

/// Appends one element of an array literal, quoted where PostgreSQL quotes it.
pub fn write_element(text: &str, out: &mut impl Write) -> fmt::Result {
    let special = |c: char| matches!(c, '"' | '\\' | '{' | '}' | ',') || is_space(c);
    let quoted = text.is_empty() || text.eq_ignore_ascii_case("null") || text.contains(special);
    if !quoted {
        return out.write_str(text);
    }
    out.write_char('"')?;
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.write_char('\\')?;
        }
        out.write_char(c)?;
    }
    out.write_char('"')
}

/// What PostgreSQL's `array_isspace` takes for a space.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

/// A dimension of an array: its length and the index of its first element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Elements.
    pub length: i32,
    /// Index of the first one, 1 unless the array says otherwise.
    pub lower_bound: i32,
}

/// An array literal taken apart: elements in storage order, `None` for NULL.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ArrayLiteral {
    /// Outermost first; empty for an empty array.
    pub dimensions: Vec<Dimension>,
    /// The elements' texts.
    pub elements: Vec<Option<String>>,
}

/// PostgreSQL's limit on dimensions.
const DIMENSIONS_MAX: usize = 6;

/// Reads an array literal as PostgreSQL prints it; `None` if it is not one.
pub fn parse(text: &str) -> Option<ArrayLiteral> {
    let (bounds, body) = match text.strip_prefix('[') {
        Some(_) => text.split_once('=')?,
        None => ("", text),
    };
    let mut reader = Reader {
        rest: body.chars().peekable(),
        lengths: Vec::new(),
        elements: Vec::new(),
    };
    reader.level(0)?;
    if reader.rest.next().is_some() {
        return None;
    }
    if reader.elements.is_empty() {
        return Some(ArrayLiteral::default());
    }
    let lower_bounds = parse_bounds(bounds)?;
    let dimensions = reader
        .lengths
        .iter()
        .enumerate()
        .map(|(index, length)| Dimension {
            length: length.unwrap_or(0),
            lower_bound: lower_bounds.get(index).copied().unwrap_or(1),
        });
    Some(ArrayLiteral {
        dimensions: dimensions.collect(),
        elements: reader.elements,
    })
}

/// Reads `[2:3][0:1]` into the lower bounds.
fn parse_bounds(text: &str) -> Option<Vec<i32>> {
    let parts = text.split(']').filter(|part| !part.is_empty());
    parts
        .map(|part| part.strip_prefix('[')?.split_once(':')?.0.parse().ok())
        .collect()
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    /// The length of each dimension, once its first level has ended.
    lengths: Vec<Option<i32>>,
    elements: Vec<Option<String>>,
}

impl Reader<'_> {
    /// Reads `{…}` at a depth.
    fn level(&mut self, depth: usize) -> Option<()> {
        if self.rest.next()? != '{' || depth == DIMENSIONS_MAX {
            return None;
        }
        if depth == self.lengths.len() {
            self.lengths.push(None);
        }
        let mut length = 0;
        if self.rest.next_if_eq(&'}').is_none() {
            loop {
                match *self.rest.peek()? {
                    '{' => self.level(depth + 1)?,
                    _ => self.element()?,
                }
                length += 1;
                match self.rest.next()? {
                    ',' => {}
                    '}' => break,
                    _ => return None,
                }
            }
        }
        match self.lengths[depth] {
            Some(expected) if expected != length => None,
            _ => {
                self.lengths[depth] = Some(length);
                Some(())
            }
        }
    }

    fn element(&mut self) -> Option<()> {
        let mut text = String::new();
        if self.rest.next_if_eq(&'"').is_some() {
            loop {
                match self.rest.next()? {
                    '"' => break,
                    '\\' => text.push(self.rest.next()?),
                    c => text.push(c),
                }
            }
            self.elements.push(Some(text));
            return Some(());
        }
        while let Some(c) = self.rest.next_if(|c| !matches!(c, ',' | '}' | '{' | '"')) {
            text.push(if c == '\\' { self.rest.next()? } else { c });
        }
        let null = text.eq_ignore_ascii_case("null");
        self.elements.push((!null).then_some(text));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_quoted_where_needed() {
        for (text, expected) in [
            ("plain", "plain"),
            ("", "\"\""),
            ("NULL", "\"NULL\""),
            ("a b", "\"a b\""),
            ("say \"\\\"", "\"say \\\"\\\\\\\"\""),
            ("{x}", "\"{x}\""),
        ] {
            let mut out = String::new();
            write_element(text, &mut out).expect("a string takes it");
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn literals_are_read_with_nulls_quotes_dimensions_and_bounds() {
        let array = parse(r#"{1,NULL,"NULL","a \"b\" ,"}"#).expect("an array");
        assert_eq!(
            array.elements,
            [
                Some("1".into()),
                None,
                Some("NULL".into()),
                Some("a \"b\" ,".into())
            ]
        );
        assert_eq!(
            array.dimensions,
            [Dimension {
                length: 4,
                lower_bound: 1
            }]
        );

        let array = parse("[2:3][0:1]={{1,2},{3,4}}").expect("an array");
        assert_eq!(array.elements.len(), 4);
        assert_eq!(
            array.dimensions[0],
            Dimension {
                length: 2,
                lower_bound: 2
            }
        );
        assert_eq!(
            array.dimensions[1],
            Dimension {
                length: 2,
                lower_bound: 0
            }
        );

        assert_eq!(parse("{}"), Some(ArrayLiteral::default()));
        for bad in ["", "{", "1,2", "{1}{2}", "{{1},{2,3}}", "{{{{{{{1}}}}}}}"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
