//! What a store tells of itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use types::TableId;

use crate::store::Store;
use crate::tree::Tree;

/// One component of a tree: C0, or the disk runs of a size class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentStats {
    /// `C0` in memory, `C1`, `C2`, … on disk.
    pub name: String,
    /// Sorted runs.
    pub runs: usize,
    /// Segment files; none in memory.
    pub segments: usize,
    /// Versions in all runs.
    pub versions: u64,
    /// Bytes in memory or on disk.
    pub bytes: u64,
    /// Bytes of its segments' filters, a part of `bytes`. Loaded, they take as many in memory.
    pub filter_bytes: u64,
}

/// One table's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStats {
    /// The table.
    pub table: TableId,
    /// Its components, C0 first.
    pub components: Vec<ComponentStats>,
    /// Versions in all components: an upper bound of the rows.
    pub versions: u64,
    /// Bytes of all segment files.
    pub bytes_on_disk: u64,
    /// Bytes of files that only compaction buffers have.
    pub bytes_in_buffers: u64,
    /// Bytes of all memory runs.
    pub bytes_in_memory: u64,
    /// Whether its runs on disk have to be merged.
    pub merge: MergeState,
}

/// Whether a tree's runs on disk have to be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeState {
    /// There is nothing to do.
    None,
    /// A merge has to be done and has not begun.
    Due,
    /// A merge is under way.
    UnderWay,
}

/// The whole store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Bytes in C0 of all trees.
    pub memory_bytes: u64,
    /// What C0 may use.
    pub memory_bytes_max: u64,
    /// Bytes in the page cache.
    pub cache_bytes: u64,
    /// Bytes of filters in memory: look-ups load them.
    pub filter_bytes: u64,
    /// Pages found in the cache.
    pub cache_hits: u64,
    /// Pages that had to be read.
    pub cache_misses: u64,
    /// Pages that entered the cache when a flush or merge wrote them.
    pub pages_warmed: u64,
    /// Those of them that were asked for while they were there.
    pub warmed_pages_used: u64,
    /// Merges going on.
    pub merges_running: u64,
    /// Merges completed since the store was opened.
    pub merges_done: u64,
    /// Bytes that flushes wrote since the store was opened.
    pub bytes_flushed: u64,
    /// Bytes that merges wrote since the store was opened.
    pub bytes_merged: u64,
    /// Keys looked up since the store was opened.
    pub lookups: u64,
    /// Pages that look-ups opened, in the cache or not; those of scans that fold patches not
    /// counted.
    pub lookup_pages: u64,
    /// How often a filter told a look-up that a segment does not hold the key.
    pub filter_negatives: u64,
    /// How often a filter let a look-up read a page that does not hold the key.
    pub filter_errors: u64,
    /// Live snapshots.
    pub snapshots: u64,
    /// The oldest live snapshot's position; zero if there is none.
    pub oldest_snapshot: u64,
}

/// Counts since the store was opened.
#[derive(Default)]
pub(crate) struct Counters {
    pub merges_running: AtomicU64,
    pub merges_done: AtomicU64,
    pub bytes_flushed: AtomicU64,
    pub bytes_merged: AtomicU64,
    pub lookups: AtomicU64,
    pub lookup_pages: AtomicU64,
    pub filter_negatives: AtomicU64,
    pub filter_errors: AtomicU64,
}

/// What look-ups took, counted beside them and added to the store's at their end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LookupCounts {
    pub keys: u64,
    pub pages: u64,
    pub filter_negatives: u64,
    pub filter_errors: u64,
}

impl Counters {
    /// Adds what look-ups took.
    pub fn add_lookups(&self, counts: LookupCounts) {
        let add = |counter: &AtomicU64, count: u64| {
            if count > 0 {
                counter.fetch_add(count, Ordering::Relaxed);
            }
        };
        add(&self.lookups, counts.keys);
        add(&self.lookup_pages, counts.pages);
        add(&self.filter_negatives, counts.filter_negatives);
        add(&self.filter_errors, counts.filter_errors);
    }
}

/// A size class of disk runs holds runs up to this many times as large as the class before.
const CLASS_RATIO: u64 = 10;

/// Runs up to this size are C1.
const FIRST_CLASS_BYTES: u64 = 64 << 20;

/// The number of the component to which a disk run of this size belongs.
fn component_of(bytes: u64) -> usize {
    let mut class_bytes = FIRST_CLASS_BYTES;
    let mut class = 1;
    while bytes > class_bytes {
        class_bytes = class_bytes.saturating_mul(CLASS_RATIO);
        class += 1;
    }
    class
}

impl TableStats {
    pub(crate) fn of(tree: &Arc<Tree>, merge: MergeState) -> Self {
        let version = tree.version();
        let mut components = vec![ComponentStats {
            name: "C0".to_owned(),
            ..Default::default()
        }];
        for run in version.memory_runs() {
            components[0].runs += 1;
            components[0].versions += run.rows() as u64;
            components[0].bytes += run.bytes() as u64;
        }
        for run in &version.runs {
            let class = component_of(run.bytes());
            while components.len() <= class {
                let name = format!("C{}", components.len());
                components.push(ComponentStats {
                    name,
                    ..Default::default()
                });
            }
            let component = &mut components[class];
            component.runs += 1;
            component.segments += run.segments.len();
            component.versions += run.versions();
            component.bytes += run.bytes();
            let filters = run.segments.iter().map(|part| part.segment.filter_bytes());
            component.filter_bytes += filters.sum::<u64>();
        }
        let buffers = version.runs.iter().filter_map(|run| run.buffer.as_ref());
        Self {
            table: tree.layout.table,
            versions: components.iter().map(|component| component.versions).sum(),
            bytes_on_disk: components[1..]
                .iter()
                .map(|component| component.bytes)
                .sum(),
            bytes_in_buffers: buffers.map(|buffer| buffer.bytes()).sum(),
            bytes_in_memory: components[0].bytes,
            components,
            merge,
        }
    }
}

impl StoreStats {
    pub(crate) fn of(store: &Store) -> Self {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (snapshots, oldest_snapshot) = store.snapshots().pinned();
        let cache = store.page_cache();
        Self {
            memory_bytes: store.memory.used() as u64,
            memory_bytes_max: store.memory.max() as u64,
            cache_bytes: cache.bytes(),
            filter_bytes: store.factory.filter_memory.used(),
            cache_hits: cache.hits(),
            cache_misses: cache.misses(),
            pages_warmed: cache.pages_warmed(),
            warmed_pages_used: cache.warmed_pages_used(),
            merges_running: load(&store.counters.merges_running),
            merges_done: load(&store.counters.merges_done),
            bytes_flushed: load(&store.counters.bytes_flushed),
            bytes_merged: load(&store.counters.bytes_merged),
            lookups: load(&store.counters.lookups),
            lookup_pages: load(&store.counters.lookup_pages),
            filter_negatives: load(&store.counters.filter_negatives),
            filter_errors: load(&store.counters.filter_errors),
            snapshots,
            oldest_snapshot: oldest_snapshot.unwrap_or(0),
        }
    }
}
