//! Which merge is next, and whose turn it is.
//!
//! 1. The next merge is in the tree with the most runs that has one to do: a truncation to collect, or
//!    what the policy chooses.
//! 2. One thread does all merges, and a large one takes a minute. So between two batches a merge makes
//!    way for much smaller ones that have become due, most of them of other trees, for half of the time.
//! 3. While a flush writes and the writer waits for it, a merge rests for as long as it went on. Where processors are
//!    short it would take what the writer leaves to the flush, so that the flush is no faster, the writer waits longer,
//!    and merges, having more time, merge less at once (decision 0013).
//! 4. A flush merges the newest runs of a tree that has far too many before it adds another one: merges
//!    have the lower priority, and would never catch up with a writer who needs all processors.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::error::StoreError;
use crate::policy::{self, Runs};
use crate::stats::MergeState;
use crate::store::Store;
use crate::tree::{Claim, Tree};
use crate::version::Version;

/// After so long without a flush a store is idle: longer than there is between two flushes of a
/// source that is busy, or of one whose changes are made durable every second.
const IDLE: Duration = Duration::from_secs(2);

/// A tree that has this many times as many runs as it may have is crowded: merges are far behind.
const CROWDED_TIMES: usize = 2;

/// A merge of more bytes is too long for a flush to wait for: half a second, where all processors
/// are busy.
const RELIEF_BYTES_MAX: u64 = 16 << 20;

/// Runs that a flush merges at least: fewer would be written again too soon.
const RELIEF_RUNS_MIN: usize = 4;

/// A merge makes way for others that are so many times smaller.
const SMALLER_TIMES: u64 = 4;

/// A merge rests for so long at a time: longer than its batches take, shorter than a writer's wait that matters.
const REST_MAX: Duration = Duration::from_millis(20);

/// A merge makes way for one part in so many of its time.
const WAY_SHARE: u32 = 2;

/// What a merge knows of those for which it made way.
pub(crate) struct Way {
    /// Its own bytes.
    bytes: u64,
    /// The last flush after which no smaller one was left.
    flushed_us: u64,
    /// When it began.
    started: Duration,
    /// The time that others took of it.
    made: Duration,
    /// When it went on after its last rest, or would have rested.
    resumed: Duration,
}

impl Way {
    /// Whether others have had their half, so that it ends, too.
    fn is_behind(&self, now: Duration) -> bool {
        self.made * WAY_SHARE > now.saturating_sub(self.started)
    }
}

impl Store {
    /// Whether some tree has runs to merge.
    pub(crate) fn merge_is_due(&self) -> bool {
        let lowest = self.snapshots().retention_on_disk().lowest();
        let is_idle = self.is_idle();
        let choose =
            |version: &Version, taken: &[bool]| self.choose(version, taken, lowest, is_idle);
        self.trees().iter().any(|tree| tree.has_claim(choose))
    }

    /// What the tree's merges are at. What only an idle store would do is not due.
    pub(crate) fn merge_state(&self, tree: &Arc<Tree>) -> MergeState {
        if tree.is_merging() {
            return MergeState::UnderWay;
        }
        let lowest = self.snapshots().retention_on_disk().lowest();
        let is_due = |version: &Version, taken: &[bool]| self.choose(version, taken, lowest, false);
        match tree.has_claim(is_due) {
            true => MergeState::Due,
            false => MergeState::None,
        }
    }

    /// Does one merge, in the tree with the most runs that has one to do.
    pub(crate) fn merge_if_due(&self) -> Result<bool, StoreError> {
        self.trim_buffers_if_due();
        match self.claim_up_to(u64::MAX) {
            Some(claim) => self.merge_claimed(claim),
            None => Ok(false),
        }
    }

    /// Merges the newest runs of a tree that has far too many, as long as that is short. A flush
    /// calls it before it adds another run: merges have the lower priority, and would never catch up
    /// with a writer who needs all processors.
    pub(crate) fn relieve(&self, tree: &Arc<Tree>) -> Result<(), StoreError> {
        let runs_max = self.factory.options.runs_max;
        let is_crowded = tree.version().runs.len() >= runs_max * CROWDED_TIMES;
        if !is_crowded || !self.factory.options.merge_policy.installs_steps() {
            return Ok(());
        }
        let lowest = self.snapshots().retention_on_disk().lowest();
        let choose = |version: &Version, taken: &[bool]| {
            let chosen = self.choose(version, taken, lowest, false)?;
            newest_within(version, chosen, RELIEF_BYTES_MAX)
        };
        if let Some(claim) = tree.claim(choose) {
            self.merge_beside(claim)?;
        }
        Ok(())
    }

    /// The next merge of at most so many bytes, in the tree with the most runs that has one.
    fn claim_up_to(&self, bytes_max: u64) -> Option<Claim> {
        let lowest = self.snapshots().retention_on_disk().lowest();
        let is_idle = self.is_idle();
        let choose = |version: &Version, taken: &[bool]| {
            let chosen = self.choose(version, taken, lowest, is_idle)?;
            (bytes_of(version, &chosen) <= bytes_max).then_some(chosen)
        };
        let mut trees = self.trees();
        // Cached: the numbers may change while the trees are sorted.
        trees.sort_by_cached_key(|tree| Reverse(tree.version().runs.len()));
        trees.iter().find_map(|tree| tree.claim(choose))
    }

    fn merge_claimed(&self, claim: Claim) -> Result<bool, StoreError> {
        self.flush_signal.notify(); // A flush may have waited for it to begin,
        self.counters.merges_running.fetch_add(1, Ordering::Relaxed);
        let result = self.merge(&claim);
        self.counters.merges_running.fetch_sub(1, Ordering::Relaxed);
        if let Err(StoreError::Corrupt { .. }) = &result {
            // The same merge would fail in the same place for ever.
            claim.tree.stop_merging();
        }
        drop(claim);
        self.flush_signal.notify(); // or for room for the next one.
        result
    }

    /// Merges beside other work, which goes on after a failure unless nothing can be durable any
    /// more. False when nothing more should be merged beside it now.
    fn merge_beside(&self, claim: Claim) -> Result<bool, StoreError> {
        let table = claim.tree.layout.table;
        match self.merge_claimed(claim) {
            Err(error @ StoreError::Poisoned(_)) => Err(error),
            Err(error) => {
                tracing::warn!(%table, %error, "a merge failed");
                Ok(false)
            }
            done => done,
        }
    }

    /// What a merge of so many bytes that begins now knows of those for which it will make way.
    pub(crate) fn begin_way(&self, bytes: u64) -> Way {
        let now = self.factory.env.clock.monotonic();
        Way {
            bytes,
            flushed_us: self.flushed_us.load(Ordering::Relaxed),
            started: now,
            made: Duration::ZERO,
            resumed: now,
        }
    }

    /// Leaves the processors to the flush for which the writer waits, if it does.
    pub(crate) fn rest(&self, way: &mut Way) {
        let clock = &self.factory.env.clock;
        let now = clock.monotonic();
        if self.memory.holds_writer(now) {
            let rest = now.saturating_sub(way.resumed).min(REST_MAX);
            let is_over = || !self.memory.is_flushing() || self.is_stopping();
            self.memory.freed.wait_until(rest, is_over);
        }
        way.resumed = clock.monotonic();
    }

    /// Lets smaller merges go first that have become due since the last call: those of small trees
    /// take a moment, and would wait for as long as the large one goes on.
    pub(crate) fn make_way(&self, way: &mut Way) -> Result<(), StoreError> {
        let flushed_us = self.flushed_us.load(Ordering::Relaxed);
        if flushed_us == way.flushed_us {
            return Ok(());
        }
        let clock = &self.factory.env.clock;
        let mut begin = clock.monotonic();
        // On a full disk a merge would fail again at once, for ever.
        let mut goes_on = true;
        while goes_on && !self.is_stopping() {
            if way.is_behind(begin) {
                return Ok(());
            }
            let Some(claim) = self.claim_up_to(way.bytes / SMALLER_TIMES) else {
                break;
            };
            goes_on = self.merge_beside(claim)?;
            let end = clock.monotonic();
            way.made += end.saturating_sub(begin);
            begin = end;
        }
        way.flushed_us = flushed_us;
        Ok(())
    }

    /// The runs to merge next: all of them while there is truncated data to collect, otherwise
    /// what the policy chooses.
    fn choose(
        &self,
        version: &Version,
        taken: &[bool],
        lowest: u64,
        is_idle: bool,
    ) -> Option<Range<usize>> {
        let all_free = !taken.contains(&true);
        if all_free && hides_on_disk(version, lowest) {
            return Some(0..version.runs.len());
        }
        if version.runs.len() < 2 {
            return None; // Most of a thousand trees, whenever somebody looks for work.
        }
        let options = &self.factory.options;
        self.ask_policy(version, taken, |runs| {
            let policy = options.merge_policy;
            policy.choose(runs, options.runs_max, is_idle)
        })
    }

    /// What a policy says of the runs of a version.
    pub(crate) fn ask_policy<T>(
        &self,
        version: &Version,
        taken: &[bool],
        question: impl FnOnce(&Runs<'_>) -> T,
    ) -> T {
        let sizes: Vec<u64> = version.runs.iter().map(|run| run.bytes()).collect();
        question(&Runs {
            sizes: &sizes,
            taken,
            full_c0_bytes: policy::run_bytes(self.memory.full_c0() as u64),
        })
    }

    /// Whether nothing has been flushed for a while.
    fn is_idle(&self) -> bool {
        let now = self.factory.env.clock.monotonic();
        let flushed = Duration::from_micros(self.flushed_us.load(Ordering::Relaxed));
        now.saturating_sub(flushed) >= IDLE
    }
}

/// The newest of the chosen runs that have so many bytes together at most, if they are enough to be
/// worth a merge.
fn newest_within(version: &Version, chosen: Range<usize>, bytes_max: u64) -> Option<Range<usize>> {
    let mut bytes = 0;
    let within = version.runs[chosen.clone()].iter().take_while(|run| {
        bytes += run.bytes();
        bytes <= bytes_max
    });
    let runs = within.count();
    (runs >= RELIEF_RUNS_MIN).then(|| chosen.start..chosen.start + runs)
}

fn bytes_of(version: &Version, chosen: &Range<usize>) -> u64 {
    let runs = version.runs[chosen.clone()].iter();
    runs.map(|run| run.bytes()).sum()
}

/// Whether runs on disk hold versions that a truncation hides from everyone: a merge would
/// remove them.
fn hides_on_disk(version: &Version, lowest: u64) -> bool {
    let oldest = version.runs.iter().map(|run| run.positions().min).min();
    let hides = |truncation: &u64| {
        *truncation <= lowest && oldest.is_some_and(|oldest| oldest < *truncation)
    };
    version.truncations.iter().any(hides)
}
