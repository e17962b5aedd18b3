//! Small tables for the unit tests of this crate: versions written down as literals.
//!
//! What they are made of stands with the integration tests, which see the public interface only.

#[path = "../tests/store/rows.rs"]
mod rows;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use types::{ColumnType, SortKeys, TableId, VersionKind, VersionRows};

use crate::layout::Layout;
use crate::memory_run::MemoryRun;
pub(crate) use rows::{Cell, Version, noise, table_schema, version_rows};

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

impl Written {
    fn version(self) -> Version {
        use Cell::{Null, Number, Unchanged};
        let text = |text: &str| Cell::Text(text.to_owned());
        let (key, position, kind, values) = match self {
            Self::Put(key, position, n, t) => {
                (key, position, VersionKind::Put, [Number(n), text(t)])
            }
            Self::Delete(key, position) => (key, position, VersionKind::Delete, [Null, Null]),
            Self::PatchNumber(key, position, n) => {
                (key, position, VersionKind::Patch, [Number(n), Unchanged])
            }
            Self::PatchText(key, position, t) => {
                (key, position, VersionKind::Patch, [Unchanged, text(t)])
            }
        };
        let [number, text] = values;
        Version::new(position, kind, [Number(key), number, text])
    }
}

/// A table of a key, a number and a text.
pub(crate) fn layout() -> Arc<Layout> {
    let schema = table_schema(&[
        ("id", ColumnType::Int64),
        ("number", ColumnType::Int64),
        ("text", ColumnType::Text),
    ]);
    Arc::new(Layout::new(TableId(1), Arc::new(schema)))
}

/// The versions as a memory run, sorted.
pub(crate) fn run(written: &[Written]) -> Arc<MemoryRun> {
    let versions = written.iter().map(|version| version.version());
    let rows = version_rows(&layout().schema, versions);
    Arc::new(MemoryRun::sort(rows, &layout()))
}

/// Key, number, text.
pub(crate) type Row = (i64, Option<i64>, Option<String>);

/// The rows of [`layout`]'s columns.
pub(crate) fn read(columns: &[ArrayRef]) -> Vec<Row> {
    let keys = columns[0].as_primitive::<Int64Type>().values();
    let rows = keys.iter().zip(rows::numbers_and_texts(&columns[1..]));
    rows.map(|(&key, (number, text))| (key, number, text))
        .collect()
}

/// Whole columns as puts at position 1.
pub(crate) fn put_columns(columns: Vec<ArrayRef>) -> VersionRows {
    let count = columns[0].len();
    VersionRows {
        columns,
        positions: vec![1; count],
        kinds: vec![VersionKind::Put as u8; count],
        unchanged: None,
    }
}

/// The sort keys of rows whose key is their first column, of integers.
pub(crate) fn integer_keys(rows: &VersionRows) -> SortKeys {
    SortKeys::compute(&rows.columns[..1], &[ColumnType::Int64])
}
