//! A row of the weather table as a record of a fixed size: its cells, little-endian, one after
//! the other.

/// Bytes of a record: nine integers of 32 bits and one of 64.
pub const RECORD_BYTES: usize = 9 * 4 + 8;

/// A row.
pub type Record = [u8; RECORD_BYTES];

/// Where a column's cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// What it is called.
    pub name: &'static str,
    /// Offset in a record.
    pub at: usize,
    /// Bytes of a cell: 4 or 8.
    pub bytes: usize,
}

/// All columns in the order of the table.
pub const COLUMNS: [Column; 10] = [
    column("longitude", 0, 4),
    column("latitude", 4, 4),
    column("timestamp", 8, 4),
    column("conditions", 12, 8),
    column("station", 20, 4),
    column("elevation", 24, 4),
    column("temperature", 28, 4),
    column("wind_direction", 32, 4),
    column("wind_speed", 36, 4),
    column("wind_gust", 40, 4),
];

/// The first so many columns are the key.
pub const KEY_COLUMNS: usize = 3;

/// The column that scans of a single one read.
pub const SCANNED_COLUMN: usize = 6;

/// Bytes of the key's cells, which begin a record.
pub const KEY_BYTES: usize = 12;

const fn column(name: &'static str, at: usize, bytes: usize) -> Column {
    Column { name, at, bytes }
}

impl Column {
    /// The cell of a row, sign-extended.
    pub fn cell(&self, record: &Record) -> i64 {
        match self.bytes {
            8 => i64::from_le_bytes(self.cell_bytes(record)),
            _ => i64::from(i32::from_le_bytes(self.cell_bytes(record))),
        }
    }

    /// The bytes of a row's cell.
    ///
    /// # Panics
    ///
    /// If fewer than `N` bytes of the record follow.
    pub fn cell_bytes<const N: usize>(&self, record: &Record) -> [u8; N] {
        let bytes = record[self.at..].first_chunk();
        *bytes.expect("a record has all columns")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_follow_each_other_and_fill_a_record() {
        let mut at = 0;
        for (index, column) in COLUMNS.iter().enumerate() {
            assert_eq!(column.at, at, "{}", column.name);
            at += column.bytes;
            if index + 1 == KEY_COLUMNS {
                assert_eq!(at, KEY_BYTES);
            }
        }
        assert_eq!(COLUMNS[SCANNED_COLUMN].name, "temperature");
        assert_eq!(at, RECORD_BYTES);
    }

    #[test]
    fn cells_keep_their_sign() {
        let mut record = [0; RECORD_BYTES];
        record[4..8].copy_from_slice(&(-7_i32).to_le_bytes());
        record[12..20].copy_from_slice(&i64::MIN.to_le_bytes());
        assert_eq!(COLUMNS[1].cell(&record), -7);
        assert_eq!(COLUMNS[3].cell(&record), i64::MIN);
    }
}
