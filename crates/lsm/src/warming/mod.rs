//! Warming: pages that a flush or merge writes enter the cache before readers can find them.
//!
//! A merge rewrites what is cached: the old pages are dead, and the first read of each new one
//! would have to come from the disk. The bytes of a new page are in memory while it is written;
//! what is missing is the knowledge who will be wanted.
//!
//! [`Warming::Inherited`] asks the cache. For each page that is written:
//!
//! 1. Find the pages of the inputs that share keys with it. Each gave it a part of its versions:
//!    those between the page's first and last key (`overlap`).
//! 2. The share of the versions that came from pages which are cached now is the page's claim. With
//!    half of them or more it takes their place, and counts as used at once, so that it stays; with
//!    less it enters like any page that is read for the first time, and has to prove itself.
//! 3. A page without a claim enters only where the cache has room to spare.
//!
//! So after a merge the cache holds the rows that it held before, whatever it is that decides
//! there who stays: a merge neither empties it nor fills it with what nobody asked for, be it smaller
//! or larger than what is in use. The dead pages leave when the step of the merge is installed,
//! after their successors came. No page is read for it, and nothing is remembered.
//!
//! A flush has no input on disk. Its pages lie among the pages of the runs that are there, and what
//! those are to readers the new ones will be.
//!
//! The other policies are baselines for experiments: see [`Warming`].
//!
//! Invariants: what is not read through the cache is not warmed, so that a store that is only
//! written to does not feel it; pages of segments that come to nothing leave the cache.
//!
//! Does not: keep pages longer than their segments, or decide who leaves.

mod overlap;

use std::sync::Arc;

use types::key::SortKey;

use crate::manifest::RunId;
use crate::museum::{self, Exhibit};
use crate::page_cache::{PageCache, PageKey};
use crate::run::RunSegment;
use crate::segment::{PageEntry, WrittenPage};
use crate::tree::Tree;
use overlap::overlap;

/// What becomes of the cache when merges rewrite what is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Warming {
    /// New pages take the place of the cached pages whose versions they hold.
    #[default]
    Inherited,
    /// New pages are read when they are wanted. A baseline.
    None,
    /// The same, and dead pages leave only when space is needed, as in LevelDB. A baseline.
    NoneDeadPagesStay,
    /// A new page enters when it shares keys with a cached page: the incremental warm-up that
    /// LSbM-tree (ICDCS 2017) is compared with. A baseline.
    Overlapping,
    /// Each new page enters, as with RocksDB's `prepopulate_block_cache`. A baseline.
    Everything,
}

/// With this share of its versions from cached pages a page takes their place.
const HEIR_SHARE_MIN: f64 = 0.5;

/// With this share it enters like a page that was read once. With a tenth, twice as many pages entered while a
/// hot range was read (`bench rangehot`), and as many reads missed.
const GUEST_SHARE_MIN: f64 = 0.2;

/// Pages of a segment that are asked for one that is written, at most. A page that a flush writes lies among
/// two hundred pages of the base where C0 has a row in two hundred: to ask for all of them took two
/// fifths of the flush's time.
const PAGES_ASKED_MAX: usize = 16;

/// Warms the pages that one flush or merge of a tree writes.
pub(crate) struct Warmer<'a> {
    tree: &'a Tree,
    /// The runs that are rewritten; none: what is written comes from memory.
    inputs: &'a [RunId],
    policy: Warming,
    cache: Arc<PageCache>,
    /// Pages in the cache whose segment is not finished.
    unfinished: Vec<PageKey>,
}

/// How a page enters the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entrance {
    /// As one that is in use.
    Heir,
    /// As one that was read for the first time.
    Guest,
}

/// The pages of the inputs that share keys with one that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Predecessors {
    /// Versions that came from them, about.
    versions: f64,
    /// Those of them that came from pages in the cache.
    cached: f64,
    /// Whether a segment of theirs was ever read through the cache.
    were_read: bool,
}

impl<'a> Warmer<'a> {
    /// For a rewrite of the tree's `inputs`, or of what is in memory if there are none.
    pub fn new(
        tree: &'a Tree,
        inputs: &'a [RunId],
        policy: Warming,
        cache: &Arc<PageCache>,
    ) -> Self {
        Self {
            tree,
            inputs,
            policy,
            cache: Arc::clone(cache),
            unfinished: Vec::new(),
        }
    }

    /// Puts a page into the cache if the policy wants it there.
    pub fn see(&mut self, written: &WrittenPage<'_>) {
        let Some(entrance) = self.entrance(written.entry) else {
            return;
        };
        let key = PageKey {
            segment: written.segment,
            page: written.index + u32::from(museum::shows(Exhibit::WarmedAsNextPage)),
        };
        self.unfinished.push(key);
        self.cache
            .warm(key, written.open(), entrance == Entrance::Heir);
    }

    /// The segment of the last pages is finished: they go when it retires.
    pub fn segment_finished(&mut self) {
        self.unfinished.clear();
    }

    /// Whether look-ups have loaded filters of what is rewritten: then its successors need theirs.
    pub fn filters_are_used(&self) -> bool {
        let version = self.tree.version();
        let mut runs = version.runs.iter().filter(|run| self.is_input(run.id));
        runs.any(|run| {
            run.segments
                .iter()
                .any(|part| part.segment.has_loaded_filter())
        })
    }

    fn entrance(&self, page: &PageEntry) -> Option<Entrance> {
        match self.policy {
            Warming::None | Warming::NoneDeadPagesStay => None,
            Warming::Everything => Some(Entrance::Guest),
            Warming::Overlapping => {
                (self.predecessors(page).cached > 0.0).then_some(Entrance::Guest)
            }
            Warming::Inherited => self.inherited(page),
        }
    }

    fn inherited(&self, page: &PageEntry) -> Option<Entrance> {
        let predecessors = self.predecessors(page);
        let share = predecessors.cached / predecessors.versions.max(f64::MIN_POSITIVE);
        match share {
            HEIR_SHARE_MIN.. => Some(Entrance::Heir),
            GUEST_SHARE_MIN.. => Some(Entrance::Guest),
            _ => (predecessors.were_read && self.cache.has_spare_room()).then_some(Entrance::Guest),
        }
    }

    fn predecessors(&self, page: &PageEntry) -> Predecessors {
        let version = self.tree.version();
        let runs = version.runs.iter().filter(|run| self.is_input(run.id));
        let parts = || {
            let parts = runs
                .clone()
                .map(|run| run.parts_in(&page.first_key, &page.last_key));
            parts.flatten()
        };
        let mut all = Predecessors::default();
        if parts().all(|part| !part.segment.was_read()) {
            return all;
        }
        all.were_read = true;
        for part in parts() {
            all.add(part, &page.first_key, &page.last_key, &self.cache);
        }
        all
    }

    fn is_input(&self, run: RunId) -> bool {
        self.inputs.is_empty() || self.inputs.contains(&run)
    }
}

impl Drop for Warmer<'_> {
    fn drop(&mut self) {
        self.unfinished
            .drain(..)
            .for_each(|key| self.cache.remove(key));
    }
}

impl Predecessors {
    /// Adds the pages of a segment that have keys between `first` and `last`. Of many, some stand for all.
    fn add(&mut self, part: &RunSegment, first: &SortKey, last: &SortKey, cache: &PageCache) {
        let segment = &part.segment;
        let pages = segment.pages_through(first, last);
        let stride = pages.len().div_ceil(PAGES_ASKED_MAX).max(1);
        for index in pages.clone().step_by(stride) {
            let page = &segment.pages()[index];
            let stands_for = stride.min(pages.end - index) as f64;
            let versions = overlap(page, first, last) * f64::from(page.rows) * stands_for;
            self.versions += versions;
            if segment.was_read() && segment.is_cached(index, cache) {
                self.cached += versions;
            }
        }
    }
}
