//! A hash index of keys that are bytes: many small hash tables, so that none takes long to grow.
//!
//! The first bits of a key's hash choose the table, the rest its place there. A table of all keys
//! would stop the partition for as long as all entries take to move, and need memory for both copies.
//! The hash is one of the columns that are looked for; what follows them tells equal ones apart.

use hashbrown::{HashTable, hash_table};
use xxhash_rust::xxh3::xxh3_64;

use super::key::{Key, RowKey};
use crate::pointer::Pointer;

/// Tables are this many.
const TABLES: usize = 1 << TABLES_BITS;
const TABLES_BITS: u32 = 10;

struct Entry {
    key: Box<[u8]>,
    hash: u64,
    pointer: Pointer,
}

/// See the module.
pub(super) struct BytesHashIndex {
    tables: Vec<HashTable<Entry>>,
    heap_bytes: usize,
    table_bytes: usize,
}

fn hash_of(key: RowKey<'_>) -> u64 {
    xxh3_64(&key.key.bytes()[..key.declared_bytes])
}

impl BytesHashIndex {
    pub(super) fn new() -> Self {
        Self {
            tables: (0..TABLES).map(|_| HashTable::new()).collect(),
            heap_bytes: 0,
            table_bytes: 0,
        }
    }

    fn table(hash: u64) -> usize {
        // The tables use the upper 7 bits and the lower ones.
        (hash >> 32) as usize % TABLES
    }

    pub(super) fn first(&self, key: Key<'_>) -> Option<Pointer> {
        let key = key.bytes();
        let hash = xxh3_64(key);
        let found = self.tables[Self::table(hash)].find(hash, |entry| *entry.key == *key);
        found.map(|entry| entry.pointer)
    }

    /// Adds an entry; false if there is one with its key.
    pub(super) fn insert(&mut self, key: RowKey<'_>, pointer: Pointer) -> bool {
        let (bytes, hash) = (key.key.bytes(), hash_of(key));
        let table = &mut self.tables[Self::table(hash)];
        let before = table.allocation_size();
        let found = table.entry(hash, |entry| *entry.key == *bytes, |entry| entry.hash);
        let is_new = matches!(found, hash_table::Entry::Vacant(_));
        if let hash_table::Entry::Vacant(place) = found {
            place.insert(Entry {
                key: bytes.into(),
                hash,
                pointer,
            });
            self.heap_bytes += bytes.len();
        }
        self.table_bytes += table.allocation_size() - before;
        is_new
    }

    pub(super) fn remove(&mut self, key: RowKey<'_>) -> bool {
        let (bytes, hash) = (key.key.bytes(), hash_of(key));
        let table = &mut self.tables[Self::table(hash)];
        let Ok(found) = table.find_entry(hash, |entry| *entry.key == *bytes) else {
            return false;
        };
        found.remove();
        self.heap_bytes -= bytes.len();
        true
    }

    pub(super) fn pointer_mut(&mut self, key: RowKey<'_>) -> Option<&mut Pointer> {
        let (bytes, hash) = (key.key.bytes(), hash_of(key));
        let table = &mut self.tables[Self::table(hash)];
        let found = table.find_mut(hash, |entry| *entry.key == *bytes);
        found.map(|entry| &mut entry.pointer)
    }

    /// Entries whose key begins like this, in order. The beginning is what their hash is of.
    pub(super) fn each_equal(&self, key: Key<'_>, mut visit: impl FnMut(&[u8], Pointer)) {
        let key = key.bytes();
        let hash = xxh3_64(key);
        let of_hash = self.tables[Self::table(hash)].iter_hash(hash);
        let mut found: Vec<_> = of_hash.filter(|entry| entry.key.starts_with(key)).collect();
        found.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        found
            .iter()
            .for_each(|entry| visit(&entry.key, entry.pointer));
    }

    #[cfg(test)]
    pub(super) fn each_entry(&self, mut visit: impl FnMut(&[u8], Pointer)) {
        for entry in self.tables.iter().flatten() {
            visit(&entry.key, entry.pointer);
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.heap_bytes + self.table_bytes + TABLES * size_of::<HashTable<Entry>>()
    }
}
