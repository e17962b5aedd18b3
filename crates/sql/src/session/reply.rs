//! Answers of commands: a tag, a warning, rows of text.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use futures::StreamExt;
use types::CommitPosition;

use super::transaction::State;
use crate::outcome::{Notice, Outcome, RowStream};

/// A command that has been carried out.
pub(super) fn done(tag: &'static str) -> Outcome {
    changed(tag, Vec::new())
}

/// The same, after which these settings have these values.
pub(super) fn changed(tag: &'static str, changed: Vec<(String, String)>) -> Outcome {
    Outcome::Command {
        tag: tag.into(),
        notice: None,
        changed,
    }
}

/// The same with a warning.
pub(super) fn warned(tag: &'static str, code: &'static str, message: &str) -> Outcome {
    let notice = Notice {
        severity: "WARNING",
        code,
        message: message.to_owned(),
    };
    Outcome::Command {
        tag: tag.into(),
        notice: Some(notice),
        changed: Vec::new(),
    }
}

/// The columns of SHOW.
pub(super) fn show_schema(names: &[&str]) -> SchemaRef {
    let fields: Vec<Field> = names
        .iter()
        .map(|name| Field::new(*name, DataType::Utf8, true))
        .collect();
    Arc::new(Schema::new(fields))
}

/// The columns of SHOW ALL.
pub(super) fn show_all_schema() -> SchemaRef {
    show_schema(&["name", "setting", "description"])
}

/// All settings.
pub(super) fn show_all(state: &State) -> Outcome {
    let (names, values): (Vec<String>, Vec<String>) = state.settings.all().into_iter().unzip();
    let empty = vec![String::new(); names.len()];
    rows(show_all_schema(), vec![names, values, empty], state.seen)
}

/// Text columns as the result of SHOW.
pub(super) fn rows(
    schema: SchemaRef,
    columns: Vec<Vec<String>>,
    position: CommitPosition,
) -> Outcome {
    let arrays: Vec<ArrayRef> = columns
        .into_iter()
        .map(|column| Arc::new(StringArray::from(column)) as ArrayRef)
        .collect();
    let batch = RecordBatch::try_new(schema.clone(), arrays).expect("columns of text, one a name");
    let stream: RowStream = futures::stream::iter([Ok(batch)]).boxed();
    Outcome::Rows {
        position,
        schema,
        stream,
        tag: "SHOW",
    }
}
