//! Writes a segment file front to back.
use std::path::Path;

use env::Env;
use types::{SortKeys, TableId, TableSchema, VersionRows};

use super::{SegmentId, SegmentInfo};
use crate::error::StoreError;

/// Writes one segment. Dropped before `finish`, it deletes the half-written file.
pub struct SegmentWriter { _private: () }

impl SegmentWriter {
    /// Creates the segment's file in `directory`.
    pub fn create(env: &Env, directory: &Path, id: SegmentId, table: TableId, schema: &TableSchema, page_bytes: usize) -> Result<Self, StoreError> { todo!() }

    /// Adds versions; they and everything added before are sorted by key ascending, position descending.
    /// One key's versions must not be spread over two segments of a run.
    pub fn append(&mut self, rows: &VersionRows, keys: &SortKeys) -> Result<(), StoreError> { todo!() }

    /// Bytes in the file so far (buffered rows not counted).
    pub fn bytes_written(&self) -> u64 { todo!() }

    /// Versions added so far.
    pub fn versions(&self) -> u64 { todo!() }

    /// Writes what is buffered, the page index and the footer, and syncs the file. The directory
    /// entry becomes durable with the manifest commit that names the segment
    /// (`Manifest::commit` syncs the directory first). A failed sync gives `StoreError::Poisoned`.
    ///
    /// # Panics
    /// When no version was added.
    pub fn finish(self) -> Result<SegmentInfo, StoreError> { todo!() }
}
