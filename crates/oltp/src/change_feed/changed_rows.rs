//! What one transaction has changed in a partition, net: one change a row.
//!
//! 1. The undo log's entries are put in the order of their rows.
//! 2. A row that the transaction has added and taken out again is left out. Of any other one the first entry
//!    tells whether it is new, the last one whether it is gone.
//! 3. What it was before is made from what it is now, or from the oldest whole row that was kept, by
//!    undoing in a copy what was changed where it was.
//!
//! Changes are in three lists: rows that go, rows that stay, rows that come. A row that gets another
//! primary key goes and comes. Who carries the lists out in this order never has two rows of one key, whatever
//! keys the rows of the transaction have exchanged.
//!
//! ```text
//! change: table u16 | kind u8 | image before | image now      image: bytes u32 | body | texts
//! ```

use crate::pointer::TupleId;
use crate::row_layout::{RowBytes, RowLayout};
use crate::schema::TableNumber;
use crate::snapshot::append_row;
use crate::table::Table;
use crate::undo::UndoLog;

/// Bytes that are kept for the next transaction.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Which images a change has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeKind {
    /// The one before.
    Goes = 0,
    /// Both.
    Stays = 1,
    /// The one of now.
    Comes = 2,
}

/// An entry of the undo log: its row, and its place in the log.
pub(crate) type Entry = (TableNumber, TupleId, u32);

/// See the module. Its memory is used again.
#[derive(Default)]
pub(crate) struct ChangedRows {
    entries: Vec<Entry>,
    /// By kind.
    lists: [Vec<u8>; 3],
    changes: u32,
    before: Vec<u8>,
    now: Vec<u8>,
}

impl ChangedRows {
    /// Takes what the transaction has changed, before the undo log forgets it.
    pub(crate) fn collect(&mut self, undo: &UndoLog, tables: &[Table]) {
        self.clear();
        let mut entries = std::mem::take(&mut self.entries);
        undo.list(&mut entries);
        entries.sort_unstable();
        for of_row in entries.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            self.add(undo, &tables[usize::from(of_row[0].0.0)], of_row);
        }
        self.entries = entries;
    }

    /// Nothing was changed.
    pub(crate) fn clear(&mut self) {
        self.changes = 0;
        self.entries.clear();
        self.lists.iter_mut().for_each(Vec::clear);
    }

    /// Lets go of what only a large transaction needs.
    pub(crate) fn trim(&mut self) {
        if self.held_bytes() > KEPT_BYTES_MAX {
            *self = Self::default();
        }
    }

    /// How many changes there are.
    pub(super) fn changes(&self) -> u32 {
        self.changes
    }

    /// The changes of a kind.
    pub(super) fn list(&self, kind: ChangeKind) -> &[u8] {
        &self.lists[kind as usize]
    }

    /// Bytes that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        let lists = self.lists.iter().map(Vec::capacity).sum::<usize>();
        let copies = self.before.capacity() + self.now.capacity();
        self.entries.capacity() * size_of::<Entry>() + lists + copies
    }

    fn add(&mut self, undo: &UndoLog, table: &Table, of_row: &[Entry]) {
        let (first, last) = (of_row[0], of_row[of_row.len() - 1]);
        let is_new = undo.is_insertion(first.2);
        let is_gone = undo.is_deletion(last.2);
        if !is_new {
            self.before.clear();
            undo.append_before(table, of_row, &mut self.before);
        }
        if !is_gone {
            self.now.clear();
            append_row(table.row(first.1), &table.layout, &mut self.now);
        }
        match (is_new, is_gone) {
            (true, true) => {}
            (true, false) => self.push(ChangeKind::Comes, table.number),
            (false, true) => self.push(ChangeKind::Goes, table.number),
            (false, false) if self.before == self.now => {}
            (false, false) if self.moves(table) => {
                self.push(ChangeKind::Goes, table.number);
                self.push(ChangeKind::Comes, table.number);
            }
            (false, false) => self.push(ChangeKind::Stays, table.number),
        }
    }

    fn push(&mut self, kind: ChangeKind, table: TableNumber) {
        let list = &mut self.lists[kind as usize];
        begin_change(list, table, kind);
        if kind != ChangeKind::Comes {
            list.extend_from_slice(&self.before);
        }
        if kind != ChangeKind::Goes {
            list.extend_from_slice(&self.now);
        }
        self.changes += 1;
    }

    /// Whether the row gets another primary key.
    fn moves(&self, table: &Table) -> bool {
        let layout = &table.layout;
        let (before, _) = split_image(&self.before, layout);
        let (now, _) = split_image(&self.now, layout);
        let key = &table.definition.indexes[0].columns;
        key.iter().any(|column| {
            let now = layout.value(now, *column);
            layout.value(before, *column).order(&now).is_ne()
        })
    }
}

/// Appends what comes before the images of a change.
pub(super) fn begin_change(out: &mut Vec<u8>, table: TableNumber, kind: ChangeKind) {
    out.extend_from_slice(&table.0.to_le_bytes());
    out.push(kind as u8);
}

/// The row of an image, and what follows it.
///
/// # Panics
/// When there is none of this layout: images are the engine's own.
pub(super) fn split_image<'a>(image: &'a [u8], layout: &RowLayout) -> (RowBytes<'a>, &'a [u8]) {
    let (length, rest) = image.split_first_chunk::<4>().expect("a length");
    let (row, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
    (layout.split(row).expect("a row of its table"), rest)
}
