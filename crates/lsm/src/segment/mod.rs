//! Segments: immutable files of pages, sorted by key ascending and position descending.
//!
//! A sorted run on disk is a list of segments with disjoint key ranges. [`SegmentWriter`] makes
//! a segment from sorted batches, [`Segment`] reads it page by page, [`SegmentInfo`] is what the
//! manifest keeps of it. `docs/format/segment.md` gives every byte.

mod filter;
mod filter_memory;
mod format;
mod info;
mod page_index;
mod pending;
mod reader;
#[cfg(test)]
mod tests;
mod unsynced_files;
mod writer;
mod zones;

pub use filter::KeyHash;
pub use filter_memory::FilterMemory;
pub use info::{SegmentId, SegmentInfo};
pub use reader::{FileEnd, PageEntry, Segment};
pub use unsynced_files::UnsyncedFiles;
pub use writer::{FinishedSegment, SegmentWriter, WrittenPage};
pub use zones::Zones;

use std::sync::Arc;

use page::{Experience, PageEncoder};
use types::{ColumnType, TableSchema};

/// Columns that every page has after the table's: `position`, `kind`, `unchanged`.
pub const SYSTEM_COLUMNS: usize = 3;

/// The types of a page's columns: the table's, then `position` (UInt64), `kind` (Int16, the
/// number of a `VersionKind`) and `unchanged` (Bytes, NULL or empty where the version is no
/// patch).
pub fn page_column_types(schema: &TableSchema) -> Arc<[ColumnType]> {
    let table = schema.columns.iter().map(|column| column.column_type);
    table
        .chain([ColumnType::UInt64, ColumnType::Int16, ColumnType::Bytes])
        .collect()
}

/// An encoder of the pages of a table with that schema, of `page_bytes` each.
///
/// # Panics
/// When `page_bytes` is below [`page::CAPACITY_BYTES_MIN`].
pub fn page_encoder(
    schema: &TableSchema,
    page_bytes: usize,
    experience: &Experience,
) -> PageEncoder {
    PageEncoder::experienced(&page_column_types(schema), page_bytes, experience)
}
