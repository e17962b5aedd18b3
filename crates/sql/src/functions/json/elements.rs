//! Functions that give rows: elements, keys and members of documents.
//!
//! Here they give lists; [`from_functions`](crate::rewrite::from_functions) unnests them. `json_each` has two columns, which are two
//! lists.

use std::borrow::Cow;

use datafusion::arrow::array::ArrayRef;
use datafusion::common::Result;

use super::document::{self, Kind, members};
use super::function::{Arguments, Gives, JsonFunction, Takes};
use super::{JsonType, unsuitable};
use crate::error::SqlError;

pub(super) fn functions() -> Vec<JsonFunction> {
    let of = |of: JsonType| {
        let function =
            |name, gives, compute| JsonFunction::new(name, &[Takes::Text], gives, compute);
        [
            function(
                of.name("json_array_elements", "jsonb_array_elements"),
                Gives::Documents(of),
                match of {
                    JsonType::Json => |arguments| elements(arguments, JsonType::Json),
                    JsonType::Jsonb => |arguments| elements(arguments, JsonType::Jsonb),
                },
            ),
            function(
                of.name("json_array_elements_text", "jsonb_array_elements_text"),
                Gives::Texts,
                element_texts,
            ),
            function(
                of.name("json_object_keys", "jsonb_object_keys"),
                Gives::Texts,
                keys,
            ),
            function(
                of.name("json_each_values", "jsonb_each_values"),
                Gives::Documents(of),
                match of {
                    JsonType::Json => |arguments| values(arguments, JsonType::Json),
                    JsonType::Jsonb => |arguments| values(arguments, JsonType::Jsonb),
                },
            ),
            function(
                of.name("json_each_text_values", "jsonb_each_text_values"),
                Gives::Texts,
                value_texts,
            ),
        ]
    };
    JsonType::ALL.into_iter().flat_map(of).collect()
}

fn elements(arguments: &Arguments, of: JsonType) -> Result<ArrayRef> {
    let documents = arguments.texts(0)?;
    arguments.strict_lists(Gives::Documents(of), |row| {
        let elements = elements_of(documents.value(row))?.into_iter();
        Ok(elements.map(Cow::Borrowed).map(Some).collect())
    })
}

fn element_texts(arguments: &Arguments) -> Result<ArrayRef> {
    let documents = arguments.texts(0)?;
    arguments.strict_lists(Gives::Texts, |row| {
        let elements = elements_of(documents.value(row))?.into_iter();
        elements.map(document::text).collect()
    })
}

fn elements_of(document: &str) -> Result<Vec<&str>, SqlError> {
    match Kind::of(document) {
        Kind::Array => document::elements(document),
        Kind::Object => Err(unsuitable("cannot extract elements from an object")),
        _ => Err(unsuitable("cannot extract elements from a scalar")),
    }
}

fn keys(arguments: &Arguments) -> Result<ArrayRef> {
    let documents = arguments.texts(0)?;
    arguments.strict_lists(Gives::Texts, |row| {
        let members = members_of(documents.value(row))?.into_iter();
        Ok(members.map(|(key, _)| Some(key)).collect())
    })
}

fn values(arguments: &Arguments, of: JsonType) -> Result<ArrayRef> {
    let documents = arguments.texts(0)?;
    arguments.strict_lists(Gives::Documents(of), |row| {
        let members = members_of(documents.value(row))?.into_iter();
        Ok(members
            .map(|(_, value)| Some(Cow::Borrowed(value)))
            .collect())
    })
}

fn value_texts(arguments: &Arguments) -> Result<ArrayRef> {
    let documents = arguments.texts(0)?;
    arguments.strict_lists(Gives::Texts, |row| {
        let members = members_of(documents.value(row))?.into_iter();
        members.map(|(_, value)| document::text(value)).collect()
    })
}

fn members_of(document: &str) -> Result<Vec<(Cow<'_, str>, &str)>, SqlError> {
    match Kind::of(document) {
        Kind::Object => members(document),
        Kind::Array => Err(unsuitable("cannot take the members of an array")),
        _ => Err(unsuitable("cannot take the members of a scalar")),
    }
}
