//! Nodes of a B+tree: their entries are in the nodes themselves, keys beside keys, so that a search in a
//! node stays in a few lines of the cache.

use super::stored_key::StoredKey;
use crate::pointer::Pointer;

/// Entries of a leaf, and children of an inner node, at most.
pub(super) const FANOUT: usize = 64;

/// Where a full node is split whose newest entry came last.
const SPLIT_AT_END: usize = FANOUT * 7 / 8;

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// Entries in order, those before `len`.
pub(super) struct Leaf<K> {
    pub(super) previous: u32,
    pub(super) next: u32,
    len: u32,
    /// Where the newest entry is.
    newest: u32,
    keys: [K; FANOUT],
    pointers: [Pointer; FANOUT],
}

/// Children in order, those before `len`, and the smallest key that each but the first may have.
pub(super) struct Inner<K> {
    len: u32,
    bounds: [K; FANOUT],
    children: [u32; FANOUT],
}

/// Makes room at a place before the end.
fn open<T>(items: &mut [T], at: usize) {
    items[at..].rotate_right(1);
}

/// Closes a place; what was there is at the end.
fn close<T>(items: &mut [T], at: usize) {
    items[at..].rotate_left(1);
}

/// Moves the items from a place on to the beginning of others.
fn move_end<T: Default>(from: &mut [T], at: usize, to: &mut [T]) {
    for (item, place) in from[at..].iter_mut().zip(to) {
        *place = std::mem::take(item);
    }
}

impl<K: StoredKey> Leaf<K> {
    pub(super) fn new(previous: u32, next: u32) -> Self {
        Self {
            previous,
            next,
            len: 0,
            newest: 0,
            keys: std::array::from_fn(|_| K::default()),
            pointers: [Pointer::default(); FANOUT],
        }
    }

    #[inline]
    pub(super) fn keys(&self) -> &[K] {
        &self.keys[..self.len as usize]
    }

    #[inline]
    pub(super) fn pointers(&self) -> &[Pointer] {
        &self.pointers[..self.len as usize]
    }

    #[inline]
    pub(super) fn pointer_mut(&mut self, at: usize) -> &mut Pointer {
        &mut self.pointers[at]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.len as usize == FANOUT
    }

    /// The number of entries with smaller keys.
    #[inline]
    pub(super) fn rank(&self, probe: K::Probe<'_>) -> usize {
        self.keys()
            .partition_point(|key| key.compare(probe).is_lt())
    }

    /// Whether the entry at a place, if there is one, has this key.
    #[inline]
    pub(super) fn has_at(&self, at: usize, probe: K::Probe<'_>) -> bool {
        let key = self.keys().get(at);
        key.is_some_and(|key| key.compare(probe).is_eq())
    }

    /// The place of the entry with this key.
    #[inline]
    pub(super) fn find(&self, probe: K::Probe<'_>) -> Option<usize> {
        let at = self.rank(probe);
        self.has_at(at, probe).then_some(at)
    }

    pub(super) fn insert(&mut self, at: usize, key: K, pointer: Pointer) {
        self.len += 1;
        let len = self.len as usize;
        open(&mut self.keys[..len], at);
        open(&mut self.pointers[..len], at);
        (self.keys[at], self.pointers[at]) = (key, pointer);
        self.newest = at as u32;
    }

    pub(super) fn remove(&mut self, at: usize) {
        let len = self.len as usize;
        close(&mut self.keys[..len], at);
        close(&mut self.pointers[..len], at);
        self.len -= 1;
        self.keys[self.len as usize] = K::default();
    }

    /// Where a full leaf is split that is to get an entry at this place: in the middle; or so that rising
    /// keys leave nearly full leaves behind, at the end of all or before the first key that they do not
    /// reach.
    pub(super) fn split_place(&self, at: usize) -> usize {
        match at {
            FANOUT => SPLIT_AT_END,
            at if at == self.newest as usize + 1 => at,
            _ => FANOUT / 2,
        }
    }

    /// Moves the entries from a place on to an empty leaf.
    pub(super) fn split_off(&mut self, at: usize, right: &mut Self) {
        move_end(&mut self.keys, at, &mut right.keys);
        move_end(&mut self.pointers, at, &mut right.pointers);
        right.len = self.len - at as u32;
        self.len = at as u32;
    }
}

impl<K: StoredKey> Inner<K> {
    /// A node with one child.
    pub(super) fn new(child: u32) -> Self {
        let mut children = [NONE; FANOUT];
        children[0] = child;
        Self {
            len: 1,
            bounds: std::array::from_fn(|_| K::default()),
            children,
        }
    }

    fn bounds(&self) -> &[K] {
        &self.bounds[1..self.len as usize]
    }

    #[inline]
    pub(super) fn child(&self, at: usize) -> u32 {
        self.children[at]
    }

    /// The only child, if there is one only.
    pub(super) fn only_child(&self) -> Option<u32> {
        (self.len == 1).then_some(self.children[0])
    }

    /// The child in which a key is, or belongs.
    #[inline]
    pub(super) fn child_of(&self, probe: K::Probe<'_>) -> usize {
        self.bounds()
            .partition_point(|bound| bound.compare(probe).is_le())
    }

    /// The last child that may have keys up to the end of a range.
    pub(super) fn last_child(&self, end: K::Probe<'_>) -> usize {
        self.bounds().partition_point(|bound| !bound.is_behind(end))
    }

    /// The smallest key that is behind all of a child, if this node knows one.
    #[inline]
    pub(super) fn bound_behind(&self, at: usize) -> Option<&K> {
        self.bounds().get(at)
    }

    /// Adds a child behind the one at a place.
    pub(super) fn insert(&mut self, at: usize, bound: K, child: u32) {
        self.len += 1;
        let len = self.len as usize;
        open(&mut self.bounds[..len], at + 1);
        open(&mut self.children[..len], at + 1);
        (self.bounds[at + 1], self.children[at + 1]) = (bound, child);
    }

    /// Takes a child out: the bound that goes with it, unless it was the last child.
    pub(super) fn remove(&mut self, at: usize) -> Option<K> {
        let len = self.len as usize;
        close(&mut self.children[..len], at);
        close(&mut self.bounds[..len], at);
        self.len -= 1;
        let of_child = std::mem::take(&mut self.bounds[self.len as usize]);
        match (at, self.len) {
            (_, 0) => None,
            // The next child has become the first, which has no bound.
            (0, _) => Some(std::mem::take(&mut self.bounds[0])),
            _ => Some(of_child),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.len as usize == FANOUT
    }

    /// Moves children to a new node, the last few if the newest came last and otherwise half of them: the
    /// smallest key that the new node may have.
    pub(super) fn split_off(&mut self, newest_is_last: bool) -> (K, Self) {
        let at = match newest_is_last {
            true => SPLIT_AT_END,
            false => FANOUT / 2,
        };
        let mut right = Self::new(NONE);
        move_end(&mut self.bounds, at, &mut right.bounds);
        right.children[..FANOUT - at].copy_from_slice(&self.children[at..]);
        right.len = self.len - at as u32;
        self.len = at as u32;
        (std::mem::take(&mut right.bounds[0]), right)
    }
}
