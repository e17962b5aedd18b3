//! C0: the memory component of a tree, a few memory runs merged in tiers.
//!
//! Each ingested batch becomes a run. When [`TIER_RUNS`] neighbouring runs are of about one
//! size, they are merged into one, so that a tree of n versions has about log n runs and each
//! version is copied about log n times. The merges keep what retention asks for: a row that is
//! updated over and over leaves one version behind once its updates are published.
//!
//! The writer merges. Small merges it does at once; a large one goes on with every batch, and is
//! done before as many rows have arrived as would make the next one:
//!
//! ```text
//! newest                                                          oldest
//! 1 1 1 1 1 1 1 1  8 8 8   8 8 8 8 8 8 8 8   64 64 64                     thousand rows
//! └─ at once ───┘          └─ in pieces ─┘   └─ left to the flush ─┘
//! ```
//!
//! Runs are immutable: readers hold the list that they found and wait for nobody.

use std::sync::Arc;

use crate::error::StoreError;
use crate::memory_merge::MemoryMerge;
use crate::memory_run::MemoryRun;
use crate::retention::{Outside, PositionRange};
use crate::store::Store;
use crate::tree::Tree;
use crate::version::{Version, memory_bytes};

/// Runs of one size class that are merged into one.
const TIER_RUNS: usize = 8;

/// Runs that together are larger are left alone: the flush is near, and merges them anyway.
const MERGE_BYTES_MAX: usize = 8 << 20;

/// Runs that together are larger are merged in pieces. One of this size takes about 3 ms.
const AT_ONCE_BYTES_MAX: usize = 512 << 10;

/// So are runs that together are a larger share of C0, where that is small.
const AT_ONCE_SHARE: usize = 256;

/// Rows that are merged while two arrive. Two would do if rows arrived evenly, and copying them took no
/// time; the more, the less even is what a batch takes.
const MERGED_ROWS_PER_TWO: usize = 3;

/// How many of the newest runs (newest first) to merge; `None` while there is nothing to gain.
fn due_merge(runs: &[Arc<MemoryRun>]) -> Option<usize> {
    let class = |run: &MemoryRun| run.rows().max(1).ilog(TIER_RUNS);
    let newest = class(runs.first()?);
    // A run that outgrew the class of its elders takes them in with the rest.
    let count = runs.iter().take_while(|run| class(run) <= newest).count();
    (count >= TIER_RUNS && memory_bytes(&runs[..count]) <= MERGE_BYTES_MAX).then_some(count)
}

/// The open runs that are newer than those of the merge under way.
fn newer_than<'v>(version: &'v Version, under_way: Option<&MemoryMerge>) -> &'v [Arc<MemoryRun>] {
    let taken = under_way.and_then(|merge| version.place_of(merge.inputs()));
    &version.open[..taken.unwrap_or(version.open.len())]
}

/// Whether a merge is due among the runs that are newer than those of the merge under way.
fn is_due(tree: &Tree, under_way: Option<&MemoryMerge>) -> bool {
    due_merge(newer_than(&tree.version(), under_way)).is_some()
}

/// A merge in memory that is due.
struct Due {
    inputs: Vec<Arc<MemoryRun>>,
    /// Positions of the tree's other runs.
    others: Vec<PositionRange>,
    /// The tree's truncations.
    truncations: Vec<u64>,
}

/// The runs to merge next, which are newer than those of the merge under way.
fn due_inputs(tree: &Tree, under_way: Option<&MemoryMerge>) -> Option<Due> {
    // Not the whole version leaves here: a flush may end meanwhile, and whoever holds the last
    // version that has its frozen runs frees them, which takes long.
    let version = tree.version();
    let newest = newer_than(&version, under_way);
    let count = due_merge(newest)?;
    let in_memory = version.memory_runs().skip(count);
    let in_memory = in_memory.map(|run| run.positions());
    let on_disk = version.runs.iter().map(|run| run.positions());
    Some(Due {
        inputs: newest[..count].to_vec(),
        others: in_memory.chain(on_disk).collect(),
        truncations: version.truncations.clone(),
    })
}

impl Store {
    /// Keeps the number of a tree's memory runs small: merges what a batch of `rows` made due, and
    /// goes on with a large merge that is under way.
    pub(crate) fn merge_in_memory(&self, tree: &Tree, rows: usize) -> Result<(), StoreError> {
        let mut under_way = tree.memory_merge.lock();
        if let Some(merge) = &mut *under_way {
            let before = merge.bytes();
            let more = merge.advance((rows * MERGED_ROWS_PER_TWO).div_ceil(2))?;
            self.memory.open(merge.bytes() - before);
            if !more && let Some(merge) = under_way.take() {
                self.install(tree, merge)?;
            }
        }
        let at_once_bytes_max = AT_ONCE_BYTES_MAX.min(self.memory.max() / AT_ONCE_SHARE);
        while is_due(tree, under_way.as_ref()) {
            // In this order: what is ingested after the boundaries are known lies above them.
            let retention = self.snapshots().retention_in_memory();
            let Some(due) = due_inputs(tree, under_way.as_ref()) else {
                break; // A flush has taken them.
            };
            let in_pieces = memory_bytes(&due.inputs) > at_once_bytes_max;
            if in_pieces && under_way.is_some() {
                break; // One at a time.
            }
            let retention = retention.for_merge(&due.truncations, Outside::Any, due.others);
            let mut merge = MemoryMerge::new(due.inputs, retention, &tree.layout);
            if in_pieces {
                *under_way = Some(merge);
                break;
            }
            while merge.advance(usize::MAX)? {}
            self.memory.open(merge.bytes());
            self.install(tree, merge)?;
        }
        Ok(())
    }

    /// Puts what a merge has made in the place of its inputs, if they are still there.
    fn install(&self, tree: &Tree, merge: MemoryMerge) -> Result<(), StoreError> {
        let (inputs, piece_bytes) = (merge.inputs().to_vec(), merge.bytes());
        let output = merge.finish()?.map(Arc::new);
        let bytes = output.as_ref().map_or(0, |run| run.bytes());
        self.memory.open(bytes);
        let installed = tree.try_update(|version| version.compacted(&inputs, output));
        let freed = if installed {
            memory_bytes(&inputs)
        } else {
            bytes
        };
        self.memory.close(freed + piece_bytes);
        Ok(())
    }

    /// Forgets a merge whose inputs have gone.
    pub(crate) fn drop_memory_merge(&self, under_way: &mut Option<MemoryMerge>) {
        if let Some(merge) = under_way.take() {
            self.memory.close(merge.bytes());
        }
    }
}
