//! A data directory of trees: one writer, many readers, background work in steps.
//!
//! The store starts no thread. The writer ingests and publishes; readers pin snapshots; threads
//! of the binary (or a simulation) call [`Store::work`]. What is shared, and for how long a lock
//! is held:
//!
//! * the registry of snapshots: for a moment;
//! * the list of trees and each tree's version: for the moment of a swap;
//! * the manifest: during a commit, including its sync. Commits and the swaps that belong to
//!   them happen under this lock, so that what is in memory follows the order of the manifest;
//! * the flush lock: during a flush.
//!
//! They are always taken in the order flush, manifest, trees, version.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use env::{DirectoryLock, Env};
use parking_lot::{Mutex, RwLock};
use types::{CommitPosition, TableId, TableSchema, VersionRows};

use crate::error::StoreError;
use crate::layout::Layout;
use crate::manifest::{Change, Edit, Manifest, SEGMENTS_DIRECTORY};
use crate::memory_budget::MemoryBudget;
use crate::memory_merge::merge_runs;
use crate::memory_run::MemoryRun;
use crate::options::StoreOptions;
use crate::page_cache::PageCache;
use crate::recovery::{Recovered, recover};
use crate::row_length::check_row_lengths;
use crate::run_writer::SegmentFactory;
use crate::segment::FilterMemory;
use crate::signal::Signal;
use crate::snapshot::{HistoryHold, Snapshot};
use crate::snapshots::{Published, Snapshots};
use crate::stats::{Counters, StoreStats, TableStats};
use crate::tree::Tree;
use crate::version::{Version, memory_bytes};
use crate::warming::Warming;

/// A data directory of trees.
pub struct Store {
    pub(crate) factory: SegmentFactory,
    pub(crate) next_run: AtomicU64,
    pub(crate) manifest: Mutex<Manifest>,
    pub(crate) memory: MemoryBudget,
    pub(crate) counters: Counters,
    pub(crate) durable: Mutex<Durable>,
    /// Held during a flush.
    pub(crate) flushing: Mutex<()>,
    pub(crate) flush_requested: AtomicBool,
    /// When the last flush ended, in microseconds of the clock.
    pub(crate) flushed_us: AtomicU64,
    /// When compaction buffers were last trimmed, in milliseconds of the clock.
    pub(crate) trimmed_ms: AtomicU64,
    pub(crate) merge_signal: Signal,
    pub(crate) flush_signal: Signal,
    trees: RwLock<BTreeMap<TableId, Arc<Tree>>>,
    snapshots: Snapshots,
    /// Why nothing may become durable any more.
    poison: Mutex<Option<StoreError>>,
    stopping: AtomicBool,
    /// Last, so that it is released when everything else is gone.
    _lock: Box<dyn DirectoryLock>,
}

/// The state that would be recovered if the process ended now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durable {
    /// Everything up to this position would be there, and nothing after it.
    pub position: CommitPosition,
    /// The caller's metadata that belongs to exactly this position.
    pub metadata: Arc<[u8]>,
}

/// Kinds of background work; each has a thread (or more) of its own in the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// C0 to disk, manifest commit: makes things durable.
    Flush,
    /// Merges of runs.
    Merge,
}

/// Niceness of threads that run statements: where processors are short, what the source has sent goes first, two to
/// one, and statements go before merges ([`Work::niceness`]), three to two.
pub const STATEMENT_NICENESS: i32 = 3;

impl Work {
    /// Niceness of a thread that does it where processors are short. What the source has sent should
    /// become durable beside any number of statements, so flushes are as good as they are: with
    /// niceness 5, eight busy readers left the writer a third less (decision 0013). Merges only tidy
    /// up: what the source has sent goes first, three to one.
    pub fn niceness(self) -> i32 {
        match self {
            Self::Flush => 0,
            Self::Merge => 5,
        }
    }
}

impl Store {
    /// Opens or creates the store in `directory` (takes its lock, recovers, deletes leftovers).
    pub fn open(
        env: Env,
        directory: &Path,
        options: StoreOptions,
    ) -> Result<Arc<Self>, StoreError> {
        let filter_memory = FilterMemory::new(options.filter_bytes as u64);
        let recovered = recover(&env, directory, &filter_memory)?;
        let store = Self::new(env, directory, options, recovered, filter_memory);
        Ok(Arc::new(store))
    }

    fn new(
        env: Env,
        directory: &Path,
        options: StoreOptions,
        recovered: Recovered,
        filter_memory: Arc<FilterMemory>,
    ) -> Self {
        let Recovered {
            lock,
            manifest,
            state,
            trees,
            next_segment,
        } = recovered;
        let mut cache = PageCache::new(
            options.cache_bytes,
            options.page_bytes,
            options.cache_policy,
        );
        if options.warming == Warming::NoneDeadPagesStay {
            cache = cache.with_dead_pages();
        }
        let published = Published {
            position: state.visible.0,
            metadata: Arc::clone(&state.metadata),
        };
        Self {
            memory: MemoryBudget::new(options.memory_bytes, options.merge_policy),
            factory: SegmentFactory {
                env,
                directory: directory.join(SEGMENTS_DIRECTORY),
                options,
                next_segment: AtomicU64::new(next_segment.0),
                cache: Arc::new(cache),
                filter_memory,
            },
            next_run: AtomicU64::new(state.next_run.0),
            manifest: Mutex::new(manifest),
            counters: Counters::default(),
            durable: Mutex::new(Durable {
                position: state.visible,
                metadata: state.metadata,
            }),
            flushing: Mutex::new(()),
            flush_requested: AtomicBool::new(false),
            flushed_us: AtomicU64::new(0),
            trimmed_ms: AtomicU64::new(0),
            merge_signal: Signal::default(),
            flush_signal: Signal::default(),
            trees: RwLock::new(trees),
            snapshots: Snapshots::new(published),
            poison: Mutex::new(None),
            stopping: AtomicBool::new(false),
            _lock: lock,
        }
    }

    /// Adds an empty table. Durable when it returns. The id must not have been used before.
    ///
    /// # Panics
    /// When the id is in use or was.
    pub fn create_table(&self, table: TableId, schema: TableSchema) -> Result<(), StoreError> {
        self.check_poison()?;
        let schema = Arc::new(schema);
        let mut manifest = self.manifest.lock();
        let change = Change::CreateTable {
            table,
            schema: Arc::clone(&schema),
        };
        self.note_poison(manifest.commit(&Edit {
            changes: vec![change],
        }))?;
        let tree = Tree::new(Layout::new(table, schema), Version::default(), None);
        self.trees.write().insert(table, Arc::new(tree));
        Ok(())
    }

    /// Removes a table with all its data. Durable when it returns. Readers that hold a snapshot
    /// may get `NoSuchTable`.
    pub fn drop_table(&self, table: TableId) -> Result<(), StoreError> {
        self.check_poison()?;
        let mut manifest = self.manifest.lock();
        let tree = self.tree(table)?;
        let change = Change::DropTable { table };
        self.note_poison(manifest.commit(&Edit {
            changes: vec![change],
        }))?;
        self.trees.write().remove(&table);
        let (last, _) = tree.update(|_| Version::default());
        self.drop_memory_merge(&mut tree.memory_merge.lock());
        self.memory.close(memory_bytes(&last.open));
        self.memory.free(memory_bytes(&last.frozen));
        for part in last.runs.iter().flat_map(|run| &run.segments) {
            part.segment.retire(&self.factory.cache);
        }
        Ok(())
    }

    /// The lowest id that no table ever had.
    pub fn next_table(&self) -> TableId {
        self.manifest.lock().state().next_table
    }

    /// All tables, by id.
    pub fn tables(&self) -> Vec<(TableId, Arc<TableSchema>)> {
        let trees = self.trees.read();
        trees
            .iter()
            .map(|(&table, tree)| (table, Arc::clone(&tree.layout.schema)))
            .collect()
    }

    /// A table's schema.
    pub fn schema(&self, table: TableId) -> Option<Arc<TableSchema>> {
        self.trees
            .read()
            .get(&table)
            .map(|tree| Arc::clone(&tree.layout.schema))
    }

    /// Adds versions to C0. They stay invisible until a `publish` at or above their position.
    /// Positions larger than the last published one only: merges may have forgotten what an older
    /// version would have to be ordered by. Re-ingesting the same version is harmless. Different
    /// tables may be written to by different threads. Never reads a tree. Blocks never; see
    /// `wait_for_memory`.
    pub fn ingest(&self, table: TableId, rows: VersionRows) -> Result<(), StoreError> {
        self.check_poison()?;
        let tree = self.tree(table)?;
        if rows.is_empty() {
            return Ok(());
        }
        check_row_lengths(table, &rows)?;
        let batch_rows = rows.len();
        let mut run = MemoryRun::sort(rows, &tree.layout);
        if run.has_duplicates() {
            let retention = self.snapshots.retention_in_memory();
            let folded = merge_runs(&[Arc::new(run)], retention, &tree.layout)?;
            run = folded.expect("folding equal positions keeps one version each");
        }
        self.memory.open(run.bytes());
        tree.update(|version| version.ingested(Arc::new(run)));
        self.merge_in_memory(&tree, batch_rows)?;
        if self.memory.wants_flush() {
            self.flush_signal.notify();
        }
        Ok(())
    }

    /// Everything older than `position` is invisible to snapshots at or after it.
    pub fn truncate(&self, table: TableId, position: CommitPosition) -> Result<(), StoreError> {
        self.check_poison()?;
        self.tree(table)?
            .update(|version| version.truncated(position.0));
        Ok(())
    }

    /// Makes everything up to `position` visible in all tables at once. `metadata` is the
    /// caller's state that belongs to exactly this position (durable with the next flush).
    ///
    /// # Panics
    /// When the position goes back.
    pub fn publish(&self, position: CommitPosition, metadata: Vec<u8>) {
        self.snapshots.publish(position.0, metadata.into());
    }

    /// The caller's latest published metadata (after open: the durable one).
    pub fn metadata(&self) -> Arc<[u8]> {
        self.snapshots.published().metadata
    }

    /// Asks the flush work to make everything published so far durable soon.
    pub fn request_flush(&self) {
        self.flush_requested.store(true, Ordering::Relaxed);
        self.flush_signal.notify();
    }

    /// Flushes in the calling thread; everything published before the call is durable after it.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.check_poison()?;
        self.note_poison(self.flush_now())
    }

    /// The state that would be recovered if the process ended now. The only source of positions
    /// that may be acknowledged.
    pub fn durable(&self) -> Durable {
        self.durable.lock().clone()
    }

    /// Waits for a moment while a flush is behind, and while C0 is over its budget; whether there
    /// is room. Back-pressure, for a writer to call before each batch.
    pub fn wait_for_memory(&self, timeout: Duration) -> Result<bool, StoreError> {
        let is_over = || self.is_stopping() || self.is_poisoned();
        let freed = &self.memory.freed;
        let wait = self.memory.wait(self.factory.env.clock.monotonic());
        freed.wait_until(timeout.min(wait), || {
            !self.memory.is_flushing() || is_over()
        });
        freed.wait_until(timeout, || !self.memory.is_exceeded() || is_over());
        self.check_poison()?;
        Ok(!self.memory.is_exceeded())
    }

    /// The visible position.
    pub fn visible(&self) -> CommitPosition {
        CommitPosition(self.snapshots.published().position)
    }

    /// The oldest position that a snapshot has or, because of a history hold, may still get: what
    /// only snapshots before it would read is not needed any more.
    pub fn oldest_readable(&self) -> CommitPosition {
        CommitPosition(self.snapshots.oldest())
    }

    /// A snapshot at the visible position.
    pub fn pin(self: &Arc<Self>) -> Snapshot {
        Snapshot::new(Arc::clone(self), self.snapshots.pin())
    }

    /// A snapshot of everything that has been ingested up to `position`, visible or not: for the
    /// writer, who knows what it has written.
    ///
    /// # Panics
    /// When the position is below the visible one.
    pub fn pin_ingested(self: &Arc<Self>, position: CommitPosition) -> Snapshot {
        self.snapshots.pin_ahead(position.0);
        Snapshot::new(Arc::clone(self), position.0)
    }

    /// Keeps history from the visible position on.
    pub fn hold_history(self: &Arc<Self>) -> HistoryHold {
        HistoryHold::new(Arc::clone(self), self.snapshots.hold())
    }

    /// A snapshot at `position`, between the hold's and the visible one; `None` outside.
    ///
    /// # Panics
    /// When the hold is another store's.
    pub fn pin_at(
        self: &Arc<Self>,
        hold: &HistoryHold,
        position: CommitPosition,
    ) -> Option<Snapshot> {
        assert!(
            hold.belongs_to(self),
            "a hold keeps the history of its own store"
        );
        let pinned = position >= hold.position() && self.snapshots.pin_at(position.0);
        pinned.then(|| Snapshot::new(Arc::clone(self), position.0))
    }

    /// Does one piece of background work if there is any; true if it did.
    pub fn work(&self, kind: Work) -> Result<bool, StoreError> {
        if self.is_stopping() {
            return Ok(false);
        }
        self.check_poison()?;
        self.note_poison(match kind {
            Work::Flush => self.flush_if_due(),
            Work::Merge => self.merge_if_due(),
        })
    }

    /// Waits until there may be work of this kind, or the timeout.
    pub fn wait_for_work(&self, kind: Work, timeout: Duration) {
        match kind {
            Work::Flush => self
                .flush_signal
                .wait_until(timeout, || self.is_stopping() || self.flush_is_due()),
            Work::Merge => self
                .merge_signal
                .wait_until(timeout, || self.is_stopping() || self.merge_is_due()),
        };
    }

    /// Background work in progress stops at the next chance; later calls to `work` do nothing.
    pub fn shut_down(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.flush_signal.notify();
        self.merge_signal.notify();
        self.memory.freed.notify();
    }

    /// The position of a table's newest version, published or not, or a later one: after a crash
    /// there may be versions of transactions that will come again.
    pub fn newest_position(&self, table: TableId) -> Result<CommitPosition, StoreError> {
        let version = self.tree(table)?.version();
        Ok(CommitPosition(version.newest_position()))
    }

    /// The tables in whose files damage was met since the store was opened, and what it was. One that
    /// merges have come past unharmed is none.
    pub fn damaged_tables(&self) -> Vec<(TableId, StoreError)> {
        let damage = |tree: &Arc<Tree>| Some((tree.layout.table, tree.known_damage()?));
        self.trees().iter().filter_map(damage).collect()
    }

    /// What a table's tree consists of.
    pub fn table_stats(&self, table: TableId) -> Option<TableStats> {
        let tree = self.tree(table).ok()?;
        Some(TableStats::of(&tree, self.merge_state(&tree)))
    }

    /// What the store uses and has done.
    pub fn stats(&self) -> StoreStats {
        StoreStats::of(self)
    }

    pub(crate) fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    pub(crate) fn page_cache(&self) -> &Arc<PageCache> {
        &self.factory.cache
    }

    pub(crate) fn trees(&self) -> Vec<Arc<Tree>> {
        self.trees.read().values().cloned().collect()
    }

    fn tree(&self, table: TableId) -> Result<Arc<Tree>, StoreError> {
        self.trees
            .read()
            .get(&table)
            .cloned()
            .ok_or(StoreError::NoSuchTable(table))
    }

    /// The table's tree, unless it is damaged.
    pub(crate) fn readable_tree(&self, table: TableId) -> Result<Arc<Tree>, StoreError> {
        let tree = self.tree(table)?;
        match &tree.damage {
            Some(damage) => Err(damage.clone()),
            None => Ok(tree),
        }
    }

    /// Whether the tree's table has not been dropped.
    pub(crate) fn is_live(&self, tree: &Arc<Tree>) -> bool {
        self.trees
            .read()
            .get(&tree.layout.table)
            .is_some_and(|live| Arc::ptr_eq(live, tree))
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn is_poisoned(&self) -> bool {
        self.poison.lock().is_some()
    }

    fn check_poison(&self) -> Result<(), StoreError> {
        self.poison.lock().clone().map_or(Ok(()), Err)
    }

    /// Remembers a failed sync: after it nothing may become durable any more.
    fn note_poison<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error @ StoreError::Poisoned(_)) = &result {
            self.poison.lock().get_or_insert_with(|| error.clone());
            self.memory.freed.notify();
        }
        result
    }
}
