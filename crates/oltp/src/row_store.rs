//! The rows of a table in memory: headers and bodies in slots, texts beside them.
//!
//! Knows neither keys nor the chain; what a snapshot still has to see was copied before it is changed.

use std::ops::Range;

use prefetch::prefetch;

use crate::eviction_chain::LIVE;
use crate::pointer::TupleId;
use crate::row_layout::{RowBytes, RowLayout};
use crate::slot_arena::SlotArena;
use crate::statement::CellChange;
use crate::text_arena::TextArena;
use crate::undo::RowUndo;

/// Of a slot, or of a row's texts, this is asked for ahead of its use: 1 KB, wherever it begins in a line. With half of it the
/// copy of such a row's texts waited for the rest.
const PREFETCHED_BYTES_MAX: usize = 17 * 64;

/// See the module.
pub(crate) struct RowStore {
    pub(crate) slots: SlotArena,
    texts: TextArena,
    /// Where a row's body is in its slot.
    body: Range<usize>,
}

impl RowStore {
    /// No rows; memory comes in chunks of about so many bytes.
    pub(crate) fn new(header_bytes: usize, layout: &RowLayout, chunk_bytes: usize) -> Self {
        let slot_bytes = header_bytes + layout.body_bytes();
        Self {
            slots: SlotArena::new(slot_bytes, chunk_bytes),
            texts: TextArena::new(chunk_bytes),
            body: header_bytes..slot_bytes,
        }
    }

    /// The body of a row.
    #[inline]
    pub(crate) fn body(&self, id: TupleId) -> &[u8] {
        &self.slots.get(id.0)[self.body.clone()]
    }

    /// The texts of a row with this body.
    #[inline]
    pub(crate) fn text(&self, layout: &RowLayout, body: &[u8]) -> &[u8] {
        self.texts
            .get(layout.text_number(body), layout.text_bytes(body))
    }

    /// A row.
    #[inline]
    pub(crate) fn row(&self, layout: &RowLayout, id: TupleId) -> RowBytes<'_> {
        let body = self.body(id);
        let text = self.text(layout, body);
        RowBytes { body, text }
    }

    /// The flags of a row.
    #[inline]
    pub(crate) fn flags(&self, id: TupleId) -> u8 {
        self.slots.get(id.0)[0]
    }

    /// The flags of a row, to change.
    #[inline]
    pub(crate) fn flags_mut(&mut self, id: TupleId) -> &mut u8 {
        &mut self.slots.get_mut(id.0)[0]
    }

    /// Whether the row is in its table.
    #[inline]
    pub(crate) fn is_live(&self, id: TupleId) -> bool {
        self.flags(id) & LIVE != 0
    }

    /// The same of any number, one that no row has included.
    pub(crate) fn is_there(&self, id: TupleId) -> bool {
        let slot = self.slots.get_if_any(id.0);
        slot.is_some_and(|slot| slot[0] & LIVE != 0)
    }

    /// Has the body of a row come into the cache.
    #[inline]
    pub(crate) fn prefetch_body(&self, id: TupleId) {
        prefetch(self.slots.get(id.0), PREFETCHED_BYTES_MAX);
    }

    /// Has the texts of a row come into the cache.
    #[inline]
    pub(crate) fn prefetch_text(&self, layout: &RowLayout, id: TupleId) {
        prefetch(self.row(layout, id).text, PREFETCHED_BYTES_MAX);
    }

    /// Adds a row with these flags.
    pub(crate) fn add(&mut self, layout: &RowLayout, row: RowBytes<'_>, flags: u8) -> TupleId {
        let id = TupleId(self.slots.allocate());
        let text = self.texts.insert(row.text, id);
        let slot = self.slots.get_mut(id.0);
        slot[0] = flags;
        let body = &mut slot[self.body.clone()];
        body.copy_from_slice(row.body);
        layout.set_text_number(body, text);
        id
    }

    /// Puts another row into the place of one.
    pub(crate) fn overwrite(&mut self, layout: &RowLayout, id: TupleId, new: RowBytes<'_>) {
        let body = &mut self.slots.get_mut(id.0)[self.body.clone()];
        let held = layout.text_bytes(body);
        let mut number = layout.text_number(body);
        if held == new.text.len() {
            self.texts.get_mut(number, held).copy_from_slice(new.text);
        } else {
            self.texts.remove(number, held);
            number = self.texts.insert(new.text, id);
        }
        body.copy_from_slice(new.body);
        layout.set_text_number(body, number);
    }

    /// Changes cells where they are. Texts must keep their lengths.
    pub(crate) fn patch(
        &mut self,
        layout: &RowLayout,
        id: TupleId,
        changes: &[CellChange],
        values: &[u8],
        undo: &mut RowUndo<'_>,
    ) {
        let body = &mut self.slots.get_mut(id.0)[self.body.clone()];
        undo.fixed(&body[..layout.fixed_bytes()]);
        for change in changes {
            let cell = change.cell(values);
            if let Some(at) = layout.patch(body, change.column, change.is_null, cell) {
                let (number, length) = (layout.text_number(body), layout.text_bytes(body));
                let text = &mut self.texts.get_mut(number, length)[at..at + cell.len()];
                undo.text(at, text);
                text.copy_from_slice(cell);
            }
        }
    }

    /// Takes back a change of cells of fixed width.
    pub(crate) fn restore_fixed(&mut self, id: TupleId, fixed: &[u8]) {
        let body = &mut self.slots.get_mut(id.0)[self.body.clone()];
        body[..fixed.len()].copy_from_slice(fixed);
    }

    /// Takes back a change of a text.
    pub(crate) fn restore_text(&mut self, layout: &RowLayout, id: TupleId, at: usize, text: &[u8]) {
        let body = self.body(id);
        let (number, length) = (layout.text_number(body), layout.text_bytes(body));
        self.texts.get_mut(number, length)[at..at + text.len()].copy_from_slice(text);
    }

    /// Frees the memory of a row.
    pub(crate) fn free(&mut self, layout: &RowLayout, id: TupleId) {
        let body = self.body(id);
        let (number, length) = (layout.text_number(body), layout.text_bytes(body));
        self.texts.remove(number, length);
        self.slots.release(id.0);
    }

    /// The next row in a closed chunk.
    pub(crate) fn next_closed(&mut self) -> Option<TupleId> {
        self.slots.next_closed().map(TupleId)
    }

    /// Copies a row with its header to a slot of an open chunk; its texts are those of the copy from now on.
    pub(crate) fn copy_row(&mut self, layout: &RowLayout, id: TupleId) -> TupleId {
        let copy = TupleId(self.slots.copy(id.0));
        let body = self.body(copy);
        let (number, length) = (layout.text_number(body), layout.text_bytes(body));
        self.texts.set_owner(number, length, copy);
        copy
    }

    /// Moves the next row's texts out of a closed chunk: the bytes that moved.
    pub(crate) fn leave_closed_text(&mut self, layout: &RowLayout) -> Option<usize> {
        let (number, owner, bytes) = self.texts.leave_closed()?;
        let body = &mut self.slots.get_mut(owner.0)[self.body.clone()];
        layout.set_text_number(body, number);
        Some(bytes)
    }

    /// Bytes that would be given back if rows and texts lay as closely as can be.
    pub(crate) fn sparse_bytes(&self) -> usize {
        self.slots.sparse_bytes() + self.texts.sparse_bytes()
    }

    /// Closes the emptiest chunks of rows and texts; see [`SlotArena::close_sparse`].
    pub(crate) fn close_sparse(&mut self) {
        self.slots.close_sparse();
        self.texts.close_sparse();
    }

    /// Bytes in use.
    pub(crate) fn live_bytes(&self) -> usize {
        self.slots.live_bytes() + self.texts.live_bytes()
    }

    /// Bytes that were allocated.
    pub(crate) fn held_bytes(&self) -> usize {
        self.slots.held_bytes() + self.texts.held_bytes()
    }
}
