//! Parts of documents, as documents and as texts.
//!
//! | operator | function | part |
//! |---|---|---|
//! | `d -> 'key'`, `d ->> 'key'` | `json_object_field`, `…_text` | under a key |
//! | `d -> 1`, `d ->> 1` | `json_array_element`, `…_text` | at an index, from the end if it is negative |
//! | `d #> '{a,1}'`, `d #>> '{a,1}'` | `json_extract_path`, `…_text` | along a path of keys and indexes |
//!
//! What is not there is NULL, and so is the text of a JSON `null`. A `jsonb` that is a scalar is taken for an array of it by indexes.

use std::borrow::Cow;

use datafusion::arrow::array::{Array, ArrayRef, StringArray};
use datafusion::common::Result;
use datafusion::common::cast::as_string_array;

use super::JsonType;
use super::document::{self, Kind};
use super::function::{Arguments, Gives, JsonFunction, Takes};
use crate::error::SqlError;

pub(super) fn functions() -> Vec<JsonFunction> {
    let of = |of: JsonType| {
        let document = Gives::Document(of);
        [
            JsonFunction::new(
                of.name("json_object_field", "jsonb_object_field"),
                &[Takes::Text, Takes::Text],
                document,
                field::<false>,
            ),
            JsonFunction::new(
                of.name("json_object_field_text", "jsonb_object_field_text"),
                &[Takes::Text, Takes::Text],
                Gives::Text,
                field::<true>,
            ),
            JsonFunction::new(
                of.name("json_array_element", "jsonb_array_element"),
                &[Takes::Text, Takes::Integer],
                document,
                match of {
                    JsonType::Json => element::<false, false>,
                    JsonType::Jsonb => element::<false, true>,
                },
            ),
            JsonFunction::new(
                of.name("json_array_element_text", "jsonb_array_element_text"),
                &[Takes::Text, Takes::Integer],
                Gives::Text,
                match of {
                    JsonType::Json => element::<true, false>,
                    JsonType::Jsonb => element::<true, true>,
                },
            ),
            JsonFunction::new(
                of.name("json_extract_path", "jsonb_extract_path"),
                &[Takes::Text, Takes::Path],
                document,
                path::<false>,
            ),
            JsonFunction::new(
                of.name("json_extract_path_text", "jsonb_extract_path_text"),
                &[Takes::Text, Takes::Path],
                Gives::Text,
                path::<true>,
            ),
        ]
    };
    JsonType::ALL.into_iter().flat_map(of).collect()
}

/// A part as it is asked for.
fn shown<const TEXT: bool>(part: Option<&str>) -> Result<Option<Cow<'_, str>>, SqlError> {
    match part {
        Some(part) if TEXT => document::text(part),
        part => Ok(part.map(Cow::Borrowed)),
    }
}

fn field<const TEXT: bool>(arguments: &Arguments) -> Result<ArrayRef> {
    let (documents, keys) = (arguments.texts(0)?, arguments.texts(1)?);
    arguments
        .strict_texts(|row| shown::<TEXT>(document::field(documents.value(row), keys.value(row))?))
}

fn element<const TEXT: bool, const JSONB: bool>(arguments: &Arguments) -> Result<ArrayRef> {
    let (documents, indexes) = (arguments.texts(0)?, arguments.integers(1)?);
    arguments.strict_texts(|row| {
        let (document, index) = (documents.value(row), indexes.value(row));
        let part = match JSONB && Kind::of(document).is_scalar() {
            true => matches!(index, 0 | -1).then_some(document),
            false => document::element(document, index)?,
        };
        shown::<TEXT>(part)
    })
}

fn path<const TEXT: bool>(arguments: &Arguments) -> Result<ArrayRef> {
    let documents = arguments.texts(0)?;
    let paths = Paths::of(arguments)?;
    arguments.strict_texts(|row| {
        let follow = |value, steps: &StringArray, at: usize| match steps.is_null(at) {
            true => Ok(None),
            false => document::step(value, steps.value(at)),
        };
        let mut part = Some(documents.value(row));
        match &paths {
            Paths::Columns(steps) => {
                for step in steps {
                    part = part.map_or(Ok(None), |value| follow(value, step, row))?;
                }
            }
            Paths::Lists(steps, offsets) => {
                for at in offsets[row]..offsets[row + 1] {
                    part = part.map_or(Ok(None), |value| follow(value, steps, at))?;
                }
            }
        }
        shown::<TEXT>(part)
    })
}

/// The paths of a batch.
enum Paths {
    /// A column a step.
    Columns(Vec<StringArray>),
    /// All steps, and where those of each row begin and end.
    Lists(StringArray, Vec<usize>),
}

impl Paths {
    fn of(arguments: &Arguments) -> Result<Self> {
        let lists = arguments.fields.get(1);
        if lists.is_some_and(|lists| lists.data_type().is_list()) {
            let lists = arguments.lists(1)?;
            let steps = as_string_array(lists.values())?.clone();
            #[expect(clippy::cast_sign_loss, reason = "offsets are not negative")]
            let offsets = lists.value_offsets().iter().map(|&at| at as usize);
            return Ok(Self::Lists(steps, offsets.collect()));
        }
        let columns = 1..arguments.values.len();
        let columns = columns.map(|place| arguments.texts(place));
        Ok(Self::Columns(columns.collect::<Result<_>>()?))
    }
}
