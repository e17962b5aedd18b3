//! Snapshots: every tree as of one commit position.

use std::fmt;
use std::sync::Arc;

use arrow_array::ArrayRef;
use types::{CommitPosition, TableId, Value};

use crate::error::StoreError;
use crate::filtered_scan::FilteredScan;
use crate::key_range::KeyRange;
use crate::lookup::{self, FoundRows, Row, View};
use crate::museum::{self, Exhibit};
use crate::scan::{Scan, ScanRequest, split};
use crate::scan_counts::ScanExtent;
use crate::store::Store;
use crate::tree::Tree;
use crate::zone_filter::ZoneFilter;

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
        self.new_scan(table, request, None)
    }

    /// Reads those rows of a table that a consumer wants, key ascending: it says which by looking at
    /// the stored columns `looked_at` first, and of what zones it wants none at all.
    pub fn scan_wanted(
        &self,
        table: TableId,
        request: ScanRequest,
        looked_at: &[usize],
        zone_filter: &Arc<dyn ZoneFilter>,
    ) -> Result<FilteredScan, StoreError> {
        let projection = request.projection.clone();
        let scan = self.new_scan(table, request, Some(zone_filter))?;
        Ok(FilteredScan::new(scan, &projection, looked_at))
    }

    fn new_scan(
        &self,
        table: TableId,
        request: ScanRequest,
        zone_filter: Option<&Arc<dyn ZoneFilter>>,
    ) -> Result<Scan, StoreError> {
        let tree = self.store.readable_tree(table)?;
        let position = match museum::shows(Exhibit::TableReadAsOfNow) {
            true => self.store.visible().0,
            false => self.position,
        };
        let cache = self.store.page_cache();
        Ok(Scan::new(&tree, position, request, cache, zone_filter))
    }

    /// The row of one key: the wanted `columns` of it, or `None` if the snapshot sees no such
    /// row. `key` has the values of the key columns in key order; NULL and what is outside its
    /// column's type (70,000 of 16 bits) is the key of no row. Takes a few microseconds when the
    /// pages are cached.
    ///
    /// # Errors
    /// As for scans: a page that has to be read may be damaged or unreadable.
    ///
    /// # Panics
    /// When there are more or fewer values than key columns, a value is of another kind than its
    /// column, or the table has no such column.
    pub fn get(
        &self,
        table: TableId,
        key: &[Value<'_>],
        columns: &[usize],
    ) -> Result<Option<Row>, StoreError> {
        let tree = self.store.readable_tree(table)?;
        lookup::get(&self.view(&tree), key, columns)
    }

    /// The rows of many keys, given in any order and answered in the order asked; a key may be
    /// asked for twice. `keys` has an array for each key column, in key order; NULL is the key of
    /// no row. Loads no page twice, and takes memory for the keys and all rows together.
    ///
    /// # Errors
    /// As for scans: a page that has to be read may be damaged or unreadable.
    ///
    /// # Panics
    /// When there are more or fewer arrays than key columns, an array is not of its column's
    /// Arrow type or shorter than the first, or the table has no such column.
    pub fn multi_get(
        &self,
        table: TableId,
        keys: &[ArrayRef],
        columns: &[usize],
    ) -> Result<FoundRows, StoreError> {
        let tree = self.store.readable_tree(table)?;
        lookup::multi_get(&self.view(&tree), keys, columns)
    }

    /// Cuts the table's keys into up to `parts` ranges of about equal work, ascending, covering
    /// everything.
    pub fn split(&self, table: TableId, parts: usize) -> Result<Vec<KeyRange>, StoreError> {
        let tree = self.store.readable_tree(table)?;
        Ok(split(&tree.version(), parts))
    }

    /// How much of the table's runs on disk a range of keys leaves to be read.
    pub fn extent(&self, table: TableId, range: &KeyRange) -> Result<ScanExtent, StoreError> {
        let tree = self.store.readable_tree(table)?;
        Ok(ScanExtent::of(&tree.version(), range))
    }

    fn view<'a>(&'a self, tree: &'a Tree) -> View<'a> {
        View {
            tree,
            position: self.position,
            cache: self.store.page_cache(),
            counters: &self.store.counters,
        }
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
