//! Rows that were read, as columns: what a query does with an iterator's keys and values before
//! it computes anything.

use contender::record::{COLUMNS, KEY_BYTES, KEY_COLUMNS, SCANNED_COLUMN};
use contender::{Cells, Wanted};

use crate::row_encoding::{Key, VALUE_BYTES, key_cells};

/// Rows that are gathered before they are looked at: as many as a query engine asks for.
const BATCH_ROWS: usize = 8 << 10;

/// Columns of 32 bits.
const NARROW: usize = COLUMNS.len() - 1;

/// Where the one column of 64 bits is in a value; those of 32 bits follow it.
const WIDE_BYTES: usize = 8;

/// Columns of some rows.
#[derive(Debug)]
pub struct RowColumns {
    wanted: Wanted,
    narrow: [Vec<i32>; NARROW],
    wide: Vec<i64>,
    rows: usize,
    /// Of the batches before.
    found: Cells,
}

impl RowColumns {
    /// No rows yet.
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            narrow: [const { Vec::new() }; NARROW],
            wide: Vec::new(),
            rows: 0,
            found: Cells::default(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If it is none of ours.
    #[inline]
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        let value: &[u8; VALUE_BYTES] = value.try_into().expect("a row's value");
        match self.wanted {
            Wanted::OneColumn => self.push_one(value),
            Wanted::AllColumns => self.push_all(key.try_into().expect("a row's key"), value),
        }
        self.rows += 1;
        if self.rows == BATCH_ROWS {
            self.add_up();
        }
    }

    /// All cells.
    pub fn finish(mut self) -> Cells {
        self.add_up();
        self.found
    }

    fn push_one(&mut self, value: &[u8; VALUE_BYTES]) {
        const AT: usize = COLUMNS[SCANNED_COLUMN].at - KEY_BYTES;
        let cell = value[AT..].first_chunk().expect("a cell of 32 bits");
        self.narrow[0].push(i32::from_le_bytes(*cell));
    }

    fn push_all(&mut self, key: &Key, value: &[u8; VALUE_BYTES]) {
        for (column, cell) in self.narrow.iter_mut().zip(key_cells(key)) {
            column.push(cell);
        }
        let (wide, narrow) = value.split_at(WIDE_BYTES);
        let wide = wide.first_chunk().expect("a cell of 64 bits");
        self.wide.push(i64::from_le_bytes(*wide));
        let (narrow, _) = narrow.as_chunks();
        for (column, cell) in self.narrow[KEY_COLUMNS..].iter_mut().zip(narrow) {
            column.push(i32::from_le_bytes(*cell));
        }
    }

    fn add_up(&mut self) {
        self.found.rows += self.rows as u64;
        self.rows = 0;
        self.found.add_cells(&self.wide);
        self.wide.clear();
        for column in &mut self.narrow {
            self.found.add_cells(column);
            column.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use contender::record::{RECORD_BYTES, Record};

    use super::*;
    use crate::row_encoding::{key, value};

    #[test]
    fn columns_have_the_cells_of_the_records() {
        let record = |number: u8| -> Record { [number; RECORD_BYTES] };
        for wanted in [Wanted::OneColumn, Wanted::AllColumns] {
            let mut expected = Cells::default();
            let mut columns = RowColumns::new(wanted);
            for number in 0..BATCH_ROWS + 300 {
                let record = record(number as u8);
                expected += Cells::scanned(&record, wanted);
                columns.push(&key(&record), value(&record));
            }
            assert_eq!(columns.finish(), expected);
        }
    }
}
