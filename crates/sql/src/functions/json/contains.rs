//! What is in a `jsonb`: `@>`, `<@`, `?`, `?|` and `?&`.
//!
//! *Containment* (PostgreSQL's manual, 8.14.3): an object contains another one if it has all of its keys, with values that contain
//! the other's; an array contains another one if for each element of that it has one that contains it, in whatever
//! order. Scalars contain their equals. An array contains a scalar that is one of its elements, at the top.

use datafusion::arrow::array::ArrayRef;
use datafusion::common::Result;
use datafusion::common::cast::as_string_array;

use super::document::{self, Kind, elements, members};
use super::function::{Arguments, Gives, JsonFunction, Takes};
use crate::error::SqlError;

pub(super) fn functions() -> Vec<JsonFunction> {
    let documents: &[Takes] = &[Takes::Text, Takes::Text];
    let keys: &[Takes] = &[Takes::Text, Takes::Texts];
    let function = |name, takes, compute| JsonFunction::new(name, takes, Gives::Boolean, compute);
    vec![
        function("jsonb_contains", documents, |arguments| {
            let (outer, inner) = (arguments.texts(0)?, arguments.texts(1)?);
            arguments.strict_booleans(|row| contains(outer.value(row), inner.value(row)))
        }),
        function("jsonb_contained", documents, |arguments| {
            let (inner, outer) = (arguments.texts(0)?, arguments.texts(1)?);
            arguments.strict_booleans(|row| contains(outer.value(row), inner.value(row)))
        }),
        function("jsonb_exists", documents, |arguments| {
            let (documents, keys) = (arguments.texts(0)?, arguments.texts(1)?);
            arguments.strict_booleans(|row| has_key(documents.value(row), keys.value(row)))
        }),
        function("jsonb_exists_any", keys, exists::<false>),
        function("jsonb_exists_all", keys, exists::<true>),
    ]
}

fn exists<const ALL: bool>(arguments: &Arguments) -> Result<ArrayRef> {
    let (documents, keys) = (arguments.texts(0)?, arguments.lists(1)?);
    arguments.strict_booleans(|row| {
        let keys = keys.value(row);
        let keys = as_string_array(&keys)?;
        // A key that is NULL does not count.
        for key in keys.iter().flatten() {
            if has_key(documents.value(row), key)? != ALL {
                return Ok(!ALL);
            }
        }
        Ok(ALL)
    })
}

/// Whether an object has a key, an array a string, or a string is it.
fn has_key(document: &str, key: &str) -> Result<bool, SqlError> {
    let is_key = |value| -> Result<bool, SqlError> {
        Ok(Kind::of(value) == Kind::String && document::text(value)?.as_deref() == Some(key))
    };
    match Kind::of(document) {
        Kind::Object => Ok(document::field(document, key)?.is_some()),
        Kind::Array => any(elements(document)?, is_key),
        _ => is_key(document),
    }
}

/// Whether one document contains another one.
fn contains(outer: &str, inner: &str) -> Result<bool, SqlError> {
    if Kind::of(outer) == Kind::Array && Kind::of(inner).is_scalar() {
        return any(elements(outer)?, |element| Ok(is_same(element, inner)));
    }
    contains_below(outer, inner)
}

fn contains_below(outer: &str, inner: &str) -> Result<bool, SqlError> {
    match (Kind::of(outer), Kind::of(inner)) {
        (Kind::Object, Kind::Object) => {
            let has = members(outer)?;
            all(members(inner)?, |(key, wanted)| {
                let has = has.iter().find(|(known, _)| *known == key);
                has.map_or(Ok(false), |(_, value)| contains_below(value, wanted))
            })
        }
        (Kind::Array, Kind::Array) => {
            let has = elements(outer)?;
            all(elements(inner)?, |wanted| {
                any(has.iter().copied(), |value| contains_below(value, wanted))
            })
        }
        _ => Ok(is_same(outer, inner)),
    }
}

/// Whether two scalars are equal. In their one form only numbers have more than one text.
fn is_same(left: &str, right: &str) -> bool {
    left == right
        || Kind::of(left) == Kind::Number
            && Kind::of(right) == Kind::Number
            && plain(left) == plain(right)
}

/// A number without zeros at the end of its fraction.
fn plain(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

fn any<V>(
    values: impl IntoIterator<Item = V>,
    mut is: impl FnMut(V) -> Result<bool, SqlError>,
) -> Result<bool, SqlError> {
    for value in values {
        if is(value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn all<V>(
    values: impl IntoIterator<Item = V>,
    mut is: impl FnMut(V) -> Result<bool, SqlError>,
) -> Result<bool, SqlError> {
    Ok(!any(values, |value| is(value).map(|is| !is))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containment_is_that_of_the_manual() {
        for (outer, inner, expected) in [
            (r#""foo""#, r#""foo""#, true),
            ("[1, 2, 3]", "[1, 3]", true),
            ("[1, 2, 3]", "[3, 1]", true),
            ("[1, 2, 3]", "[1, 2, 2]", true),
            (
                r#"{"version": 9.4, "product": "P", "jsonb": true}"#,
                r#"{"version": 9.40}"#,
                true,
            ),
            ("[1, 2, [1, 3]]", "[1, 3]", false),
            ("[1, 2, [1, 3]]", "[[1, 3]]", true),
            (r#"{"foo": {"bar": "baz"}}"#, r#"{"bar": "baz"}"#, false),
            (r#"{"foo": {"bar": "baz"}}"#, r#"{"foo": {}}"#, true),
            (r#"["foo", "bar"]"#, r#""bar""#, true),
            (r#""bar""#, r#"["bar"]"#, false),
            (r#"[["bar"]]"#, r#""bar""#, false),
            ("{}", "[]", false),
            ("10", "1", false),
        ] {
            let answer = contains(outer, inner).expect("is JSON");
            assert_eq!(answer, expected, "{outer} @> {inner}");
        }
    }

    #[test]
    fn keys_are_of_objects_and_strings_of_arrays() {
        for (document, key, expected) in [
            (r#"{"a": null}"#, "a", true),
            (r#"{"a": {"b": 1}}"#, "b", false),
            (r#"["a", 1]"#, "a", true),
            (r#"["a", 1]"#, "1", false),
            (r#""a""#, "a", true),
            ("1", "1", false),
        ] {
            assert_eq!(
                has_key(document, key).expect("is JSON"),
                expected,
                "{document} ? {key}"
            );
        }
    }
}
