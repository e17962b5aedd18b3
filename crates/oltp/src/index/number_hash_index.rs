//! A hash index of keys that are numbers, which finds most entries with one look at memory.
//!
//! 1. A *bucket* is one line of the cache: up to five entries of 64 bits, or three of 128. The hash names
//!    an entry's home; when that is full the entry goes into the first bucket behind it with room.
//! 2. Each bucket counts the entries that have passed it. Where none has, a search ends; when an entry is
//!    removed, those that it had passed count one less. So nothing is left of what has gone.
//! 3. The buckets are in many small tables, each of which grows by half. A table of all keys would stop
//!    the partition for as long as all entries take to move, and need memory for both copies.
//!
//! **Invariant:** between an entry's home and its bucket all buckets are full, or were when it came: each
//! of them counts it.

use prefetch::prefetch;

use super::key::{Key, RowKey};
use super::stored_key::StoredKey;
use crate::pointer::Pointer;

/// Tables are this many.
const TABLES: usize = 1 << TABLES_BITS;
const TABLES_BITS: u32 = 10;

/// A table grows before more than so many hundredths of its places are taken. With 80, and tables
/// between the two sizes, 1 in 8 entries of 64 bits and 1 in 5 of 128 are not at home.
const FULL_PERCENT: usize = 80;

/// A number as a key.
pub(super) trait NumberKey:
    StoredKey + Copy + Eq + for<'a> StoredKey<Probe<'a> = Self>
{
    /// As many as go into a bucket.
    type Keys: AsRef<[Self]> + AsMut<[Self]> + Copy + Default;
    /// Their pointers.
    type Pointers: AsRef<[Pointer]> + AsMut<[Pointer]> + Copy + Default;

    /// A number that spreads well.
    fn spread(self) -> u64;
}

/// Multiplies and folds, so that both halves of the product count.
#[inline]
fn mixed(number: u64) -> u64 {
    let product = u128::from(number ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
    (product as u64) ^ ((product >> 64) as u64)
}

impl NumberKey for u64 {
    type Keys = [Self; 5];
    type Pointers = [Pointer; 5];

    #[inline]
    fn spread(self) -> u64 {
        mixed(self)
    }
}

impl NumberKey for u128 {
    type Keys = [Self; 3];
    type Pointers = [Pointer; 3];

    #[inline]
    fn spread(self) -> u64 {
        mixed(mixed(self as u64) ^ ((self >> 64) as u64))
    }
}

/// Entries of a bucket are those before `len`.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Bucket<K: NumberKey> {
    keys: K::Keys,
    pointers: K::Pointers,
    len: u16,
    /// Entries whose home is this bucket or one before, and which are in one behind it.
    passed: u16,
}

const _: () = assert!(size_of::<Bucket<u64>>() == 64 && size_of::<Bucket<u128>>() == 64);

impl<K: NumberKey> Bucket<K> {
    #[inline]
    fn find(&self, key: K) -> Option<usize> {
        let keys = &self.keys.as_ref()[..usize::from(self.len)];
        keys.iter().position(|other| *other == key)
    }

    fn is_full(&self) -> bool {
        usize::from(self.len) == self.keys.as_ref().len()
    }

    fn push(&mut self, key: K, pointer: Pointer) {
        let at = usize::from(self.len);
        self.keys.as_mut()[at] = key;
        self.pointers.as_mut()[at] = pointer;
        self.len += 1;
    }

    fn remove(&mut self, at: usize) {
        self.len -= 1;
        let last = usize::from(self.len);
        self.keys.as_mut()[at] = self.keys.as_ref()[last];
        self.pointers.as_mut()[at] = self.pointers.as_ref()[last];
    }
}

/// One of the small tables.
struct Table<K: NumberKey> {
    buckets: Box<[Bucket<K>]>,
    len: usize,
}

/// Where an entry is: its bucket, and its place there.
struct Place {
    bucket: usize,
    at: usize,
}

impl<K: NumberKey> Table<K> {
    /// The lower half of the hash, stretched to the number of buckets.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        (((hash & u64::from(u32::MAX)) * self.buckets.len() as u64) >> 32) as usize
    }

    #[inline]
    fn next(&self, bucket: usize) -> usize {
        if bucket + 1 == self.buckets.len() {
            0
        } else {
            bucket + 1
        }
    }

    #[inline]
    fn find(&self, key: K, hash: u64) -> Option<Place> {
        if self.buckets.is_empty() {
            return None;
        }
        let home = self.home(hash);
        let mut bucket = home;
        loop {
            let here = &self.buckets[bucket];
            if let Some(at) = here.find(key) {
                return Some(Place { bucket, at });
            }
            bucket = self.next(bucket);
            if here.passed == 0 || bucket == home {
                return None;
            }
        }
    }

    /// Adds a key that is not there.
    fn add(&mut self, key: K, pointer: Pointer) {
        let mut bucket = self.home(key.spread());
        while self.buckets[bucket].is_full() {
            self.buckets[bucket].passed += 1;
            bucket = self.next(bucket);
        }
        self.buckets[bucket].push(key, pointer);
        self.len += 1;
    }

    fn remove(&mut self, place: &Place, hash: u64) {
        let mut bucket = self.home(hash);
        while bucket != place.bucket {
            self.buckets[bucket].passed -= 1;
            bucket = self.next(bucket);
        }
        self.buckets[bucket].remove(place.at);
        self.len -= 1;
    }

    fn is_crowded(&self) -> bool {
        let places = self.buckets.len() * K::Keys::default().as_ref().len();
        (self.len + 1) * 100 > places * FULL_PERCENT
    }

    fn grow(&mut self) {
        let buckets = (self.buckets.len() * 3)
            .div_ceil(2)
            .max(self.buckets.len() + 1);
        let larger = vec![Bucket::default(); buckets].into_boxed_slice();
        let before = std::mem::replace(&mut self.buckets, larger);
        self.len = 0;
        for bucket in before {
            let keys = &bucket.keys.as_ref()[..usize::from(bucket.len)];
            for (key, pointer) in keys.iter().zip(bucket.pointers.as_ref()) {
                self.add(*key, *pointer);
            }
        }
    }
}

/// See the module.
pub(super) struct NumberHashIndex<K: NumberKey> {
    tables: Box<[Table<K>]>,
    buckets: usize,
}

/// The upper half of a hash chooses the table, the lower half the bucket.
#[inline]
fn table_of(hash: u64) -> usize {
    (hash >> 32) as usize % TABLES
}

impl<K: NumberKey> NumberHashIndex<K> {
    pub(super) fn new() -> Self {
        let empty = || Table {
            buckets: Box::default(),
            len: 0,
        };
        Self {
            tables: (0..TABLES).map(|_| empty()).collect(),
            buckets: 0,
        }
    }

    /// Has the home of a key come into the cache.
    #[inline]
    pub(super) fn prefetch(&self, key: Key<'_>) {
        let hash = K::probe(key).spread();
        let table = &self.tables[table_of(hash)];
        let home = table.home(hash);
        let bucket = table.buckets.get(home..=home).unwrap_or_default();
        prefetch(bucket, size_of_val(bucket));
    }

    #[inline]
    pub(super) fn first(&self, key: Key<'_>) -> Option<Pointer> {
        let key = K::probe(key);
        let hash = key.spread();
        let table = &self.tables[table_of(hash)];
        let place = table.find(key, hash)?;
        Some(table.buckets[place.bucket].pointers.as_ref()[place.at])
    }

    /// Adds an entry; false if there is one with its key.
    pub(super) fn insert(&mut self, key: RowKey<'_>, pointer: Pointer) -> bool {
        let key = K::probe(key.key);
        let hash = key.spread();
        let table = &mut self.tables[table_of(hash)];
        if table.find(key, hash).is_some() {
            return false;
        }
        if table.is_crowded() {
            self.buckets -= table.buckets.len();
            table.grow();
            self.buckets += table.buckets.len();
        }
        table.add(key, pointer);
        true
    }

    pub(super) fn remove(&mut self, key: RowKey<'_>) -> bool {
        let key = K::probe(key.key);
        let hash = key.spread();
        let table = &mut self.tables[table_of(hash)];
        let Some(place) = table.find(key, hash) else {
            return false;
        };
        table.remove(&place, hash);
        true
    }

    pub(super) fn pointer_mut(&mut self, key: RowKey<'_>) -> Option<&mut Pointer> {
        let key = K::probe(key.key);
        let hash = key.spread();
        let table = &mut self.tables[table_of(hash)];
        let place = table.find(key, hash)?;
        Some(&mut table.buckets[place.bucket].pointers.as_mut()[place.at])
    }

    #[cfg(test)]
    pub(super) fn each_entry(&self, mut visit: impl FnMut(&[u8], Pointer)) {
        for bucket in self.tables.iter().flat_map(|table| &table.buckets) {
            let keys = &bucket.keys.as_ref()[..usize::from(bucket.len)];
            for (key, pointer) in keys.iter().zip(bucket.pointers.as_ref()) {
                key.with_encoded(|key| visit(key, *pointer));
            }
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.buckets * size_of::<Bucket<K>>() + TABLES * size_of::<Table<K>>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::pointer::TupleId;

    /// One table against a map, from empty to crowded and back, again and again. Nothing is counted as
    /// having passed a bucket in the end.
    fn compare_with_map<K: NumberKey + std::hash::Hash + From<u64>>() {
        let mut random = StdRng::seed_from_u64(1);
        let mut table = Table::<K> {
            buckets: Box::default(),
            len: 0,
        };
        let mut map = HashMap::new();
        let mut passed_most = 0;
        for step in 0..60_000_u32 {
            let key = K::from(random.random_range(0..1_500));
            let found = table.find(key, key.spread());
            assert_eq!(found.is_some(), map.contains_key(&key));
            let comes = random.random_ratio(if step % 20_000 < 10_000 { 3 } else { 1 }, 4);
            if let Some(place) = found {
                let pointer = table.buckets[place.bucket].pointers.as_ref()[place.at];
                assert_eq!(pointer, map[&key]);
                if !comes {
                    table.remove(&place, key.spread());
                    map.remove(&key);
                }
            } else if comes {
                if table.is_crowded() {
                    table.grow();
                }
                table.add(key, TupleId(step).into());
                map.insert(key, TupleId(step).into());
            }
            passed_most =
                passed_most.max(table.buckets.iter().map(|b| b.passed).max().unwrap_or(0));
        }
        assert!(passed_most > 2, "buckets were full: {passed_most}");
        for key in map.keys() {
            let place = table.find(*key, key.spread()).expect("it is there");
            table.remove(&place, key.spread());
        }
        assert!(table.buckets.iter().all(|b| b.len == 0 && b.passed == 0));
    }

    #[test]
    fn a_table_does_what_a_map_does() {
        compare_with_map::<u64>();
        compare_with_map::<u128>();
    }
}
