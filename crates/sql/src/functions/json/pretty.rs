//! `jsonb_pretty`: a document with a line for each of its parts.

use std::borrow::Cow;

use datafusion::arrow::array::ArrayRef;
use datafusion::common::Result;

use super::canonical::{canonical, write_string};
use super::document::{Kind, elements, members};
use super::function::{Arguments, Gives, JsonFunction, Takes};
use crate::error::SqlError;

/// What each level begins with once more.
const INDENTATION: &str = "    ";

pub(super) fn functions() -> Vec<JsonFunction> {
    let pretty = JsonFunction::new("jsonb_pretty", &[Takes::Text], Gives::Text, pretty);
    vec![pretty]
}

fn pretty(arguments: &Arguments) -> Result<ArrayRef> {
    let documents = arguments.texts(0)?;
    arguments.strict_texts(|row| {
        let document = canonical(documents.value(row))?;
        let mut out = String::with_capacity(document.len() * 2);
        write(&document, 0, &mut out)?;
        Ok(Some(Cow::Owned(out)))
    })
}

fn write(document: &str, depth: usize, out: &mut String) -> Result<(), SqlError> {
    match Kind::of(document) {
        Kind::Object => {
            out.push('{');
            for (place, (key, value)) in members(document)?.into_iter().enumerate() {
                begin_part(place, depth, out);
                write_string(&key, out);
                out.push_str(": ");
                write(value, depth + 1, out)?;
            }
            begin_line(depth, out);
            out.push('}');
        }
        Kind::Array => {
            out.push('[');
            for (place, element) in elements(document)?.into_iter().enumerate() {
                begin_part(place, depth, out);
                write(element, depth + 1, out)?;
            }
            begin_line(depth, out);
            out.push(']');
        }
        _ => out.push_str(document),
    }
    Ok(())
}

fn begin_part(place: usize, depth: usize, out: &mut String) {
    if place > 0 {
        out.push(',');
    }
    begin_line(depth + 1, out);
}

fn begin_line(depth: usize, out: &mut String) {
    out.push('\n');
    (0..depth).for_each(|_| out.push_str(INDENTATION));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_a_line() {
        let mut out = String::new();
        write(r#"{"a": [1, {}], "b": "x"}"#, 0, &mut out).expect("is JSON");
        let expected =
            "{\n    \"a\": [\n        1,\n        {\n        }\n    ],\n    \"b\": \"x\"\n}";
        assert_eq!(out, expected);
    }
}
