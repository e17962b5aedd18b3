//! The state that the manifest's edits add up to.
use std::collections::BTreeMap;
use std::sync::Arc;

use types::{CommitPosition, TableId, TableSchema};

use crate::segment::{SegmentId, SegmentInfo};

/// Identifies a run within one data directory. Never reused. Says nothing of age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

/// A sorted run: segments with disjoint key ranges, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunState {
    /// The run.
    pub id: RunId,
    /// Its segments, keys ascending.
    pub segments: Vec<SegmentInfo>,
}

/// One table's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableState {
    /// The table's schema.
    pub schema: Arc<TableSchema>,
    /// The runs, newest first.
    pub runs: Vec<RunState>,
    /// Positions of truncations that some run may still need, ascending.
    pub truncations: Vec<CommitPosition>,
}

/// Everything that the manifest knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestState {
    /// The tables.
    pub tables: BTreeMap<TableId, TableState>,
    /// The position that recovery restores.
    pub visible: CommitPosition,
    /// The caller's metadata at that position.
    pub metadata: Arc<[u8]>,
    /// Above every segment id ever committed.
    pub next_segment: SegmentId,
    /// Above every run id ever committed.
    pub next_run: RunId,
    /// Above every table id ever committed.
    pub next_table: TableId,
}
