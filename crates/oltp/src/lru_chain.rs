//! The LRU chain: rows in the order of their last use, linked through their headers
//! (Anti-Caching, section 3.1).
//!
//! A header is one byte of flags and, for a row of an evictable table, links of 4 bytes: to the
//! next younger row, and in a double chain to the next older one, too. A single chain saves 4 bytes
//! a row and has to search for a row that is used again (section 5.4 measures it); it searches from
//! the old end, where the link it needs is.

use crate::pointer::TupleId;
use crate::prefetch::prefetch;
use crate::slot_arena::SlotArena;

/// The row is in its table: not deleted by the transaction that runs.
pub(crate) const LIVE: u8 = 1;
/// The row was fetched for a transaction that has not run yet.
pub(crate) const PINNED: u8 = 2;

/// No row.
const NONE: u32 = u32::MAX;

const YOUNGER_AT: usize = 1;
const OLDER_AT: usize = 5;

/// How rows are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainKind {
    /// Not at all: such rows are never evicted. A header of 1 byte.
    None,
    /// From old to young. A header of 5 bytes.
    Single,
    /// Both ways. A header of 9 bytes.
    Double,
}

impl ChainKind {
    /// Bytes of a row's header.
    pub(crate) fn header_bytes(self) -> usize {
        match self {
            Self::None => 1,
            Self::Single => YOUNGER_AT + 4,
            Self::Double => OLDER_AT + 4,
        }
    }
}

/// The ends of a chain; see the module.
pub(crate) struct LruChain {
    kind: ChainKind,
    oldest: u32,
    youngest: u32,
}

impl LruChain {
    /// An empty chain.
    pub(crate) fn new(kind: ChainKind) -> Self {
        Self {
            kind,
            oldest: NONE,
            youngest: NONE,
        }
    }

    /// How rows are linked.
    pub(crate) fn kind(&self) -> ChainKind {
        self.kind
    }

    /// The row that was not used for longest.
    pub(crate) fn oldest(&self) -> Option<TupleId> {
        (self.oldest != NONE).then_some(TupleId(self.oldest))
    }

    /// The row that was used last.
    #[cfg(test)]
    pub(crate) fn youngest(&self) -> Option<TupleId> {
        (self.youngest != NONE).then_some(TupleId(self.youngest))
    }

    /// The row that was used next after this one.
    #[cfg(test)]
    pub(crate) fn younger(&self, rows: &SlotArena, id: TupleId) -> Option<TupleId> {
        let younger = link(rows, id.0, YOUNGER_AT);
        (younger != NONE).then_some(TupleId(younger))
    }

    /// Adds a row that was used just now.
    pub(crate) fn push_youngest(&mut self, rows: &mut SlotArena, id: TupleId) {
        if self.kind == ChainKind::None {
            return;
        }
        let before = self.youngest;
        self.join(rows, before, id.0);
        self.join(rows, id.0, NONE);
    }

    /// Adds a row that nobody asked for.
    pub(crate) fn push_oldest(&mut self, rows: &mut SlotArena, id: TupleId) {
        if self.kind == ChainKind::None {
            return;
        }
        let after = self.oldest;
        self.join(rows, id.0, after);
        self.join(rows, NONE, id.0);
    }

    /// Takes a row out.
    pub(crate) fn remove(&mut self, rows: &mut SlotArena, id: TupleId) {
        if self.kind == ChainKind::None {
            return;
        }
        let older = match self.kind {
            ChainKind::Double => link(rows, id.0, OLDER_AT),
            _ => self.search_older(rows, id.0),
        };
        let younger = link(rows, id.0, YOUNGER_AT);
        self.join(rows, older, younger);
    }

    /// Has the headers of a row's neighbours come into the cache: both are written when the row is used.
    /// Without it that waits for memory twice, 0.1 us each in a chain of 2,000,000 rows.
    pub(crate) fn prefetch_neighbours(&self, rows: &SlotArena, id: TupleId) {
        if self.kind != ChainKind::Double {
            return;
        }
        for at in [OLDER_AT, YOUNGER_AT] {
            let neighbour = link(rows, id.0, at);
            if neighbour != NONE {
                prefetch(&rows.get(neighbour)[..OLDER_AT + 4]);
            }
        }
    }

    /// A row was used.
    pub(crate) fn touch(&mut self, rows: &mut SlotArena, id: TupleId) {
        if self.youngest != id.0 {
            self.remove(rows, id);
            self.push_youngest(rows, id);
        }
    }

    /// The row before this one, found from the old end on.
    fn search_older(&self, rows: &SlotArena, id: u32) -> u32 {
        let (mut older, mut at) = (NONE, self.oldest);
        while at != id {
            assert!(at != NONE, "every row of the table is in its chain");
            (older, at) = (at, link(rows, at, YOUNGER_AT));
        }
        older
    }

    /// Makes two rows neighbours; no row stands for the end.
    fn join(&mut self, rows: &mut SlotArena, older: u32, younger: u32) {
        match older {
            NONE => self.oldest = younger,
            older => set_link(rows, older, YOUNGER_AT, younger),
        }
        match younger {
            NONE => self.youngest = older,
            younger if self.kind == ChainKind::Double => {
                set_link(rows, younger, OLDER_AT, older);
            }
            _ => {}
        }
    }
}

fn link(rows: &SlotArena, id: u32, at: usize) -> u32 {
    u32::from_le_bytes(rows.get(id)[at..at + 4].try_into().expect("four bytes"))
}

fn set_link(rows: &mut SlotArena, id: u32, at: usize, to: u32) {
    rows.get_mut(id)[at..at + 4].copy_from_slice(&to.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    fn order(chain: &LruChain, rows: &SlotArena) -> Vec<u32> {
        let mut found = Vec::new();
        let mut at = chain.oldest();
        while let Some(id) = at {
            found.push(id.0);
            at = chain.younger(rows, id);
        }
        found
    }

    /// Both chains against a list: rows come at either end, are used, and go.
    #[test]
    fn the_chain_is_the_order_of_use() {
        for kind in [ChainKind::Single, ChainKind::Double] {
            let mut random = StdRng::seed_from_u64(1);
            let mut rows = SlotArena::new(16);
            let mut chain = LruChain::new(kind);
            let mut model = VecDeque::new();
            for _ in 0..5_000 {
                let at = (!model.is_empty()).then(|| random.random_range(0..model.len()));
                match (random.random_range(0..6), at) {
                    (0 | 1, _) => {
                        let id = rows.allocate();
                        chain.push_youngest(&mut rows, TupleId(id));
                        model.push_back(id);
                    }
                    (2, _) => {
                        let id = rows.allocate();
                        chain.push_oldest(&mut rows, TupleId(id));
                        model.push_front(id);
                    }
                    (3, Some(at)) => {
                        let id = model.remove(at).expect("in range");
                        chain.touch(&mut rows, TupleId(id));
                        model.push_back(id);
                    }
                    (_, Some(at)) => {
                        let id = model.remove(at).expect("in range");
                        chain.remove(&mut rows, TupleId(id));
                        rows.release(id);
                    }
                    _ => {}
                }
                assert_eq!(chain.oldest().map(|id| id.0), model.front().copied());
                assert_eq!(chain.youngest().map(|id| id.0), model.back().copied());
                assert_eq!(order(&chain, &rows), Vec::from(model.clone()), "{kind:?}");
            }
        }
    }
}
