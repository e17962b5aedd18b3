//! A data directory of trees: one writer, many readers, background work in steps.
use std::{path::Path, sync::Arc, time::Duration};
use types::{CommitPosition, TableId, TableSchema, VersionRows};
use crate::{error::StoreError, options::StoreOptions, snapshot::{HistoryHold, Snapshot}, stats::{StoreStats, TableStats}};

pub struct Store { _private: () }
/// The state that would be recovered if the process ended now.
#[derive(Clone, Debug)]
pub struct Durable { pub position: CommitPosition, pub metadata: Arc<[u8]> }
/// Kinds of background work; each has a thread (or more) of its own in the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work { /// C0 to disk, manifest commit: makes things durable.
    Flush, /// Merges of runs.
    Merge }

impl Store {
    /// Opens or creates the store in `directory` (takes its lock, recovers, deletes leftovers).
    pub fn open(env: env::Env, directory: &Path, options: StoreOptions) -> Result<Arc<Self>, StoreError> { todo!() }
    /// Durable when it returns. The id must not have been used before.
    pub fn create_table(&self, table: TableId, schema: TableSchema) -> Result<(), StoreError> { todo!() }
    /// Durable when it returns. Readers that hold a snapshot may get NoSuchTable.
    pub fn drop_table(&self, table: TableId) -> Result<(), StoreError> { todo!() }
    /// All tables, by id.
    pub fn tables(&self) -> Vec<(TableId, Arc<TableSchema>)> { todo!() }
    pub fn schema(&self, table: TableId) -> Option<Arc<TableSchema>> { todo!() }

    /// Adds versions to C0. They stay invisible until a `publish` at or above their position.
    /// Positions larger than the last published one only (re-ingesting the same version is harmless).
    /// Never reads a tree. Blocks never; see `wait_for_memory`.
    pub fn ingest(&self, table: TableId, rows: VersionRows) -> Result<(), StoreError> { todo!() }
    /// Everything older than `position` is invisible to snapshots at or after it.
    pub fn truncate(&self, table: TableId, position: CommitPosition) -> Result<(), StoreError> { todo!() }
    /// Makes everything up to `position` visible in all tables at once. `metadata` is the caller's
    /// state that belongs to exactly this position (durable with the next flush).
    pub fn publish(&self, position: CommitPosition, metadata: Vec<u8>) { todo!() }
    /// The caller's latest published metadata (after open: the durable one).
    pub fn metadata(&self) -> Arc<[u8]> { todo!() }
    /// Asks the flush work to make everything published so far durable soon.
    pub fn request_flush(&self) { todo!() }
    /// Flushes in the calling thread; everything published before the call is durable after it.
    pub fn flush(&self) -> Result<(), StoreError> { todo!() }
    pub fn durable(&self) -> Durable { todo!() }
    /// Waits while C0 is over its budget and flushing has not caught up. Back-pressure.
    pub fn wait_for_memory(&self, timeout: Duration) -> Result<bool, StoreError> { todo!() }

    pub fn visible(&self) -> CommitPosition { todo!() }
    /// A snapshot at the visible position.
    pub fn pin(self: &Arc<Self>) -> Snapshot { todo!() }
    pub fn hold_history(self: &Arc<Self>) -> HistoryHold { todo!() }
    /// A snapshot at `position`, between the hold's and the visible one; None outside.
    pub fn pin_at(self: &Arc<Self>, hold: &HistoryHold, position: CommitPosition) -> Option<Snapshot> { todo!() }

    /// Does one piece of background work if there is any; true if it did.
    pub fn work(&self, kind: Work) -> Result<bool, StoreError> { todo!() }
    /// Waits until there may be work of this kind, or the timeout.
    pub fn wait_for_work(&self, kind: Work, timeout: Duration) { todo!() }
    /// Background work in progress stops at the next chance; later calls to `work` do nothing.
    pub fn shut_down(&self) { todo!() }

    pub fn table_stats(&self, table: TableId) -> Option<TableStats> { todo!() }
    pub fn stats(&self) -> StoreStats { todo!() }
}
