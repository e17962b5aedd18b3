//! Leaves of a B+tree: keys and pointers in order, in one of two forms.
//!
//! * *plain*: keys as they are, beside one another.
//! * *packed*: the smallest key, and of each key how far it is from there, in 4 bytes, without the bits at the end that are
//!   the same in all (keys are filled up with zeros). A leaf that rising keys have left
//!   behind becomes packed, if its keys lie so close: nothing is likely to be inserted into it, and with what it
//!   leads to on disk it is all that is kept of its rows. With keys of 16 bytes it takes 9 bytes an entry instead of 20.
//!
//! A packed leaf takes whatever fits it, and becomes plain again for what does not.

use super::stored_key::StoredKey;
use super::tree_nodes::{FANOUT, SPLIT_AT_END, close, move_end, open};
use crate::pointer::Pointer;

/// A leaf, which knows its neighbours.
pub(super) struct Leaf<K> {
    pub(super) previous: u32,
    pub(super) next: u32,
    entries: Entries<K>,
}

enum Entries<K> {
    Plain(Box<Plain<K>>),
    Packed(Box<Packed<K>>),
}

/// Entries in order, those before `len`.
struct Plain<K> {
    len: u32,
    /// Where the newest entry is.
    newest: u32,
    keys: [K; FANOUT],
    pointers: [Pointer; FANOUT],
}

/// The same, with the keys' distances from the smallest one that there was, in steps of `1 << shift`.
struct Packed<K> {
    base: K,
    shift: u32,
    len: u32,
    distances: [u32; FANOUT],
    pointers: [Pointer; FANOUT],
}

impl<K: StoredKey> Leaf<K> {
    /// Without entries.
    pub(super) fn new(previous: u32, next: u32) -> Self {
        Self {
            previous,
            next,
            entries: Entries::Plain(Box::new(Plain::new())),
        }
    }

    /// Entries.
    #[inline]
    pub(super) fn len(&self) -> usize {
        match &self.entries {
            Entries::Plain(plain) => plain.len as usize,
            Entries::Packed(packed) => packed.len as usize,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len() == FANOUT
    }

    /// The number of entries with smaller keys.
    #[inline]
    pub(super) fn rank(&self, probe: K::Probe<'_>) -> usize {
        match &self.entries {
            Entries::Plain(plain) => {
                let is_smaller = |key: &K| key.compare(probe).is_lt();
                plain.keys().partition_point(is_smaller)
            }
            Entries::Packed(packed) => packed.rank(probe),
        }
    }

    /// Whether the entry at a place, if there is one, has this key.
    #[inline]
    pub(super) fn has_at(&self, at: usize, probe: K::Probe<'_>) -> bool {
        at < self.len() && self.with_key(at, |key| key.compare(probe).is_eq())
    }

    /// The place of the entry with this key.
    #[inline]
    pub(super) fn find(&self, probe: K::Probe<'_>) -> Option<usize> {
        let at = self.rank(probe);
        self.has_at(at, probe).then_some(at)
    }

    /// The number of entries that are not behind the end of a range.
    pub(super) fn rank_of_end(&self, end: K::Probe<'_>) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = (from + to) / 2;
            if self.with_key(middle, |key| key.is_behind(end)) {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
        from
    }

    /// Shows the key at a place.
    #[inline]
    pub(super) fn with_key<R>(&self, at: usize, show: impl FnOnce(&K) -> R) -> R {
        match &self.entries {
            Entries::Plain(plain) => show(&plain.keys()[at]),
            Entries::Packed(packed) => show(&packed.key(at)),
        }
    }

    #[inline]
    pub(super) fn pointer(&self, at: usize) -> Pointer {
        match &self.entries {
            Entries::Plain(plain) => plain.pointers[at],
            Entries::Packed(packed) => packed.pointers[at],
        }
    }

    #[inline]
    pub(super) fn pointer_mut(&mut self, at: usize) -> &mut Pointer {
        match &mut self.entries {
            Entries::Plain(plain) => &mut plain.pointers[at],
            Entries::Packed(packed) => &mut packed.pointers[at],
        }
    }

    /// Adds an entry at its place in a leaf that is not full.
    pub(super) fn insert(&mut self, at: usize, key: K, pointer: Pointer) {
        if let Entries::Packed(packed) = &mut self.entries
            && let Some((distance, false)) = key.distance_from(&packed.base, packed.shift)
        {
            return packed.insert(at, distance, pointer);
        }
        self.unpack().insert(at, key, pointer);
    }

    /// Takes the entry at a place out.
    pub(super) fn remove(&mut self, at: usize) {
        match &mut self.entries {
            Entries::Plain(plain) => plain.remove(at),
            Entries::Packed(packed) => packed.remove(at),
        }
    }

    /// Splits a full leaf that is to get an entry at this place: the new right leaf, and the place in the old one where it
    /// begins. That is the middle; or, so that rising keys leave nearly full leaves behind, the end of all or the first
    /// key that they do not reach, and then the leaf becomes packed if it can.
    pub(super) fn split(&mut self, number: u32, at: usize) -> (Self, usize) {
        let mut right = Self::new(number, self.next);
        let plain = self.unpack();
        let place = match at {
            FANOUT => SPLIT_AT_END,
            at if at == plain.newest as usize + 1 => at,
            _ => FANOUT / 2,
        };
        plain.split_off(place, right.unpack());
        (right, place)
    }

    /// Becomes packed, if its keys lie so close.
    pub(super) fn pack(&mut self) {
        let Entries::Plain(plain) = &self.entries else {
            return;
        };
        if let Some(packed) = Packed::of(plain) {
            self.entries = Entries::Packed(Box::new(packed));
        }
    }

    /// Becomes plain.
    fn unpack(&mut self) -> &mut Plain<K> {
        if let Entries::Packed(packed) = &self.entries {
            self.entries = Entries::Plain(Box::new(packed.to_plain()));
        }
        match &mut self.entries {
            Entries::Plain(plain) => plain,
            Entries::Packed(_) => unreachable!("it has just become plain"),
        }
    }

    /// Bytes beside itself.
    pub(super) fn heap_bytes(&self) -> usize {
        match &self.entries {
            Entries::Plain(_) => size_of::<Plain<K>>(),
            Entries::Packed(_) => size_of::<Packed<K>>(),
        }
    }
}

impl<K: StoredKey> Plain<K> {
    fn new() -> Self {
        Self {
            len: 0,
            newest: 0,
            keys: std::array::from_fn(|_| K::default()),
            pointers: [Pointer::default(); FANOUT],
        }
    }

    #[inline]
    fn keys(&self) -> &[K] {
        &self.keys[..self.len as usize]
    }

    fn insert(&mut self, at: usize, key: K, pointer: Pointer) {
        self.len += 1;
        let len = self.len as usize;
        open(&mut self.keys[..len], at);
        open(&mut self.pointers[..len], at);
        (self.keys[at], self.pointers[at]) = (key, pointer);
        self.newest = at as u32;
    }

    fn remove(&mut self, at: usize) {
        let len = self.len as usize;
        close(&mut self.keys[..len], at);
        close(&mut self.pointers[..len], at);
        self.len -= 1;
        self.keys[self.len as usize] = K::default();
    }

    /// Moves the entries from a place on to an empty leaf.
    fn split_off(&mut self, at: usize, right: &mut Self) {
        move_end(&mut self.keys, at, &mut right.keys);
        move_end(&mut self.pointers, at, &mut right.pointers);
        right.len = self.len - at as u32;
        self.len = at as u32;
    }
}

impl<K: StoredKey> Packed<K> {
    /// The same entries, if their keys lie close enough.
    fn of(plain: &Plain<K>) -> Option<Self> {
        let base = plain.keys().first()?.again();
        let equal_bits = plain.keys()[1..].iter().map(|key| key.equal_bits(&base));
        let shift = equal_bits.min().unwrap_or(0);
        let mut distances = [0; FANOUT];
        for (key, distance) in plain.keys().iter().zip(&mut distances) {
            *distance = key.distance_from(&base, shift)?.0;
        }
        Some(Self {
            base,
            shift,
            len: plain.len,
            distances,
            pointers: plain.pointers,
        })
    }

    fn to_plain(&self) -> Plain<K> {
        let mut plain = Plain::new();
        for (at, key) in plain.keys[..self.len as usize].iter_mut().enumerate() {
            *key = self.key(at);
        }
        plain.pointers = self.pointers;
        plain.len = self.len;
        plain.newest = self.len.saturating_sub(1);
        plain
    }

    #[inline]
    fn distances(&self) -> &[u32] {
        &self.distances[..self.len as usize]
    }

    #[inline]
    fn key(&self, at: usize) -> K {
        self.base.at_distance(self.distances()[at], self.shift)
    }

    #[inline]
    fn rank(&self, probe: K::Probe<'_>) -> usize {
        let sought = K::store(probe);
        match sought.distance_from(&self.base, self.shift) {
            Some((distance, false)) => self.distances().partition_point(|d| *d < distance),
            Some((distance, true)) => self.distances().partition_point(|d| *d <= distance),
            None if self.base.compare(probe).is_gt() => 0,
            None => self.len as usize,
        }
    }

    fn insert(&mut self, at: usize, distance: u32, pointer: Pointer) {
        self.len += 1;
        let len = self.len as usize;
        open(&mut self.distances[..len], at);
        open(&mut self.pointers[..len], at);
        (self.distances[at], self.pointers[at]) = (distance, pointer);
    }

    fn remove(&mut self, at: usize) {
        let len = self.len as usize;
        close(&mut self.distances[..len], at);
        close(&mut self.pointers[..len], at);
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::pointer::TupleId;

    fn is_packed<K>(leaf: &Leaf<K>) -> bool {
        matches!(leaf.entries, Entries::Packed(_))
    }

    fn check<K>(leaf: &Leaf<K>, model: &[(K, Pointer)], probe: K)
    where
        K: for<'a> StoredKey<Probe<'a> = K> + Copy + Ord + std::fmt::Debug,
    {
        assert_eq!(leaf.len(), model.len());
        for (at, (key, pointer)) in model.iter().enumerate() {
            assert_eq!(
                (leaf.with_key(at, |key| *key), leaf.pointer(at)),
                (*key, *pointer)
            );
        }
        assert_eq!(
            leaf.rank(probe),
            model.partition_point(|(key, _)| *key < probe)
        );
        assert_eq!(
            leaf.rank_of_end(probe),
            model.partition_point(|(key, _)| *key <= probe)
        );
        let at = model.iter().position(|(key, _)| *key == probe);
        assert_eq!(leaf.find(probe), at);
    }

    /// Entries come and go in a leaf that was packed, some of them too far away for it: it has what a list has.
    fn compare_with_list<K>(base: K, number: impl Fn(u64) -> K)
    where
        K: for<'a> StoredKey<Probe<'a> = K> + Copy + Ord + std::fmt::Debug,
    {
        let mut random = StdRng::seed_from_u64(1);
        let (mut stayed, mut unpacked) = (0, 0);
        for _ in 0..300 {
            let mut leaf = Leaf::<K>::new(0, 0);
            let mut model = Vec::new();
            for at in 0..random.random_range(1..FANOUT) {
                let (key, pointer) = (number(at as u64 * 1_000), TupleId(at as u32).into());
                leaf.insert(at, key, pointer);
                model.push((key, pointer));
            }
            leaf.pack();
            assert!(is_packed(&leaf) && model[0].0 == base);
            for step in 0..100 {
                let far = if random.random_ratio(1, 200) {
                    1 << 40
                } else {
                    0
                };
                let key = number(random.random_range(0..70_u64) * 1_000 + far);
                check(&leaf, &model, key);
                check(&leaf, &model, number(random.random_range(0..70_000_u64)));
                let at = leaf.rank(key);
                match leaf.find(key) {
                    Some(at) => {
                        leaf.remove(at);
                        model.remove(at);
                    }
                    None if model.len() < FANOUT && random.random() => {
                        leaf.insert(at, key, TupleId(step).into());
                        model.insert(at, (key, TupleId(step).into()));
                    }
                    None if !model.is_empty() => {
                        let at = random.random_range(0..model.len());
                        *leaf.pointer_mut(at) = TupleId(step).into();
                        model[at].1 = TupleId(step).into();
                    }
                    None => {}
                }
            }
            stayed += u32::from(is_packed(&leaf));
            unpacked += u32::from(!is_packed(&leaf));
        }
        assert!(stayed > 20 && unpacked > 20, "{stayed}, {unpacked}");
    }

    #[test]
    fn packed_leaves_have_what_a_list_has() {
        compare_with_list(7_u64, |offset| 7 + offset);
        compare_with_list(7_u64, |offset| 7 + (offset << 20));
        compare_with_list(7_u128 << 100, |offset| {
            (7 << 100) + (u128::from(offset) << 48)
        });
    }

    /// A packed leaf that is full is split like a plain one.
    #[test]
    fn a_packed_leaf_is_split() {
        let mut leaf = Leaf::<u64>::new(0, 9);
        for at in 0..FANOUT {
            leaf.insert(at, at as u64, TupleId(at as u32).into());
        }
        leaf.pack();
        assert!(is_packed(&leaf));
        let (right, place) = leaf.split(4, FANOUT / 3);
        assert_eq!(
            (place, leaf.len(), right.len()),
            (FANOUT / 2, FANOUT / 2, FANOUT / 2)
        );
        assert_eq!((right.previous, right.next), (4, 9));
        assert_eq!(right.with_key(0, |key| *key), FANOUT as u64 / 2);
    }

    /// Keys that lie too far apart, and texts, stay as they are.
    #[test]
    fn what_cannot_be_packed_stays() {
        let mut leaf = Leaf::<u64>::new(0, 0);
        leaf.insert(0, 1, TupleId(0).into());
        leaf.insert(1, 1 << 33, TupleId(1).into());
        leaf.pack();
        assert!(!is_packed(&leaf));
        let mut texts = Leaf::<Box<[u8]>>::new(0, 0);
        texts.insert(0, Box::from(*b"a"), TupleId(0).into());
        texts.pack();
        assert!(!is_packed(&texts));
    }
}
