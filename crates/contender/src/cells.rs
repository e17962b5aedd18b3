//! Cells that were read, added up: proof that they were read, and equal for all contenders.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::reading::Wanted;
use crate::record::{COLUMNS, Column, KEY_COLUMNS, Record};

/// Rows, and the sum of their cells, which may go round.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Cells {
    /// How many rows.
    pub rows: u64,
    /// Of all cells that were wanted.
    pub sum: i64,
}

impl Cells {
    /// What a scan finds in a row.
    pub fn scanned(record: &Record, wanted: Wanted) -> Self {
        Self::of(record, wanted.columns())
    }

    /// What a look-up finds in a row: all columns but the key's, which were given.
    pub fn looked_up(record: &Record) -> Self {
        Self::of(record, &COLUMNS[KEY_COLUMNS..])
    }

    fn of(record: &Record, columns: &[Column]) -> Self {
        let cells = columns.iter().map(|column| column.cell(record));
        let sum = cells.fold(0, i64::wrapping_add);
        Self { rows: 1, sum }
    }

    /// Adds the cells of a column, whose rows are counted elsewhere.
    pub fn add_cells<T: Into<i64> + Copy>(&mut self, cells: &[T]) {
        let sum = |sum: i64, &cell: &T| sum.wrapping_add(cell.into());
        self.sum = cells.iter().fold(self.sum, sum);
    }
}

impl AddAssign for Cells {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

#[cfg(test)]
mod tests {
    use crate::record::RECORD_BYTES;

    use super::*;

    #[test]
    fn scans_take_the_key_too_and_look_ups_only_what_it_leads_to() {
        let mut record = [0; RECORD_BYTES];
        for (column, cell) in COLUMNS.iter().zip(1_i32..) {
            record[column.at..column.at + 4].copy_from_slice(&cell.to_le_bytes());
        }
        let sum = |cells: Cells| cells.sum;
        assert_eq!(sum(Cells::scanned(&record, Wanted::AllColumns)), 55);
        assert_eq!(sum(Cells::scanned(&record, Wanted::OneColumn)), 7);
        assert_eq!(sum(Cells::looked_up(&record)), 55 - 6);
    }

    #[test]
    fn sums_go_round() {
        let mut cells = Cells { rows: 1, sum: 0 };
        cells.add_cells(&[i64::MAX, 1]);
        cells += Cells { rows: 2, sum: -1 };
        assert_eq!((cells.rows, cells.sum), (3, i64::MAX));
    }
}
