//! Inner nodes of a B+tree: their entries are in the nodes themselves, keys beside keys, so that a search in a
//! node stays in a few lines of the cache. Leaves ([`super::leaf`]) have theirs beside themselves.

use super::stored_key::StoredKey;

/// Entries of a leaf, and children of an inner node, at most.
pub(super) const FANOUT: usize = 64;

/// Where a full node is split whose newest entry came last.
pub(super) const SPLIT_AT_END: usize = FANOUT * 7 / 8;

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// Children in order, those before `len`, and the smallest key that each but the first may have.
pub(super) struct Inner<K> {
    len: u32,
    bounds: [K; FANOUT],
    children: [u32; FANOUT],
}

/// Makes room at a place before the end.
pub(super) fn open<T>(items: &mut [T], at: usize) {
    items[at..].rotate_right(1);
}

/// Closes a place; what was there is at the end.
pub(super) fn close<T>(items: &mut [T], at: usize) {
    items[at..].rotate_left(1);
}

/// Moves the items from a place on to the beginning of others.
pub(super) fn move_end<T: Default>(from: &mut [T], at: usize, to: &mut [T]) {
    for (item, place) in from[at..].iter_mut().zip(to) {
        *place = std::mem::take(item);
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
