//! The parts of a JSON text: which kind it is, what is under a key or an index, its elements and members.
//!
//! A part is the slice of the text that holds it, without blanks around it. What is not asked for is read over.
//!
//! A key may come twice in a `json`; the last one counts, as in PostgreSQL.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use serde_json::value::RawValue;

use super::invalid;
use crate::error::SqlError;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    /// By a text's first letter, which tells it.
    pub(super) fn of(value: &str) -> Self {
        match value.trim_start_matches(is_blank).as_bytes().first() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }

    /// What `json_typeof` calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// Whether it has no parts.
    pub(super) fn is_scalar(self) -> bool {
        !matches!(self, Self::Array | Self::Object)
    }
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r')
}

/// Whether a text is JSON.
pub(super) fn check(text: &str) -> Result<(), SqlError> {
    let checked: Result<IgnoredAny, _> = serde_json::from_str(text);
    checked.map(|_| ()).map_err(invalid)
}

/// What is under a key; `None` for a value that has no such key.
pub(super) fn field<'a>(value: &'a str, key: &str) -> Result<Option<&'a str>, SqlError> {
    if Kind::of(value) != Kind::Object {
        return Ok(None);
    }
    visit(value, Field(key))
}

/// The element of an index from 0, from the end if it is negative; `None` for a value that has no such element.
pub(super) fn element(value: &str, index: i64) -> Result<Option<&str>, SqlError> {
    if Kind::of(value) != Kind::Array {
        return Ok(None);
    }
    let place = match usize::try_from(index) {
        Ok(place) => Some(place),
        Err(_) => {
            let behind = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
            visit(value, Length)?.checked_sub(behind)
        }
    };
    place.map_or(Ok(None), |place| visit(value, Element(place)))
}

/// What a step of a path leads to: a key, or in an array an index.
pub(super) fn step<'a>(value: &'a str, step: &str) -> Result<Option<&'a str>, SqlError> {
    match Kind::of(value) {
        Kind::Array => step
            .trim()
            .parse()
            .map_or(Ok(None), |at| element(value, at)),
        _ => field(value, step),
    }
}

/// The elements of an array; none of any other value.
pub(super) fn elements(value: &str) -> Result<Vec<&str>, SqlError> {
    match Kind::of(value) {
        Kind::Array => visit(value, Elements),
        _ => Ok(Vec::new()),
    }
}

/// How many elements an array has.
pub(super) fn length(array: &str) -> Result<usize, SqlError> {
    visit(array, Length)
}

/// Keys and values of an object, in the order of the text; none of any other value.
pub(super) fn members(value: &str) -> Result<Vec<(Cow<'_, str>, &str)>, SqlError> {
    match Kind::of(value) {
        Kind::Object => visit(value, Members),
        _ => Ok(Vec::new()),
    }
}

/// A value as a text: a string without its quotes, NULL for `null`, any other as it is written.
pub(super) fn text(value: &str) -> Result<Option<Cow<'_, str>>, SqlError> {
    match Kind::of(value) {
        Kind::Null => Ok(None),
        Kind::String => visit(value, Letters).map(Some),
        _ => Ok(Some(Cow::Borrowed(value.trim_matches(is_blank)))),
    }
}

fn visit<'a, V: Visitor<'a>>(text: &'a str, visitor: V) -> Result<V::Value, SqlError> {
    Deserializer::from_str(text)
        .deserialize_any(visitor)
        .map_err(invalid)
}

/// Takes what is under a key.
struct Field<'k>(&'k str);

impl<'a> Visitor<'a> for Field<'_> {
    type Value = Option<&'a str>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut members: M) -> Result<Self::Value, M::Error> {
        let mut found = None;
        while let Some(is_wanted) = members.next_key_seed(IsKey(self.0))? {
            if is_wanted {
                let value: &RawValue = members.next_value()?;
                found = Some(value.get());
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Compares a key without making a string of it.
struct IsKey<'k>(&'k str);

impl<'a> DeserializeSeed<'a> for IsKey<'_> {
    type Value = bool;

    fn deserialize<D: serde::Deserializer<'a>>(self, key: D) -> Result<bool, D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for IsKey<'_> {
    type Value = bool;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

/// Takes the element of an index.
struct Element(usize);

impl<'a> Visitor<'a> for Element {
    type Value = Option<&'a str>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("an array")
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut elements: S) -> Result<Self::Value, S::Error> {
        for _ in 0..self.0 {
            if elements.next_element::<IgnoredAny>()?.is_none() {
                return Ok(None);
            }
        }
        let element: Option<&RawValue> = elements.next_element()?;
        // The reader wants to see the end.
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(element.map(RawValue::get))
    }
}

/// Takes all elements.
struct Elements;

impl<'a> Visitor<'a> for Elements {
    type Value = Vec<&'a str>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("an array")
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut elements: S) -> Result<Self::Value, S::Error> {
        let mut all = Vec::new();
        while let Some(element) = elements.next_element::<&RawValue>()? {
            all.push(element.get());
        }
        Ok(all)
    }
}

/// Counts the elements.
struct Length;

impl<'a> Visitor<'a> for Length {
    type Value = usize;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("an array")
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut elements: S) -> Result<usize, S::Error> {
        let mut length = 0;
        while elements.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        Ok(length)
    }
}

/// Takes all members.
struct Members;

impl<'a> Visitor<'a> for Members {
    type Value = Vec<(Cow<'a, str>, &'a str)>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut members: M) -> Result<Self::Value, M::Error> {
        let mut all = Vec::new();
        while let Some(key) = members.next_key_seed(Letters)? {
            let value: &RawValue = members.next_value()?;
            all.push((key, value.get()));
        }
        Ok(all)
    }
}

/// Takes a string, as it is where it has no escapes.
struct Letters;

impl<'a> DeserializeSeed<'a> for Letters {
    type Value = Cow<'a, str>;

    fn deserialize<D: serde::Deserializer<'a>>(self, text: D) -> Result<Self::Value, D::Error> {
        text.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Letters {
    type Value = Cow<'a, str>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#" {"a": 1, "b" : [ 10, {"c":"x\ny"},  null ], "a":"last", "é": {}} "#;

    #[test]
    fn parts_are_slices_of_the_text() {
        let at = |key| field(DOCUMENT, key).expect("is JSON");
        assert_eq!(at("a"), Some("\"last\""));
        assert_eq!(at("b"), Some(r#"[ 10, {"c":"x\ny"},  null ]"#));
        assert_eq!(at("é"), Some("{}"));
        assert_eq!(at("c"), None);
        let array = at("b").expect("is there");
        let at = |index| element(array, index).expect("is JSON");
        assert_eq!(at(0), Some("10"));
        assert_eq!(at(-1), Some("null"));
        assert_eq!((at(3), at(-4), at(i64::MIN)), (None, None, None));
        assert_eq!(elements(array).expect("is JSON").len(), 3);
        assert_eq!(length(array).expect("is JSON"), 3);
        assert_eq!(step(array, "-2").expect("is JSON"), Some(r#"{"c":"x\ny"}"#));
        assert_eq!(step(array, "c").expect("is JSON"), None);
    }

    #[test]
    fn scalars_have_no_parts() {
        for scalar in ["1", " true", "null", "\"a\""] {
            assert_eq!(field(scalar, "a").expect("is JSON"), None);
            assert_eq!(element(scalar, 0).expect("is JSON"), None);
            assert!(members(scalar).expect("is JSON").is_empty());
            assert!(Kind::of(scalar).is_scalar());
        }
    }

    #[test]
    fn strings_lose_their_quotes_and_null_is_null() {
        let of = |value| text(value).expect("is JSON").map(Cow::into_owned);
        assert_eq!(of(r#""x\n\u00e9""#).as_deref(), Some("x\né"));
        assert_eq!(of(" 1.50 ").as_deref(), Some("1.50"));
        assert_eq!(of("null"), None);
        assert_eq!(of("[1 , 2]").as_deref(), Some("[1 , 2]"));
    }

    #[test]
    fn what_is_no_json_is_an_error() {
        for text in ["", "{", "[1,]", "{'a':1}", "01", "nul", "1 2"] {
            let error = check(text).expect_err(text);
            assert_eq!(error.code, "22P02", "{text}");
        }
        assert!(field("{\"a\":}", "a").is_err());
    }
}
