//! An ordered index: a B+tree of distinct keys with pointers.
//!
//! 1. Leaves hold the entries in order and know their neighbours; inner nodes hold, for each child
//!    but the first, the smallest key that it may have.
//! 2. A node that is full is split in the middle, or near its end when the entry came last: keys that
//!    only rise leave full nodes behind.
//! 3. A node that has become empty is taken out. Nodes are never merged: what a table has lost it
//!    tends to gain again, and rows that go to disk stay in their indexes.

use super::Direction;
use super::key::{Key, RowKey};
use super::stored_key::StoredKey;
use crate::pointer::Pointer;

/// Entries of a leaf, and children of an inner node, at most.
const FANOUT: usize = 64;

/// Where a full node is split whose newest entry came last.
const SPLIT_AT_END: usize = FANOUT * 7 / 8;

/// No node.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
struct NodeNumber(u32);

struct Entry<K> {
    key: K,
    pointer: Pointer,
}

enum Node<K> {
    Leaf {
        entries: Vec<Entry<K>>,
        previous: u32,
        next: u32,
    },
    Inner {
        /// The smallest key that may be in child `i + 1`.
        bounds: Vec<K>,
        children: Vec<NodeNumber>,
    },
    /// Its number is free.
    Gone,
}

/// See the module.
pub(super) struct OrderedIndex<K> {
    nodes: Vec<Node<K>>,
    free: Vec<NodeNumber>,
    root: NodeNumber,
    heap_bytes: usize,
}

/// A node that came from a split, and its smallest key.
type Split<K> = Option<(K, NodeNumber)>;

/// There is an entry with this key.
struct KeyTaken;

/// The number of entries with smaller keys.
fn rank<K: StoredKey>(entries: &[Entry<K>], probe: K::Probe<'_>) -> usize {
    entries.partition_point(|entry| entry.key.compare(probe).is_lt())
}

/// The place of the entry with this key.
fn find<K: StoredKey>(entries: &[Entry<K>], probe: K::Probe<'_>) -> Option<usize> {
    let at = rank(entries, probe);
    let is_it = entries.get(at)?.key.compare(probe).is_eq();
    is_it.then_some(at)
}

/// The child in which a key is, or belongs.
fn child_of<K: StoredKey>(bounds: &[K], probe: K::Probe<'_>) -> usize {
    bounds.partition_point(|bound| bound.compare(probe).is_le())
}

impl<K: StoredKey> OrderedIndex<K> {
    pub(super) fn new() -> Self {
        let root = Node::Leaf {
            entries: Vec::with_capacity(FANOUT),
            previous: NONE,
            next: NONE,
        };
        Self {
            nodes: vec![root],
            free: Vec::new(),
            root: NodeNumber(0),
            heap_bytes: 0,
        }
    }

    fn node(&self, number: NodeNumber) -> &Node<K> {
        &self.nodes[number.0 as usize]
    }

    fn node_mut(&mut self, number: NodeNumber) -> &mut Node<K> {
        &mut self.nodes[number.0 as usize]
    }

    fn add_node(&mut self, node: Node<K>) -> NodeNumber {
        if let Some(number) = self.free.pop() {
            *self.node_mut(number) = node;
            return number;
        }
        self.nodes.push(node);
        NodeNumber((self.nodes.len() - 1) as u32)
    }

    fn leaf_of(&self, probe: K::Probe<'_>) -> NodeNumber {
        let mut number = self.root;
        while let Node::Inner { bounds, children } = self.node(number) {
            number = children[child_of(bounds, probe)];
        }
        number
    }

    /// The entries of a leaf, and the leaves before and after it.
    fn leaf(&self, number: NodeNumber) -> (&[Entry<K>], u32, u32) {
        match self.node(number) {
            Node::Leaf {
                entries,
                previous,
                next,
            } => (entries, *previous, *next),
            _ => unreachable!("leaves lead to leaves"),
        }
    }

    pub(super) fn first(&self, key: Key<'_>) -> Option<Pointer> {
        let probe = K::probe(key);
        let (entries, ..) = self.leaf(self.leaf_of(probe));
        find(entries, probe).map(|at| entries[at].pointer)
    }

    pub(super) fn pointer_mut(&mut self, key: RowKey<'_>) -> Option<&mut Pointer> {
        let probe = K::probe(key.key);
        let leaf = self.leaf_of(probe);
        let Node::Leaf { entries, .. } = self.node_mut(leaf) else {
            unreachable!("a descent ends at a leaf");
        };
        find(entries, probe).map(|at| &mut entries[at].pointer)
    }

    /// Adds an entry; false if there is one with its key.
    pub(super) fn insert(&mut self, key: RowKey<'_>, pointer: Pointer) -> bool {
        let probe = K::probe(key.key);
        let Ok(split) = self.insert_below(self.root, probe, pointer) else {
            return false;
        };
        if let Some((bound, right)) = split {
            let mut children = with_room(self.root);
            children.push(right);
            self.root = self.add_node(Node::Inner {
                bounds: with_room(bound),
                children,
            });
        }
        self.heap_bytes += K::heap_bytes(probe);
        true
    }

    fn insert_below(
        &mut self,
        number: NodeNumber,
        probe: K::Probe<'_>,
        pointer: Pointer,
    ) -> Result<Split<K>, KeyTaken> {
        match self.node_mut(number) {
            Node::Leaf { entries, .. } => {
                let at = rank(entries, probe);
                let is_it = |entry: &Entry<K>| entry.key.compare(probe).is_eq();
                if entries.get(at).is_some_and(is_it) {
                    return Err(KeyTaken);
                }
                let key = K::store(probe);
                entries.insert(at, Entry { key, pointer });
                let is_full = entries.len() == FANOUT;
                let is_last = at + 1 == entries.len();
                Ok(is_full.then(|| self.split_leaf(number, is_last)))
            }
            Node::Inner { bounds, children } => {
                let at = child_of(bounds, probe);
                let child = children[at];
                let Some((bound, right)) = self.insert_below(child, probe, pointer)? else {
                    return Ok(None);
                };
                let Node::Inner { bounds, children } = self.node_mut(number) else {
                    unreachable!("a node stays what it is");
                };
                bounds.insert(at, bound);
                children.insert(at + 1, right);
                let is_last = at + 2 == children.len();
                Ok((children.len() == FANOUT).then(|| self.split_inner(number, is_last)))
            }
            Node::Gone => unreachable!("nothing leads to a free node"),
        }
    }

    fn split_leaf(&mut self, number: NodeNumber, is_last: bool) -> (K, NodeNumber) {
        let at = if is_last { SPLIT_AT_END } else { FANOUT / 2 };
        let Node::Leaf { entries, next, .. } = self.node_mut(number) else {
            unreachable!("a leaf is split");
        };
        let mut right = Vec::with_capacity(FANOUT);
        right.extend(entries.drain(at..));
        let (bound, after) = (right[0].key.again(), *next);
        let right = self.add_node(Node::Leaf {
            entries: right,
            previous: number.0,
            next: after,
        });
        self.link(number.0, right.0);
        self.link(right.0, after);
        self.heap_bytes += K::heap_bytes(bound.as_probe());
        (bound, right)
    }

    fn split_inner(&mut self, number: NodeNumber, is_last: bool) -> (K, NodeNumber) {
        let at = if is_last { SPLIT_AT_END } else { FANOUT / 2 };
        let Node::Inner { bounds, children } = self.node_mut(number) else {
            unreachable!("an inner node is split");
        };
        let mut right_bounds = Vec::with_capacity(FANOUT);
        right_bounds.extend(bounds.drain(at..));
        let mut right_children = Vec::with_capacity(FANOUT);
        right_children.extend(children.drain(at..));
        let bound = bounds.pop().expect("a full node has bounds");
        let right = self.add_node(Node::Inner {
            bounds: right_bounds,
            children: right_children,
        });
        (bound, right)
    }

    /// Makes two leaves neighbours.
    fn link(&mut self, left: u32, right: u32) {
        if left != NONE
            && let Node::Leaf { next, .. } = self.node_mut(NodeNumber(left))
        {
            *next = right;
        }
        if right != NONE
            && let Node::Leaf { previous, .. } = self.node_mut(NodeNumber(right))
        {
            *previous = left;
        }
    }

    pub(super) fn remove(&mut self, key: RowKey<'_>) -> bool {
        let probe = K::probe(key.key);
        if self.remove_below(self.root, probe).is_none() {
            return false;
        }
        self.heap_bytes -= K::heap_bytes(probe);
        while let Node::Inner { children, .. } = self.node(self.root)
            && let [only] = children[..]
        {
            self.let_go(self.root);
            self.root = only;
        }
        true
    }

    /// Whether the node is empty now; `None` when there is no such entry. The root may be empty when it
    /// is a leaf; with children it has two at least.
    fn remove_below(&mut self, number: NodeNumber, probe: K::Probe<'_>) -> Option<bool> {
        match self.node_mut(number) {
            Node::Leaf { entries, .. } => {
                entries.remove(find(entries, probe)?);
                Some(entries.is_empty())
            }
            Node::Inner { bounds, children } => {
                let at = child_of(bounds, probe);
                let child = children[at];
                if self.remove_below(child, probe)? {
                    self.let_go(child);
                    let Node::Inner { bounds, children } = self.node_mut(number) else {
                        unreachable!("a node stays what it is");
                    };
                    children.remove(at);
                    let is_empty = children.is_empty();
                    if !bounds.is_empty() {
                        let bound = bounds.remove(at.saturating_sub(1));
                        self.heap_bytes -= K::heap_bytes(bound.as_probe());
                    }
                    return Some(is_empty);
                }
                Some(false)
            }
            Node::Gone => unreachable!("nothing leads to a free node"),
        }
    }

    fn let_go(&mut self, number: NodeNumber) {
        if let Node::Leaf { previous, next, .. } = self.node(number) {
            let (previous, next) = (*previous, *next);
            self.link(previous, next);
        }
        *self.node_mut(number) = Node::Gone;
        self.free.push(number);
    }

    pub(super) fn scan(
        &self,
        from: Key<'_>,
        to: Key<'_>,
        direction: Direction,
        mut visit: impl FnMut(&[u8], Pointer) -> bool,
    ) {
        let (first, last) = (K::probe(from), K::last(to));
        let mut show = |entry: &Entry<K>| entry.key.with_encoded(|key| visit(key, entry.pointer));
        match direction {
            Direction::Ascending => {
                self.ascend(first, |entry| !entry.key.is_behind(last) && show(entry));
            }
            Direction::Descending => self.descend(last, |entry| {
                entry.key.compare(first).is_ge() && show(entry)
            }),
        }
    }

    /// Entries from the first whose key is not smaller.
    fn ascend(&self, from: K::Probe<'_>, mut visit: impl FnMut(&Entry<K>) -> bool) {
        let (mut entries, _, mut next) = self.leaf(self.leaf_of(from));
        entries = &entries[rank(entries, from)..];
        while entries.iter().all(&mut visit) && next != NONE {
            (entries, _, next) = self.leaf(NodeNumber(next));
        }
    }

    /// Entries from the last one that is not behind the end of a range, backwards.
    fn descend(&self, to: K::Probe<'_>, mut visit: impl FnMut(&Entry<K>) -> bool) {
        let mut leaf = self.root;
        while let Node::Inner { bounds, children } = self.node(leaf) {
            leaf = children[bounds.partition_point(|bound| !bound.is_behind(to))];
        }
        let (mut entries, mut previous, _) = self.leaf(leaf);
        entries = &entries[..entries.partition_point(|entry| !entry.key.is_behind(to))];
        while entries.iter().rev().all(&mut visit) && previous != NONE {
            (entries, previous, _) = self.leaf(NodeNumber(previous));
        }
    }

    #[cfg(test)]
    pub(super) fn each_entry(&self, mut visit: impl FnMut(&[u8], Pointer)) {
        for node in &self.nodes {
            if let Node::Leaf { entries, .. } = node {
                for entry in entries {
                    entry.key.with_encoded(|key| visit(key, entry.pointer));
                }
            }
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        // A bound and a child take no more than an entry.
        let entries = FANOUT * size_of::<Entry<K>>();
        (self.nodes.len() - self.free.len()) * entries
            + self.nodes.capacity() * size_of::<Node<K>>()
            + self.free.capacity() * size_of::<NodeNumber>()
            + self.heap_bytes
    }
}

fn with_room<T>(first: T) -> Vec<T> {
    let mut room = Vec::with_capacity(FANOUT);
    room.push(first);
    room
}
