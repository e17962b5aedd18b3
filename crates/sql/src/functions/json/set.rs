//! Parts of a `jsonb` set, inserted and deleted along a path: `jsonb_set`, `jsonb_insert`, `#-`.
//!
//! A step of the path is a key in an object and an index in an array, from the end if it is negative. The step before the last has to
//! be there, else nothing changes. What the last one finds, or does not find:
//!
//! | | there | not there |
//! |---|---|---|
//! | `jsonb_set` | takes its place | a new key; in an array at the end the index is nearer to |
//! | `jsonb_set(…, false)` | takes its place | nothing |
//! | `jsonb_insert` | before it (or behind it) in an array; an error for a key | as `jsonb_set` |
//! | `#-` | goes | nothing |
//!
//! Source: `setPath` of PostgreSQL's jsonfuncs.c, for the cases that its manual leaves open.

use std::borrow::Cow;

use datafusion::arrow::array::{ArrayRef, ListArray, StringArray};
use datafusion::common::Result;
use datafusion::common::cast::{as_boolean_array, as_string_array};

use super::canonical::{canonical, sorted, write_elements, write_members};
use super::document::{Kind, elements, members};
use super::function::{Arguments, Gives, JsonFunction, Takes};
use super::{JsonType, unsuitable};
use crate::error::{SqlError, code};
use crate::functions::array_of::literal;
use crate::pg_type;

pub(super) fn functions() -> Vec<JsonFunction> {
    let function = |name, takes, compute| {
        JsonFunction::new(name, takes, Gives::Document(JsonType::Jsonb), compute)
    };
    const NEW: &[Takes] = &[Takes::Text, Takes::Steps, Takes::Text, Takes::Flag];
    vec![
        function("jsonb_set", NEW, set),
        function("jsonb_insert", NEW, insert),
        function("jsonb_delete_path", &[Takes::Text, Takes::Steps], delete),
    ]
}

/// What becomes of what a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change<'a> {
    Set { to: &'a str, creates: bool },
    Insert { new: &'a str, behind: bool },
    Delete,
}

impl<'a> Change<'a> {
    /// What comes where nothing is.
    fn created(self) -> Option<&'a str> {
        match self {
            Self::Set { to, creates } => creates.then_some(to),
            Self::Insert { new, .. } => Some(new),
            Self::Delete => None,
        }
    }
}

fn set(arguments: &Arguments) -> Result<ArrayRef> {
    with_value(arguments, true, |to, creates| Change::Set { to, creates })
}

fn insert(arguments: &Arguments) -> Result<ArrayRef> {
    with_value(arguments, false, |new, behind| Change::Insert {
        new,
        behind,
    })
}

/// `flag`: what the last argument is if it is not written.
fn with_value(
    arguments: &Arguments,
    flag: bool,
    change: impl for<'a> Fn(&'a str, bool) -> Change<'a>,
) -> Result<ArrayRef> {
    let (documents, paths) = (documents(arguments, 0)?, Paths::of(arguments)?);
    let values = self::documents(arguments, 2)?;
    let flags = arguments.values.get(3).map(|flags| as_boolean_array(flags));
    let flags = flags.transpose()?;
    arguments.strict_texts(|row| {
        let flag = flags.map_or(flag, |flags| flags.value(row));
        changed(
            documents.value(row),
            &paths.of_row(row)?,
            change(values.value(row), flag),
        )
    })
}

fn delete(arguments: &Arguments) -> Result<ArrayRef> {
    let (documents, paths) = (documents(arguments, 0)?, Paths::of(arguments)?);
    arguments.strict_texts(|row| changed(documents.value(row), &paths.of_row(row)?, Change::Delete))
}

/// An argument's documents, each in its one form.
pub(super) fn documents(arguments: &Arguments, place: usize) -> Result<StringArray> {
    let texts = arguments.texts(place)?;
    if pg_type::field_oid(&arguments.fields[place]) == pg_type::JSONB {
        return Ok(texts);
    }
    let texts = texts.iter().map(|text| text.map(canonical).transpose());
    Ok(texts.collect::<Result<_, SqlError>>()?)
}

/// A path: a list of texts, or the text of one.
enum Paths {
    Lists(ListArray),
    Texts(StringArray),
}

impl Paths {
    fn of(arguments: &Arguments) -> Result<Self> {
        Ok(match arguments.fields[1].data_type().is_list() {
            true => Self::Lists(arguments.lists(1)?),
            false => Self::Texts(arguments.texts(1)?),
        })
    }

    fn of_row(&self, row: usize) -> Result<Vec<String>, SqlError> {
        let steps: Vec<Option<String>> = match self {
            Self::Lists(lists) => {
                let steps = lists.value(row);
                let steps = as_string_array(&steps)?;
                steps.iter().map(|step| step.map(str::to_owned)).collect()
            }
            Self::Texts(texts) => literal(texts.value(row))?.elements,
        };
        let steps = steps.into_iter().enumerate();
        let steps = steps.map(|(place, step)| {
            step.ok_or_else(|| {
                let message = format!("path element at position {} is null", place + 1);
                SqlError::new(code::NULL_VALUE_NOT_ALLOWED, message)
            })
        });
        steps.collect()
    }
}

fn changed(
    document: &str,
    path: &[String],
    change: Change<'_>,
) -> Result<Option<Cow<'static, str>>, SqlError> {
    if Kind::of(document).is_scalar() {
        let what = match change {
            Change::Delete => "delete",
            _ => "set",
        };
        return Err(unsuitable(format!("cannot {what} path in scalar")));
    }
    let mut out = String::with_capacity(document.len());
    match path {
        [] => out.push_str(document),
        path => write(document, path, 0, change, &mut out)?,
    }
    Ok(Some(Cow::Owned(out)))
}

/// Appends a document with what is below it, along the path from this step on, changed.
fn write(
    document: &str,
    path: &[String],
    place: usize,
    change: Change<'_>,
    out: &mut String,
) -> Result<(), SqlError> {
    match Kind::of(document) {
        Kind::Object => {
            let members = in_object(document, path, place, change)?;
            write_members(members, out, |part, out| {
                part.write(path, place, change, out)
            })
        }
        Kind::Array => {
            let elements = in_array(document, path, place, change)?;
            write_elements(elements, out, |part, out| {
                part.write(path, place, change, out)
            })
        }
        _ => {
            out.push_str(document);
            Ok(())
        }
    }
}

/// A member or element of the result.
enum Part<'a> {
    /// As it is here.
    Whole(&'a str),
    /// The path goes on in it.
    Below(&'a str),
}

impl Part<'_> {
    fn write(
        self,
        path: &[String],
        place: usize,
        change: Change<'_>,
        out: &mut String,
    ) -> Result<(), SqlError> {
        match self {
            Self::Whole(part) => {
                out.push_str(part);
                Ok(())
            }
            Self::Below(part) => write(part, path, place + 1, change, out),
        }
    }
}

/// The members that an object has afterwards.
fn in_object<'a>(
    object: &'a str,
    path: &'a [String],
    place: usize,
    change: Change<'a>,
) -> Result<Vec<(Cow<'a, str>, Part<'a>)>, SqlError> {
    let (key, is_last) = (path[place].as_str(), place + 1 == path.len());
    let mut found = false;
    let mut parts = Vec::new();
    for (name, value) in members(object)? {
        if name != key {
            parts.push((name, Part::Whole(value)));
            continue;
        }
        found = true;
        match change {
            _ if !is_last => parts.push((name, Part::Below(value))),
            Change::Set { to, .. } => parts.push((name, Part::Whole(to))),
            Change::Insert { .. } => {
                let error = unsuitable("cannot replace existing key");
                let hint = "Try using the function jsonb_set to replace key value.";
                return Err(error.with_hint(hint));
            }
            Change::Delete => {}
        }
    }
    if let Some(new) = change.created().filter(|_| !found && is_last) {
        parts.push((Cow::Borrowed(key), Part::Whole(new)));
    }
    Ok(sorted(parts))
}

/// The elements that an array has afterwards.
fn in_array<'a>(
    array: &'a str,
    path: &[String],
    place: usize,
    change: Change<'a>,
) -> Result<Vec<Part<'a>>, SqlError> {
    let is_last = place + 1 == path.len();
    let index = index(&path[place], place)?;
    let all = elements(array)?;
    let length = i64::try_from(all.len()).unwrap_or(i64::MAX);
    let from_start = if index < 0 { index + length } else { index };
    let mut parts = Vec::with_capacity(all.len() + 1);
    for (element, at) in all.into_iter().zip(0..) {
        match change {
            _ if at != from_start => parts.push(Part::Whole(element)),
            _ if !is_last => parts.push(Part::Below(element)),
            Change::Set { to, .. } => parts.push(Part::Whole(to)),
            Change::Insert { new, behind } => {
                let both = [element, new].map(Part::Whole);
                parts.extend(both);
                if !behind {
                    let last = parts.len() - 1;
                    parts.swap(last - 1, last);
                }
            }
            Change::Delete => {}
        }
    }
    if let Some(new) = change.created().filter(|_| is_last) {
        if from_start < 0 {
            parts.insert(0, Part::Whole(new));
        } else if from_start >= length {
            parts.push(Part::Whole(new));
        }
    }
    Ok(parts)
}

fn index(step: &str, place: usize) -> Result<i64, SqlError> {
    let index = step.trim().parse::<i32>();
    index.map(i64::from).map_err(|_| {
        let message = format!(
            "path element at position {} is not an integer: \"{step}\"",
            place + 1
        );
        SqlError::new(code::INVALID_TEXT_REPRESENTATION, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along(document: &str, path: &str, change: Change<'_>) -> Result<String, &'static str> {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        let changed = changed(document, &path, change);
        let changed = changed.map_err(|error| error.code)?;
        Ok(changed.expect("is there").into_owned())
    }

    #[test]
    fn what_is_there_is_replaced_and_what_is_not_is_made() {
        let set = |creates| Change::Set { to: "9", creates };
        for (document, path, created, replaced) in [
            (r#"{"a": 1}"#, "a", r#"{"a": 9}"#, r#"{"a": 9}"#),
            (r#"{"bb": 1}"#, "c", r#"{"c": 9, "bb": 1}"#, r#"{"bb": 1}"#),
            (r#"{"a": {}}"#, "a.b", r#"{"a": {"b": 9}}"#, r#"{"a": {}}"#),
            (r#"{"a": 1}"#, "b.c", r#"{"a": 1}"#, r#"{"a": 1}"#),
            (r#"{"a": 1}"#, "a.b", r#"{"a": 1}"#, r#"{"a": 1}"#),
            ("[1, 2]", "-1", "[1, 9]", "[1, 9]"),
            ("[1, 2]", "5", "[1, 2, 9]", "[1, 2]"),
            ("[1, 2]", "-5", "[9, 1, 2]", "[1, 2]"),
            ("[]", "-1", "[9]", "[]"),
            ("[[1], 2]", "0.1", "[[1, 9], 2]", "[[1], 2]"),
        ] {
            assert_eq!(along(document, path, set(true)).as_deref(), Ok(created));
            assert_eq!(along(document, path, set(false)).as_deref(), Ok(replaced));
        }
        assert_eq!(along("1", "a", set(true)), Err("22023"));
        assert_eq!(along("[1]", "a", set(true)), Err("22P02"));
    }

    #[test]
    fn new_elements_stand_beside_what_is_there() {
        let insert = |behind| Change::Insert { new: "9", behind };
        for (document, path, before, behind) in [
            ("[1, 2]", "1", "[1, 9, 2]", "[1, 2, 9]"),
            ("[1, 2]", "-2", "[9, 1, 2]", "[1, 9, 2]"),
            ("[1, 2]", "7", "[1, 2, 9]", "[1, 2, 9]"),
            (
                r#"{"a": 1}"#,
                "b",
                r#"{"a": 1, "b": 9}"#,
                r#"{"a": 1, "b": 9}"#,
            ),
        ] {
            assert_eq!(along(document, path, insert(false)).as_deref(), Ok(before));
            assert_eq!(along(document, path, insert(true)).as_deref(), Ok(behind));
        }
        assert_eq!(along(r#"{"a": 1}"#, "a", insert(false)), Err("22023"));
    }

    #[test]
    fn what_a_path_leads_to_goes() {
        for (document, path, expected) in [
            (r#"{"a": {"b": 1, "c": 2}}"#, "a.b", r#"{"a": {"c": 2}}"#),
            ("[1, 2, 3]", "-1", "[1, 2]"),
            ("[1, 2, 3]", "3", "[1, 2, 3]"),
            ("[1, 2, 3]", "-4", "[1, 2, 3]"),
        ] {
            let left = along(document, path, Change::Delete);
            assert_eq!(left.as_deref(), Ok(expected));
        }
    }
}
