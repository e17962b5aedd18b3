//! The trees that have a table's rows, and which of them is read.
//!
//! What filters say of a tree's key leaves a range of keys, and so a number of pages, to be read of it. A
//! projection is read instead of the table's own tree where it leaves far less. Where a statement wants
//! rows in an order that only a projection has, it may even be somewhat more: sorting costs more than
//! reading (see [`crate::projection_choice`]).

use datafusion::logical_expr::Expr;
use lsm::{KeyRange, Snapshot, StoreError};

use super::key_range::{self, Narrowed};
use super::parts::Parts;
use super::tree_key::{TableTree, TreeKey};

/// A projection is chosen where it leaves at most one in so many pages of those to be read otherwise.
const NARROWER: u64 = 4;
/// Where it saves a sort, it may leave so many times as many.
const ORDER_WORTH: u64 = 2;

/// What filters leave of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) tree: TableTree,
    /// `None`: nothing.
    pub(crate) range: Option<KeyRange>,
    /// Pages on disk in the range.
    pages: u64,
}

impl Candidate {
    /// What `filters` leave of `tree`.
    pub(crate) fn new(
        snapshot: &Snapshot,
        tree: &TableTree,
        filters: &[Expr],
    ) -> Result<Self, StoreError> {
        let range = match key_range::key_range(&tree.key, filters) {
            Narrowed::Nothing => None,
            Narrowed::Range(range) => Some(range),
        };
        let pages = match &range {
            None => 0,
            Some(range) => {
                let extent = snapshot.extent(tree.id, range)?;
                extent.pages - extent.pages_skipped
            }
        };
        let tree = tree.clone();
        Ok(Self { tree, range, pages })
    }

    fn is_bounded(&self) -> bool {
        let bounded = |range: &KeyRange| range.start.is_some() || range.end.is_some();
        self.range.as_ref().is_none_or(bounded)
    }

    /// Whether it leaves far less to be read than `other`.
    fn is_narrower_than(&self, other: &Self) -> bool {
        if other.pages == 0 {
            // It is in memory, of which nothing is known.
            return self.is_bounded() && !other.is_bounded();
        }
        self.pages.saturating_mul(NARROWER) <= other.pages
    }

    /// Whether it may be read instead of `other` for the sake of its order.
    pub(crate) fn is_worth_its_order(&self, other: &Self) -> bool {
        let is_wider = other.is_bounded() && !self.is_bounded() && other.pages == 0;
        !is_wider
            && self.pages
                <= other
                    .pages
                    .saturating_mul(ORDER_WORTH)
                    .saturating_add(ORDER_WORTH)
    }
}

/// What a scan reads, and what it could read instead.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// The one that is read first.
    pub(crate) candidates: Vec<Candidate>,
    /// Parts to be read at the same time.
    pub(crate) parts: usize,
}

impl Choice {
    pub(crate) fn new(candidates: Vec<Candidate>, parts: usize) -> Self {
        Self { candidates, parts }
    }

    /// The one that is read.
    pub(crate) fn chosen(&self) -> &Candidate {
        &self.candidates[0]
    }

    /// The parts of the one that is read.
    pub(crate) fn cut(&self, snapshot: &Snapshot) -> Result<Parts, StoreError> {
        let Candidate { tree, range, .. } = self.chosen();
        match range {
            None => Ok(Parts::none()),
            Some(range) if self.parts <= 1 => Ok(Parts::whole(range.clone())),
            Some(range) => Parts::cut(snapshot, (tree.id, &tree.key), range, self.parts),
        }
    }

    /// The same with another candidate chosen, for the sake of its order: `suits` says of whose.
    /// `None` where the chosen one suits, or no other that is worth it.
    pub(crate) fn in_order(&self, suits: impl Fn(&TreeKey) -> bool) -> Option<Self> {
        let chosen = self.chosen();
        if suits(&chosen.tree.key) {
            return None;
        }
        let is_better =
            |other: &&Candidate| other.is_worth_its_order(chosen) && suits(&other.tree.key);
        let better = self.candidates.iter().filter(is_better);
        let best = better.min_by_key(|candidate| candidate.pages)?;
        Some(Self::new(vec![best.clone()], self.parts))
    }
}

/// Puts the one that is to be read first. `candidates` has the table's own tree first.
pub(crate) fn choose(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut best = 0;
    for place in 1..candidates.len() {
        let (here, least) = (&candidates[place], &candidates[best]);
        let better = match best {
            0 => here.is_narrower_than(least),
            _ => here.pages < least.pages,
        };
        if better {
            best = place;
        }
    }
    candidates.swap(0, best);
    candidates
}
