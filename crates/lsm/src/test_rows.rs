//! Small tables for the unit tests of this crate: versions written down as literals.

use std::sync::Arc;

use types::{
    Column, ColumnBuilder, ColumnType, CommitPosition, RowsBuilder, SourceType, TableId, TableName,
    TableSchema, VersionKind, VersionRows,
};

use crate::layout::Layout;
use crate::memory_run::MemoryRun;

/// One version of a row of [`layout`]'s table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Written {
    /// Key, position, number, text.
    Put(i64, u64, i64, &'static str),
    /// Key, position.
    Delete(i64, u64),
    /// Key, position, number; the text is unchanged.
    PatchNumber(i64, u64, i64),
    /// Key, position, text; the number is unchanged.
    PatchText(i64, u64, &'static str),
}

fn column(name: &str, column_type: ColumnType) -> Column {
    Column {
        name: name.to_owned(),
        column_type,
        nullable: true,
        hidden: false,
        source_number: 1,
        source_type: SourceType {
            oid: 0,
            modifier: -1,
            name: String::new(),
        },
    }
}

/// A table of a key, a number and a text.
pub(crate) fn layout() -> Arc<Layout> {
    let schema = TableSchema {
        name: TableName {
            schema: "public".to_owned(),
            name: "t".to_owned(),
        },
        columns: vec![
            column("id", ColumnType::Int64),
            column("number", ColumnType::Int64),
            column("text", ColumnType::Text),
        ],
        key: vec![0],
    };
    Arc::new(Layout::new(TableId(1), Arc::new(schema)))
}

/// The versions in the order of writing.
pub(crate) fn rows(written: &[Written]) -> VersionRows {
    let mut rows = RowsBuilder::new(&layout().schema);
    for &version in written {
        let (key, position, number, text, kind) = match version {
            Written::Put(key, position, number, text) => {
                (key, position, Some(number), Some(text), VersionKind::Put)
            }
            Written::Delete(key, position) => (key, position, None, None, VersionKind::Delete),
            Written::PatchNumber(key, position, number) => {
                (key, position, Some(number), None, VersionKind::Patch)
            }
            Written::PatchText(key, position, text) => {
                (key, position, None, Some(text), VersionKind::Patch)
            }
        };
        let [
            ColumnBuilder::Int64(ids),
            ColumnBuilder::Int64(numbers),
            ColumnBuilder::Text(texts),
        ] = rows.columns_mut()
        else {
            panic!("the columns of the tests' schema")
        };
        ids.append_value(key);
        numbers.append_option(number);
        texts.append_option(text);
        let position = CommitPosition(position);
        match version {
            Written::PatchNumber(..) => rows.finish_patch(position, &[0b100]),
            Written::PatchText(..) => rows.finish_patch(position, &[0b010]),
            _ => rows.finish_version(position, kind),
        }
    }
    rows.build()
}

/// The versions as a memory run, sorted.
pub(crate) fn run(written: &[Written]) -> Arc<MemoryRun> {
    Arc::new(MemoryRun::sort(rows(written), &layout()))
}
