//! Merge policies: which runs of a tree to merge and when, and what a merge is.
//!
//! * `size_tiered` is the product's.
//! * `leveled`, `rose` and `stepped_merge` are baselines that experiments are held against. No setting of the
//!   product chooses them.
//!
//! A policy is asked once a merge and once a flush, never for a row. It keeps no state: what it
//! says follows from the runs as they are, so it is the same after a restart, and after a merge
//! that was stopped.
//!
//! Does not: know of keys or versions. Every policy may merge any neighbours at any time and
//! readers see the same.

mod leveled;
mod rose;
mod size_tiered;
mod stepped_merge;

use std::ops::Range;

/// How the runs of all trees of a store are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergePolicy {
    /// Neighbours of similar sizes, a part of their keys at a time.
    #[default]
    SizeTiered,
    /// One run a level, as in bLSM.
    Leveled {
        /// A level is so many times as large as the one before; two or more.
        ratio: u64,
    },
    /// Rose as published (VLDB 2008): three components, C0 merged with all of C1, C1 with all of
    /// C2; the writer stops where C0 is full and the one before it has not been merged.
    Rose,
    /// Stepped merge (Jagadish et al., VLDB 1997): all runs of a level become one of the next.
    SteppedMerge {
        /// Runs that a level has before they are merged; two or more.
        runs_a_level: usize,
    },
}

/// By which rows shrink on their way to disk, about.
const COMPRESSION: u64 = 8;

/// Bytes of the run that so many bytes of C0 make, about.
pub(crate) fn run_bytes(c0_bytes: u64) -> u64 {
    c0_bytes / COMPRESSION
}

/// The runs of a tree on disk, newest first, as a policy sees them.
pub(crate) struct Runs<'a> {
    /// Bytes of each.
    pub sizes: &'a [u64],
    /// Which of them merges or flushes own.
    pub taken: &'a [bool],
    /// Bytes of the run that a full C0 makes, about.
    pub full_c0_bytes: u64,
}

impl MergePolicy {
    /// Chooses neighbouring runs to merge. A size-tiered tree may have `runs_max` of them;
    /// `is_idle` tells whether nothing has come in for a while.
    pub(crate) fn choose(
        self,
        runs: &Runs<'_>,
        runs_max: usize,
        is_idle: bool,
    ) -> Option<Range<usize>> {
        match self {
            Self::SizeTiered => size_tiered::choose(runs, runs_max, is_idle),
            Self::Leveled { ratio } => leveled::choose(runs, ratio),
            Self::Rose => rose::choose(runs),
            Self::SteppedMerge { runs_a_level } => stepped_merge::choose(runs, runs_a_level),
        }
    }

    /// Whether a merge gives its inputs back a part of the keys at a time; else all of them at its
    /// end, so that it needs room for a second copy.
    pub(crate) fn installs_steps(self) -> bool {
        matches!(self, Self::SizeTiered | Self::Leveled { .. })
    }

    /// Whether the next flush merges C0 with all of the newest run instead of writing a run beside
    /// it.
    pub(crate) fn flushes_into_newest(self, runs: &Runs<'_>) -> bool {
        self == Self::Rose && rose::flushes_into_newest(runs)
    }

    /// Whether a flush may ever wait for a merge.
    pub(crate) fn flushes_may_wait(self) -> bool {
        self == Self::Rose
    }

    /// Whether C0 has to wait until the newest run is being merged.
    pub(crate) fn flush_waits(self, runs: &Runs<'_>) -> bool {
        self == Self::Rose && rose::flush_waits(runs)
    }

    /// Whether C0 is two halves, one to fill while the other one is merged, and nobody slows the
    /// writer down before both are full. Else see `memory_budget`.
    pub(crate) fn has_double_buffer(self) -> bool {
        self == Self::Rose
    }
}

/// Maximal ranges of runs that nobody owns, newest first.
fn free_stretches(taken: &[bool]) -> impl Iterator<Item = Range<usize>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let start = next + taken[next..].iter().position(|&taken| !taken)?;
        let length = taken[start..].iter().position(|&taken| taken);
        next = length.map_or(taken.len(), |length| start + length);
        Some(start..next)
    })
}

#[cfg(test)]
mod tests;
