//! A source made up from a seed: the log of transactions that is the truth.
//!
//! Transactions differ in size, from one change to thousands; keys are drawn from few (many
//! versions of one key), from many, or ascend (as new orders do); patches and deletes hit rows
//! that exist; now and then a table is truncated.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand::Rng;
use rand::rngs::StdRng;
use types::{CommitPosition, TableId};

use crate::model::{Change, Key, Row, State, Transaction, Write};

/// Above the keys of every row.
pub const KEYS: Key = 4_000;

/// Keys that are written over and over.
pub const HOT_KEYS: Key = 20;

/// How the keys of one transaction are chosen.
#[derive(Clone, Copy)]
enum Pattern {
    Hot,
    Anywhere,
    Ascending(Key),
}

/// The log so far.
#[derive(Clone)]
pub struct Source {
    log: Vec<Transaction>,
    head: State,
    /// Writes that a transaction has at most in one table.
    writes_max: u32,
}

impl Default for Source {
    fn default() -> Self {
        Self::with_writes(u32::MAX)
    }
}

impl Source {
    /// A source whose transactions have at most so many writes in one table.
    pub fn with_writes(writes_max: u32) -> Self {
        Self {
            log: Vec::new(),
            head: State::default(),
            writes_max,
        }
    }

    /// The transactions, in commit order.
    pub fn log(&self) -> &[Transaction] {
        &self.log
    }

    /// The state at `position`, added up from the beginning.
    pub fn state_at(&self, position: CommitPosition) -> State {
        let mut state = State::default();
        for transaction in self.log.iter().take_while(|t| t.position <= position) {
            state.apply(transaction);
        }
        state
    }

    /// The number of transactions up to `position`.
    pub fn transactions_until(&self, position: CommitPosition) -> usize {
        self.log
            .partition_point(|transaction| transaction.position <= position)
    }

    /// Commits one more transaction on these tables.
    pub fn commit(&mut self, random: &mut StdRng, tables: &[TableId]) {
        let before = self
            .log
            .last()
            .map_or(0, |transaction| transaction.position.0);
        let position = CommitPosition(before + random.random_range(1..=10));
        let changes = self.changes(random, tables);
        let transaction = Transaction { position, changes };
        self.head.apply(&transaction);
        self.log.push(transaction);
    }

    fn changes(&self, random: &mut StdRng, tables: &[TableId]) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        for &table in tables {
            let writes = match random.random_range(0..100) {
                0..40 => 0,
                40..90 => random.random_range(1..10),
                90..99 => random.random_range(10..300),
                _ => random.random_range(300..1_500),
            };
            let truncates = random.random_ratio(1, 40);
            if truncates {
                changes.push(Change::Truncate { table });
            }
            let writes = writes.min(self.writes_max);
            self.add_writes(random, table, writes, truncates, &mut changes);
        }
        changes
    }

    fn add_writes(
        &self,
        random: &mut StdRng,
        table: TableId,
        writes: u32,
        truncated: bool,
        changes: &mut Vec<Change>,
    ) {
        let pattern = match random.random_range(0..3) {
            0 => Pattern::Hot,
            1 => Pattern::Anywhere,
            _ => Pattern::Ascending(random.random_range(0..KEYS)),
        };
        let mut written = BTreeSet::new();
        for index in 0..writes {
            let key = match pattern {
                Pattern::Hot => random.random_range(0..HOT_KEYS),
                Pattern::Anywhere => random.random_range(0..KEYS),
                Pattern::Ascending(start) => (start + index) % KEYS,
            };
            if written.insert(key) {
                let exists = !truncated && self.head.contains(table, key);
                changes.push(Change::Write {
                    table,
                    key,
                    write: write(random, exists),
                });
            }
        }
    }
}

fn write(random: &mut StdRng, exists: bool) -> Write {
    match random.random_range(0..10) {
        0..2 if exists => Write::Patch {
            number: number(random),
            price: price(random),
        },
        // A source does not delete what is not there, but a replayed log may.
        2..4 => Write::Delete,
        _ => Write::Put(Row {
            number: number(random),
            note: note(random),
            price: price(random),
        }),
    }
}

fn number(random: &mut StdRng) -> Option<i64> {
    match random.random_range(0..8) {
        0 => None,
        1 => Some(random.random()),
        _ => Some(random.random_range(-100..100)),
    }
}

fn price(random: &mut StdRng) -> Option<i128> {
    random
        .random_bool(0.9)
        .then(|| i128::from(random.random_range(-1_000_000..1_000_000_i64)))
}

fn note(random: &mut StdRng) -> Option<Arc<str>> {
    match random.random_range(0..20) {
        0..2 => None,
        2 => Some("".into()),
        3 => Some("long ".repeat(random.random_range(10..400)).into()),
        _ => Some(format!("note {}", random.random_range(0..1_000)).into()),
    }
}
