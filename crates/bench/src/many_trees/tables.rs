//! The tables of all tenants: how large each is, and its share of what is written.
//!
//! Sizes and shares follow Zipf's law, each in an order of its own, so that among the tables that
//! get most of the changes are large and small ones, and so among those that get a trickle.

use std::fmt;

use serde::{Deserialize, Serialize};
use types::{CommitPosition, TableId};

use super::Sizes;
use super::history::{History, ROWS_MIN, RowNumber, RowVersion};
use super::permutation::Permutation;
use super::shape::{Shape, ShapedRow};
use super::shapes::SHAPES;

/// Rows of a batch over all tables.
pub const BATCH_ROWS: u64 = 1_000;

/// Commits of a batch.
const BATCH_COMMITS: u64 = 100;

/// Rows that are there before take positions up to this one.
pub const LOADED: CommitPosition = CommitPosition(1 << 32);

/// The largest table has 1 / 4.6 of all rows, the thousandth 1 / 4,000 of the largest.
const SIZE_EXPONENT: f64 = 1.2;

/// The first of 200 tables gets 1 / 2.5 of all changes, the last 1 / 2,800 of that.
const SHARE_EXPONENT: f64 = 1.5;

/// By how much is written to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub enum Class {
    /// The tenth of the written tables that gets the most.
    Busy,
    /// The rest of the half that gets more.
    Middle,
    /// The half that gets less.
    Trickle,
    /// Never written to.
    Idle,
}

/// All of them.
pub const CLASSES: [Class; 4] = [Class::Busy, Class::Middle, Class::Trickle, Class::Idle];

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "busy",
            Self::Middle => "middle",
            Self::Trickle => "trickle",
            Self::Idle => "idle",
        })
    }
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its tree.
    pub id: TableId,
    /// Its tenant.
    pub tenant: usize,
    /// Its columns.
    pub shape: &'static Shape,
    /// What happens to it.
    pub history: History,
    /// How much is written to it.
    pub class: Class,
    /// Changes a batch, on average.
    changes_a_batch: f64,
}

/// Changes of a table, by number.
pub type Changes = std::ops::Range<u64>;

/// All tables.
pub fn tables(sizes: &Sizes) -> Vec<Table> {
    let size_order = Permutation::new(sizes.tables as u64);
    let share_order = Permutation::new(sizes.written as u64);
    let size_sum = zipf_sum(sizes.tables, SIZE_EXPONENT);
    let share_sum = zipf_sum(sizes.written, SHARE_EXPONENT);
    let written_every = sizes.tables / sizes.written;
    let table = |index: usize| {
        let size = zipf(size_order.at(index as u64), SIZE_EXPONENT) / size_sum;
        let place = (index / written_every) as u64;
        let is_written = index.is_multiple_of(written_every) && place < sizes.written as u64;
        let rank = is_written.then(|| share_order.at(place));
        let share = rank.map_or(0.0, |rank| zipf(rank, SHARE_EXPONENT) / share_sum);
        let rows_before = (sizes.rows_before as f64 * size) as u64;
        let changes_max = (sizes.rows as f64 * share) as u64 + 1;
        Table {
            id: TableId(index as u32 + 1),
            tenant: index / SHAPES.len(),
            shape: &SHAPES[index % SHAPES.len()],
            history: History::new(rows_before.max(ROWS_MIN), changes_max),
            class: rank.map_or(Class::Idle, |rank| class_of(rank, sizes.written as u64)),
            changes_a_batch: share * BATCH_ROWS as f64,
        }
    };
    (0..sizes.tables).map(table).collect()
}

fn zipf(rank: u64, exponent: f64) -> f64 {
    (rank as f64 + 1.0).powf(-exponent)
}

fn zipf_sum(count: usize, exponent: f64) -> f64 {
    (0..count as u64).map(|rank| zipf(rank, exponent)).sum()
}

fn class_of(rank: u64, written: u64) -> Class {
    if rank * 10 < written {
        Class::Busy
    } else if rank * 2 < written {
        Class::Middle
    } else {
        Class::Trickle
    }
}

impl Table {
    /// Changes that it has had after so many batches.
    pub fn changes(&self, batches: u64) -> u64 {
        // Tables that get a row every few batches do not all get it in the same one.
        let phase = f64::from(self.id.0) * 0.618_034 % 1.0;
        match self.class {
            Class::Idle => 0,
            _ => (self.changes_a_batch * batches as f64 + phase) as u64,
        }
    }

    /// Its changes in a batch.
    pub fn changes_of(&self, batch: u64) -> Changes {
        self.changes(batch)..self.changes(batch + 1)
    }

    /// A row in a version, for its shape.
    pub fn row(&self, number: RowNumber, version: RowVersion) -> ShapedRow {
        ShapedRow {
            seed: u64::from(self.id.0) << 40,
            number,
            version,
        }
    }
}

/// The position of the batch's last commit.
pub fn end_of(batch: u64) -> CommitPosition {
    CommitPosition(LOADED.0 + (batch + 1) * BATCH_COMMITS)
}

/// The position of a change, the `nth` of `count` of its table in the batch.
pub fn position_of(batch: u64, nth: u64, count: u64) -> CommitPosition {
    CommitPosition(LOADED.0 + batch * BATCH_COMMITS + 1 + nth * BATCH_COMMITS / count)
}

/// Batches that are visible at a position.
pub fn batches_at(position: CommitPosition) -> u64 {
    (position.0 - LOADED.0) / BATCH_COMMITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tables_have_most_and_all_changes_are_given_out() {
        let sizes = Sizes {
            tables: 1_000,
            written: 200,
            rows_before: 10_000_000,
            rows: 10_000_000,
        };
        let tables = tables(&sizes);
        let written = |class| tables.iter().filter(|table| table.class == class).count();
        assert_eq!(CLASSES.map(written), [20, 80, 100, 800]);
        let batches = sizes.rows / BATCH_ROWS;
        let all: u64 = tables.iter().map(|table| table.changes(batches)).sum();
        assert!(all.abs_diff(sizes.rows) < 1_000, "{all}");
        let most = tables.iter().map(|table| table.changes(batches)).max();
        assert!(most.is_some_and(|most| most > sizes.rows * 4 / 10));
        let large = tables.iter().map(|table| table.history.rows_before());
        assert!(
            large
                .max()
                .is_some_and(|large| large > sizes.rows_before / 5)
        );
        let positions: Vec<u64> = (0..7).map(|nth| position_of(2, nth, 7).0).collect();
        assert!(positions.is_sorted() && positions[6] <= end_of(2).0);
        assert!(positions[0] > end_of(1).0);
        assert_eq!(batches_at(end_of(2)), 3);
    }
}
