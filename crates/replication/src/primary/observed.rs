//! How the primary is, for whoever watches: its thread shows it, anyone reads it, neither waits.

use std::sync::Arc;

use oltp::statistics::{PartitionStatistics, StatisticsBoard};
use parking_lot::Mutex;

/// The primary at one moment, a short while ago.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Bytes of memory that it may use; 0 before it is open.
    pub memory_bytes_max: usize,
    /// What it counts.
    pub statistics: Arc<PartitionStatistics>,
}

/// The means to watch, shared; before the primary is open there is nothing to see.
#[derive(Clone, Default)]
pub struct Observed(Arc<Mutex<Option<Open>>>);

struct Open {
    memory_bytes_max: usize,
    board: Arc<StatisticsBoard>,
}

impl Observed {
    /// How it was when its thread last showed it.
    pub fn latest(&self) -> Observation {
        let open = self.0.lock();
        let observation = open.as_ref().map(|open| Observation {
            memory_bytes_max: open.memory_bytes_max,
            statistics: open.board.read(),
        });
        observation.unwrap_or_default()
    }

    /// The primary is open.
    pub(super) fn open(&self, memory_bytes_max: usize, board: Arc<StatisticsBoard>) {
        *self.0.lock() = Some(Open {
            memory_bytes_max,
            board,
        });
    }
}
