//! Tables of texts by number, which most tests fill, and scans of whole tables.

use lsm::{KeyRange, ScanRequest};
use types::{ColumnType, TableSchema, VersionKind, VersionRows};

use crate::rows::{Cell, Version, table_schema, version_rows};

/// A key and a text.
pub fn texts() -> TableSchema {
    table_schema(&[("id", ColumnType::Int64), ("text", ColumnType::Text)])
}

/// Puts of one transaction into such a table, each with the text of its key and position.
pub fn put_texts(
    keys: impl IntoIterator<Item = i64>,
    position: u64,
    text: impl Fn(i64, u64) -> String,
) -> VersionRows {
    let put = |key| {
        let cells = [Cell::Number(key), Cell::Text(text(key, position))];
        Version::new(position, VersionKind::Put, cells)
    };
    version_rows(&texts(), keys.into_iter().map(put))
}

/// Every row of a table.
pub fn whole(projection: Vec<usize>, batch_rows: usize) -> ScanRequest {
    ScanRequest {
        projection,
        range: KeyRange::default(),
        batch_rows,
    }
}
