//! The chain: the order in which the rows of a table go to disk (Anti-Caching, section 3.1).
//!
//! In the paper's chains, single and double, that is the order of their last use: a row that is used goes to the young end,
//! which writes the headers of three other rows, and rows leave at the old end. A single chain is linked one way, and has to
//! search for a row that is used again (section 5.4 measures it).
//!
//! The third kind has *two queues* (as S3-FIFO: Yang et al., SOSP 2023, section 4), in which a row that is used stays where it is:
//!
//! ```text
//!                                    used meanwhile
//!                              ┌──────────────────────┐
//!   back from disk ─> probation ──> to disk           v
//!   new, or back soon ──────────────────────────> main, its youngest quarter │ the rest ──> to disk
//!                                                     ^                                │
//!                                                     └─────── used meanwhile ─────────┘
//! ```
//!
//! 1. A use marks the row as used, unless it is of the youngest quarter of the main queue, or is kept for the very transaction
//!    that has had it fetched.
//! 2. The next row to leave is the oldest on probation while more than a tenth of the rows are, else the oldest of the main queue.
//! 3. If it was used it gets a second chance: it goes to the young end of the main queue, and the next one is looked at.
//!
//! So a row that is asked for once, and most of those that come back from disk are, leaves soon, and rows that are used again
//! stay: with data 8 times the memory and a skew of 1.25, 1.9 % of all uses miss where the order of their last use misses 2.5 %.
//! Decision 0030 has more of it, and what it costs where what is hot changes fast.
//!
//! **Invariants:** rows of the youngest quarter are marked, they are the main queue's youngest, and no more than a quarter of it.
//! Rows on probation are marked. Marks go with their rows.

use prefetch::prefetch;

use crate::pointer::TupleId;
use crate::row_list::{Links, RowList};
use crate::slot_arena::SlotArena;

/// The row is in its table: not deleted by the transaction that runs.
pub(crate) const LIVE: u8 = 1;
/// The row was fetched for a transaction that has not run yet.
pub(crate) const PINNED: u8 = 2;
/// The row is one of the youngest quarter of a main queue.
const YOUNG: u8 = 8;
/// The row was used since it came to its place, of two queues.
const USED: u8 = 16;
/// The row is on probation.
const PROBATION: u8 = 32;

/// The young rows of a main queue are one in so many.
const YOUNG_ONE_IN: usize = 4;

/// The rows on probation are one in so many. With fewer, what is hot is kept better, and what has become hot found later:
/// a fiftieth misses 1.8 % where a tenth misses 1.9, and 10.2 where a tenth misses 8.8 (decision 0030).
const PROBATION_ONE_IN: usize = 10;

/// Rows that get a second chance before one leaves although it was used: 0.6 of them on average, but all may have been used.
const SECOND_CHANCES_MAX: usize = 32;

/// In which order rows leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainKind {
    /// Never. A header of 1 byte.
    None,
    /// In that of their last use, linked from old to young. A header of 5 bytes.
    Single,
    /// In that of their last use, linked both ways: the paper's. A header of 9 bytes.
    Double,
    /// Those first that were used once; see the module. A header of 9 bytes.
    TwoQueues,
}

impl ChainKind {
    /// Bytes of a row's header.
    pub(crate) fn header_bytes(self) -> usize {
        match self {
            Self::None => 1,
            _ => self.links().header_bytes(),
        }
    }

    fn links(self) -> Links {
        match self {
            Self::None | Self::Single => Links::OneWay,
            Self::Double | Self::TwoQueues => Links::BothWays,
        }
    }
}

/// Where a row comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainPlace {
    /// It leaves last, unless others are used.
    Youngest,
    /// It has to be used once more to stay; the same as [`Self::Youngest`] in the paper's chains.
    Probation,
    /// It leaves next: nobody asked for it.
    Oldest,
}

/// See the module.
pub(crate) struct EvictionChain {
    kind: ChainKind,
    /// All rows of the paper's chains.
    main: RowList,
    probation: RowList,
    /// The oldest row of the youngest quarter.
    oldest_young: Option<TupleId>,
    /// Rows of the youngest quarter.
    young: usize,
}

impl EvictionChain {
    /// An empty chain.
    pub(crate) fn new(kind: ChainKind) -> Self {
        Self {
            kind,
            main: RowList::new(kind.links()),
            probation: RowList::new(kind.links()),
            oldest_young: None,
            young: 0,
        }
    }

    /// In which order rows leave.
    pub(crate) fn kind(&self) -> ChainKind {
        self.kind
    }

    /// Whether no row can leave.
    pub(crate) fn is_empty(&self) -> bool {
        self.main.len() + self.probation.len() == 0
    }

    /// The row that is to leave next. Rows before it get their second chances.
    pub(crate) fn next_to_leave(&mut self, rows: &mut SlotArena) -> Option<TupleId> {
        for _ in 0..SECOND_CHANCES_MAX {
            let next = self.leaving_queue().oldest()?;
            if !has(rows, next, USED) {
                return Some(next);
            }
            self.remove(rows, next);
            self.add(rows, next, ChainPlace::Youngest);
        }
        self.leaving_queue().oldest()
    }

    fn leaving_queue(&self) -> &RowList {
        let is_probation_over = match self.main.len() {
            0 => true,
            main => self.probation.len() * (PROBATION_ONE_IN - 1) > main,
        };
        if is_probation_over {
            &self.probation
        } else {
            &self.main
        }
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, rows: &mut SlotArena, id: TupleId, place: ChainPlace) {
        let has_queues = self.kind == ChainKind::TwoQueues;
        match place {
            _ if self.kind == ChainKind::None => {}
            ChainPlace::Probation | ChainPlace::Oldest if has_queues => {
                rows.get_mut(id.0)[0] |= PROBATION;
                match place {
                    ChainPlace::Oldest => self.probation.push_oldest(rows, id),
                    _ => self.probation.push_youngest(rows, id),
                }
            }
            ChainPlace::Oldest => self.main.push_oldest(rows, id),
            ChainPlace::Youngest | ChainPlace::Probation => {
                self.main.push_youngest(rows, id);
                if has_queues {
                    self.mark_youngest(rows, id);
                }
            }
        }
    }

    /// Takes a row out.
    pub(crate) fn remove(&mut self, rows: &mut SlotArena, id: TupleId) {
        if self.kind == ChainKind::None {
            return;
        }
        let flags = rows.get(id.0)[0];
        match flags & PROBATION != 0 {
            true => self.probation.remove(rows, id),
            false => self.main.remove(rows, id),
        }
        if flags & YOUNG != 0 {
            self.young -= 1;
            if self.oldest_young == Some(id) {
                self.oldest_young = self.main.younger(rows, id);
            }
        }
        rows.get_mut(id.0)[0] &= !(YOUNG | USED | PROBATION);
        self.keep_to_quarter(rows);
    }

    /// Puts a row in the place of another one whose header it has a copy of.
    ///
    /// # Panics
    /// In a single chain, which would have to be searched.
    pub(crate) fn replace(&mut self, rows: &mut SlotArena, old: TupleId, new: TupleId) {
        if self.kind == ChainKind::None {
            return;
        }
        match has(rows, new, PROBATION) {
            true => self.probation.replace(rows, new),
            false => self.main.replace(rows, new),
        }
        if self.oldest_young == Some(old) {
            self.oldest_young = Some(new);
        }
    }

    /// Has what a use of the row will write come into the cache, before it is used.
    pub(crate) fn prefetch_neighbours(&self, rows: &SlotArena, id: TupleId) {
        if self.kind == ChainKind::Double {
            self.main.prefetch_neighbours(rows, id);
        }
    }

    /// Whether a row is of the youngest quarter; no row of the paper's chains is known to be.
    #[inline]
    pub(crate) fn is_young(&self, rows: &SlotArena, id: TupleId) -> bool {
        has(rows, id, YOUNG)
    }

    /// A row was used.
    #[inline]
    pub(crate) fn touch(&mut self, rows: &mut SlotArena, id: TupleId) {
        match self.kind {
            ChainKind::None => {}
            ChainKind::TwoQueues => {
                if !has(rows, id, YOUNG | USED | PINNED) {
                    rows.get_mut(id.0)[0] |= USED;
                }
            }
            ChainKind::Single | ChainKind::Double => self.postpone(rows, id),
        }
    }

    /// A row that was to leave cannot: it has its turn after all others of its queue.
    pub(crate) fn postpone(&mut self, rows: &mut SlotArena, id: TupleId) {
        let place = match has(rows, id, PROBATION) {
            true => ChainPlace::Probation,
            false => ChainPlace::Youngest,
        };
        if self.main.youngest() != Some(id) {
            self.remove(rows, id);
            self.add(rows, id, place);
        }
    }

    /// The row that has come to the young end is one of the youngest quarter.
    fn mark_youngest(&mut self, rows: &mut SlotArena, id: TupleId) {
        rows.get_mut(id.0)[0] |= YOUNG;
        self.young += 1;
        self.oldest_young.get_or_insert(id);
        self.keep_to_quarter(rows);
    }

    /// While the youngest quarter is more than that, its oldest row leaves it. The next one comes into the
    /// cache meanwhile.
    fn keep_to_quarter(&mut self, rows: &mut SlotArena) {
        while self.young > self.main.len() / YOUNG_ONE_IN {
            let leaving = self.oldest_young.expect("there are young rows");
            rows.get_mut(leaving.0)[0] &= !YOUNG;
            self.young -= 1;
            self.oldest_young = self.main.younger(rows, leaving);
            if let Some(next) = self.oldest_young {
                prefetch(rows.get(next.0), self.kind.header_bytes());
            }
        }
    }
}

#[inline]
fn has(rows: &SlotArena, id: TupleId, flags: u8) -> bool {
    rows.get(id.0)[0] & flags != 0
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    fn order(list: &RowList, rows: &SlotArena) -> Vec<TupleId> {
        let mut found = Vec::new();
        let mut at = list.oldest();
        while let Some(id) = at {
            found.push(id);
            at = list.younger(rows, id);
        }
        assert_eq!(list.youngest(), found.last().copied());
        found
    }

    /// A row of the model.
    #[derive(Clone, Copy, Debug)]
    struct Row {
        id: TupleId,
        is_used: bool,
    }

    /// A chain as lists, oldest first: so many at the end of the main one are its youngest quarter.
    struct Model {
        kind: ChainKind,
        main: VecDeque<Row>,
        probation: VecDeque<Row>,
        young: usize,
    }

    impl Model {
        fn new(kind: ChainKind) -> Self {
            let (main, probation, young) = (VecDeque::new(), VecDeque::new(), 0);
            Self {
                kind,
                main,
                probation,
                young,
            }
        }

        fn add(&mut self, id: TupleId, place: ChainPlace) {
            let is_used = false;
            let row = Row { id, is_used };
            let is_queue = self.kind == ChainKind::TwoQueues;
            match place {
                ChainPlace::Oldest if is_queue => self.probation.push_front(row),
                ChainPlace::Probation if is_queue => self.probation.push_back(row),
                ChainPlace::Oldest => self.main.push_front(row),
                ChainPlace::Youngest | ChainPlace::Probation => {
                    self.main.push_back(row);
                    self.young = (self.young + 1).min(self.main.len() / YOUNG_ONE_IN);
                }
            }
        }

        /// All rows: the main queue's, then those on probation.
        fn row(&mut self, at: usize) -> &mut Row {
            let main = self.main.len();
            let queue = [&mut self.main, &mut self.probation];
            let [main_queue, probation] = queue;
            match at.checked_sub(main) {
                None => &mut main_queue[at],
                Some(at) => &mut probation[at],
            }
        }

        fn len(&self) -> usize {
            self.main.len() + self.probation.len()
        }

        fn remove(&mut self, at: usize) -> TupleId {
            let row = match at.checked_sub(self.main.len()) {
                Some(at) => self.probation.remove(at),
                None => {
                    self.young -= usize::from(self.is_young(at));
                    let row = self.main.remove(at);
                    self.young = self.young.min(self.main.len() / YOUNG_ONE_IN);
                    row
                }
            };
            row.expect("in range").id
        }

        fn is_young(&self, at: usize) -> bool {
            (self.main.len() - self.young..self.main.len()).contains(&at)
        }

        fn touch(&mut self, at: usize) {
            if self.kind == ChainKind::TwoQueues {
                self.row(at).is_used |= !self.is_young(at);
                return;
            }
            let id = self.remove(at);
            self.add(id, ChainPlace::Youngest);
        }

        fn next_to_leave(&mut self) -> Option<TupleId> {
            for chances in 0.. {
                let from_probation = self.probation.len() * PROBATION_ONE_IN > self.len();
                let is_main = !from_probation && !self.main.is_empty();
                let at = if is_main { 0 } else { self.main.len() };
                if at == self.len() {
                    return None;
                }
                let row = *self.row(at);
                if !row.is_used || chances == SECOND_CHANCES_MAX {
                    return Some(row.id);
                }
                self.remove(at);
                self.add(row.id, ChainPlace::Youngest);
            }
            None
        }

        fn ids(queue: &VecDeque<Row>) -> Vec<TupleId> {
            queue.iter().map(|row| row.id).collect()
        }
    }

    /// Each chain against lists: rows come at any place, are used, move in memory, and go.
    #[test]
    fn rows_leave_in_the_order_of_the_chain() {
        for kind in [ChainKind::Single, ChainKind::Double, ChainKind::TwoQueues] {
            let mut random = StdRng::seed_from_u64(1);
            let mut rows = SlotArena::new(16, 1 << 16);
            let mut chain = EvictionChain::new(kind);
            let mut model = Model::new(kind);
            for _ in 0..10_000 {
                let some = model.len() > 0;
                let at = some.then(|| random.random_range(0..model.len()));
                match (random.random_range(0..10), at) {
                    (0, Some(at)) if kind != ChainKind::Single => {
                        let old = model.row(at).id;
                        let (header, new) = (rows.get(old.0).to_vec(), rows.allocate());
                        rows.get_mut(new).copy_from_slice(&header);
                        chain.replace(&mut rows, old, TupleId(new));
                        rows.release(old.0);
                        model.row(at).id = TupleId(new);
                    }
                    (1..4, _) => {
                        let id = TupleId(rows.allocate());
                        rows.get_mut(id.0).fill(0);
                        let places = [
                            ChainPlace::Youngest,
                            ChainPlace::Probation,
                            ChainPlace::Oldest,
                        ];
                        let place = places[random.random_range(0..3)];
                        chain.add(&mut rows, id, place);
                        model.add(id, place);
                    }
                    (4, Some(at)) => {
                        let id = model.remove(at);
                        chain.remove(&mut rows, id);
                        assert!(!has(&rows, id, YOUNG | USED | PROBATION));
                        rows.release(id.0);
                    }
                    (5, _) => {
                        let leaving = chain.next_to_leave(&mut rows);
                        assert_eq!(leaving, model.next_to_leave(), "{kind:?}");
                    }
                    (_, Some(at)) => {
                        chain.touch(&mut rows, model.row(at).id);
                        model.touch(at);
                    }
                    _ => {}
                }
                assert_eq!(order(&chain.main, &rows), Model::ids(&model.main));
                assert_eq!(order(&chain.probation, &rows), Model::ids(&model.probation));
                for at in 0..model.len() {
                    let row = *model.row(at);
                    let young = kind == ChainKind::TwoQueues && model.is_young(at);
                    assert_eq!(has(&rows, row.id, YOUNG), young, "{kind:?}");
                    assert_eq!(has(&rows, row.id, USED), row.is_used, "{kind:?}");
                }
            }
        }
    }

    /// What was fetched for a transaction is not a row that was used because that transaction uses it.
    #[test]
    fn a_row_that_is_kept_for_its_use_is_not_used_by_it() {
        let mut rows = SlotArena::new(16, 1 << 16);
        let mut chain = EvictionChain::new(ChainKind::TwoQueues);
        for (flags, is_used) in [(LIVE | PINNED, false), (LIVE, true)] {
            let id = TupleId(rows.allocate());
            rows.get_mut(id.0)[0] = flags;
            chain.add(&mut rows, id, ChainPlace::Probation);
            chain.touch(&mut rows, id);
            assert_eq!(has(&rows, id, USED), is_used);
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

    /// The share of uses that do not find their row among so many in memory, when this share of those is tracked.
    /// Rows that come back before as many have left as there are in memory are not on probation.
    fn miss_rate(kind: ChainKind, skew: f64, alpha: f64) -> f64 {
        const KEYS: usize = 8_000;
        const ROWS_MAX: usize = KEYS / 8;
        const WARM_UP: usize = 400_000;
        const USES: usize = 400_000;
        let (mut rows, mut chain) = (SlotArena::new(16, 1 << 16), EvictionChain::new(kind));
        let mut keys = Skewed::new(KEYS, skew);
        let mut chance = StdRng::seed_from_u64(8);
        let mut in_memory = vec![None; KEYS];
        let mut left_at = vec![None; KEYS];
        let mut key_of = vec![0; 2 * KEYS];
        let (mut count, mut left, mut misses) = (0, 0, 0);
        for number in 0..WARM_UP + USES {
            let key = keys.draw();
            if let Some(id) = in_memory[key] {
                if chance.random::<f64>() < alpha {
                    chain.touch(&mut rows, id);
                }
                continue;
            }
            misses += usize::from(number >= WARM_UP);
            if count == ROWS_MAX {
                let leaving = chain.next_to_leave(&mut rows).expect("there are rows");
                chain.remove(&mut rows, leaving);
                rows.release(leaving.0);
                let key = key_of[leaving.0 as usize];
                (in_memory[key], left_at[key]) = (None, Some(left));
                count -= 1;
                left += 1;
            }
            let id = TupleId(rows.allocate());
            rows.get_mut(id.0).fill(0);
            let place = match left_at[key] {
                Some(at) if left - at > ROWS_MAX => ChainPlace::Probation,
                _ => ChainPlace::Youngest,
            };
            chain.add(&mut rows, id, place);
            (in_memory[key], key_of[id.0 as usize]) = (Some(id), key);
            count += 1;
        }
        misses as f64 / USES as f64
    }

    /// With data 8 times the memory two queues miss less than the order of last use does, however much of it is tracked.
    #[test]
    fn two_queues_miss_less_than_the_order_of_last_use() {
        for skew in [0.5, 0.75, 1.0, 1.25, 1.5] {
            for alpha in [1.0, 0.1, 0.01] {
                let [order, queues] = [ChainKind::Double, ChainKind::TwoQueues]
                    .map(|kind| miss_rate(kind, skew, alpha));
                println!("skew {skew}, alpha {alpha}: {order:.4} of all miss, {queues:.4}");
                assert!(queues < 0.97 * order);
            }
        }
    }
}
