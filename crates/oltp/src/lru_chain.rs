//! The LRU chain: rows in the order of their last use, linked through their headers
//! (Anti-Caching, section 3.1).
//!
//! A header is one byte of flags and, for a row of an evictable table, links of 4 bytes: to the
//! next younger row, and in the other chains to the next older one, too. A single chain saves 4 bytes
//! a row and has to search for a row that is used again (section 5.4 measures it); it searches from
//! the old end, where the link it needs is.
//!
//! A double chain moves every row that is used, which writes the headers of three other rows: its
//! neighbours and the youngest. A lazy chain does so only with rows that are not of its *youngest quarter*:
//!
//! 1. A row that comes to the young end is marked as one of the youngest quarter.
//! 2. While more than a quarter of the rows are, the oldest of them is not any more.
//! 3. A row that is used and marked stays where it is.
//!
//! **Invariant:** the marked rows of a lazy chain are its youngest, and no more than a quarter of all. So a
//! row that is used has three quarters of the rows before it on the way to disk at least: what is hot is used
//! again meanwhile. Decision 0025 has figures: what it saves, and what of the hit rate it costs.

use prefetch::prefetch;

use crate::pointer::TupleId;
use crate::slot_arena::SlotArena;

/// The row is in its table: not deleted by the transaction that runs.
pub(crate) const LIVE: u8 = 1;
/// The row was fetched for a transaction that has not run yet.
pub(crate) const PINNED: u8 = 2;
/// The row is one of the youngest quarter of a lazy chain.
const YOUNG: u8 = 8;

/// The young rows of a lazy chain are one in so many.
const YOUNG_ONE_IN: usize = 4;

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
    /// Both ways: the paper's, rows in the exact order of their last use. A header of 9 bytes.
    Double,
    /// Both ways, and a row of the youngest quarter stays where it is when it is used. A header of 9 bytes.
    Lazy,
}

impl ChainKind {
    /// Bytes of a row's header.
    pub(crate) fn header_bytes(self) -> usize {
        match self {
            Self::None => 1,
            Self::Single => YOUNGER_AT + 4,
            Self::Double | Self::Lazy => OLDER_AT + 4,
        }
    }
}

/// The ends of a chain; see the module.
pub(crate) struct LruChain {
    kind: ChainKind,
    oldest: u32,
    youngest: u32,
    /// The oldest row of the youngest quarter; no row while that is empty.
    oldest_young: u32,
    rows: usize,
    /// Rows of the youngest quarter.
    young: usize,
}

impl LruChain {
    /// An empty chain.
    pub(crate) fn new(kind: ChainKind) -> Self {
        Self {
            kind,
            oldest: NONE,
            youngest: NONE,
            oldest_young: NONE,
            rows: 0,
            young: 0,
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
        self.rows += 1;
        if self.kind == ChainKind::Lazy {
            self.mark_youngest(rows);
        }
    }

    /// Adds a row that nobody asked for.
    pub(crate) fn push_oldest(&mut self, rows: &mut SlotArena, id: TupleId) {
        if self.kind == ChainKind::None {
            return;
        }
        let after = self.oldest;
        self.join(rows, id.0, after);
        self.join(rows, NONE, id.0);
        self.rows += 1;
    }

    /// Takes a row out.
    pub(crate) fn remove(&mut self, rows: &mut SlotArena, id: TupleId) {
        if self.kind == ChainKind::None {
            return;
        }
        let older = match self.kind {
            ChainKind::Double | ChainKind::Lazy => link(rows, id.0, OLDER_AT),
            ChainKind::Single | ChainKind::None => self.search_older(rows, id.0),
        };
        let younger = link(rows, id.0, YOUNGER_AT);
        self.join(rows, older, younger);
        self.rows -= 1;
        if self.kind == ChainKind::Lazy {
            self.unmark_removed(rows, id.0, younger);
        }
    }

    /// Puts a row in the place of another one whose header it has a copy of.
    ///
    /// # Panics
    /// In a single chain, which would have to be searched.
    pub(crate) fn replace(&mut self, rows: &mut SlotArena, old: TupleId, new: TupleId) {
        assert!(self.kind != ChainKind::Single, "it is linked one way only");
        if self.kind == ChainKind::None {
            return;
        }
        let older = link(rows, new.0, OLDER_AT);
        let younger = link(rows, new.0, YOUNGER_AT);
        self.join(rows, older, new.0);
        self.join(rows, new.0, younger);
        if self.oldest_young == old.0 {
            self.oldest_young = new.0;
        }
    }

    /// Has the headers of a row's neighbours come into the cache: both are written when the row is moved.
    /// Without it that waits for memory twice, 0.1 us each in a chain of 2,000,000 rows.
    pub(crate) fn prefetch_neighbours(&self, rows: &SlotArena, id: TupleId) {
        let has_both = matches!(self.kind, ChainKind::Double | ChainKind::Lazy);
        if !has_both || is_young(rows, id.0) {
            return;
        }
        for at in [OLDER_AT, YOUNGER_AT] {
            let neighbour = link(rows, id.0, at);
            if neighbour != NONE {
                prefetch(rows.get(neighbour), OLDER_AT + 4);
            }
        }
    }

    /// Whether a row is of the youngest quarter; no row of another chain than a lazy one is known to be.
    #[inline]
    pub(crate) fn is_young(&self, rows: &SlotArena, id: TupleId) -> bool {
        is_young(rows, id.0)
    }

    /// A row was used.
    #[inline]
    pub(crate) fn touch(&mut self, rows: &mut SlotArena, id: TupleId) {
        if self.youngest != id.0 && !is_young(rows, id.0) {
            self.remove(rows, id);
            self.push_youngest(rows, id);
        }
    }

    /// The row that has come to the young end is one of the youngest quarter.
    fn mark_youngest(&mut self, rows: &mut SlotArena) {
        rows.get_mut(self.youngest)[0] |= YOUNG;
        self.young += 1;
        if self.oldest_young == NONE {
            self.oldest_young = self.youngest;
        }
        self.keep_to_quarter(rows);
    }

    /// A row that was taken out is none of the youngest quarter, and of fewer rows fewer are.
    fn unmark_removed(&mut self, rows: &mut SlotArena, id: u32, younger: u32) {
        if is_young(rows, id) {
            rows.get_mut(id)[0] &= !YOUNG;
            self.young -= 1;
            if self.oldest_young == id {
                self.oldest_young = younger;
            }
        }
        self.keep_to_quarter(rows);
    }

    /// While the youngest quarter is more than that, its oldest row leaves it. The next one comes into the
    /// cache meanwhile.
    fn keep_to_quarter(&mut self, rows: &mut SlotArena) {
        while self.young > self.rows / YOUNG_ONE_IN {
            rows.get_mut(self.oldest_young)[0] &= !YOUNG;
            self.young -= 1;
            self.oldest_young = link(rows, self.oldest_young, YOUNGER_AT);
            if self.oldest_young != NONE {
                prefetch(rows.get(self.oldest_young), OLDER_AT);
            }
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
            younger if self.kind != ChainKind::Single => {
                set_link(rows, younger, OLDER_AT, older);
            }
            _ => {}
        }
    }
}

#[inline]
fn is_young(rows: &SlotArena, id: u32) -> bool {
    rows.get(id)[0] & YOUNG != 0
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

    /// A chain as a list, oldest first: so many at its end are the youngest quarter.
    #[derive(Default)]
    struct Model {
        rows: VecDeque<u32>,
        young: usize,
    }

    impl Model {
        fn push_youngest(&mut self, id: u32) {
            self.rows.push_back(id);
            self.young = (self.young + 1).min(self.rows.len() / YOUNG_ONE_IN);
        }

        fn remove(&mut self, at: usize) -> u32 {
            self.young -= usize::from(self.is_young(at));
            let id = self.rows.remove(at).expect("in range");
            self.young = self.young.min(self.rows.len() / YOUNG_ONE_IN);
            id
        }

        fn is_young(&self, at: usize) -> bool {
            at >= self.rows.len() - self.young
        }
    }

    /// Each chain against a list: rows come at either end, are used, and go. In a lazy chain those of the
    /// youngest quarter stay where they are when they are used.
    #[test]
    fn the_chain_is_the_order_of_use() {
        for kind in [ChainKind::Single, ChainKind::Double, ChainKind::Lazy] {
            let mut random = StdRng::seed_from_u64(1);
            let mut rows = SlotArena::new(16, 1 << 16);
            let mut chain = LruChain::new(kind);
            let mut model = Model::default();
            for _ in 0..5_000 {
                let some = !model.rows.is_empty();
                let at = some.then(|| random.random_range(0..model.rows.len()));
                match (random.random_range(0..7), at) {
                    (6, Some(at)) if kind != ChainKind::Single => {
                        let old = model.rows[at];
                        let (header, new) = (rows.get(old).to_vec(), rows.allocate());
                        rows.get_mut(new).copy_from_slice(&header);
                        chain.replace(&mut rows, TupleId(old), TupleId(new));
                        rows.release(old);
                        model.rows[at] = new;
                    }
                    (0 | 1, _) => {
                        let id = rows.allocate();
                        chain.push_youngest(&mut rows, TupleId(id));
                        model.push_youngest(id);
                    }
                    (2, _) => {
                        let id = rows.allocate();
                        chain.push_oldest(&mut rows, TupleId(id));
                        model.rows.push_front(id);
                    }
                    (3, Some(at)) => {
                        chain.touch(&mut rows, TupleId(model.rows[at]));
                        if kind != ChainKind::Lazy || !model.is_young(at) {
                            let id = model.remove(at);
                            model.push_youngest(id);
                        }
                    }
                    (_, Some(at)) => {
                        let id = model.remove(at);
                        chain.remove(&mut rows, TupleId(id));
                        assert!(!is_young(&rows, id), "marks go with their rows");
                        rows.release(id);
                    }
                    _ => {}
                }
                assert_eq!(chain.oldest().map(|id| id.0), model.rows.front().copied());
                assert_eq!(chain.youngest().map(|id| id.0), model.rows.back().copied());
                assert_eq!(
                    order(&chain, &rows),
                    Vec::from(model.rows.clone()),
                    "{kind:?}"
                );
                for (at, id) in model.rows.iter().enumerate() {
                    let marked = kind == ChainKind::Lazy && model.is_young(at);
                    assert_eq!(is_young(&rows, *id), marked, "{kind:?}");
                }
            }
        }
    }

    /// Draws keys, the smallest most often: key `k` in proportion to `k + 1` to the power of minus the skew.
    struct Skewed {
        sums: Vec<f64>,
        random: StdRng,
    }

    impl Skewed {
        fn new(keys: usize, skew: f64) -> Self {
            let weights = (1..=keys).map(|rank| (rank as f64).powf(-skew));
            let sums = weights.scan(0.0, |sum, weight| {
                *sum += weight;
                Some(*sum)
            });
            Self {
                sums: sums.collect(),
                random: StdRng::seed_from_u64(7),
            }
        }

        fn draw(&mut self) -> usize {
            let all = self.sums.last().expect("there are keys");
            let at = self.random.random::<f64>() * all;
            self.sums.partition_point(|sum| *sum <= at)
        }
    }

    /// The share of uses that find their row among so many in memory, when this share of those is tracked.
    fn hit_rate(kind: ChainKind, skew: f64, alpha: f64) -> f64 {
        const KEYS: usize = 8_000;
        const ROWS_MAX: usize = KEYS / 8;
        const WARM_UP: usize = 400_000;
        const USES: usize = 400_000;
        let (mut rows, mut chain) = (SlotArena::new(16, 1 << 16), LruChain::new(kind));
        let mut keys = Skewed::new(KEYS, skew);
        let mut chance = StdRng::seed_from_u64(8);
        let mut in_memory = vec![None; KEYS];
        let mut key_of = vec![0; 2 * KEYS];
        let (mut count, mut hits) = (0, 0);
        for number in 0..WARM_UP + USES {
            let key = keys.draw();
            if let Some(id) = in_memory[key] {
                hits += usize::from(number >= WARM_UP);
                if chance.random::<f64>() < alpha {
                    chain.touch(&mut rows, id);
                }
                continue;
            }
            if count == ROWS_MAX {
                let oldest = chain.oldest().expect("there are rows");
                chain.remove(&mut rows, oldest);
                rows.release(oldest.0);
                in_memory[key_of[oldest.0 as usize]] = None;
                count -= 1;
            }
            let id = TupleId(rows.allocate());
            chain.push_youngest(&mut rows, id);
            (in_memory[key], key_of[id.0 as usize]) = (Some(id), key);
            count += 1;
        }
        hits as f64 / USES as f64
    }

    /// What a lazy chain keeps in memory is asked for as often as what the exact order keeps, with data 8
    /// times as large: but for 1 in 500 uses at most.
    #[test]
    fn a_lazy_chain_hits_as_often() {
        for alpha in [1.0, 0.1, 0.01] {
            for skew in [0.5, 0.75, 1.0, 1.25, 1.5] {
                let [exact, lazy] =
                    [ChainKind::Double, ChainKind::Lazy].map(|kind| hit_rate(kind, skew, alpha));
                assert!(
                    lazy > exact - 0.002,
                    "alpha {alpha}, skew {skew}: {lazy}, {exact}"
                );
            }
        }
    }
}
