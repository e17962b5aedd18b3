//! Tells scans which whole numbers a join looks for, as a bit a number.
//!
//! A hash join tells the scans below its second side which keys its first side has (see
//! [`crate::join_filters`]). As DataFusion (55.2) tells it, a scan hashes each of its rows' keys and looks it up in
//! the join's table: 17 bytes an entry, in no order. Once that exceeds the processor's cache it is most of what a
//! scan does. TPC-H 10's query 5 asks 60 million line items for the keys of 2.3 million orders, and spends 40 % of
//! its time there. Keys of a database are whole numbers that lie close together more often than not, and a bit for
//! each number in their range is 7.5 MB for those orders, of which neighbouring line items ask neighbouring bits.
//!
//! 1. [`rule`] finds joins that tell of their keys, and the scans that are told.
//! 2. [`operator`] stands in front of a join's first side and notes the key columns of what passes.
//! 3. [`key_set`]: once everything has passed, a set is made of each column, unless its keys are too far apart.
//! 4. The scan asks the sets, column by column, before it decodes any other column
//!    (`table::row_check`). Of a single column the set has the whole answer, of several it leaves less to ask.
//!
//! Invariant: a set is only shown once the first side has been read to its end in all partitions.

mod key_set;
mod operator;
pub(crate) mod rule;

use std::sync::{Arc, OnceLock};

use datafusion::arrow::array::ArrayRef;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use parking_lot::Mutex;

pub(crate) use key_set::KeySet;

/// The keys of a join's first side, while they come and afterwards.
#[derive(Debug)]
pub(crate) struct JoinKeys {
    noted: Mutex<Noted>,
    sets: OnceLock<Sets>,
}

/// What has passed so far.
#[derive(Debug)]
struct Noted {
    /// By column: its cells in all partitions that have ended.
    cells: Vec<Vec<ArrayRef>>,
    /// By partition: whether it has ended.
    ended: Vec<bool>,
}

/// By column: its keys. `None`, if they are no set.
#[derive(Debug)]
struct Sets {
    by_column: Vec<Option<KeySet>>,
    /// What they take, until they are dropped.
    _memory: MemoryReservation,
}

impl JoinKeys {
    /// Nothing is known yet of `columns` columns, of which some may never be told.
    fn new(columns: usize, partitions: usize) -> Self {
        let noted = Noted {
            cells: vec![Vec::new(); columns],
            ended: vec![false; partitions],
        };
        Self {
            noted: Mutex::new(noted),
            sets: OnceLock::new(),
        }
    }

    /// The keys by column, in the order of the join's, once all are known. `None` for a column of which there is no set.
    pub(crate) fn sets(&self) -> Option<&[Option<KeySet>]> {
        self.sets.get().map(|sets| sets.by_column.as_slice())
    }

    /// A partition has been read to its end: these were the cells, by column. A second time, when a plan is run
    /// again, says the same.
    fn end(&self, partition: usize, cells: Vec<Vec<ArrayRef>>, pool: &Arc<dyn MemoryPool>) {
        let mut noted = self.noted.lock();
        if std::mem::replace(&mut noted.ended[partition], true) {
            return;
        }
        for (all, cells) in noted.cells.iter_mut().zip(cells) {
            all.extend(cells);
        }
        if noted.ended.iter().all(|&ended| ended) {
            let cells = std::mem::take(&mut noted.cells);
            _ = self.sets.set(Sets::of(&cells, pool));
        }
    }
}

impl Sets {
    fn of(cells: &[Vec<ArrayRef>], pool: &Arc<dyn MemoryPool>) -> Self {
        let memory = MemoryConsumer::new("JoinKeys").register(pool);
        let of_column = |cells: &Vec<ArrayRef>| {
            let extent = KeySet::extent(cells)?;
            memory.try_grow(extent.bytes()).ok()?;
            Some(KeySet::of(extent, cells))
        };
        let by_column = cells.iter().map(of_column).collect();
        Self {
            by_column,
            _memory: memory,
        }
    }
}
