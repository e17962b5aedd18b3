//! What happens to the rows of one table: a fixed sequence of changes, in which the last one of a
//! given row can be computed. So a reader knows what it has to find, and nobody keeps a copy.
//!
//! Rows are numbered in the order in which they come. Ten changes are a round:
//!
//! ```text
//! 0 1 2 3    a new row
//! 4 5 6      a row that came [`LAG`] rows ago changes: an order that is paid and sent
//! 7 8        any row changes, one pass over all rows after the other; a deleted one comes back
//! 9          one of the oldest rows is deleted
//! ```

use super::permutation::Permutation;

/// Changes of a round.
const ROUND: u64 = 10;
const NEW: u64 = 4;
const FOLLOWED: u64 = 3;
const ANY: u64 = 2;

/// A row changes when so many others have come after it.
const LAG: u64 = 400;

/// Rows that are deleted in a scattered order among themselves.
const BLOCK: u64 = 64;

/// The least rows of a table before it changes.
pub const ROWS_MIN: u64 = BLOCK;

/// A row of a table, by the order in which rows came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowNumber(pub u64);

/// How a row came to be as it is: 0 is how it was before all changes, others are one more than
/// the number of the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowVersion(pub u64);

/// A change of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The row has another content from now on, or is there.
    Put(RowNumber, RowVersion),
    /// The row is gone.
    Delete(RowNumber),
}

/// One pass over all rows that there were at its begin.
#[derive(Clone, Debug)]
struct Pass {
    /// Changes of any row before this pass.
    before: u64,
    order: Permutation,
}

/// All changes of a table.
#[derive(Clone, Debug)]
pub struct History {
    rows_before: u64,
    lag: u64,
    passes: Vec<Pass>,
    deleted: Permutation,
}

impl History {
    /// Of a table that has so many rows before, and changes so often at most.
    ///
    /// # Panics
    ///
    /// When there are fewer than [`ROWS_MIN`] rows.
    pub fn new(rows_before: u64, changes_max: u64) -> Self {
        assert!(
            rows_before >= ROWS_MIN,
            "rows are deleted before others come"
        );
        let mut passes = Vec::new();
        let mut before = 0;
        while before <= changes_max / ROUND * ANY + ANY {
            let rows = rows_before + before / ANY * NEW;
            let order = Permutation::new(rows);
            passes.push(Pass { before, order });
            before += rows;
        }
        Self {
            rows_before,
            lag: LAG.min(rows_before),
            passes,
            deleted: Permutation::new(BLOCK),
        }
    }

    /// Rows before all changes.
    pub fn rows_before(&self) -> u64 {
        self.rows_before
    }

    /// Rows that ever came, deleted or not, after so many changes.
    pub fn rows(&self, changes: u64) -> u64 {
        self.rows_before + count_of(0..NEW, changes)
    }

    /// The change of a number.
    pub fn change(&self, change: u64) -> Change {
        let (round, turn) = (change / ROUND, change % ROUND);
        let number = match turn {
            0..NEW => self.rows_before + round * NEW + turn,
            NEW..7 => self.rows_before - self.lag + round * NEW + turn - NEW,
            7..9 => self.any_row(round * ANY + turn - NEW - FOLLOWED),
            _ => round / BLOCK * BLOCK + self.deleted.at(round % BLOCK),
        };
        match turn {
            9 => Change::Delete(RowNumber(number)),
            _ => Change::Put(RowNumber(number), RowVersion(change + 1)),
        }
    }

    fn any_row(&self, nth: u64) -> u64 {
        let pass = self.passes.iter().rfind(|pass| pass.before <= nth);
        let pass = pass.expect("the first pass begins at once");
        pass.order.at(nth - pass.before)
    }

    /// A row after so many changes; `None` if it is deleted or has not come yet.
    pub fn state(&self, row: RowNumber, changes: u64) -> Option<RowVersion> {
        if row.0 >= self.rows(changes) {
            return None;
        }
        let put = [
            self.came(row),
            self.followed(row),
            self.changed(row, changes),
        ];
        let put = put.into_iter().flatten().filter(|&change| change < changes);
        let put = put.max();
        let deleted = self.deletion(row);
        if deleted < changes && put.is_none_or(|put| put < deleted) {
            return None;
        }
        Some(RowVersion(put.map_or(0, |put| put + 1)))
    }

    fn came(&self, row: RowNumber) -> Option<u64> {
        let nth = row.0.checked_sub(self.rows_before)?;
        Some(nth / NEW * ROUND + nth % NEW)
    }

    fn followed(&self, row: RowNumber) -> Option<u64> {
        let nth = row.0.checked_sub(self.rows_before - self.lag)?;
        (nth % NEW < FOLLOWED).then(|| nth / NEW * ROUND + NEW + nth % NEW)
    }

    /// The last change of the row in a pass.
    fn changed(&self, row: RowNumber, changes: u64) -> Option<u64> {
        let in_pass = |pass: &Pass| {
            let place = || pass.order.place_of(row.0);
            let nth = (row.0 < pass.order.count()).then(|| pass.before + place())?;
            let change = nth / ANY * ROUND + NEW + FOLLOWED + nth % ANY;
            (change < changes).then_some(change)
        };
        self.passes.iter().rev().find_map(in_pass)
    }

    fn deletion(&self, row: RowNumber) -> u64 {
        let round = row.0 / BLOCK * BLOCK + self.deleted.place_of(row.0 % BLOCK);
        round * ROUND + ROUND - 1
    }
}

/// How many of the first `changes` have one of these turns in their round.
fn count_of(turns: std::ops::Range<u64>, changes: u64) -> u64 {
    let turn = (changes % ROUND).clamp(turns.start, turns.end);
    changes / ROUND * (turns.end - turns.start) + turn - turns.start
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_state_of_every_row_is_what_its_changes_led_to() {
        const CHANGES: u64 = 6_000;
        for rows_before in [ROWS_MIN, 100, 1_000] {
            let history = History::new(rows_before, CHANGES);
            let rows = (0..rows_before).map(|row| (row, RowVersion(0)));
            let mut model: BTreeMap<u64, RowVersion> = rows.collect();
            for change in 0..CHANGES {
                match history.change(change) {
                    Change::Put(row, version) => drop(model.insert(row.0, version)),
                    Change::Delete(row) => drop(model.remove(&row.0)),
                }
                if change % 97 == 0 || change + 1 == CHANGES {
                    for row in 0..history.rows(change + 1) + 3 {
                        let state = history.state(RowNumber(row), change + 1);
                        let expected = model.get(&row).copied();
                        assert_eq!(state, expected, "row {row} after change {change}");
                    }
                }
            }
            assert!(model.len() as u64 > rows_before, "tables grow");
        }
    }

    #[test]
    fn a_row_comes_before_it_changes() {
        let history = History::new(ROWS_MIN, 10_000);
        for change in 0..10_000 {
            if let Change::Put(row, _) = history.change(change) {
                assert!(row.0 < history.rows(change + 1), "change {change}");
            }
        }
    }
}
