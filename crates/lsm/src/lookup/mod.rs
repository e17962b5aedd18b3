//! Point look-ups: the rows of given keys as one snapshot sees them.
//!
//! A snapshot at S sees of each key the version with the largest position at or below S, unless
//! that is a delete or older than a truncation at or below S ([`crate::visibility`]). A look-up
//! finds that version without merging:
//!
//! 1. Ask the runs, newest first: memory by halving, disk by fences, the segment's filter and
//!    `Page::find` on the encoded key columns.
//! 2. A version that was found narrows the positions that still count to those above its own.
//!    Older runs mostly have none, which their summaries tell without a look at the key. It does
//!    not end the walk by itself: a table's first copy may be ingested after changes that are
//!    newer than it, so that a newer run holds the older version.
//! 3. Of equal positions (a transaction sent again after a restart) the newest run's counts.
//! 4. A put is the row, a delete means that there is none. A patch needs older versions: a scan
//!    of exactly that key folds them, so that folding exists once.
//!
//! [`get()`] answers one key and copies its cells; [`multi_get()`] takes many keys through each run
//! in key order, so that a page is loaded once, and answers with arrays.
//!
//! Invariant: the answer is what a scan of the same snapshot would give.
//!
//! Does not: look at columns that nobody asked for, apart from the key and what decides on the
//! version.

use std::sync::Arc;

use crate::page_cache::PageCache;
use crate::stats::Counters;
use crate::tree::Tree;

mod get;
mod key;
mod multi_get;
mod newest;
mod patched;
mod row;

pub(crate) use get::get;
pub(crate) use multi_get::multi_get;

pub use multi_get::FoundRows;
pub use row::Row;

/// Where to look rows up.
pub(crate) struct View<'a> {
    /// The table's tree.
    pub tree: &'a Tree,
    /// The snapshot's position.
    pub position: u64,
    /// Where pages come from.
    pub cache: &'a Arc<PageCache>,
    /// Told what look-ups take.
    pub counters: &'a Counters,
}
