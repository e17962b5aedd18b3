//! How the primary is, for whoever watches: written by its thread, read by anyone.

use std::sync::Arc;

use oltp::statistics::{AntiCacheStatistics, MemoryUse, TableStatistics};
use parking_lot::Mutex;
use types::CommitPosition;

/// The primary at one moment, a short while ago.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// The position of the last transaction that changed something.
    pub position: CommitPosition,
    /// Everything up to here is on disk.
    pub durable: CommitPosition,
    /// Calls that were run to their ends since it was opened.
    pub calls: u64,
    /// Those of them that waited for evicted rows.
    pub calls_that_waited: u64,
    /// Bytes of memory that it may use; 0 before it is open.
    pub memory_bytes_max: usize,
    /// Where its memory is.
    pub memory: MemoryUse,
    /// What it holds.
    pub tables: Vec<TableStatistics>,
    /// What went to disk and came back.
    pub anti_cache: AntiCacheStatistics,
    /// Holes in its blocks.
    pub holes: u64,
}

/// The means to watch, shared.
#[derive(Clone, Default)]
pub struct Observed(Arc<Mutex<Observation>>);

impl Observed {
    /// How it was when its thread last told.
    pub fn latest(&self) -> Observation {
        self.0.lock().clone()
    }

    pub(super) fn tell(&self, observation: Observation) {
        *self.0.lock() = observation;
    }
}
