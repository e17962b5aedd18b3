//! How long a row may be: as long as a page of its own can be.

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryType, ByteArrayType, Utf8Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use page::ROW_TEXT_BYTES_MAX;
use types::{TableId, VersionRows};

use crate::error::StoreError;

/// Refuses rows whose text and bytes exceed [`ROW_TEXT_BYTES_MAX`].
pub(crate) fn check_row_lengths(table: TableId, rows: &VersionRows) -> Result<(), StoreError> {
    let columns: Vec<&[i32]> = rows.columns.iter().filter_map(ends).collect();
    let length = |from: usize, to: usize| -> usize {
        let bytes = |ends: &&[i32]| (ends[to] - ends[from]) as usize;
        columns.iter().map(bytes).sum()
    };
    if length(0, rows.len()) <= ROW_TEXT_BYTES_MAX {
        return Ok(());
    }
    match (0..rows.len())
        .map(|row| length(row, row + 1))
        .find(|&bytes| bytes > ROW_TEXT_BYTES_MAX)
    {
        Some(bytes) => Err(StoreError::RowTooLong { table, bytes }),
        None => Ok(()),
    }
}

/// Bytes of text and bytes in the longest column of a batch.
pub(crate) fn longest_column(columns: &[ArrayRef]) -> usize {
    let bytes = |ends: &[i32]| (ends[ends.len() - 1] - ends[0]) as usize;
    columns
        .iter()
        .filter_map(ends)
        .map(bytes)
        .max()
        .unwrap_or(0)
}

/// Where the cells of a text or bytes column begin and end, one more than rows.
fn ends(column: &ArrayRef) -> Option<&[i32]> {
    fn of<T: ByteArrayType<Offset = i32>>(column: &ArrayRef) -> &[i32] {
        column.as_bytes::<T>().value_offsets()
    }
    match column.data_type() {
        DataType::Utf8 => Some(of::<Utf8Type>(column)),
        DataType::Binary => Some(of::<BinaryType>(column)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BinaryArray, Int64Array};
    use arrow_buffer::{Buffer, OffsetBuffer};

    use super::*;
    use crate::test_rows::put_columns;

    /// Rows that pretend to lengths: the same memory for every column, never touched.
    fn rows(lengths: &[i32]) -> VersionRows {
        let total: i32 = lengths.iter().sum();
        let bytes = Buffer::from_vec(vec![0_u8; total as usize]);
        let offsets = OffsetBuffer::<i32>::from_lengths(lengths.iter().map(|&n| n as usize));
        let text: ArrayRef = Arc::new(BinaryArray::new(offsets, bytes, None));
        let numbers = Int64Array::from(vec![1; lengths.len()]);
        put_columns(vec![Arc::clone(&text), Arc::new(numbers), text])
    }

    #[test]
    fn the_texts_of_a_row_count_together() {
        let half = 1 << 29;
        let table = TableId(4);
        assert!(check_row_lengths(table, &rows(&[half - 1, 7, half - 1])).is_ok());
        let error = check_row_lengths(table, &rows(&[7, half])).expect_err("too long");
        assert_eq!(
            error.to_string(),
            "a row of table 4 holds 1073741824 bytes of text; a row holds at most 1073741823"
        );
        assert_eq!(longest_column(&rows(&[half, 9]).columns), half as usize + 9);
        assert_eq!(longest_column(&[]), 0);
    }
}
