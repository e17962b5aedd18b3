//! The museum: bugs that LSM stores have had, kept so that the tests can show that they find them.
//!
//! Each [`Exhibit`] is one bug. Its site in the code asks [`shows`]; in the product that is a
//! constant `false`. With the feature `museum`, which only the simulation's tests turn on, a
//! thread can put one exhibit on show. `docs/testing.md` says which scenario catches which.
//!
//! Invariant: without the feature no bug can be had.

macro_rules! exhibits {
    ($($(#[doc = $words:literal])+ $exhibit:ident,)+) => {
        /// A bug that can be put on show.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Exhibit {
            $($(#[doc = $words])+ $exhibit,)+
        }

        #[cfg(feature = "museum")]
        impl Exhibit {
            /// The whole collection.
            pub const ALL: &[Self] = &[$(Self::$exhibit,)+];
        }
    };
}

exhibits! {
    /// A manifest record counts as committed before it is synced.
    RecordUnsynced,
    /// The manifest names a segment whose bytes are not synced.
    SegmentUnsynced,
    /// The manifest names a segment whose name in the directory is not synced.
    SegmentNameUnsynced,
    /// `CURRENT` is replaced by a file whose bytes are not synced.
    CurrentUnsynced,
    /// `CURRENT` names a log whose name in the directory is not synced.
    LogNameUnsynced,
    /// A sync that failed is tried again, and believed the second time.
    SyncRetried,
    /// What a failed append left in the manifest is cut off only before the next one.
    AppendUndoneLate,
    /// A position counts as durable before its record is written.
    DurableBeforeCommit,
    /// A flush commits its position in a record of its own, before that of its runs.
    PublishedBeforeRuns,
    /// A flush commits the position that is visible at its end, not the one at its beginning.
    FlushPositionLate,
    /// Memory runs that a failed flush has frozen are not written by the next one.
    FailedFlushForgotten,
    /// Opening a store leaves segment files that the manifest does not name.
    LeftoversKept,
    /// A damaged record that was synced is cut off like the torn end of an append.
    DamageTakenForTornEnd,
    /// The checksum of a manifest record is not compared.
    RecordChecksumIgnored,
    /// The checksums of filters and page indexes are not compared.
    BlockChecksumIgnored,
    /// Merges do not keep what the oldest snapshot sees.
    OldestSnapshotForgotten,
    /// Merges do not keep what history holds ask for.
    HistoryHoldForgotten,
    /// Merges on disk do not keep what recovery would show.
    DurablePositionForgotten,
    /// A merge drops deletes though older runs take no part in it.
    DeleteDroppedEarly,
    /// A merge sets positions to zero though older runs take no part in it.
    PositionForgottenEarly,
    /// A truncation is forgotten while runs on disk hold what it hides.
    TruncationForgottenEarly,
    /// A patch is folded onto a version that an older snapshot still needs.
    PatchFoldedTooFar,
    /// Of two versions of a key the older one comes first.
    OlderVersionFirst,
    /// A merge or flush forgets its last segment.
    LastSegmentLost,
    /// A step of a merge leaves the bound of a segment across its end where it was.
    BoundNotRaised,
    /// A merge deletes its inputs before the manifest has its output.
    InputsDeletedEarly,
    /// A snapshot reads a table as of now.
    TableReadAsOfNow,
    /// A page whose last key is the end of a range counts as within the range.
    RangeEndInclusive,
    /// A filter lacks the first key of each page but the first.
    FilterLacksKeys,
    /// Segments share their places in the page cache.
    PageOfAnotherSegment,
    /// Look-ups see what a truncation has hidden.
    LookupIgnoresTruncations,
    /// Look-ups find keys of a segment below its bound.
    LookupIgnoresBounds,
    /// A look-up skips a hole in a compaction buffer and goes on to older tables.
    BufferHoleSkipped,
    /// A segment enters a compaction buffer when all of it has been merged, not when a part has.
    BufferLacksParts,
    /// A frozen compaction buffer takes nothing more, and leaves no holes for it.
    BufferFrozenWithoutHoles,
    /// A page enters the cache under the number of the next one when it is written.
    WarmedAsNextPage,
    /// A page without wanted rows is left out though it hides older versions.
    RuledOutPageHides,
    /// A page without wanted rows is left out though a patch builds upon it.
    RuledOutPagePatched,
    /// The bounds of a zone are those of its last page.
    ZoneLacksPages,
    /// The rows of a look-up of many keys come in the order in which they were found.
    RowsInOrderFound,
}

#[cfg(feature = "museum")]
mod on_show {
    use std::cell::Cell;

    use super::Exhibit;

    thread_local! {
        static SHOWN: Cell<Option<Exhibit>> = const { Cell::new(None) };
    }

    /// Puts one exhibit on show in this thread, in place of the one before, or none.
    pub fn show(exhibit: Option<Exhibit>) {
        SHOWN.set(exhibit);
    }

    /// Whether this thread has the bug.
    pub(crate) fn shows(exhibit: Exhibit) -> bool {
        SHOWN.get() == Some(exhibit)
    }
}

#[cfg(feature = "museum")]
pub use on_show::show;
#[cfg(feature = "museum")]
pub(crate) use on_show::shows;

/// Whether this thread has the bug.
#[cfg(not(feature = "museum"))]
pub(crate) const fn shows(_: Exhibit) -> bool {
    false
}
