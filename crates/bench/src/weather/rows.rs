//! Weather readings in random order, as records of a fixed size.

use std::io::{self, Write};

use anyhow::Result;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use types::{ColumnType, TableSchema};

use crate::pages::draw::Draw;
use crate::pages::weather;

/// Nine integers of 32 bits and one of 64, in the order of the columns, little-endian.
pub const RECORD_BYTES: usize = 9 * 4 + 8;

/// The rows.
pub struct ShuffledRows {
    records: Vec<[u8; RECORD_BYTES]>,
}

/// The table.
pub fn schema() -> Result<TableSchema> {
    Ok(weather::data_set(1)?.schema)
}

impl ShuffledRows {
    /// So many readings, or up to one station more.
    pub fn make(rows: usize) -> Result<Self> {
        let data = weather::data_set(rows)?;
        let mut records = vec![[0; RECORD_BYTES]; data.rows()];
        let mut at = 0;
        for (array, column_type) in data.arrays.iter().zip(data.types()) {
            at += put_column(array, column_type, at, &mut records);
        }
        let mut draw = Draw::new(1);
        for last in (1..records.len()).rev() {
            records.swap(last, draw.below(last as u32 + 1) as usize);
        }
        Ok(Self { records })
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.records.len()
    }

    /// Writes all rows.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let mut pieces = self.records.chunks(1 << 12);
        pieces.try_for_each(|piece| out.write_all(piece.as_flattened()))
    }
}

/// Puts a column's cells into the records, from byte `at` on; their size.
fn put_column(
    array: &ArrayRef,
    column_type: ColumnType,
    at: usize,
    records: &mut [[u8; RECORD_BYTES]],
) -> usize {
    debug_assert_eq!(array.null_count(), 0, "readings are never NULL");
    if column_type == ColumnType::Int64 {
        let cells = array.as_primitive::<Int64Type>().values();
        for (record, cell) in records.iter_mut().zip(cells) {
            record[at..at + 8].copy_from_slice(&cell.to_le_bytes());
        }
        return 8;
    }
    let cells = array.as_primitive::<Int32Type>().values();
    for (record, cell) in records.iter_mut().zip(cells) {
        record[at..at + 4].copy_from_slice(&cell.to_le_bytes());
    }
    4
}
