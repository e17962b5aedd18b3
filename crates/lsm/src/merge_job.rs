//! Merge: folds neighbouring disk runs of a tree into one, a part of their keys at a time.
//!
//! 1. Claim the runs that the policy chose; capture the retention.
//! 2. Segments that would come out as they are (nothing of the other inputs within their keys,
//!    nothing to collect, not too small) move without being read.
//! 3. Merge the rest into new segments, ending a segment where a moving one starts.
//! 4. When a segment is finished, everything below the next key is: after a few megabytes, sync them and take a step (see
//!    `merge_step`). One manifest edit takes the inputs' segments below that key out, raises the
//!    bounds of those across it, and puts the new ones in; the tree's version follows. Pages of
//!    segments that went leave the cache now, their files when the last reader lets go. So a merge
//!    needs room for a few segments, not for all of its output.
//!
//! Which runs are merged and when, and how merges make way for one another, is `merge_turns`.
//!
//! A failure or shut-down leaves the tree as it was after the last step.
//!
//! Under policies that are baselines nothing moves, and there is one step, at the end.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use types::key::SortKey;

use crate::block::Summary;
use crate::compaction_buffer::Consumed;
use crate::cursor::{Cursor, PageSource};
use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::manifest::{Edit, RunId};
use crate::merge::Merger;
use crate::merge_step::MergeStep;
use crate::museum::{self, Exhibit};
use crate::retention::{Outside, Retention};
use crate::rewrite::rewrite;
use crate::run::{DiskRun, RunSegment};
use crate::run_writer::{RunShape, RunWriter, Uncommitted};
use crate::segment::{Segment, SegmentId, SegmentInfo};
use crate::store::Store;
use crate::tree::{Claim, Tree};
use crate::warming::Warmer;

/// A merge takes a step after so many bytes of output: each costs a commit, which is two syncs, and those of small
/// segments would take longer than what lies between.
const STEP_BYTES_MIN: u64 = 4 << 20;

/// A segment smaller than this share of the full size is rewritten, so that small ones join.
const MOVED_SHARE_MIN: u64 = 4;

impl Store {
    /// False when it was stopped, or the table dropped meanwhile.
    pub(crate) fn merge(&self, claim: &Claim) -> Result<bool, StoreError> {
        let tree = &claim.tree;
        let runs = claim.runs();
        let retention = self.retention_of(claim, &runs);
        let run_bytes = runs.iter().map(|run| run.bytes()).sum();
        let mut way = self.begin_way(run_bytes);
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
        let mut writer = RunWriter::new(&self.factory, tree, shape, barriers, warmer);
        let merger = self.merger(claim, &moving_ids);
        let step_bytes_min = STEP_BYTES_MIN.min(self.factory.options.segment_bytes);
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
            self.rest(&mut way);
            if installs_steps {
                self.make_way(&mut way)?;
            }
            let is_due = installs_steps && writer.finished_bytes() >= step_bytes_min;
            let finished = is_due.then(|| writer.take_finished()).flatten();
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
        let others: Vec<_> = on_disk
            .map(|run| run.positions())
            .chain(version.memory_runs().map(|run| run.positions()))
            .collect();
        let inputs = inputs.iter().map(|run| run.positions());
        let outside = Outside::of(claim.includes_oldest, inputs, &others, retention.lowest());
        retention.for_merge(&version.truncations, outside, others)
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
        mut written: Uncommitted,
        keys: Range<Option<SortKey>>,
    ) -> Result<bool, StoreError> {
        // Not under the manifest's lock: flushes would wait.
        written.unsynced().sync()?;
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
        let visible = self.visible().0;
        // Runs on disk change under the manifest's lock only: these stay until the update.
        let before = tree.version();
        let Some(mut outcome) = step.take(&before.runs) else {
            return Ok(true);
        };
        let idle = before
            .with_runs(outcome.runs.clone())
            .last_idle_truncation(visible);
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

    fn count_merged(&self, segments: &[Arc<Segment>]) {
        let bytes = segments.iter().map(|segment| segment.info().bytes);
        self.counters
            .bytes_merged
            .fetch_add(bytes.sum(), Ordering::Relaxed);
    }
}

/// Reads segments to the end, to merge them.
pub(crate) fn reader(tree: &Tree, segments: &[RunSegment]) -> Cursor {
    Cursor::new(
        &tree.layout,
        segments,
        KeyRange::all(),
        PageSource::File,
        None,
    )
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
