//! `json_strip_nulls` and `jsonb_strip_nulls`: documents without the members that are `null`. Elements of arrays stay.

use std::borrow::Cow;

use datafusion::arrow::array::ArrayRef;
use datafusion::common::Result;

use super::JsonType;
use super::canonical::{canonical, write_string};
use super::document::{Kind, elements, members};
use super::function::{Arguments, Gives, JsonFunction, Takes};
use crate::error::SqlError;

pub(super) fn functions() -> Vec<JsonFunction> {
    vec![
        JsonFunction::new(
            "json_strip_nulls",
            &[Takes::Text],
            Gives::Document(JsonType::Json),
            strip_nulls::<false>,
        ),
        JsonFunction::new(
            "jsonb_strip_nulls",
            &[Takes::Text],
            Gives::Document(JsonType::Jsonb),
            strip_nulls::<true>,
        ),
    ]
}

fn strip_nulls<const JSONB: bool>(arguments: &Arguments) -> Result<ArrayRef> {
    let documents = arguments.texts(0)?;
    arguments.strict_texts(|row| {
        let mut out = String::new();
        write(documents.value(row), &mut out)?;
        let out = if JSONB { canonical(&out)? } else { out };
        Ok(Some(Cow::Owned(out)))
    })
}

/// Appends a document without blanks, as PostgreSQL writes a `json` here.
fn write(document: &str, out: &mut String) -> Result<(), SqlError> {
    match Kind::of(document) {
        Kind::Object => {
            let kept = members(document)?.into_iter();
            let kept = kept.filter(|(_, value)| Kind::of(value) != Kind::Null);
            out.push('{');
            for (place, (key, value)) in kept.enumerate() {
                separate(place, out);
                write_string(&key, out);
                out.push(':');
                write(value, out)?;
            }
            out.push('}');
        }
        Kind::Array => {
            out.push('[');
            for (place, element) in elements(document)?.into_iter().enumerate() {
                separate(place, out);
                write(element, out)?;
            }
            out.push(']');
        }
        _ => out.push_str(document.trim()),
    }
    Ok(())
}

fn separate(place: usize, out: &mut String) {
    if place > 0 {
        out.push(',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_are_null_go() {
        let mut out = String::new();
        let document = r#"{"a": null, "b": [null, {"c": null, "d": 1.50}], "e": "x"}"#;
        write(document, &mut out).expect("is JSON");
        assert_eq!(out, r#"{"b":[null,{"d":1.50}],"e":"x"}"#);
    }
}
