//! What a transaction has to undo, newest last.
//!
//! Of a row that is changed where it is, its cells of fixed width are kept, and the texts that change.
//! Other rows that change are kept whole: those whose keys change, or whose texts change their lengths.

use std::ops::Range;

use crate::pointer::TupleId;
use crate::row_layout::{RowBuffer, RowBytes};
use crate::schema::{ColumnNumber, TableNumber};
use crate::snapshot::append_row;
use crate::table::Table;

enum Change {
    Inserted,
    /// Body and texts of the row before, among the log's bytes.
    Replaced(Range<usize>, Range<usize>),
    /// Cells of fixed width before.
    Fixed(Range<usize>),
    /// A text before, and where it is among the row's texts.
    Text(usize, Range<usize>),
    Deleted,
}

/// The changes of one transaction, in order.
#[derive(Default)]
pub(crate) struct UndoLog {
    changes: Vec<(TableNumber, TupleId, Change)>,
    bytes: Vec<u8>,
}

/// Takes what one row is before it changes.
pub(crate) struct RowUndo<'u> {
    log: &'u mut UndoLog,
    table: TableNumber,
    id: TupleId,
}

impl RowUndo<'_> {
    /// Its cells of fixed width.
    #[inline]
    pub(crate) fn fixed(&mut self, cells: &[u8]) {
        let range = self.log.keep(cells);
        self.note(Change::Fixed(range));
    }

    /// A text of it, and where that is among its texts.
    pub(crate) fn text(&mut self, at: usize, text: &[u8]) {
        let range = self.log.keep(text);
        self.note(Change::Text(at, range));
    }

    fn note(&mut self, change: Change) {
        self.log.changes.push((self.table, self.id, change));
    }
}

impl UndoLog {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// A row will be changed where it is.
    pub(crate) fn of_row(&mut self, table: TableNumber, id: TupleId) -> RowUndo<'_> {
        RowUndo {
            log: self,
            table,
            id,
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    /// A row was added.
    pub(crate) fn inserted(&mut self, table: TableNumber, id: TupleId) {
        self.changes.push((table, id, Change::Inserted));
    }

    /// A row will be replaced; `row` is what it is now.
    pub(crate) fn replaced(&mut self, table: TableNumber, id: TupleId, row: RowBytes<'_>) {
        let change = Change::Replaced(self.keep(row.body), self.keep(row.text));
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
                    table.detach(id);
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
                Change::Fixed(cells) => table.restore_fixed(id, &self.bytes[cells]),
                Change::Text(at, text) => table.restore_text(id, at, &self.bytes[text]),
                Change::Deleted => table.attach(id),
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

    /// Appends each entry's row and its place in the log.
    pub(crate) fn list(&self, out: &mut Vec<(TableNumber, TupleId, u32)>) {
        let entries = self.changes.iter().zip(0..);
        out.extend(entries.map(|((table, id, _), place)| (*table, *id, place)));
    }

    /// Whether this entry is of a row that was added.
    pub(crate) fn is_insertion(&self, place: u32) -> bool {
        matches!(self.changes[place as usize].2, Change::Inserted)
    }

    /// Whether this entry is of a row that was detached.
    pub(crate) fn is_deletion(&self, place: u32) -> bool {
        matches!(self.changes[place as usize].2, Change::Deleted)
    }

    /// Appends what a row was before the transaction, as disks have it, given all entries of the row in
    /// order.
    pub(crate) fn append_before(
        &self,
        table: &Table,
        of_row: &[(TableNumber, TupleId, u32)],
        out: &mut Vec<u8>,
    ) {
        let change = |place: u32| &self.changes[place as usize].2;
        let (mut row, mut in_place) = (table.row(of_row[0].1), of_row);
        for (number, entry) in of_row.iter().enumerate() {
            if let Change::Replaced(body, text) = change(entry.2) {
                row = RowBytes {
                    body: &self.bytes[body.clone()],
                    text: &self.bytes[text.clone()],
                };
                in_place = &of_row[..number];
                break;
            }
        }
        append_row(row, &table.layout, out);
        let text_at = out.len() - row.text.len();
        let body_at = text_at - row.body.len();
        let mut restore = |at: usize, bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
        };
        for entry in in_place.iter().rev() {
            match change(entry.2) {
                Change::Fixed(cells) => restore(body_at, &self.bytes[cells.clone()]),
                Change::Text(at, text) => restore(text_at + at, &self.bytes[text.clone()]),
                Change::Inserted | Change::Deleted | Change::Replaced(..) => {}
            }
        }
    }

    /// Bytes that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        self.bytes.capacity()
            + self.changes.capacity() * size_of::<(TableNumber, TupleId, Change)>()
    }
}
