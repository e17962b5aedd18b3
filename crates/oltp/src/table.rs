//! A table: its rows, its indexes, its chain and its evicted rows.
//!
//! **Invariants:** every row, in memory or evicted, is in every index exactly once; a row in memory of
//! an evictable table is in the chain exactly once. A row is in memory or on disk, never both. What a
//! snapshot still has to see is copied before it changes. Knows no transactions: who changes something
//! must be able to undo it.

use crate::digest::RowsDigest;
use crate::evicted_entries::{BlockPlace, EvictedEntries};
use crate::eviction_chain::{ChainKind, ChainPlace, EvictionChain, LIVE, PINNED};
use crate::generation::Generation;
use crate::index::{Index, RowKey};
use crate::pointer::{EvictedId, Target, TupleId};
use crate::row_layout::{RowBuffer, RowBytes, RowLayout};
use crate::row_store::RowStore;
use crate::schema::{ColumnNumber, IndexId, TableDefinition, TableNumber};
use crate::slot_arena::Visit;
use crate::snapshot::{Capture, append_row};
use crate::statement::CellChange;
use crate::stop::Violation;
use crate::text_arena::TextNumber;
use crate::undo::RowUndo;

/// See the module.
pub(crate) struct Table {
    pub(crate) number: TableNumber,
    pub(crate) definition: TableDefinition,
    pub(crate) layout: RowLayout,
    pub(crate) indexes: Vec<Index>,
    pub(crate) evicted: EvictedEntries,
    pub(crate) chain: EvictionChain,
    /// Uses of rows that were not young, or on disk, since rows were last evicted; and before, less and less.
    pub(crate) uses: u64,
    pub(crate) former_uses: f64,
    /// What a snapshot has copied.
    pub(crate) capture: Capture,
    /// The digest of the evicted rows, and their bytes.
    pub(crate) evicted_digest: RowsDigest,
    pub(crate) evicted_bytes: u64,
    generation: Generation,
    rows: RowStore,
    /// Whether an index has the column.
    is_indexed: Vec<bool>,
    key: Vec<u8>,
    other_key: Vec<u8>,
}

impl Table {
    /// An empty table; memory for rows comes in chunks of about so many bytes.
    pub(crate) fn new(
        number: TableNumber,
        definition: &TableDefinition,
        chain: ChainKind,
        chunk_bytes: usize,
    ) -> Self {
        let chain = if definition.is_evictable {
            chain
        } else {
            ChainKind::None
        };
        let layout = RowLayout::new(&definition.columns);
        let indexes = definition.indexes.iter();
        let primary = &definition.indexes[0].columns;
        let mut is_indexed = vec![false; definition.columns.len()];
        for column in definition.indexes.iter().flat_map(|index| &index.columns) {
            is_indexed[*column] = true;
        }
        Self {
            number,
            indexes: indexes
                .map(|index| Index::new(index, primary, &definition.columns, &layout))
                .collect(),
            evicted: EvictedEntries::new(chunk_bytes),
            chain: EvictionChain::new(chain),
            uses: 0,
            former_uses: 0.0,
            capture: Capture::default(),
            evicted_digest: RowsDigest::default(),
            evicted_bytes: 0,
            generation: Generation::default(),
            rows: RowStore::new(chain.header_bytes(), &layout, chunk_bytes),
            definition: definition.clone(),
            layout,
            is_indexed,
            key: Vec::new(),
            other_key: Vec::new(),
        }
    }

    /// The bytes of a row in memory.
    #[inline]
    pub(crate) fn row(&self, id: TupleId) -> RowBytes<'_> {
        self.rows.row(&self.layout, id)
    }

    /// The same without its texts.
    #[inline]
    pub(crate) fn body(&self, id: TupleId) -> &[u8] {
        self.rows.body(id)
    }

    /// The texts of a row with this body.
    #[inline]
    pub(crate) fn text(&self, body: &[u8]) -> &[u8] {
        self.rows.text(&self.layout, body)
    }

    /// Has the body of a row come into the cache.
    #[inline]
    pub(crate) fn prefetch_row(&self, id: TupleId) {
        self.rows.prefetch_body(id);
    }

    /// Has the texts of a row come into the cache.
    #[inline]
    pub(crate) fn prefetch_text(&self, id: TupleId) {
        if self.layout.has_texts() {
            self.rows.prefetch_text(&self.layout, id);
        }
    }

    /// Has the texts of a row come into the cache if there is one of this number, and the headers of its
    /// neighbours in the chain.
    pub(crate) fn prefetch_rest(&self, id: TupleId, with_neighbours: bool) {
        if !self.rows.is_there(id) {
            return;
        }
        self.prefetch_text(id);
        if with_neighbours {
            self.chain.prefetch_neighbours(&self.rows.slots, id);
        }
    }

    /// Adds a row. Each index is searched once: a key that is taken shows when it is inserted, and what
    /// was done until then is taken back.
    pub(crate) fn insert(&mut self, row: RowBytes<'_>) -> Result<TupleId, Violation> {
        let id = self.place(row, ChainPlace::Youngest);
        for number in 0..self.indexes.len() {
            let index = &mut self.indexes[number];
            let key = index.layout.of_row(&self.layout, row, &mut self.key);
            if !index.insert(key, id.into()) {
                self.take_back(id, row, number);
                return Err(self.duplicate(number));
            }
        }
        Ok(id)
    }

    /// Undoes an insertion that came as far as this index.
    fn take_back(&mut self, id: TupleId, row: RowBytes<'_>, index: usize) {
        for index in &mut self.indexes[..index] {
            let key = index.layout.of_row(&self.layout, row, &mut self.key);
            index.remove(key);
        }
        self.chain.remove(&mut self.rows.slots, id);
        *self.rows.flags_mut(id) &= !LIVE;
        self.free(id);
    }

    fn duplicate(&self, index: usize) -> Violation {
        Violation::Duplicate {
            index: IndexId {
                table: self.number,
                index: index as u16,
            },
        }
    }

    fn refuse_duplicates(&mut self, row: RowBytes<'_>) -> Result<(), Violation> {
        for index in 0..self.indexes.len() {
            if self.indexes[index].is_unique {
                let of_table = &self.indexes[index];
                let key = of_table.layout.of_row(&self.layout, row, &mut self.key);
                let taken = of_table.first(key.key).is_some();
                if taken {
                    return Err(self.duplicate(index));
                }
            }
        }
        Ok(())
    }

    /// Puts a row into memory, without its index entries.
    fn place(&mut self, row: RowBytes<'_>, place: ChainPlace) -> TupleId {
        let flags = self.generation.stamped(LIVE);
        let id = self.rows.add(&self.layout, row, flags);
        self.chain.add(&mut self.rows.slots, id, place);
        id
    }

    /// Calls `change` for each index with the row's key in it.
    fn each_key(&mut self, row: RowBytes<'_>, change: impl FnMut(&mut Index, RowKey<'_>)) {
        each_key(&mut self.indexes, &self.layout, row, &mut self.key, change);
    }

    /// The same with the key of a row in memory.
    fn each_key_of(&mut self, id: TupleId, change: impl FnMut(&mut Index, RowKey<'_>)) {
        let row = self.rows.row(&self.layout, id);
        each_key(&mut self.indexes, &self.layout, row, &mut self.key, change);
    }

    /// Whether the changes can be made where the row is: no index has the columns, and texts keep their
    /// lengths.
    pub(crate) fn is_patchable(&self, id: TupleId, changes: &[CellChange]) -> bool {
        let body = self.rows.body(id);
        changes.iter().all(|change| {
            !self.is_indexed[change.column]
                && self
                    .layout
                    .keeps_length(body, change.column, change.bytes())
        })
    }

    /// Changes cells of a row where it is.
    pub(crate) fn patch(
        &mut self,
        id: TupleId,
        changes: &[CellChange],
        values: &[u8],
        undo: &mut RowUndo<'_>,
    ) {
        self.capture_row(id);
        self.rows.patch(&self.layout, id, changes, values, undo);
    }

    /// Takes back a change of cells of fixed width.
    pub(crate) fn restore_fixed(&mut self, id: TupleId, fixed: &[u8]) {
        self.rows.restore_fixed(id, fixed);
    }

    /// Takes back a change of a text.
    pub(crate) fn restore_text(&mut self, id: TupleId, at: usize, text: &[u8]) {
        self.rows.restore_text(&self.layout, id, at, text);
    }

    /// Replaces a row in memory, given the columns that may differ. `copy` is memory for what it is now.
    pub(crate) fn replace(
        &mut self,
        id: TupleId,
        copy: &mut RowBuffer,
        new: RowBytes<'_>,
        mut columns: impl Iterator<Item = ColumnNumber>,
    ) -> Result<(), Violation> {
        if columns.any(|column| self.is_indexed[column]) {
            copy.copy(self.row(id));
            let old = copy.bytes();
            self.refuse_duplicates_of_change(old, new)?;
            self.move_entries(id, old, new);
        }
        self.capture_row(id);
        self.rows.overwrite(&self.layout, id, new);
        Ok(())
    }

    fn refuse_duplicates_of_change(
        &mut self,
        old: RowBytes<'_>,
        new: RowBytes<'_>,
    ) -> Result<(), Violation> {
        for index in 0..self.indexes.len() {
            let of_table = &self.indexes[index];
            let old = of_table
                .layout
                .of_row(&self.layout, old, &mut self.other_key);
            let new = of_table.layout.of_row(&self.layout, new, &mut self.key);
            let is_taken =
                of_table.is_unique && new.key != old.key && of_table.first(new.key).is_some();
            if is_taken {
                return Err(self.duplicate(index));
            }
        }
        Ok(())
    }

    fn move_entries(&mut self, id: TupleId, old: RowBytes<'_>, new: RowBytes<'_>) {
        for index in &mut self.indexes {
            let old = index.layout.of_row(&self.layout, old, &mut self.other_key);
            let new = index.layout.of_row(&self.layout, new, &mut self.key);
            if old.key != new.key {
                index.remove(old);
                index.insert_new(new, id.into());
            }
        }
    }

    /// Takes a row out of indexes and chain; its bytes stay until [`Self::free`].
    pub(crate) fn detach(&mut self, id: TupleId) {
        self.capture_row(id);
        self.each_key_of(id, |index, key| index.remove(key));
        self.chain.remove(&mut self.rows.slots, id);
        *self.rows.flags_mut(id) &= !LIVE;
    }

    /// Undoes [`Self::detach`].
    pub(crate) fn attach(&mut self, id: TupleId) {
        self.each_key_of(id, |index, key| index.insert_new(key, id.into()));
        let rows = &mut self.rows.slots;
        self.chain.add(rows, id, ChainPlace::Youngest);
        *self.rows.flags_mut(id) |= LIVE;
    }

    /// Frees the memory of a detached row.
    pub(crate) fn free(&mut self, id: TupleId) {
        self.rows.free(&self.layout, id);
    }

    /// Moves a row to disk: it has been copied to this place.
    pub(crate) fn evict(&mut self, id: TupleId, place: BlockPlace, copy: &mut RowBuffer) {
        self.capture_row(id);
        copy.copy(self.row(id));
        let evicted = self.add_evicted(copy, place);
        self.each_key_of(id, |index, key| index.repoint(key, evicted.into()));
        self.chain.remove(&mut self.rows.slots, id);
        self.free(id);
    }

    /// Brings a row back from disk.
    pub(crate) fn unevict(
        &mut self,
        id: EvictedId,
        row: RowBytes<'_>,
        place: ChainPlace,
    ) -> TupleId {
        let tuple = self.place(row, place);
        self.each_key(row, |index, key| index.repoint(key, tuple.into()));
        self.capture_entry(id);
        self.evicted.remove(id);
        self.evicted_digest.remove(row);
        self.evicted_bytes -= row.length() as u64;
        tuple
    }

    /// Bytes that would be given back if its rows and texts lay as closely as can be. Rows of a single chain stay
    /// where they are: to link another one in their place takes a search.
    pub(crate) fn sparse_bytes(&self) -> usize {
        match self.chain.kind() {
            ChainKind::Single => 0,
            _ => self.rows.sparse_bytes(),
        }
    }

    /// Closes the emptiest chunks of its rows and texts; see [`SlotArena::close_sparse`](crate::slot_arena::SlotArena::close_sparse).
    pub(crate) fn close_sparse(&mut self) {
        self.rows.close_sparse();
    }

    /// Moves the next row, or the next row's texts, out of a closed chunk: the bytes that moved; `None` when nothing is
    /// left. A row that is kept for a waiting transaction, which knows its number, stays.
    pub(crate) fn leave_closed(&mut self) -> Option<usize> {
        let Some(id) = self.rows.next_closed() else {
            return self.rows.leave_closed_text(&self.layout);
        };
        if !self.is_pinned(id) {
            self.move_row(id);
        }
        Some(self.layout.body_bytes())
    }

    fn move_row(&mut self, id: TupleId) {
        // A snapshot visits rows by their numbers.
        self.capture_row(id);
        let copy = self.rows.copy_row(&self.layout, id);
        self.each_key_of(copy, |index, key| index.repoint(key, copy.into()));
        self.chain.replace(&mut self.rows.slots, id, copy);
        self.rows.slots.release(id.0);
    }

    /// Notes an evicted row without index entries; sets its text number to 0, as on disk.
    fn add_evicted(&mut self, row: &mut RowBuffer, place: BlockPlace) -> EvictedId {
        self.layout.set_text_number(&mut row.body, TextNumber(0));
        self.evicted_digest.add(row.bytes());
        self.evicted_bytes += row.bytes().length() as u64;
        self.evicted.insert(place)
    }

    /// Adds a row that is on disk already.
    pub(crate) fn insert_evicted(
        &mut self,
        row: &mut RowBuffer,
        place: BlockPlace,
    ) -> Result<(), Violation> {
        self.refuse_duplicates(row.bytes())?;
        let evicted = self.add_evicted(row, place);
        self.each_key(row.bytes(), |index, key| {
            index.insert_new(key, evicted.into());
        });
        Ok(())
    }

    /// Everything that is there is older from now on.
    pub(crate) fn begin_generation(&mut self) {
        self.generation.begin();
        self.evicted.begin_generation();
    }

    /// Copies a row for the snapshot if it is older.
    #[inline]
    pub(crate) fn capture_row(&mut self, id: TupleId) {
        let flags = self.rows.flags_mut(id);
        if self.generation.renew(flags) {
            let mut capture = std::mem::take(&mut self.capture);
            capture.copy_row(self.row(id), &self.layout);
            self.capture = capture;
        }
    }

    /// Copies an evicted entry for the snapshot if it is older.
    pub(crate) fn capture_entry(&mut self, id: EvictedId) {
        if self.evicted.renew(id) {
            self.capture.copy_entry(self.evicted.get(id));
        }
    }

    /// Goes on to the next row in memory; see [`SlotArena::next_used`](crate::slot_arena::SlotArena::next_used).
    pub(crate) fn next_row(&self, from: u32, looks_max: u32) -> Visit {
        self.rows.slots.next_used(from, looks_max)
    }

    /// The digest of all rows, wherever they are.
    pub(crate) fn digest(&self) -> RowsDigest {
        let (mut digest, mut copy) = (self.evicted_digest, Vec::new());
        let mut from = 0;
        loop {
            match self.next_row(from, u32::MAX) {
                Visit::Used(number) => {
                    copy.clear();
                    append_row(self.row(TupleId(number)), &self.layout, &mut copy);
                    digest.add(self.layout.split(&copy[4..]).expect("a row"));
                    from = number + 1;
                }
                Visit::GoOnAt(number) => from = number,
                Visit::End => return digest,
            }
        }
    }

    /// The evicted row that is at this place, if that is still its place; `row` is what is there.
    pub(crate) fn evicted_at(&mut self, row: RowBytes<'_>, place: BlockPlace) -> Option<EvictedId> {
        match self.find_primary(row)? {
            Target::Evicted(id) if self.evicted.get(id) == place => Some(id),
            _ => None,
        }
    }

    /// Where the row with the primary key of `row` is.
    pub(crate) fn find_primary(&mut self, row: RowBytes<'_>) -> Option<Target> {
        let primary = &self.indexes[0];
        let key = primary.layout.of_row(&self.layout, row, &mut self.key);
        Some(primary.first(key.key)?.target())
    }

    /// Counts the use of a row. Those of young rows say nothing of what would go to disk.
    #[inline]
    pub(crate) fn note_use(&mut self, id: TupleId) {
        self.uses += u64::from(!self.chain.is_young(&self.rows.slots, id));
    }

    /// Notes in the chain that a row was used.
    #[inline]
    pub(crate) fn touch(&mut self, id: TupleId) {
        self.chain.touch(&mut self.rows.slots, id);
    }

    /// The same for a row that the transaction may have deleted since.
    pub(crate) fn touch_if_live(&mut self, id: TupleId) {
        if self.is_live(id) {
            self.touch(id);
        }
    }

    /// Whether the row is there, and not deleted by the transaction that runs.
    #[inline]
    pub(crate) fn is_live(&self, id: TupleId) -> bool {
        self.rows.is_live(id)
    }

    /// The row that is to go to disk next.
    pub(crate) fn next_to_leave(&mut self) -> Option<TupleId> {
        self.chain.next_to_leave(&mut self.rows.slots)
    }

    /// A row that was to go to disk cannot.
    pub(crate) fn postpone(&mut self, id: TupleId) {
        self.chain.postpone(&mut self.rows.slots, id);
    }

    /// Whether the row is kept for a waiting transaction.
    pub(crate) fn is_pinned(&self, id: TupleId) -> bool {
        self.rows.flags(id) & PINNED != 0
    }

    /// Keeps the row, or no longer.
    pub(crate) fn set_pinned(&mut self, id: TupleId, is_pinned: bool) {
        let flags = self.rows.flags_mut(id);
        *flags = (*flags & !PINNED) | if is_pinned { PINNED } else { 0 };
    }

    /// Rows in memory.
    pub(crate) fn rows_in_memory(&self) -> usize {
        self.rows.slots.live()
    }

    /// Bytes in use.
    pub(crate) fn live_bytes(&self) -> usize {
        let entries = self.evicted.live_bytes() + self.index_bytes();
        self.rows.live_bytes() + entries + self.capture.held_bytes()
    }

    /// Bytes that were allocated.
    pub(crate) fn held_bytes(&self) -> usize {
        let copies = self.capture.held_bytes();
        self.row_bytes() + self.evicted.held_bytes() + self.index_bytes() + copies
    }

    /// Bytes of rows and texts in use.
    pub(crate) fn row_bytes_in_use(&self) -> usize {
        self.rows.live_bytes()
    }

    /// Bytes of rows and texts that were allocated.
    pub(crate) fn row_bytes(&self) -> usize {
        self.rows.held_bytes()
    }

    /// Bytes of all indexes.
    pub(crate) fn index_bytes(&self) -> usize {
        self.indexes.iter().map(Index::held_bytes).sum()
    }
}

/// Calls `change` for each index with the row's key in it; `key` is memory for one.
fn each_key(
    indexes: &mut [Index],
    layout: &RowLayout,
    row: RowBytes<'_>,
    key: &mut Vec<u8>,
    mut change: impl FnMut(&mut Index, RowKey<'_>),
) {
    for index in indexes {
        let key = index.layout.of_row(layout, row, key);
        change(index, key);
    }
}
