//! Snapshots: every tree as of one commit position.
use arrow_array::RecordBatch;
use types::{key::SortKey, CommitPosition, TableId};
use crate::error::StoreError;

/// Reads every tree as of one position. Cheap to take; holds back garbage collection.
#[derive(Debug)]
pub struct Snapshot { _private: () }
/// Keeps every version newer than the position at which it was taken, so that snapshots at any
/// later position can be taken while it is held.
#[derive(Debug)]
pub struct HistoryHold { _private: () }
/// Half-open range of keys; `None` = unbounded.
#[derive(Clone, Debug, Default)]
pub struct KeyRange { pub start: Option<SortKey>, pub end: Option<SortKey> }
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// Stored columns to return, in this order (may be empty: batches then carry row counts only).
    pub projection: Vec<usize>,
    pub range: KeyRange,
    /// Rows a batch has at most.
    pub batch_rows: usize,
}
/// Iterator of batches, key ascending.
pub struct Scan { _private: () }
impl Iterator for Scan { type Item = Result<RecordBatch, StoreError>; fn next(&mut self) -> Option<Self::Item> { todo!() } }
impl Snapshot {
    pub fn position(&self) -> CommitPosition { todo!() }
    pub fn scan(&self, table: TableId, request: ScanRequest) -> Result<Scan, StoreError> { todo!() }
    /// Cuts the table's keys into up to `parts` ranges of about equal work, ascending, covering everything.
    pub fn split(&self, table: TableId, parts: usize) -> Result<Vec<KeyRange>, StoreError> { todo!() }
}
impl HistoryHold {
    pub fn position(&self) -> CommitPosition { todo!() }
}
