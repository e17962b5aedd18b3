//! A table: rows in arenas, its indexes, its chain and its evicted rows.
//!
//! **Invariants:** every row, in memory or evicted, is in every index exactly once; a row in memory of
//! an evictable table is in the chain exactly once. A row is in memory or on disk, never both. What a
//! snapshot still has to see is copied before it changes. Knows no transactions: who changes something
//! must be able to undo it.

use std::ops::Range;

use crate::digest::RowsDigest;
use crate::evicted_entries::{BlockPlace, EvictedEntries};
use crate::generation::Generation;
use crate::index::{Index, RowKey};
use crate::lru_chain::{ChainKind, LIVE, LruChain, PINNED};
use crate::pointer::{EvictedId, Target, TupleId};
use crate::row_layout::{RowBuffer, RowBytes, RowLayout};
use crate::schema::{ColumnNumber, IndexId, TableDefinition, TableNumber};
use crate::slot_arena::{SlotArena, Visit};
use crate::snapshot::{Capture, append_row};
use crate::stop::Violation;
use crate::text_arena::{TextArena, TextNumber};

/// See the module.
pub(crate) struct Table {
    pub(crate) number: TableNumber,
    pub(crate) definition: TableDefinition,
    pub(crate) layout: RowLayout,
    pub(crate) indexes: Vec<Index>,
    pub(crate) evicted: EvictedEntries,
    pub(crate) chain: LruChain,
    /// Rows that transactions touched since rows were last evicted.
    pub(crate) accesses: u64,
    /// What a snapshot has copied.
    pub(crate) capture: Capture,
    /// The digest of the evicted rows.
    pub(crate) evicted_digest: RowsDigest,
    generation: Generation,
    /// Where a row's body is in its slot.
    body: Range<usize>,
    rows: SlotArena,
    texts: TextArena,
    /// Whether an index has the column.
    is_indexed: Vec<bool>,
    key: Vec<u8>,
    other_key: Vec<u8>,
}

/// The end of the chain at which a row is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainEnd {
    Youngest,
    Oldest,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(number: TableNumber, definition: &TableDefinition, chain: ChainKind) -> Self {
        let chain = if definition.is_evictable {
            chain
        } else {
            ChainKind::None
        };
        let layout = RowLayout::new(&definition.columns);
        let header_bytes = chain.header_bytes();
        let indexes = definition.indexes.iter();
        let primary = &definition.indexes[0].columns;
        let mut is_indexed = vec![false; definition.columns.len()];
        for column in definition.indexes.iter().flat_map(|index| &index.columns) {
            is_indexed[*column] = true;
        }
        Self {
            number,
            indexes: indexes
                .map(|index| Index::new(index, primary, &definition.columns))
                .collect(),
            evicted: EvictedEntries::new(),
            chain: LruChain::new(chain),
            accesses: 0,
            capture: Capture::default(),
            evicted_digest: RowsDigest::default(),
            generation: Generation::default(),
            body: header_bytes..header_bytes + layout.body_bytes(),
            rows: SlotArena::new(header_bytes + layout.body_bytes()),
            texts: TextArena::default(),
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
        let body = &self.rows.get(id.0)[self.body.clone()];
        let text = self.layout.text_bytes(body);
        RowBytes {
            body,
            text: self.texts.get(self.layout.text_number(body), text),
        }
    }

    /// Adds a row. Each index is searched once: a key that is taken shows when it is inserted, and what
    /// was done until then is taken back.
    pub(crate) fn insert(&mut self, row: RowBytes<'_>) -> Result<TupleId, Violation> {
        let id = self.place(row, ChainEnd::Youngest);
        for number in 0..self.indexes.len() {
            let index = &mut self.indexes[number];
            let key = key_of(index, &self.layout, row, &mut self.key);
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
            let key = key_of(index, &self.layout, row, &mut self.key);
            index.remove(key);
        }
        self.chain.remove(&mut self.rows, id);
        self.rows.get_mut(id.0)[0] &= !LIVE;
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
                key_of(&self.indexes[index], &self.layout, row, &mut self.key);
                self.refuse_duplicate(index, &self.key)?;
            }
        }
        Ok(())
    }

    fn refuse_duplicate(&self, index: usize, key: &[u8]) -> Result<(), Violation> {
        match self.indexes[index].first(key) {
            None => Ok(()),
            Some(_) => Err(self.duplicate(index)),
        }
    }

    /// Puts a row into memory, without its index entries.
    fn place(&mut self, row: RowBytes<'_>, end: ChainEnd) -> TupleId {
        let id = TupleId(self.rows.allocate());
        let text = self.texts.insert(row.text);
        let slot = self.rows.get_mut(id.0);
        slot[0] = self.generation.stamped(LIVE);
        let body = &mut slot[self.body.clone()];
        body.copy_from_slice(row.body);
        self.layout.set_text_number(body, text);
        match end {
            ChainEnd::Youngest => self.chain.push_youngest(&mut self.rows, id),
            ChainEnd::Oldest => self.chain.push_oldest(&mut self.rows, id),
        }
        id
    }

    /// Calls `change` for each index with the row's key in it.
    fn each_key(&mut self, row: RowBytes<'_>, mut change: impl FnMut(&mut Index, RowKey<'_>)) {
        for index in &mut self.indexes {
            let key = key_of(index, &self.layout, row, &mut self.key);
            change(index, key);
        }
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
        self.overwrite(id, new);
        Ok(())
    }

    fn refuse_duplicates_of_change(
        &mut self,
        old: RowBytes<'_>,
        new: RowBytes<'_>,
    ) -> Result<(), Violation> {
        for index in 0..self.indexes.len() {
            let of_table = &self.indexes[index];
            key_of(of_table, &self.layout, old, &mut self.other_key);
            key_of(of_table, &self.layout, new, &mut self.key);
            if of_table.is_unique && self.key != self.other_key {
                self.refuse_duplicate(index, &self.key)?;
            }
        }
        Ok(())
    }

    fn move_entries(&mut self, id: TupleId, old: RowBytes<'_>, new: RowBytes<'_>) {
        for index in &mut self.indexes {
            let old = key_of(index, &self.layout, old, &mut self.other_key);
            let new = key_of(index, &self.layout, new, &mut self.key);
            if old.bytes != new.bytes {
                index.remove(old);
                index.insert_new(new, id.into());
            }
        }
    }

    fn overwrite(&mut self, id: TupleId, new: RowBytes<'_>) {
        self.capture_row(id);
        let slot = self.rows.get_mut(id.0);
        let body = &mut slot[self.body.clone()];
        let held = self.layout.text_bytes(body);
        let mut number = self.layout.text_number(body);
        if held == new.text.len() {
            self.texts.get_mut(number, held).copy_from_slice(new.text);
        } else {
            self.texts.remove(number, held);
            number = self.texts.insert(new.text);
        }
        body.copy_from_slice(new.body);
        self.layout.set_text_number(body, number);
    }

    /// Takes a row out of indexes and chain; its bytes stay until [`Self::free`].
    pub(crate) fn detach(&mut self, id: TupleId, copy: &mut RowBuffer) {
        self.capture_row(id);
        copy.copy(self.row(id));
        self.each_key(copy.bytes(), |index, key| index.remove(key));
        self.chain.remove(&mut self.rows, id);
        self.rows.get_mut(id.0)[0] &= !LIVE;
    }

    /// Undoes [`Self::detach`].
    pub(crate) fn attach(&mut self, id: TupleId, copy: &mut RowBuffer) {
        copy.copy(self.row(id));
        self.each_key(copy.bytes(), |index, key| index.insert_new(key, id.into()));
        self.chain.push_youngest(&mut self.rows, id);
        self.rows.get_mut(id.0)[0] |= LIVE;
    }

    /// Frees the memory of a detached row.
    pub(crate) fn free(&mut self, id: TupleId) {
        let body = &self.rows.get(id.0)[self.body.clone()];
        let (number, text) = (self.layout.text_number(body), self.layout.text_bytes(body));
        self.texts.remove(number, text);
        self.rows.release(id.0);
    }

    /// Moves a row to disk: it has been copied to this place.
    pub(crate) fn evict(&mut self, id: TupleId, place: BlockPlace, copy: &mut RowBuffer) {
        self.capture_row(id);
        copy.copy(self.row(id));
        let evicted = self.add_evicted(copy, place);
        self.each_key(copy.bytes(), |index, key| {
            index.repoint(key, evicted.into());
        });
        self.chain.remove(&mut self.rows, id);
        self.free(id);
    }

    /// Brings a row back from disk.
    pub(crate) fn unevict(&mut self, id: EvictedId, row: RowBytes<'_>, end: ChainEnd) -> TupleId {
        let tuple = self.place(row, end);
        self.each_key(row, |index, key| index.repoint(key, tuple.into()));
        self.capture_entry(id);
        self.evicted.remove(id);
        self.evicted_digest.remove(row);
        tuple
    }

    /// Notes an evicted row without index entries; sets its text number to 0, as on disk.
    fn add_evicted(&mut self, row: &mut RowBuffer, place: BlockPlace) -> EvictedId {
        self.layout.set_text_number(&mut row.body, TextNumber(0));
        self.evicted_digest.add(row.bytes());
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
        let flags = &mut self.rows.get_mut(id.0)[0];
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

    /// Goes on to the next row in memory; see [`SlotArena::next_used`].
    pub(crate) fn next_row(&self, from: u32, looks_max: u32) -> Visit {
        self.rows.next_used(from, looks_max)
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
        key_of(&self.indexes[0], &self.layout, row, &mut self.key);
        Some(self.indexes[0].first(&self.key)?.target())
    }

    /// Notes that a row was used.
    #[inline]
    pub(crate) fn touch(&mut self, id: TupleId) {
        if self.chain.kind() != ChainKind::None {
            self.chain.touch(&mut self.rows, id);
        }
    }

    /// The same for a row that the transaction may have deleted since.
    pub(crate) fn touch_if_live(&mut self, id: TupleId) {
        if self.rows.get(id.0)[0] & LIVE != 0 {
            self.touch(id);
        }
    }

    /// The row that has not been used for longest.
    pub(crate) fn oldest(&self) -> Option<TupleId> {
        self.chain.oldest()
    }

    /// Whether the row is kept for a waiting transaction.
    pub(crate) fn is_pinned(&self, id: TupleId) -> bool {
        self.rows.get(id.0)[0] & PINNED != 0
    }

    /// Keeps the row, or no longer.
    pub(crate) fn set_pinned(&mut self, id: TupleId, is_pinned: bool) {
        let flags = &mut self.rows.get_mut(id.0)[0];
        *flags = (*flags & !PINNED) | if is_pinned { PINNED } else { 0 };
    }

    /// Rows in memory.
    pub(crate) fn rows_in_memory(&self) -> usize {
        self.rows.live()
    }

    /// Bytes in use.
    pub(crate) fn live_bytes(&self) -> usize {
        let entries = self.evicted.live_bytes() + self.index_bytes();
        self.rows.live_bytes() + self.texts.live_bytes() + entries + self.capture.held_bytes()
    }

    /// Bytes that were allocated.
    pub(crate) fn held_bytes(&self) -> usize {
        let copies = self.capture.held_bytes();
        self.row_bytes() + self.evicted.held_bytes() + self.index_bytes() + copies
    }

    /// Bytes of rows and texts that were allocated.
    pub(crate) fn row_bytes(&self) -> usize {
        self.rows.held_bytes() + self.texts.held_bytes()
    }

    /// Bytes of all indexes.
    pub(crate) fn index_bytes(&self) -> usize {
        self.indexes.iter().map(Index::held_bytes).sum()
    }
}

/// The row's key in an index.
fn key_of<'k>(
    index: &Index,
    layout: &RowLayout,
    row: RowBytes<'_>,
    out: &'k mut Vec<u8>,
) -> RowKey<'k> {
    let declared_bytes = index
        .layout
        .encode_row(|column| layout.value(row, column), out);
    RowKey {
        bytes: out,
        declared_bytes,
    }
}
