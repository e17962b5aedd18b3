//! Rows that wait to become pages.
//!
//! Batches arrive in any size, pages hold what fits. Rows of a batch that do not fill a page
//! wait here for the next batch. Only the rows left over are copied, and only when the next
//! batch comes.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int16Array, UInt64Array, new_null_array};
use arrow_select::concat::concat;
use types::{ColumnType, SortKeys, VersionRows};

use crate::row_length::longest_column;

/// The waiting rows: the columns of a page and the keys, side by side.
pub(super) struct PendingRows {
    /// The table's columns, then position, kind and unchanged. Rows before `start` are done.
    columns: Vec<ArrayRef>,
    keys: SortKeys,
    start: usize,
}

/// The page columns of a batch: the table's, then the three system columns.
fn page_columns(rows: &VersionRows) -> Vec<ArrayRef> {
    let positions = UInt64Array::from(rows.positions.clone());
    let kinds = Int16Array::from_iter_values(rows.kinds.iter().map(|&kind| i16::from(kind)));
    let unchanged: ArrayRef = match &rows.unchanged {
        Some(unchanged) => Arc::new(unchanged.clone()),
        None => new_null_array(&ColumnType::Bytes.arrow_type(), rows.len()),
    };
    let system: [ArrayRef; super::SYSTEM_COLUMNS] =
        [Arc::new(positions), Arc::new(kinds), unchanged];
    rows.columns.iter().cloned().chain(system).collect()
}

impl PendingRows {
    /// No rows, of a table whose keys look like `keys`.
    pub(super) fn new(keys: SortKeys) -> Self {
        Self {
            columns: Vec::new(),
            keys,
            start: 0,
        }
    }

    /// Rows that wait.
    pub(super) fn len(&self) -> usize {
        self.keys.len() - self.start
    }

    /// Whether arrays can hold the waiting rows and a batch of so many bytes of text a column.
    pub(super) fn has_room_for(&self, text_bytes: usize) -> bool {
        let waiting: Vec<ArrayRef> = match self.len() {
            0 => return true,
            left => self
                .columns
                .iter()
                .map(|column| column.slice(self.start, left))
                .collect(),
        };
        longest_column(&waiting) + text_bytes <= i32::MAX as usize
    }

    /// Adds a batch behind the waiting rows, which have room for it.
    pub(super) fn push(&mut self, rows: &VersionRows, keys: &SortKeys) {
        assert_eq!(rows.len(), keys.len(), "one key a version");
        let added = page_columns(rows);
        let left = self.len();
        if left == 0 {
            self.columns = added;
            self.keys = keys.clone();
        } else {
            let join = |(old, new): (&ArrayRef, ArrayRef)| {
                let old = old.slice(self.start, left);
                concat(&[old.as_ref(), new.as_ref()])
                    .expect("columns have one type, and room for the batch")
            };
            self.columns = self.columns.iter().zip(added).map(join).collect();
            let mut joined = self.keys.empty_like();
            joined.append(&self.keys, self.start..self.start + left);
            joined.append(keys, 0..keys.len());
            self.keys = joined;
        }
        self.start = 0;
    }

    /// The columns; the waiting rows start at [`Self::start`].
    pub(super) fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// The row at which the waiting rows start.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The keys, row by row beside the columns.
    pub(super) fn keys(&self) -> &SortKeys {
        &self.keys
    }

    /// The positions, row by row beside the columns.
    pub(super) fn positions(&self) -> &[u64] {
        let column = &self.columns[self.columns.len() - super::SYSTEM_COLUMNS];
        column.as_primitive::<UInt64Type>().values()
    }

    /// The kinds, row by row beside the columns.
    pub(super) fn kinds(&self) -> &[i16] {
        let column = &self.columns[self.columns.len() - super::SYSTEM_COLUMNS + 1];
        column.as_primitive::<Int16Type>().values()
    }

    /// The first `rows` waiting rows are done.
    pub(super) fn advance(&mut self, rows: usize) {
        assert!(rows <= self.len(), "only waiting rows can be done");
        self.start += rows;
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int64Array, StringArray};

    use super::*;
    use crate::test_rows::{integer_keys, put_columns};

    #[test]
    fn there_is_room_for_what_one_array_can_hold() {
        let rows = put_columns(vec![
            Arc::new(Int64Array::from(vec![1, 2, 3])),
            Arc::new(StringArray::from(vec!["12345", "123", "1234567"])),
        ]);
        let keys = integer_keys(&rows);
        let mut pending = PendingRows::new(keys.empty_like());
        let most = i32::MAX as usize;
        assert!(pending.has_room_for(most), "nothing waits");
        pending.push(&rows, &keys);
        pending.advance(1);
        assert!(pending.has_room_for(most - 10));
        assert!(!pending.has_room_for(most - 9));
        pending.advance(2);
        assert!(pending.has_room_for(most));
    }
}
