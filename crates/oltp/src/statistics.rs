//! What a partition counts, and how others see it.
//!
//! The partition's thread shows its counts on a [`StatisticsBoard`] now and then; whoever reads them takes what was
//! shown last, and neither waits for the other. Nothing is found out by looking at rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use types::CommitPosition;

use crate::partition::Partition;
use crate::procedure::{Procedure, ProcedureNumber};
use crate::snapshot::SnapshotStatistics;
use crate::table::Table;

/// Counts since the partition was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AntiCacheStatistics {
    /// Rows that went to disk.
    pub evicted_rows: u64,
    /// Rows that came back.
    pub returned_rows: u64,
    /// Blocks that were made.
    pub written_blocks: u64,
    /// Blocks that were read for waiting transactions.
    pub read_blocks: u64,
    /// Transactions that met evicted data and ran again.
    pub restarts: u64,
    /// Rows that a transaction fetched inside the partition, after too many restarts.
    pub blocking_fetches: u64,
    /// Rows that moved in memory, or their texts, so that what lay between them could be given back.
    pub moved_rows: u64,
}

/// What went to disk and came back of a table, since the partition was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableTraffic {
    /// Rows that went to disk.
    pub evicted_rows: u64,
    /// Rows that came back.
    pub returned_rows: u64,
    /// Blocks that were made of its rows.
    pub written_blocks: u64,
    /// Blocks of it that were read for waiting transactions.
    pub read_blocks: u64,
}

/// A table, now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStatistics {
    /// Its name.
    pub name: String,
    /// Rows in memory.
    pub rows_in_memory: usize,
    /// Rows on disk.
    pub rows_evicted: usize,
    /// Bytes of its rows in memory, as allocated.
    pub row_bytes: usize,
    /// Those of them that are in use.
    pub row_bytes_in_use: usize,
    /// Bytes of its rows on disk.
    pub evicted_bytes: u64,
    /// Bytes of its indexes.
    pub index_bytes: usize,
    /// Holes in its blocks on disk.
    pub holes: u64,
    /// What went to disk and came back.
    pub traffic: TableTraffic,
}

/// A procedure's calls, since the partition was opened. One on several partitions counts in the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcedureStatistics {
    /// Its name.
    pub name: String,
    /// Calls that have happened.
    pub committed: u64,
    /// Calls that were stopped.
    pub stopped: u64,
    /// Runs that met evicted data, after which the call ran again.
    pub restarts: u64,
}

/// How long calls had to wait for the partition while it did something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallStatistics {
    /// How often.
    pub count: u64,
    /// How often for longer than 1 ms.
    pub longer_than_1_ms: u64,
    /// The longest time.
    pub longest_us: u64,
    /// All times together.
    pub total_us: u64,
}

/// Where the memory of a partition is, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// In use by rows, texts, indexes, evicted entries, blocks to be written and bookkeeping.
    pub live_bytes: usize,
    /// The same with the room for rows that was allocated and is not in use: what the budget is held against.
    pub held_bytes: usize,
}

/// All that a partition counts, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionStatistics {
    /// Microseconds since 1970-01-01 UTC.
    pub time_us: i64,
    /// The last transaction that changed something.
    pub position: CommitPosition,
    /// Calls that wait for evicted data.
    pub waiting: usize,
    /// Its memory.
    pub memory: MemoryUse,
    /// Its tables, in the order of their numbers.
    pub tables: Vec<TableStatistics>,
    /// Its procedures, in the order of their numbers.
    pub procedures: Vec<ProcedureStatistics>,
    /// All tables together.
    pub anti_cache: AntiCacheStatistics,
    /// While rows went to disk, a slice at a time.
    pub eviction_stalls: StallStatistics,
    /// While rows of blocks that had arrived came back.
    pub uneviction_stalls: StallStatistics,
    /// What became of snapshots.
    pub snapshots: SnapshotStatistics,
}

/// What a partition counts itself, and where it shows it.
#[derive(Default)]
pub(crate) struct PartitionCounts {
    /// By the procedures' numbers.
    calls: Vec<CallCounts>,
    pub(crate) eviction_stalls: StallStatistics,
    pub(crate) uneviction_stalls: StallStatistics,
    board: Arc<StatisticsBoard>,
    shown_us: i64,
}

/// Calls of a procedure.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallCounts {
    committed: u64,
    stopped: u64,
    restarts: u64,
}

impl PartitionCounts {
    /// None yet, of so many procedures.
    pub(crate) fn new(procedures: usize) -> Self {
        Self {
            calls: vec![CallCounts::default(); procedures],
            ..Self::default()
        }
    }

    /// A call has ended so.
    #[inline]
    pub(crate) fn end(&mut self, procedure: ProcedureNumber, is_committed: bool) {
        let counts = &mut self.calls[usize::from(procedure.0)];
        counts.committed += u64::from(is_committed);
        counts.stopped += u64::from(!is_committed);
    }

    /// A call runs again.
    pub(crate) fn restart(&mut self, procedure: ProcedureNumber) {
        self.calls[usize::from(procedure.0)].restarts += 1;
    }
}

/// Microseconds between two showings, unless somebody asks for a new one.
const SHOWN_EVERY_US: i64 = 100_000;

/// See the module.
#[derive(Default)]
pub struct StatisticsBoard {
    shown: Mutex<Arc<PartitionStatistics>>,
    is_asked: AtomicBool,
}

impl StatisticsBoard {
    /// What was shown last: at most a tenth of a second before the partition's last
    /// [`poll`](crate::Partition::poll). Has the next one show anew.
    pub fn read(&self) -> Arc<PartitionStatistics> {
        self.is_asked.store(true, Ordering::Relaxed);
        Arc::clone(&self.shown.lock())
    }

    /// Whether it is time to show something.
    pub(crate) fn is_due(&self, shown_us: i64, now_us: i64) -> bool {
        now_us - shown_us >= SHOWN_EVERY_US || self.is_asked.swap(false, Ordering::Relaxed)
    }

    /// Shows something.
    pub(crate) fn show(&self, statistics: PartitionStatistics) {
        *self.shown.lock() = Arc::new(statistics);
    }
}

impl StallStatistics {
    /// One more, of so long.
    pub(crate) fn note(&mut self, took: Duration) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.count += 1;
        self.longer_than_1_ms += u64::from(took_us > 1_000);
        self.longest_us = self.longest_us.max(took_us);
        self.total_us += took_us;
    }
}

impl Partition {
    /// Where its statistics are shown; for other threads.
    pub fn statistics_board(&self) -> Arc<StatisticsBoard> {
        Arc::clone(&self.counts.board)
    }

    /// All that it counts, now.
    pub fn statistics(&self) -> PartitionStatistics {
        let procedures = self.procedures.iter().zip(&self.counts.calls);
        let of_procedure =
            |(procedure, counts): (&Arc<dyn Procedure>, &CallCounts)| ProcedureStatistics {
                name: procedure.name().to_owned(),
                committed: counts.committed,
                stopped: counts.stopped,
                restarts: counts.restarts,
            };
        PartitionStatistics {
            time_us: self.time_us,
            position: self.position(),
            waiting: self.waiting(),
            memory: self.memory(),
            tables: self.table_statistics(),
            procedures: procedures.map(of_procedure).collect(),
            anti_cache: self.anti_cache_statistics(),
            eviction_stalls: self.counts.eviction_stalls,
            uneviction_stalls: self.counts.uneviction_stalls,
            snapshots: self.snapshot_statistics(),
        }
    }

    /// What its tables hold.
    pub fn table_statistics(&self) -> Vec<TableStatistics> {
        let of_table = |table: &Table| {
            let anti_cache = self.anti_cache.as_ref();
            let (holes, traffic) = anti_cache
                .map(|anti_cache| anti_cache.of_table(table.number))
                .unwrap_or_default();
            TableStatistics {
                name: table.definition.name.clone(),
                rows_in_memory: table.rows_in_memory(),
                rows_evicted: table.evicted.len(),
                row_bytes: table.row_bytes(),
                row_bytes_in_use: table.row_bytes_in_use(),
                evicted_bytes: table.evicted_bytes,
                index_bytes: table.index_bytes(),
                holes,
                traffic,
            }
        };
        self.tables.iter().map(of_table).collect()
    }

    /// Shows its statistics, if it is time.
    pub(crate) fn show_statistics(&mut self) {
        if self.counts.board.is_due(self.counts.shown_us, self.time_us) {
            self.counts.shown_us = self.time_us;
            self.counts.board.show(self.statistics());
        }
    }
}
