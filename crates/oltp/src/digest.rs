//! A digest of rows: the same for the same rows, in whatever order and wherever they are.
//!
//! The sum of one hash a row, so rows can be added and taken away. It tells recovery that it has made
//! what the snapshot was of; it is no defence against someone who wants to deceive.

use types::Value;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::row_layout::{RowBytes, RowLayout};
use crate::schema::TableDefinition;
use crate::stop::Violation;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowsDigest(pub u64);

impl RowsDigest {
    /// One row more, as disks have it.
    pub(crate) fn add(&mut self, row: RowBytes<'_>) {
        self.0 = self.0.wrapping_add(hash(row));
    }

    /// One row less.
    pub(crate) fn remove(&mut self, row: RowBytes<'_>) {
        self.0 = self.0.wrapping_sub(hash(row));
    }

    /// The rows of both.
    pub(crate) fn merge(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

/// Adds up the digest of a table's rows that somebody else has, to compare it with the table's own.
pub struct RowsDigester {
    layout: RowLayout,
    row: Vec<u8>,
    digest: RowsDigest,
}

impl RowsDigester {
    /// Of no rows of such a table.
    pub fn new(table: &TableDefinition) -> Self {
        Self {
            layout: RowLayout::new(&table.columns),
            row: Vec::new(),
            digest: RowsDigest::default(),
        }
    }

    /// One row more: a value for each column.
    pub fn add(&mut self, values: &[Value<'_>]) -> Result<(), Violation> {
        self.row.clear();
        self.layout.encode(values, &mut self.row)?;
        let row = self.layout.split(&self.row);
        self.digest.add(row.expect("it was just encoded"));
        Ok(())
    }

    /// The digest of all rows so far.
    pub fn digest(&self) -> RowsDigest {
        self.digest
    }
}

fn hash(row: RowBytes<'_>) -> u64 {
    xxh3_64_with_seed(row.text, xxh3_64(row.body))
}
