//! A digest of rows: the same for the same rows, in whatever order and wherever they are.
//!
//! The sum of one hash a row, so rows can be added and taken away. It tells recovery that it has made
//! what the snapshot was of; it is no defence against someone who wants to deceive.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::row_layout::RowBytes;

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

fn hash(row: RowBytes<'_>) -> u64 {
    xxh3_64_with_seed(row.text, xxh3_64(row.body))
}
