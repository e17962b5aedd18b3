//! What a transaction has to undo, newest last.

use std::ops::Range;

use crate::pointer::TupleId;
use crate::row_layout::{RowBuffer, RowBytes};
use crate::schema::{ColumnNumber, TableNumber};
use crate::table::Table;

enum Change {
    Inserted,
    /// Body and texts of the row before, among the log's bytes.
    Replaced(Range<usize>, Range<usize>),
    Deleted,
}

/// The changes of one transaction, in order.
#[derive(Default)]
pub(crate) struct UndoLog {
    changes: Vec<(TableNumber, TupleId, Change)>,
    bytes: Vec<u8>,
}

impl UndoLog {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// A row was added.
    pub(crate) fn inserted(&mut self, table: TableNumber, id: TupleId) {
        self.changes.push((table, id, Change::Inserted));
    }

    /// A row will be replaced; `row` is what it is now.
    pub(crate) fn replaced(&mut self, table: TableNumber, id: TupleId, row: RowBytes<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(row.body);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(row.text);
        let change = Change::Replaced(start..middle, middle..self.bytes.len());
        self.changes.push((table, id, change));
    }

    /// The last replacement did not happen.
    pub(crate) fn forget_last(&mut self) {
        self.changes.pop();
    }

    /// A row was detached.
    pub(crate) fn deleted(&mut self, table: TableNumber, id: TupleId) {
        self.changes.push((table, id, Change::Deleted));
    }

    /// Makes everything undone.
    pub(crate) fn roll_back(&mut self, tables: &mut [Table], scratch: &mut RowBuffer) {
        while let Some((number, id, change)) = self.changes.pop() {
            let table = &mut tables[usize::from(number.0)];
            match change {
                Change::Inserted => {
                    table.detach(id, scratch);
                    table.free(id);
                }
                Change::Replaced(body, text) => {
                    let before = RowBytes {
                        body: &self.bytes[body],
                        text: &self.bytes[text],
                    };
                    let columns: Range<ColumnNumber> = 0..table.layout.columns();
                    let replaced = table.replace(id, scratch, before, columns);
                    replaced.expect("the keys were there before");
                }
                Change::Deleted => table.attach(id, scratch),
            }
        }
        self.bytes.clear();
    }

    /// Makes everything final: nothing can be undone any more. Calls `gone` before a deleted row's
    /// memory is freed.
    pub(crate) fn commit(&mut self, tables: &mut [Table], mut gone: impl FnMut(&Table, TupleId)) {
        for (number, id, change) in self.changes.drain(..) {
            if matches!(change, Change::Deleted) {
                let table = &mut tables[usize::from(number.0)];
                gone(table, id);
                table.free(id);
            }
        }
        self.bytes.clear();
    }

    /// Bytes that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        self.bytes.capacity()
            + self.changes.capacity() * size_of::<(TableNumber, TupleId, Change)>()
    }
}
