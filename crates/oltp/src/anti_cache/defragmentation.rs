//! Defragmentation: memory between rows that are in use is given back.
//!
//! The coldest rows lie anywhere. What they leave behind fits rows and texts of their own size only: when
//! others come instead, chunks stay allocated that are in use in part.
//!
//! 1. The table with the most to give back is chosen, and its emptiest chunks are closed, those of rows and of each size of
//!    texts: as many as the others have room for.
//! 2. What is in them moves to the others, some rows and texts between two calls. A chunk that has become empty is given
//!    back; one that has not, because of rows that are kept for waiting transactions, is open again.
//!
//! A row that moves costs as much as one that goes to disk, and frees as much.

use super::AntiCache;
use super::moves::Moves;
use crate::table::Table;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Defragmentation {
    /// The table with closed chunks.
    table: Option<usize>,
}

impl Defragmentation {
    /// Whether a table is being visited.
    pub(crate) fn is_running(self) -> bool {
        self.table.is_some()
    }

    /// Begins with the table that has most to give back, if that is so much at least.
    pub(crate) fn begin(&mut self, tables: &mut [Table], bytes_min: usize) -> bool {
        let sizes = tables.iter().map(Table::sparse_bytes).enumerate();
        let Some((table, bytes)) = sizes.max_by_key(|(_, bytes)| *bytes) else {
            return false;
        };
        if bytes < bytes_min.max(1) {
            return false;
        }
        tables[table].close_sparse();
        self.table = Some(table);
        true
    }
}

impl AntiCache {
    /// Goes on while there may be moves.
    pub(crate) fn defragment(&mut self, tables: &mut [Table], moves: &mut Moves) {
        let Some(table) = self.defragmentation.table else {
            return;
        };
        while !moves.are_used_up() {
            let Some(bytes) = tables[table].leave_closed() else {
                self.defragmentation.table = None;
                return;
            };
            moves.take(1, bytes);
            self.statistics.moved_rows += 1;
        }
    }
}
