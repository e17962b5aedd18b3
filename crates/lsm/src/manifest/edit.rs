//! Edits: what one manifest commit changes.
use std::sync::Arc;

use types::{CommitPosition, TableId, TableSchema};

use super::state::{RunId, RunState};
use crate::segment::{SegmentId, SegmentInfo};

/// One step of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new table without runs. Its id was never used before.
    CreateTable {
        /// The table.
        table: TableId,
        /// Its whole schema.
        schema: Arc<TableSchema>,
    },
    /// The table and its runs are gone.
    DropTable {
        /// The table.
        table: TableId,
    },
    /// A flush: a run newer than all others of its table.
    PushRun {
        /// The table.
        table: TableId,
        /// The run. Its id was never used before.
        run: RunState,
    },
    /// A merge or a move: segments leave the runs they are in, others enter `run`, all at once.
    /// A segment that moves without being rewritten is in both lists. Runs left empty vanish.
    ReplaceSegments {
        /// The table.
        table: TableId,
        /// Segments that leave, from any runs of the table.
        removed: Vec<SegmentId>,
        /// The run that takes the new segments; it exists before this edit (for a merge: the
        /// oldest input).
        run: RunId,
        /// Segments that enter, in any order; they overlap none that stays in `run`.
        added: Vec<SegmentInfo>,
    },
    /// Versions older than `position` are invisible to snapshots at or after it.
    Truncate {
        /// The table.
        table: TableId,
        /// Position of the truncation.
        position: CommitPosition,
    },
    /// No run holds versions that truncations up to `position` hide: they need no longer be
    /// remembered.
    ForgetTruncations {
        /// The table.
        table: TableId,
        /// The last truncation to forget.
        position: CommitPosition,
    },
    /// The position that recovery restores, with the caller's metadata that belongs to it.
    Publish {
        /// The visible position.
        position: CommitPosition,
        /// The caller's metadata.
        metadata: Arc<[u8]>,
    },
}

/// What one commit changes: all of it or nothing. Applied in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The steps.
    pub changes: Vec<Change>,
}
