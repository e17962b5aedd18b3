//! The model: what the trees must show, kept as plainly as possible.
//!
//! A table is a map from key to row, a transaction a list of changes, a state what a list of
//! transactions adds up to. There are no versions, runs or files here.

use std::collections::BTreeMap;
use std::sync::Arc;

use types::{CommitPosition, TableId};

/// A row's key: a small number that every table's shape maps to its key columns, in order.
pub type Key = u32;

/// The cells of a row other than its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// An integer.
    pub number: Option<i64>,
    /// A text, long in some rows; what patches leave unchanged.
    pub note: Option<Arc<str>>,
    /// A decimal.
    pub price: Option<i128>,
}

/// What is written under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// The whole row.
    Put(Row),
    /// The row goes.
    Delete,
    /// The row's number and price; its note stays as it is.
    Patch {
        /// The new number.
        number: Option<i64>,
        /// The new price.
        price: Option<i128>,
    },
}

/// One change of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A row is written.
    Write {
        /// The table.
        table: TableId,
        /// The row.
        key: Key,
        /// What is written.
        write: Write,
    },
    /// All rows go, but for those that the same transaction writes after it.
    Truncate {
        /// The table.
        table: TableId,
    },
}

impl Change {
    /// The table that changes.
    pub fn table(&self) -> TableId {
        match self {
            Self::Write { table, .. } | Self::Truncate { table } => *table,
        }
    }
}

/// A committed transaction of the source. No two of its writes have the same key, and none
/// comes before a truncation of its table.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Its commit position.
    pub position: CommitPosition,
    /// Its changes, in order.
    pub changes: Vec<Change>,
}

/// The rows of one table.
pub type Rows = BTreeMap<Key, Row>;

/// All tables at one position. Copies share what they have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    tables: BTreeMap<TableId, Arc<Rows>>,
}

impl State {
    /// A table's rows; none where it was never written.
    pub fn rows(&self, table: TableId) -> Arc<Rows> {
        self.tables.get(&table).cloned().unwrap_or_default()
    }

    /// Whether a row exists.
    pub fn contains(&self, table: TableId, key: Key) -> bool {
        self.tables
            .get(&table)
            .is_some_and(|rows| rows.contains_key(&key))
    }

    /// Applies a transaction.
    pub fn apply(&mut self, transaction: &Transaction) {
        transaction
            .changes
            .iter()
            .for_each(|change| self.apply_change(change));
    }

    fn apply_change(&mut self, change: &Change) {
        let rows = Arc::make_mut(self.tables.entry(change.table()).or_default());
        match change {
            Change::Truncate { .. } => rows.clear(),
            Change::Write {
                key,
                write: Write::Put(row),
                ..
            } => {
                rows.insert(*key, row.clone());
            }
            Change::Write {
                key,
                write: Write::Delete,
                ..
            } => {
                rows.remove(key);
            }
            Change::Write {
                key,
                write: Write::Patch { number, price },
                ..
            } => {
                let row = rows.get_mut(key).expect("a source patches rows that exist");
                row.number = *number;
                row.price = *price;
            }
        }
    }
}
