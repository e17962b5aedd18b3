//! What a document is: its kind, and how many elements it has.

use std::borrow::Cow;

use datafusion::arrow::array::ArrayRef;
use datafusion::common::Result;

use super::document::{self, Kind};
use super::function::{Arguments, Gives, JsonFunction, Takes};
use super::{JsonType, unsuitable};

pub(super) fn functions() -> Vec<JsonFunction> {
    let of = |of: JsonType| {
        [
            JsonFunction::new(
                of.name("json_typeof", "jsonb_typeof"),
                &[Takes::Text],
                Gives::Text,
                kind,
            ),
            JsonFunction::new(
                of.name("json_array_length", "jsonb_array_length"),
                &[Takes::Text],
                Gives::Integer,
                length,
            ),
        ]
    };
    JsonType::ALL.into_iter().flat_map(of).collect()
}

fn kind(arguments: &Arguments) -> Result<ArrayRef> {
    let documents = arguments.texts(0)?;
    arguments.strict_texts(|row| {
        let kind = Kind::of(documents.value(row));
        Ok(Some(Cow::Borrowed(kind.name())))
    })
}

fn length(arguments: &Arguments) -> Result<ArrayRef> {
    let documents = arguments.texts(0)?;
    arguments.strict_integers(|row| {
        let array = documents.value(row);
        match Kind::of(array) {
            Kind::Array => {}
            Kind::Object => return Err(unsuitable("cannot get array length of a non-array")),
            _ => return Err(unsuitable("cannot get array length of a scalar")),
        }
        Ok(i32::try_from(document::length(array)?).unwrap_or(i32::MAX))
    })
}
