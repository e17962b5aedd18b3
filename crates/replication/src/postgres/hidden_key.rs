//! The hidden keys of rows that no column identifies.
//!
//! * Where the log does not show old rows, a table can only grow: each row has a number of its own, its commit
//!   position and its place in the transaction.
//! * Under `REPLICA IDENTITY FULL` the log shows old rows whole, and the table is a multiset: equal rows are
//!   kept side by side, and an update or a delete takes any one of them away. The key begins with a hash of
//!   the row, so that one can be found (see [`crate::equal_rows`]); the number tells equal ones apart.
//!
//! The hash is of the cells' text, which the session's settings make the same in the log and in a copy, so it
//! lasts as long as the columns' types do: a table that gets other columns is copied again. It is 128 bits of
//! SHA-256: nobody makes two rows that have the same.

use sha2::{Digest, Sha256};
use types::{Column, ColumnBuilder, ColumnType, CommitPosition, SourceType, TableSchema};

/// Holds the first half of a row's hash.
const HASH_HIGH_COLUMN: &str = "__hash_high";
/// Holds the second half.
const HASH_LOW_COLUMN: &str = "__hash_low";
/// Holds a row's commit position.
const POSITION_COLUMN: &str = "__position";
/// Numbers the rows of a transaction.
const ORDINAL_COLUMN: &str = "__ordinal";

/// The hidden columns of rows that are numbered.
pub fn number_columns() -> Vec<Column> {
    [POSITION_COLUMN, ORDINAL_COLUMN].map(hidden_column).into()
}

/// The hidden columns of the rows of a multiset.
pub fn multiset_columns() -> Vec<Column> {
    let columns = [
        HASH_HIGH_COLUMN,
        HASH_LOW_COLUMN,
        POSITION_COLUMN,
        ORDINAL_COLUMN,
    ];
    columns.map(hidden_column).into()
}

/// Whether the rows of a table are a multiset.
pub fn is_multiset(schema: &TableSchema) -> bool {
    schema
        .columns
        .iter()
        .any(|c| c.hidden && c.name == HASH_HIGH_COLUMN)
}

fn hidden_column(name: &str) -> Column {
    Column {
        name: name.to_owned(),
        column_type: ColumnType::UInt64,
        nullable: false,
        hidden: true,
        source_number: 0,
        source_type: SourceType {
            oid: 0,
            modifier: -1,
            name: String::new(),
        },
    }
}

/// Hashes the cells of a row, one after the other.
#[derive(Default)]
pub struct RowHasher(Sha256);

impl RowHasher {
    /// The next cell's text; `None` for NULL.
    pub fn add(&mut self, cell: Option<&[u8]>) {
        match cell {
            None => self.0.update([0]),
            Some(text) => {
                self.0.update([1]);
                self.0.update((text.len() as u64).to_le_bytes());
                self.0.update(text);
            }
        }
    }

    /// Both halves of the hash.
    pub fn finish(self) -> [u64; 2] {
        let digest = self.0.finalize();
        let half = |at: usize| {
            let bytes: [u8; 8] = digest[at..at + 8].try_into().expect("a half has 8 bytes");
            u64::from_be_bytes(bytes)
        };
        [half(0), half(8)]
    }
}

/// Appends the hidden key of a row to its `hidden` columns: the hash in a multiset, then the commit position
/// and the number in the transaction.
pub fn append(
    hidden: &mut [ColumnBuilder],
    hash: Option<[u64; 2]>,
    position: CommitPosition,
    ordinal: u64,
) {
    let numbers = hash.into_iter().flatten().chain([position.0, ordinal]);
    debug_assert_eq!(numbers.clone().count(), hidden.len(), "one number a column");
    for (column, number) in hidden.iter_mut().zip(numbers) {
        match column {
            ColumnBuilder::UInt64(builder) => builder.append_value(number),
            _ => unreachable!("hidden columns are unsigned 64-bit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(cells: &[Option<&str>]) -> [u64; 2] {
        let mut hasher = RowHasher::default();
        cells
            .iter()
            .for_each(|cell| hasher.add(cell.map(str::as_bytes)));
        hasher.finish()
    }

    #[test]
    fn only_equal_rows_have_equal_hashes() {
        assert_eq!(hash(&[Some("a"), None]), hash(&[Some("a"), None]));
        let others = [
            hash(&[Some("a"), Some("")]),
            hash(&[Some(""), Some("a")]),
            hash(&[None, Some("a")]),
            hash(&[Some("a")]),
            hash(&[]),
        ];
        assert!(!others.contains(&hash(&[Some("a"), None])));
    }
}
