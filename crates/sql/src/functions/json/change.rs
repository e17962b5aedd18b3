//! Documents out of others: `||` and `-` of `jsonb`.

use std::borrow::Cow;

use datafusion::arrow::array::ArrayRef;
use datafusion::common::Result;
use datafusion::common::cast::as_string_array;

use super::canonical::{sorted, write_elements, write_members};
use super::document::{self, Kind, elements, members};
use super::function::{Arguments, Gives, JsonFunction, Takes};
use super::{JsonType, unsuitable};
use crate::error::SqlError;

pub(super) fn functions() -> Vec<JsonFunction> {
    let function = |name, takes, compute| {
        JsonFunction::new(name, takes, Gives::Document(JsonType::Jsonb), compute)
    };
    vec![
        function("jsonb_concat", &[Takes::Text, Takes::Text], concat),
        function("jsonb_delete", &[Takes::Text, Takes::Text], delete_key),
        function(
            "jsonb_delete_keys",
            &[Takes::Text, Takes::Texts],
            delete_keys,
        ),
        function(
            "jsonb_delete_index",
            &[Takes::Text, Takes::Integer],
            delete_index,
        ),
    ]
}

fn concat(arguments: &Arguments) -> Result<ArrayRef> {
    let (left, right) = (arguments.texts(0)?, arguments.texts(1)?);
    arguments.strict_texts(|row| joined(left.value(row), right.value(row)).map(owned))
}

/// Two objects as one, of whose keys the second one's count; else all elements in an array.
fn joined(left: &str, right: &str) -> Result<String, SqlError> {
    let mut out = String::with_capacity(left.len() + right.len());
    if Kind::of(left) == Kind::Object && Kind::of(right) == Kind::Object {
        let both = [members(left)?, members(right)?].concat();
        write_members(sorted(both), &mut out, append)?;
        return Ok(out);
    }
    let parts = |document| match Kind::of(document) {
        Kind::Array => elements(document),
        _ => Ok(vec![document]),
    };
    let both = [parts(left)?, parts(right)?].concat();
    write_elements(both, &mut out, append)?;
    Ok(out)
}

fn delete_key(arguments: &Arguments) -> Result<ArrayRef> {
    let (documents, keys) = (arguments.texts(0)?, arguments.texts(1)?);
    arguments
        .strict_texts(|row| without(documents.value(row), |key| key == keys.value(row)).map(owned))
}

fn delete_keys(arguments: &Arguments) -> Result<ArrayRef> {
    let (documents, keys) = (arguments.texts(0)?, arguments.lists(1)?);
    arguments.strict_texts(|row| {
        let keys = keys.value(row);
        let keys = as_string_array(&keys)?;
        let is_deleted = |key: &str| keys.iter().flatten().any(|deleted| deleted == key);
        without(documents.value(row), is_deleted).map(owned)
    })
}

/// An object without some keys, or an array without some strings.
fn without(document: &str, is_deleted: impl Fn(&str) -> bool) -> Result<String, SqlError> {
    let mut out = String::with_capacity(document.len());
    match Kind::of(document) {
        Kind::Object => {
            let kept = members(document)?.into_iter();
            let kept = kept.filter(|(key, _)| !is_deleted(key));
            write_members(kept, &mut out, append)?;
        }
        Kind::Array => {
            let mut kept = Vec::new();
            for element in elements(document)? {
                let is_string = Kind::of(element) == Kind::String;
                let text = document::text(element)?.filter(|_| is_string);
                if !text.is_some_and(|text| is_deleted(&text)) {
                    kept.push(element);
                }
            }
            write_elements(kept, &mut out, append)?;
        }
        _ => return Err(unsuitable("cannot delete from scalar")),
    }
    Ok(out)
}

fn delete_index(arguments: &Arguments) -> Result<ArrayRef> {
    let (documents, indexes) = (arguments.texts(0)?, arguments.integers(1)?);
    arguments.strict_texts(|row| without_index(documents.value(row), indexes.value(row)).map(owned))
}

/// An array without the element of an index, from the end if it is negative.
fn without_index(document: &str, index: i64) -> Result<String, SqlError> {
    match Kind::of(document) {
        Kind::Array => {}
        Kind::Object => {
            return Err(unsuitable("cannot delete from object using integer index"));
        }
        _ => return Err(unsuitable("cannot delete from scalar")),
    }
    let mut kept = elements(document)?;
    let length = i64::try_from(kept.len()).unwrap_or(i64::MAX);
    let index = if index < 0 {
        index.saturating_add(length)
    } else {
        index
    };
    if let Ok(place) = usize::try_from(index)
        && place < kept.len()
    {
        kept.remove(place);
    }
    let mut out = String::with_capacity(document.len());
    write_elements(kept, &mut out, append)?;
    Ok(out)
}

#[expect(clippy::unnecessary_wraps, reason = "what parts are written by")]
fn append(part: &str, out: &mut String) -> Result<(), SqlError> {
    out.push_str(part);
    Ok(())
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "a row's text may be NULL, but not here"
)]
fn owned(text: String) -> Option<Cow<'static, str>> {
    Some(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_joined() {
        for (left, right, expected) in [
            (r#"{"a": 1, "b": 2}"#, r#"{"a": 3}"#, r#"{"a": 3, "b": 2}"#),
            ("[1]", "[2, 3]", "[1, 2, 3]"),
            ("[1]", "2", "[1, 2]"),
            ("1", "[2]", "[1, 2]"),
            ("1", "null", "[1, null]"),
            (r#"{"a": 1}"#, "[2]", r#"[{"a": 1}, 2]"#),
        ] {
            assert_eq!(joined(left, right).expect("is JSON"), expected);
        }
    }

    #[test]
    fn parts_are_left_out() {
        let is_a = |key: &str| key == "a";
        for (document, expected) in [
            (r#"{"a": 1, "b": {"a": 2}}"#, r#"{"b": {"a": 2}}"#),
            (r#"["a", "b", 1, "a"]"#, r#"["b", 1]"#),
        ] {
            assert_eq!(without(document, is_a).expect("is JSON"), expected);
        }
        assert_eq!(without("1", is_a).expect_err("a scalar").code, "22023");
        for (index, expected) in [
            (0, "[2, 3]"),
            (-1, "[1, 2]"),
            (3, "[1, 2, 3]"),
            (-4, "[1, 2, 3]"),
        ] {
            assert_eq!(
                without_index("[1, 2, 3]", index).expect("is an array"),
                expected
            );
        }
        assert_eq!(without_index("{}", 0).expect_err("an object").code, "22023");
    }
}
