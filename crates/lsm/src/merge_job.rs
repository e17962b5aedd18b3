//! Merge: folds neighbouring disk runs of a tree into one, a part of their keys at a time.
//!
//! 1. Claim the runs that the policy chose; capture the retention.
//! 2. Segments that would come out as they are (nothing of the other inputs within their keys,
//!    nothing to collect, not too small) move without being read.
//! 3. Merge the rest into new segments, synced, ending a segment where a moving one starts.
//! 4. Whenever a segment is finished, everything below the next key is: take a step (see
//!    `merge_step`). One manifest edit takes the inputs' segments below that key out, raises the
//!    bounds of those across it, and puts the new ones in; the tree's version follows. Pages of
//!    segments that went leave the cache now, their files when the last reader lets go. So a merge
//!    needs room for a few segments, not for all of its output.
//!
//! Between two batches a merge makes way for much smaller ones, most of them of other trees: one
//! thread does all merges, and a large one takes a minute.
//!
//! A failure or shut-down leaves the tree as it was after the last step.
//!
//! Under policies that are baselines nothing moves, and there is one step, at the end.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use types::key::SortKey;

use crate::block::Summary;
use crate::compaction_buffer::{BufferOptions, Consumed};
use crate::cursor::{Cursor, PageSource};
use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::manifest::{Edit, RunId};
use crate::merge::Merger;
use crate::merge_step::{MergeStep, Outcome};
use crate::museum::{self, Exhibit};
use crate::policy::{self, Runs};
use crate::retention::{Outside, Retention};
use crate::rewrite::rewrite;
use crate::run::{DiskRun, RunSegment};
use crate::run_writer::{RunShape, RunWriter, Uncommitted};
use crate::segment::{Segment, SegmentId, SegmentInfo};
use crate::stats::MergeState;
use crate::store::Store;
use crate::tree::{Claim, Tree};
use crate::version::Version;
use crate::warming::Warmer;

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

/// A segment smaller than this share of the full size is rewritten, so that small ones join.
const MOVED_SHARE_MIN: u64 = 4;

/// What a merge knows of those for which it made way.
struct Way {
    /// Its own bytes.
    bytes: u64,
    /// The last flush after which it looked for smaller ones.
    flushed_us: u64,
    /// When it began.
    started: Duration,
    /// The time that others took of it: at most half, so that it ends, too.
    made: Duration,
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

    /// Lets smaller merges go first that have become due since the last call: those of small trees
    /// take a moment, and would wait for as long as the large one goes on.
    fn make_way(&self, way: &mut Way) -> Result<(), StoreError> {
        let flushed_us = self.flushed_us.load(Ordering::Relaxed);
        let now = self.factory.env.clock.monotonic();
        let is_behind = way.made * 2 > now.saturating_sub(way.started);
        if flushed_us == way.flushed_us || is_behind {
            return Ok(());
        }
        way.flushed_us = flushed_us;
        // On a full disk a merge would fail again at once, for ever.
        let mut goes_on = true;
        while goes_on
            && !self.is_stopping()
            && let Some(claim) = self.claim_up_to(way.bytes / SMALLER_TIMES)
        {
            goes_on = self.merge_beside(claim)?;
        }
        way.made += self.factory.env.clock.monotonic().saturating_sub(now);
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

    /// False when it was stopped, or the table dropped meanwhile.
    fn merge(&self, claim: &Claim) -> Result<bool, StoreError> {
        let tree = &claim.tree;
        let runs = claim.runs();
        let retention = self.retention_of(claim, &runs);
        let run_bytes = runs.iter().map(|run| run.bytes()).sum();
        let mut way = Way {
            bytes: run_bytes,
            flushed_us: self.flushed_us.load(Ordering::Relaxed),
            started: self.factory.env.clock.monotonic(),
            made: Duration::ZERO,
        };
        let warmer = self.warmer(tree, &claim.inputs);
        let shape = RunShape::of(
            &self.factory.options,
            run_bytes,
            claim.includes_oldest,
            warmer.filters_are_used(),
        );
        let installs_steps = self.factory.options.merge_policy.installs_steps();
        // A buffer has to have everything that is merged.
        let has_buffer = self.factory.options.compaction_buffer.is_some();
        let moving = match installs_steps && !has_buffer {
            true => movable_segments(&runs, &retention, shape),
            false => Vec::new(),
        };
        drop(runs); // Whoever has them keeps the files of what goes.
        let moving_ids: HashSet<SegmentId> = moving.iter().map(|info| info.id).collect();
        let barriers = moving.into_iter().map(|info| info.key_min).collect();
        let mut writer = RunWriter::new(&self.factory, &tree.layout, shape, barriers, warmer);
        let merger = self.merger(claim, &moving_ids);
        let mut start = None;
        let mut take_step = |written, end: Option<SortKey>| {
            let start = std::mem::replace(&mut start, end.clone());
            self.take_step(claim, &moving_ids, written, start..end)
        };
        let goes_on = |writer: &mut RunWriter<'_>| {
            if self.is_stopping() {
                return Ok(false);
            }
            self.trim_buffers_if_due();
            if installs_steps {
                self.make_way(&mut way)?;
            }
            let finished = installs_steps.then(|| writer.take_finished()).flatten();
            finished.map_or(Ok(true), |(written, end)| take_step(written, Some(end)))
        };
        let columns = &tree.layout.all_columns;
        let is_done = rewrite(merger, retention, columns, &mut writer, goes_on)?
            && take_step(writer.finish()?, None)?;
        let merges_done = u64::from(is_done);
        self.counters
            .merges_done
            .fetch_add(merges_done, Ordering::Relaxed);
        Ok(is_done)
    }

    /// Warms what a rewrite of the tree's `inputs` writes; of what is in memory, if there are none.
    pub(crate) fn warmer<'a>(&self, tree: &'a Tree, inputs: &'a [RunId]) -> Warmer<'a> {
        Warmer::new(
            tree,
            inputs,
            self.factory.options.warming,
            &self.factory.cache,
        )
    }

    fn retention_of(&self, claim: &Claim, inputs: &[Arc<DiskRun>]) -> Retention {
        // In this order: what is ingested after the boundaries are known lies above them.
        let retention = self.snapshots().retention_on_disk();
        let version = claim.tree.version();
        let is_other = |run: &&Arc<DiskRun>| !claim.inputs.contains(&run.id);
        let on_disk = version.runs.iter().filter(is_other);
        let others = on_disk
            .map(|run| run.positions())
            .chain(version.memory_runs().map(|run| run.positions()));
        let outside = match claim.includes_oldest {
            true => Outside::NoneOlder,
            false => {
                let inputs = inputs.iter().map(|run| run.positions());
                Outside::of(inputs, others, retention.lowest())
            }
        };
        retention.for_merge(&version.truncations, outside)
    }

    /// Everything in the inputs that does not move.
    fn merger(&self, claim: &Claim, moving: &HashSet<SegmentId>) -> Merger {
        let mut merger = Merger::new();
        for run in claim.runs() {
            let stays = |part: &&RunSegment| !moving.contains(&part.info().id);
            let rewritten: Vec<_> = run.segments.iter().filter(stays).cloned().collect();
            merger.add_cursor(reader(&claim.tree, &rewritten));
        }
        merger
    }

    /// Step 4: all keys in the range are in `written` or move. False when the table was dropped in
    /// the meantime.
    fn take_step(
        &self,
        claim: &Claim,
        moving: &HashSet<SegmentId>,
        written: Uncommitted,
        keys: Range<Option<SortKey>>,
    ) -> Result<bool, StoreError> {
        let tree = &claim.tree;
        let mut manifest = self.manifest.lock();
        if !self.is_live(tree) {
            return Ok(false);
        }
        let step = MergeStep {
            inputs: &claim.inputs,
            moving,
            written: written.segments(),
            start: keys.start,
            end: keys.end,
        };
        // Runs on disk change under the manifest's lock only: these stay until the update.
        let before = tree.version();
        let Some(mut outcome) = step.take(&before.runs) else {
            return Ok(true);
        };
        let idle = before
            .with_runs(outcome.runs.clone())
            .last_idle_truncation();
        let table = tree.layout.table;
        let mut changes = outcome.changes(table);
        changes.extend(manifest.forgets(table, idle));
        if museum::shows(Exhibit::InputsDeletedEarly) {
            let paths = outcome.retired.iter().map(|segment| segment.info().id);
            paths.for_each(|id| {
                drop(
                    self.factory
                        .env
                        .disk
                        .remove(&id.path(&self.factory.directory)),
                )
            });
        }
        if let Err(error) = manifest.commit(&Edit { changes }) {
            return Err(self.failed_commit(error, std::iter::once(written)));
        }
        // Not before: what it owns it deletes.
        let consumed = self.keep_consumed(claim, &step, &before, &mut outcome);
        tree.update(|version| {
            let next = version.with_runs(outcome.runs);
            next.without_truncations(idle)
        });
        let owned: HashSet<SegmentId> = consumed.iter().flat_map(Consumed::owned).collect();
        let is_left = |segment: &&Arc<Segment>| !owned.contains(&segment.info().id);
        for segment in outcome.retired.iter().filter(is_left) {
            segment.retire(&self.factory.cache);
        }
        self.count_merged(&written.commit());
        Ok(true)
    }

    /// Puts what a committed step has consumed into the buffer of the run that it went into, where
    /// there are buffers.
    fn keep_consumed(
        &self,
        claim: &Claim,
        step: &MergeStep<'_>,
        before: &Version,
        outcome: &mut Outcome,
    ) -> Vec<Consumed> {
        let Some(target) = outcome.target_run() else {
            return Vec::new();
        };
        // What came may not have been noted, and where nothing is left of the oldest input it goes
        // into another one: such a buffer does not know the newest versions.
        let is_oldest = claim.inputs.last() == Some(&target.id);
        let consumed = is_oldest.then(|| self.consumed(claim, step, before));
        let consumed = consumed.flatten().unwrap_or_default();
        let buffer = (!consumed.is_empty()).then(|| target.buffer_after(&consumed));
        if buffer.is_some() || target.buffer.is_some() {
            *target = Arc::new(target.with_buffer(buffer));
        }
        consumed
    }

    /// What a step of a merge has consumed of all inputs but the oldest, where there are buffers.
    /// The last run has none: it would have everything twice.
    fn consumed(
        &self,
        claim: &Claim,
        step: &MergeStep<'_>,
        before: &Version,
    ) -> Option<Vec<Consumed>> {
        self.factory.options.compaction_buffer?;
        if claim.includes_oldest {
            return None;
        }
        // Of an input that is used up nothing is consumed any more.
        let find = |id: &RunId| before.runs.iter().find(move |run| run.id == *id);
        let inputs: Vec<Option<&Arc<DiskRun>>> = claim.inputs.iter().map(find).collect();
        let newer = 0..inputs.len() - 1;
        let consumed = newer.map(|index| {
            let older = inputs[index + 1..].iter().flatten();
            let position_before = older.map(|run| run.positions().max).max();
            Consumed::new(
                inputs[index].map_or_else(Vec::new, |run| step.consumed(run)),
                step.start.clone()..step.end.clone(),
                position_before.unwrap_or(0),
                &self.factory.cache,
            )
        });
        Some(consumed.collect())
    }

    /// Trims the buffers of all trees, if it is time.
    fn trim_buffers_if_due(&self) {
        let Some(options) = self.factory.options.compaction_buffer else {
            return;
        };
        let now_ms = self.factory.env.clock.monotonic().as_millis() as u64;
        let trimmed_ms = self.trimmed_ms.load(Ordering::Relaxed);
        if now_ms < trimmed_ms + options.trim_period_ms {
            return;
        }
        self.trimmed_ms.store(now_ms, Ordering::Relaxed);
        // Runs on disk change under the manifest's lock only.
        let _manifest = self.manifest.lock();
        for tree in self.trees() {
            tree.update(|version| version.with_runs(self.trimmed(version, options)));
        }
    }

    fn trimmed(&self, version: &Version, options: BufferOptions) -> Vec<Arc<DiskRun>> {
        let trimmed = |run: &Arc<DiskRun>| {
            let buffer = run.buffer.as_ref();
            let next =
                buffer.and_then(|b| b.trimmed(options.cached_share_min, &self.factory.cache));
            next.map_or_else(
                || Arc::clone(run),
                |next| Arc::new(run.with_buffer(Some(next))),
            )
        };
        version.runs.iter().map(trimmed).collect()
    }

    fn count_merged(&self, segments: &[Arc<Segment>]) {
        let bytes = segments.iter().map(|segment| segment.info().bytes);
        self.counters
            .bytes_merged
            .fetch_add(bytes.sum(), Ordering::Relaxed);
    }
}

/// Reads segments to the end, to merge them.
pub(crate) fn reader(tree: &Tree, segments: &[RunSegment]) -> Cursor {
    Cursor::new(&tree.layout, segments, KeyRange::all(), PageSource::File)
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

/// Segments that would come out of the merge as they are, keys ascending. One with a bound is
/// rewritten: what does not count takes room.
fn movable_segments(
    inputs: &[Arc<DiskRun>],
    retention: &Retention,
    shape: RunShape,
) -> Vec<SegmentInfo> {
    let mut movable = Vec::new();
    for (index, run) in inputs.iter().enumerate() {
        let others = || inputs.iter().enumerate().filter(move |&(i, _)| i != index);
        for part in run.segments.iter().filter(|part| part.bound.is_none()) {
            // Where the run has filters, what it takes in has to have them, too.
            let fits = !shape.has_filters || part.segment.filter_bytes() > 0;
            let large = part.info().bytes * MOVED_SHARE_MIN >= shape.segment_bytes;
            let touched = || others().any(|(_, other)| overlaps(other, part.info()));
            if large && fits && retention.leaves_alone(&summary(&part.segment)) && !touched() {
                movable.push(part.info().clone());
            }
        }
    }
    movable.sort_by(|a, b| a.key_min.cmp(&b.key_min));
    movable
}

fn summary(segment: &Segment) -> Summary {
    let info = segment.info();
    Summary {
        position_min: info.position_min.0,
        position_max: info.position_max.0,
        all_puts: info.tombstones == 0 && info.patches == 0,
        unique_keys: segment.pages().iter().all(|page| page.unique_keys),
    }
}

/// Whether a page of `run` shares keys with a segment.
fn overlaps(run: &DiskRun, info: &SegmentInfo) -> bool {
    run.segments.iter().any(|other| {
        let pages = &other.segment.pages()[other.segment.pages_in(Some(&info.key_min), None)];
        pages
            .first()
            .is_some_and(|page| page.first_key <= info.key_max)
    })
}
