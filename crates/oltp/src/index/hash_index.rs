//! A hash index: many small hash tables, so that none takes long to grow.
//!
//! The first bits of a key's hash choose the table, the rest its place there. A table of all keys
//! would stop the partition for as long as all entries take to move, and need memory for both copies.

use hashbrown::{HashTable, hash_table};

use super::RowKey;
use super::stored_key::StoredKey;
use crate::pointer::Pointer;

/// Tables are this many.
const TABLES: usize = 1 << TABLES_BITS;
const TABLES_BITS: u32 = 10;

struct Entry<K: StoredKey> {
    key: K,
    hash: K::KeptHash,
    pointer: Pointer,
}

/// See the module.
pub(super) struct HashIndex<K: StoredKey> {
    tables: Vec<HashTable<Entry<K>>>,
    heap_bytes: usize,
    table_bytes: usize,
}

impl<K: StoredKey> HashIndex<K> {
    pub(super) fn new() -> Self {
        Self {
            tables: (0..TABLES).map(|_| HashTable::new()).collect(),
            heap_bytes: 0,
            table_bytes: 0,
        }
    }

    #[inline]
    fn table(hash: u64) -> usize {
        // The tables use the upper 7 bits and the lower ones.
        (hash >> 32) as usize % TABLES
    }

    fn hash(key: RowKey<'_>) -> u64 {
        K::hash(K::probe(&key.bytes[..key.declared_bytes], 0))
    }

    #[inline]
    pub(super) fn first(&self, key: &[u8]) -> Option<Pointer> {
        let probe = K::probe(key, 0);
        let hash = K::hash(probe);
        let is_it = |entry: &Entry<K>| entry.key.compare(probe).is_eq();
        let found = self.tables[Self::table(hash)].find(hash, is_it);
        found.map(|entry| entry.pointer)
    }

    /// Adds an entry; false if there is one with its key.
    pub(super) fn insert(&mut self, key: RowKey<'_>, pointer: Pointer) -> bool {
        let probe = K::probe(key.bytes, 0);
        let hash = Self::hash(key);
        let table = &mut self.tables[Self::table(hash)];
        let before = table.allocation_size();
        let is_it = |entry: &Entry<K>| entry.key.compare(probe).is_eq();
        let found = table.entry(hash, is_it, |entry| entry.key.kept_hash(&entry.hash));
        let is_new = matches!(found, hash_table::Entry::Vacant(_));
        if let hash_table::Entry::Vacant(place) = found {
            place.insert(Entry {
                key: K::store(probe),
                hash: K::KeptHash::from(hash),
                pointer,
            });
            self.heap_bytes += K::heap_bytes(probe);
        }
        self.table_bytes += table.allocation_size() - before;
        is_new
    }

    pub(super) fn remove(&mut self, key: RowKey<'_>) -> bool {
        let probe = K::probe(key.bytes, 0);
        let hash = Self::hash(key);
        let is_it = |entry: &Entry<K>| entry.key.compare(probe).is_eq();
        let Ok(found) = self.tables[Self::table(hash)].find_entry(hash, is_it) else {
            return false;
        };
        found.remove();
        self.heap_bytes -= K::heap_bytes(probe);
        true
    }

    pub(super) fn pointer_mut(&mut self, key: RowKey<'_>) -> Option<&mut Pointer> {
        let probe = K::probe(key.bytes, 0);
        let hash = Self::hash(key);
        let is_it = |entry: &Entry<K>| entry.key.compare(probe).is_eq();
        let found = self.tables[Self::table(hash)].find_mut(hash, is_it);
        found.map(|entry| &mut entry.pointer)
    }

    #[cfg(test)]
    pub(super) fn each_entry(&self, mut visit: impl FnMut(&[u8], Pointer)) {
        for entry in self.tables.iter().flatten() {
            entry.key.with_encoded(|key| visit(key, entry.pointer));
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.heap_bytes + self.table_bytes + TABLES * size_of::<HashTable<Entry<K>>>()
    }
}

impl HashIndex<Box<[u8]>> {
    /// Entries whose key begins like this, in order. The beginning is what their hash is of.
    pub(super) fn each_equal(&self, key: &[u8], mut visit: impl FnMut(&[u8], Pointer)) {
        let hash = <Box<[u8]>>::hash(key);
        let of_hash = self.tables[Self::table(hash)].iter_hash(hash);
        let mut found: Vec<_> = of_hash.filter(|entry| entry.key.starts_with(key)).collect();
        found.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        found
            .iter()
            .for_each(|entry| visit(&entry.key, entry.pointer));
    }
}
