//! Indexes: from keys to pointers.
//!
//! * [`key`]: keys on their way to an index; [`stored_key`]: a key as an index keeps it, three forms of it.
//! * [`number_hash_index`], [`bytes_hash_index`]: by the whole key.
//! * [`ordered_index`]: a B+tree; [`tree_nodes`], [`leaf`]: its nodes.
//!
//! An index keeps the whole key, so evicted rows are found, compared and counted without a look at
//! the disk. An index that is not unique keeps the primary key behind its own, so that entries are
//! distinct and rows of equal keys come in the same order whatever is on disk. One dispatch per
//! operation picks kind and form; the code below is made for each.

mod bytes_hash_index;
mod key;
mod leaf;
mod number_hash_index;
mod ordered_index;
mod stored_key;
mod tree_nodes;

use crate::key_layout::{KeyForm, KeyLayout};
use crate::pointer::Pointer;
use crate::row_layout::RowLayout;
use crate::schema::{ColumnDefinition, ColumnNumber, IndexDefinition, IndexKind};
use bytes_hash_index::BytesHashIndex;
pub(crate) use key::{Key, RowKey, SoughtKey};
use number_hash_index::NumberHashIndex;
use ordered_index::OrderedIndex;

/// A scan's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the smallest key on.
    Ascending,
    /// From the largest key on.
    Descending,
}

enum Entries {
    HashWord(NumberHashIndex<u64>),
    HashWide(NumberHashIndex<u128>),
    HashBytes(BytesHashIndex),
    OrderedWord(OrderedIndex<u64>),
    OrderedWide(OrderedIndex<u128>),
    OrderedBytes(OrderedIndex<Box<[u8]>>),
}

/// An index of a table.
pub(crate) struct Index {
    pub(crate) layout: KeyLayout,
    pub(crate) is_unique: bool,
    entries: Entries,
}

/// Does the same with whatever the entries are.
macro_rules! with {
    ($entries:expr, $found:ident => $body:expr) => {
        match $entries {
            Entries::HashWord($found) => $body,
            Entries::HashWide($found) => $body,
            Entries::HashBytes($found) => $body,
            Entries::OrderedWord($found) => $body,
            Entries::OrderedWide($found) => $body,
            Entries::OrderedBytes($found) => $body,
        }
    };
}

impl Index {
    /// An empty index of a table with this primary key.
    pub(crate) fn new(
        definition: &IndexDefinition,
        primary: &[ColumnNumber],
        table: &[ColumnDefinition],
        rows: &RowLayout,
    ) -> Self {
        let more = if definition.is_unique { &[] } else { primary };
        let mut layout = KeyLayout::new(&definition.columns, more, table, rows);
        if definition.kind == IndexKind::Hash && !definition.is_unique {
            // The hash is one of the key's beginning, which a number does not show.
            layout = layout.kept_as_bytes();
        }
        let entries = match (definition.kind, layout.form()) {
            (IndexKind::Hash, KeyForm::Word) => Entries::HashWord(NumberHashIndex::new()),
            (IndexKind::Hash, KeyForm::Wide) => Entries::HashWide(NumberHashIndex::new()),
            (IndexKind::Hash, KeyForm::Bytes) => Entries::HashBytes(BytesHashIndex::new()),
            (IndexKind::Ordered, KeyForm::Word) => Entries::OrderedWord(OrderedIndex::new()),
            (IndexKind::Ordered, KeyForm::Wide) => Entries::OrderedWide(OrderedIndex::new()),
            (IndexKind::Ordered, KeyForm::Bytes) => Entries::OrderedBytes(OrderedIndex::new()),
        };
        Self {
            layout,
            is_unique: definition.is_unique,
            entries,
        }
    }

    /// Whether it can be scanned.
    pub(crate) fn is_ordered(&self) -> bool {
        !matches!(
            self.entries,
            Entries::HashWord(_) | Entries::HashWide(_) | Entries::HashBytes(_)
        )
    }

    /// Has what a look-up of this key begins with come into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, key: Key<'_>) {
        match &self.entries {
            Entries::HashWord(entries) => entries.prefetch(key),
            Entries::HashWide(entries) => entries.prefetch(key),
            _ => {}
        }
    }

    /// The pointer under the key of a unique index.
    #[inline]
    pub(crate) fn first(&self, key: Key<'_>) -> Option<Pointer> {
        debug_assert!(self.is_unique);
        with!(&self.entries, entries => entries.first(key))
    }

    /// Calls `visit` with every entry whose key begins like this, in order.
    pub(crate) fn each_equal(&self, key: Key<'_>, mut visit: impl FnMut(&[u8], Pointer)) {
        if self.is_ordered() {
            self.scan(key, key, Direction::Ascending, |key, pointer| {
                visit(key, pointer);
                true
            });
        } else {
            let Entries::HashBytes(entries) = &self.entries else {
                return self
                    .first(key)
                    .into_iter()
                    .for_each(|found| self.layout.with_encoded(key, |key| visit(key, found)));
            };
            entries.each_equal(key, visit);
        }
    }

    /// Adds an entry; false, and nothing done, if there is one with its key. Without a unique index
    /// there never is: the primary key is part of the entry's.
    #[must_use]
    pub(crate) fn insert(&mut self, key: RowKey<'_>, pointer: Pointer) -> bool {
        with!(&mut self.entries, entries => entries.insert(key, pointer))
    }

    /// Adds an entry whose key is known to be free.
    ///
    /// # Panics
    /// When it is not.
    pub(crate) fn insert_new(&mut self, key: RowKey<'_>, pointer: Pointer) {
        assert!(
            self.insert(key, pointer),
            "a key that was looked for is free"
        );
    }

    /// Removes an entry.
    ///
    /// # Panics
    /// When there is none.
    pub(crate) fn remove(&mut self, key: RowKey<'_>) {
        let removed = with!(&mut self.entries, entries => entries.remove(key));
        assert!(removed, "every row is in every index");
    }

    /// Has an entry lead elsewhere.
    ///
    /// # Panics
    /// When there is none.
    pub(crate) fn repoint(&mut self, key: RowKey<'_>, to: Pointer) {
        let entry = with!(&mut self.entries, entries => entries.pointer_mut(key));
        *entry.expect("every row is in every index") = to;
    }

    /// Calls `visit` with the key and pointer of every entry from one key to another, in order,
    /// until it returns `false`. What begins like `to` is within the range.
    ///
    /// # Panics
    /// When the index has no order.
    pub(crate) fn scan(
        &self,
        from: Key<'_>,
        to: Key<'_>,
        direction: Direction,
        visit: impl FnMut(&[u8], Pointer) -> bool,
    ) {
        match &self.entries {
            Entries::OrderedWord(entries) => entries.scan(from, to, direction, visit),
            Entries::OrderedWide(entries) => entries.scan(from, to, direction, visit),
            Entries::OrderedBytes(entries) => entries.scan(from, to, direction, visit),
            _ => panic!("a hash index has no order"),
        }
    }

    /// Calls `visit` with every entry's key, filled up, and pointer, in no order.
    #[cfg(test)]
    pub(crate) fn each_entry(&self, visit: impl FnMut(&[u8], Pointer)) {
        with!(&self.entries, entries => entries.each_entry(visit));
    }

    /// Bytes that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        with!(&self.entries, entries => entries.held_bytes())
    }
}

#[cfg(test)]
mod tests;
