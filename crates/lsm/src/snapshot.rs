//! Snapshots: every tree as of one commit position.

use std::fmt;
use std::sync::Arc;

use types::{CommitPosition, TableId};

use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::scan::{Scan, ScanRequest, split};
use crate::store::Store;

/// Reads every tree as of one position. Cheap to take; holds back garbage collection until it is
/// dropped.
pub struct Snapshot {
    store: Arc<Store>,
    position: u64,
}

/// Keeps every version newer than the position at which it was taken, so that snapshots at any
/// later position can be taken while it is held.
pub struct HistoryHold {
    store: Arc<Store>,
    position: u64,
}

impl Snapshot {
    pub(crate) fn new(store: Arc<Store>, position: u64) -> Self {
        Self { store, position }
    }

    /// The position that the snapshot sees.
    pub fn position(&self) -> CommitPosition {
        CommitPosition(self.position)
    }

    /// Reads rows of a table, key ascending.
    pub fn scan(&self, table: TableId, request: ScanRequest) -> Result<Scan, StoreError> {
        let tree = self.store.readable_tree(table)?;
        Ok(Scan::new(
            &tree,
            self.position,
            request,
            self.store.page_cache(),
        ))
    }

    /// Cuts the table's keys into up to `parts` ranges of about equal work, ascending, covering
    /// everything.
    pub fn split(&self, table: TableId, parts: usize) -> Result<Vec<KeyRange>, StoreError> {
        let tree = self.store.readable_tree(table)?;
        Ok(split(&tree.version(), parts))
    }
}

impl HistoryHold {
    pub(crate) fn new(store: Arc<Store>, position: u64) -> Self {
        Self { store, position }
    }

    /// The position at which the hold was taken.
    pub fn position(&self) -> CommitPosition {
        CommitPosition(self.position)
    }

    pub(crate) fn belongs_to(&self, store: &Arc<Store>) -> bool {
        Arc::ptr_eq(&self.store, store)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.store.snapshots().unpin(self.position);
    }
}

impl Drop for HistoryHold {
    fn drop(&mut self) {
        self.store.snapshots().release(self.position);
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("position", &self.position())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HistoryHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistoryHold")
            .field("position", &self.position())
            .finish_non_exhaustive()
    }
}
