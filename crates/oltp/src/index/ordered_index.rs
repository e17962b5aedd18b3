//! An ordered index: a B+tree of distinct keys with pointers.
//!
//! 1. Leaves hold the entries in order and know their neighbours; inner nodes hold, for each child
//!    but the first, the smallest key that it may have. All leaves are equally deep.
//! 2. A node that is full is split in the middle, or where its entries have come one behind the other:
//!    keys that rise leave nearly full nodes behind. Such a leaf is packed ([`super::leaf`]) if it can be.
//! 3. A node that has become empty is taken out and waits for its like. Nodes are never merged: what a table has lost it
//!    tends to gain again, and rows that go to disk stay in their indexes.
//! 4. The leaf that the newest entry is in is known, with its end: an order's lines come one behind the
//!    other, and all but the first go there without a descent. So is the leaf that was re-pointed last: they go to disk and
//!    come back one behind the other, too.

use super::Direction;
use super::key::{Key, RowKey};
use super::leaf::Leaf;
use super::stored_key::StoredKey;
use super::tree_nodes::{FANOUT, Inner, NONE};
use crate::pointer::Pointer;

/// See the module. Nodes are numbered; the entries of each are an allocation of its own, so that none moves.
pub(super) struct OrderedIndex<K> {
    leaves: Vec<Leaf<K>>,
    inner: Vec<Box<Inner<K>>>,
    free_leaves: Vec<u32>,
    free_inner: Vec<u32>,
    root: u32,
    /// Inner nodes above each leaf.
    height: usize,
    newest: Option<Reached<K>>,
    repointed: Option<Reached<K>>,
    /// Of leaves' entries, and of keys.
    heap_bytes: usize,
}

/// A leaf that a descent has come to.
struct Reached<K> {
    leaf: u32,
    /// The smallest key that is behind it.
    end: Option<K>,
}

/// A node that came from a split, and its smallest key.
type Split<K> = Option<(K, u32)>;

impl<K: StoredKey> OrderedIndex<K> {
    pub(super) fn new() -> Self {
        let leaf = Leaf::new(NONE, NONE);
        Self {
            heap_bytes: leaf.heap_bytes(),
            leaves: vec![leaf],
            inner: Vec::new(),
            free_leaves: Vec::new(),
            free_inner: Vec::new(),
            root: 0,
            height: 0,
            newest: None,
            repointed: None,
        }
    }

    #[inline]
    fn leaf(&self, number: u32) -> &Leaf<K> {
        &self.leaves[number as usize]
    }

    #[inline]
    fn leaf_mut(&mut self, number: u32) -> &mut Leaf<K> {
        &mut self.leaves[number as usize]
    }

    #[inline]
    fn inner(&self, number: u32) -> &Inner<K> {
        &self.inner[number as usize]
    }

    fn add_leaf(&mut self, leaf: Leaf<K>) -> u32 {
        self.heap_bytes += leaf.heap_bytes();
        if let Some(number) = self.free_leaves.pop() {
            self.heap_bytes -= self.leaf(number).heap_bytes();
            *self.leaf_mut(number) = leaf;
            return number;
        }
        self.leaves.push(leaf);
        (self.leaves.len() - 1) as u32
    }

    /// Changes a leaf, whose form may change by that.
    fn change_leaf<R>(&mut self, number: u32, change: impl FnOnce(&mut Leaf<K>) -> R) -> R {
        let leaf = &mut self.leaves[number as usize];
        let before = leaf.heap_bytes();
        let result = change(leaf);
        self.heap_bytes = self.heap_bytes + leaf.heap_bytes() - before;
        result
    }

    fn add_inner(&mut self, inner: Inner<K>) -> u32 {
        if let Some(number) = self.free_inner.pop() {
            *self.inner[number as usize] = inner;
            return number;
        }
        self.inner.push(Box::new(inner));
        (self.inner.len() - 1) as u32
    }

    #[inline]
    fn leaf_of(&self, probe: K::Probe<'_>) -> u32 {
        let mut number = self.root;
        for _ in 0..self.height {
            let inner = self.inner(number);
            number = inner.child(inner.child_of(probe));
        }
        number
    }

    pub(super) fn first(&self, key: Key<'_>) -> Option<Pointer> {
        let probe = K::probe(key);
        let leaf = self.leaf(self.leaf_of(probe));
        leaf.find(probe).map(|at| leaf.pointer(at))
    }

    pub(super) fn pointer_mut(&mut self, key: RowKey<'_>) -> Option<&mut Pointer> {
        let probe = K::probe(key.key);
        let number = match self.reached_by(self.repointed.as_ref(), probe) {
            Some(number) => number,
            None if K::IS_NUMBER => self.repointed.insert(self.descend_to(probe)).leaf,
            None => self.leaf_of(probe),
        };
        let leaf = self.leaf_mut(number);
        leaf.find(probe).map(|at| leaf.pointer_mut(at))
    }

    /// Adds an entry; false if there is one with its key.
    pub(super) fn insert(&mut self, key: RowKey<'_>, pointer: Pointer) -> bool {
        let probe = K::probe(key.key);
        let number = self.leaf_to_insert(probe);
        let leaf = self.leaf(number);
        let at = leaf.rank(probe);
        if leaf.has_at(at, probe) {
            return false;
        }
        if leaf.is_full() {
            self.insert_and_split(probe, pointer);
        } else {
            self.change_leaf(number, |leaf| leaf.insert(at, K::store(probe), pointer));
        }
        self.heap_bytes += K::heap_bytes(probe);
        true
    }

    /// The leaf in which a key belongs: that of the newest entry, or what a descent comes to.
    #[inline]
    fn leaf_to_insert(&mut self, probe: K::Probe<'_>) -> u32 {
        if !K::IS_NUMBER {
            return self.leaf_of(probe);
        }
        match self.reached_by(self.newest.as_ref(), probe) {
            Some(number) => number,
            None => self.newest.insert(self.descend_to(probe)).leaf,
        }
    }

    /// A leaf that is known, if a key is in it or belongs in it.
    #[inline]
    fn reached_by(&self, known: Option<&Reached<K>>, probe: K::Probe<'_>) -> Option<u32> {
        let known = known?;
        let end = known.end.as_ref();
        let leaf = self.leaf(known.leaf);
        let is_in = end.is_none_or(|end| end.compare(probe).is_gt())
            && !leaf.is_empty()
            && leaf.with_key(0, |first| first.compare(probe).is_le());
        is_in.then_some(known.leaf)
    }

    /// The leaf in which a key belongs, with its end.
    fn descend_to(&self, probe: K::Probe<'_>) -> Reached<K> {
        let (mut leaf, mut end) = (self.root, None);
        for _ in 0..self.height {
            let inner = self.inner(leaf);
            let at = inner.child_of(probe);
            end = inner.bound_behind(at).map(K::again).or(end);
            leaf = inner.child(at);
        }
        Reached { leaf, end }
    }

    /// Leaves have been split or taken out.
    fn forget_reached(&mut self) {
        (self.newest, self.repointed) = (None, None);
    }

    /// Adds an entry whose leaf is full.
    fn insert_and_split(&mut self, probe: K::Probe<'_>, pointer: Pointer) {
        self.forget_reached();
        if let Some((bound, right)) = self.insert_below(self.root, self.height, probe, pointer) {
            let mut root = Inner::new(self.root);
            root.insert(0, bound, right);
            self.root = self.add_inner(root);
            self.height += 1;
        }
    }

    fn insert_below(
        &mut self,
        number: u32,
        height: usize,
        probe: K::Probe<'_>,
        pointer: Pointer,
    ) -> Split<K> {
        if height == 0 {
            return Some(self.split_leaf(number, probe, pointer));
        }
        let at = self.inner(number).child_of(probe);
        let child = self.inner(number).child(at);
        let (bound, right) = self.insert_below(child, height - 1, probe, pointer)?;
        let inner = &mut self.inner[number as usize];
        let is_last = inner.bound_behind(at).is_none();
        inner.insert(at, bound, right);
        if !inner.is_full() {
            return None;
        }
        let (bound, right) = inner.split_off(is_last);
        Some((bound, self.add_inner(right)))
    }

    /// Splits a full leaf and adds an entry to one of the halves.
    fn split_leaf(&mut self, number: u32, probe: K::Probe<'_>, pointer: Pointer) -> (K, u32) {
        let at = self.leaf(number).rank(probe);
        let (mut right, place) = self.change_leaf(number, |leaf| leaf.split(number, at));
        if at <= place {
            self.change_leaf(number, |leaf| leaf.insert(at, K::store(probe), pointer));
        } else {
            right.insert(at - place, K::store(probe), pointer);
            if place > FANOUT / 2 {
                self.change_leaf(number, Leaf::pack);
            }
        }
        let (bound, after) = (right.with_key(0, K::again), right.next);
        self.heap_bytes += K::heap_bytes(bound.as_probe());
        let right = self.add_leaf(right);
        self.link(number, right);
        self.link(right, after);
        (bound, right)
    }

    /// Makes two leaves neighbours.
    fn link(&mut self, left: u32, right: u32) {
        if left != NONE {
            self.leaf_mut(left).next = right;
        }
        if right != NONE {
            self.leaf_mut(right).previous = left;
        }
    }

    pub(super) fn remove(&mut self, key: RowKey<'_>) -> bool {
        let probe = K::probe(key.key);
        let number = self.leaf_of(probe);
        let leaf = self.leaf_mut(number);
        let Some(at) = leaf.find(probe) else {
            return false;
        };
        leaf.remove(at);
        let is_empty = leaf.is_empty();
        self.heap_bytes -= K::heap_bytes(probe);
        if is_empty && self.height > 0 {
            self.forget_reached();
            self.remove_empty(self.root, self.height, probe);
            self.lower_root();
        }
        true
    }

    /// Takes out the empty leaf in which a key was, and the nodes that become empty by it: whether this
    /// one is. The root does not: with children it has two at least.
    fn remove_empty(&mut self, number: u32, height: usize, probe: K::Probe<'_>) -> bool {
        if height == 0 {
            let (previous, next) = (self.leaf(number).previous, self.leaf(number).next);
            self.link(previous, next);
            self.free_leaves.push(number);
            return true;
        }
        let at = self.inner(number).child_of(probe);
        let child = self.inner(number).child(at);
        if !self.remove_empty(child, height - 1, probe) {
            return false;
        }
        let inner = &mut self.inner[number as usize];
        if let Some(bound) = inner.remove(at) {
            self.heap_bytes -= K::heap_bytes(bound.as_probe());
        }
        let is_empty = inner.is_empty();
        if is_empty {
            self.free_inner.push(number);
        }
        is_empty
    }

    /// A root with one child gives way to it.
    fn lower_root(&mut self) {
        while self.height > 0
            && let Some(only) = self.inner(self.root).only_child()
        {
            self.free_inner.push(self.root);
            self.root = only;
            self.height -= 1;
        }
    }

    pub(super) fn scan(
        &self,
        from: Key<'_>,
        to: Key<'_>,
        direction: Direction,
        mut visit: impl FnMut(&[u8], Pointer) -> bool,
    ) {
        let (first, last) = (K::probe(from), K::last(to));
        let mut show = |key: &K, pointer| key.with_encoded(|key| visit(key, pointer));
        match direction {
            Direction::Ascending => self.ascend(first, |key, pointer| {
                !key.is_behind(last) && show(key, pointer)
            }),
            Direction::Descending => self.descend(last, |key, pointer| {
                key.compare(first).is_ge() && show(key, pointer)
            }),
        }
    }

    /// Entries from the first whose key is not smaller.
    fn ascend(&self, from: K::Probe<'_>, mut visit: impl FnMut(&K, Pointer) -> bool) {
        let mut leaf = self.leaf(self.leaf_of(from));
        let mut start = leaf.rank(from);
        loop {
            let mut places = start..leaf.len();
            let goes_on = places.all(|at| leaf.with_key(at, |key| visit(key, leaf.pointer(at))));
            if !goes_on || leaf.next == NONE {
                return;
            }
            (leaf, start) = (self.leaf(leaf.next), 0);
        }
    }

    /// Entries from the last one that is not behind the end of a range, backwards.
    fn descend(&self, to: K::Probe<'_>, mut visit: impl FnMut(&K, Pointer) -> bool) {
        let mut number = self.root;
        for _ in 0..self.height {
            let inner = self.inner(number);
            number = inner.child(inner.last_child(to));
        }
        let mut leaf = self.leaf(number);
        let mut end = leaf.rank_of_end(to);
        loop {
            let mut places = (0..end).rev();
            let goes_on = places.all(|at| leaf.with_key(at, |key| visit(key, leaf.pointer(at))));
            if !goes_on || leaf.previous == NONE {
                return;
            }
            leaf = self.leaf(leaf.previous);
            end = leaf.len();
        }
    }

    #[cfg(test)]
    pub(super) fn each_entry(&self, mut visit: impl FnMut(&[u8], Pointer)) {
        for leaf in &self.leaves {
            for at in 0..leaf.len() {
                let pointer = leaf.pointer(at);
                leaf.with_key(at, |key| key.with_encoded(|key| visit(key, pointer)));
            }
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        // Nodes that are free wait for their like.
        self.leaves.capacity() * size_of::<Leaf<K>>()
            + self.inner.len() * size_of::<Inner<K>>()
            + self.inner.capacity() * size_of::<Box<Inner<K>>>()
            + (self.free_leaves.capacity() + self.free_inner.capacity()) * size_of::<u32>()
            + self.heap_bytes
    }
}

const _: () = assert!(FANOUT >= 4, "a node that is split leaves two with children");
