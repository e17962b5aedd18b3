//! A row as a key and a value.
//!
//! The key's cells are big-endian with their sign bit flipped, so that bytes order as numbers do.
//! The value is the other cells as they are in the record, which none of them could be missing
//! from.

use contender::record::{COLUMNS, KEY_BYTES, KEY_COLUMNS, RECORD_BYTES, Record};

/// Bytes of a row's value.
pub const VALUE_BYTES: usize = RECORD_BYTES - KEY_BYTES;

/// A row's key.
pub type Key = [u8; KEY_BYTES];

/// The key of a row.
pub fn key(record: &Record) -> Key {
    let mut key = [0; KEY_BYTES];
    for column in &COLUMNS[..KEY_COLUMNS] {
        let cell = i32::from_le_bytes(column.cell_bytes(record));
        let ordered = cell.cast_unsigned() ^ (1 << 31);
        key[column.at..column.at + column.bytes].copy_from_slice(&ordered.to_be_bytes());
    }
    key
}

/// The value of a row.
pub fn value(record: &Record) -> &[u8] {
    &record[KEY_BYTES..]
}

/// The cells of a key.
pub fn key_cells(key: &Key) -> [i32; KEY_COLUMNS] {
    let (cells, _) = key.as_chunks();
    let cell = |column: usize| u32::from_be_bytes(cells[column]) ^ (1 << 31);
    [0, 1, 2].map(|column| cell(column).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(cells: [i32; 3]) -> Record {
        let mut record = [0; RECORD_BYTES];
        for (column, cell) in COLUMNS.iter().zip(cells) {
            record[column.at..column.at + 4].copy_from_slice(&cell.to_le_bytes());
        }
        record
    }

    #[test]
    fn keys_order_as_their_cells_do() {
        let ascending = [
            [i32::MIN, 5, 5],
            [-1, i32::MAX, 0],
            [0, -2, 9],
            [0, -2, 10],
            [0, 3, -1],
            [256, 0, 0],
            [i32::MAX, 0, 0],
        ];
        let keys = ascending.map(|cells| key(&record(cells)));
        assert!(keys.is_sorted());
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(keys.map(|key| key_cells(&key)), ascending);
    }
}
