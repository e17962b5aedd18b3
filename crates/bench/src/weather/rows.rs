//! Weather readings in random order, as records of a fixed size.

use std::io::{self, Write};

use anyhow::Result;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use contender::record::{COLUMNS, Column, RECORD_BYTES, Record};
use types::TableSchema;

use crate::pages::data_set::DataSet;
use crate::pages::draw::Draw;
use crate::pages::weather;

/// The rows.
pub struct ShuffledRows {
    records: Vec<Record>,
}

/// The table.
pub fn schema() -> Result<TableSchema> {
    Ok(weather::data_set(1)?.schema)
}

impl ShuffledRows {
    /// The readings.
    pub fn of(data: &DataSet) -> Self {
        let mut records = vec![[0; RECORD_BYTES]; data.rows()];
        for (array, column) in data.arrays.iter().zip(&COLUMNS) {
            put_column(array, column, &mut records);
        }
        let mut draw = Draw::new(1);
        for last in (1..records.len()).rev() {
            records.swap(last, draw.below(last as u32 + 1) as usize);
        }
        Self { records }
    }

    /// All of them.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.records.len()
    }

    /// Writes all rows.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        write_records(&self.records, out)
    }
}

/// Writes records, piece by piece.
pub fn write_records(records: &[Record], mut out: impl Write) -> io::Result<()> {
    let mut pieces = records.chunks(1 << 12);
    pieces.try_for_each(|piece| out.write_all(piece.as_flattened()))
}

/// Puts a column's cells into the records.
fn put_column(array: &ArrayRef, column: &Column, records: &mut [Record]) {
    debug_assert_eq!(array.null_count(), 0, "readings are never NULL");
    let at = column.at;
    if column.bytes == 8 {
        let cells = array.as_primitive::<Int64Type>().values();
        for (record, cell) in records.iter_mut().zip(cells) {
            record[at..at + 8].copy_from_slice(&cell.to_le_bytes());
        }
        return;
    }
    let cells = array.as_primitive::<Int32Type>().values();
    for (record, cell) in records.iter_mut().zip(cells) {
        record[at..at + 4].copy_from_slice(&cell.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use contender::record::KEY_COLUMNS;
    use types::ColumnType;

    use super::*;

    #[test]
    fn records_have_the_columns_and_the_key_of_the_table() {
        let schema = schema().unwrap();
        assert_eq!(schema.columns.len(), COLUMNS.len());
        for (column, record) in schema.columns.iter().zip(&COLUMNS) {
            assert_eq!(column.name, record.name);
            let bytes = match column.column_type {
                ColumnType::Int32 => 4,
                ColumnType::Int64 => 8,
                other => panic!("{other:?} has no place in a record"),
            };
            assert_eq!(bytes, record.bytes, "{}", column.name);
        }
        assert_eq!(schema.key, (0..KEY_COLUMNS).collect::<Vec<_>>());
    }
}
