//! Segments: immutable files of pages, sorted by key ascending and position descending.

mod info;
mod reader;
mod writer;

pub use info::{SegmentId, SegmentInfo};
pub use reader::{PageEntry, Segment};
pub use writer::SegmentWriter;

/// Columns that every page has after the table's: `position`, `kind`, `unchanged`.
pub const SYSTEM_COLUMNS: usize = 3;

/// The types of a page's columns: the table's, then `position` (UInt64), `kind` (Int16) and
/// `unchanged` (Bytes, NULL or empty where the version is no patch).
pub fn page_column_types(schema: &types::TableSchema) -> Vec<types::ColumnType> {
    let table = schema.columns.iter().map(|column| column.column_type);
    table
        .chain([types::ColumnType::UInt64, types::ColumnType::Int16, types::ColumnType::Bytes])
        .collect()
}
