//! Merge: folds neighbouring disk runs of a tree into one.
//!
//! 1. Claim the runs that the policy chose; capture the retention.
//! 2. Segments that would come out as they are (nothing of the other inputs within their keys,
//!    nothing to collect, not too small) move without being read.
//! 3. Merge the rest into new segments, synced, ending a segment where a moving one starts.
//! 4. Commit one manifest edit that takes the inputs' segments out and puts the output in the
//!    place of the oldest input.
//! 5. Swap the inputs for the output in the tree's version. The inputs' pages leave the cache
//!    now, their files when the last reader lets go.
//!
//! A failure or shut-down before the commit leaves the tree as it was.

use std::cmp::Reverse;
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use types::CommitPosition;

use crate::block::Summary;
use crate::cursor::{Cursor, PageSource};
use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::manifest::{Change, Edit};
use crate::merge::Merger;
use crate::policy;
use crate::retention::Retention;
use crate::rewrite::rewrite;
use crate::run::DiskRun;
use crate::run_writer::{RunWriter, Uncommitted};
use crate::segment::{Segment, SegmentId};
use crate::store::Store;
use crate::tree::Claim;
use crate::version::Version;

/// A segment smaller than this share of the full size is rewritten, so that small ones join.
const MOVED_SHARE_MIN: u64 = 4;

/// What a merge makes of its inputs.
struct Output {
    /// Segments that move as they are.
    moved: Vec<Arc<Segment>>,
    /// New segments.
    written: Uncommitted,
}

impl Store {
    /// Whether some tree has runs to merge.
    pub(crate) fn merge_is_due(&self) -> bool {
        let lowest = self.snapshots().retention_on_disk().lowest();
        self.trees()
            .iter()
            .any(|tree| tree.has_claim(|version, taken| self.choose(version, taken, lowest)))
    }

    /// Does one merge, in the tree with the most runs that has one to do.
    pub(crate) fn merge_step(&self) -> Result<bool, StoreError> {
        let lowest = self.snapshots().retention_on_disk().lowest();
        let mut trees = self.trees();
        // Cached: the numbers may change while the trees are sorted.
        trees.sort_by_cached_key(|tree| Reverse(tree.version().runs.len()));
        let claim = trees
            .iter()
            .find_map(|tree| tree.claim(|version, taken| self.choose(version, taken, lowest)));
        let Some(claim) = claim else { return Ok(false) };
        self.counters.merges_running.fetch_add(1, Ordering::Relaxed);
        let result = self.merge(&claim);
        self.counters.merges_running.fetch_sub(1, Ordering::Relaxed);
        if let Err(StoreError::Corrupt { .. }) = &result {
            // The same merge would fail in the same place for ever.
            claim.tree.stop_merging();
        }
        result
    }

    /// The runs to merge next: all of them while there is truncated data to collect, otherwise
    /// what the policy chooses.
    fn choose(&self, version: &Version, taken: &[bool], lowest: u64) -> Option<Range<usize>> {
        let all_free = !taken.contains(&true);
        if all_free && hides_on_disk(version, lowest) {
            return Some(0..version.runs.len());
        }
        let sizes: Vec<u64> = version.runs.iter().map(|run| run.bytes()).collect();
        policy::choose(&sizes, taken, self.factory.options.runs_max)
    }

    fn merge(&self, claim: &Claim) -> Result<bool, StoreError> {
        let tree = &claim.tree;
        let truncations = tree.version().truncations.clone();
        let retention = self
            .snapshots()
            .retention_on_disk()
            .for_merge(&truncations, claim.includes_oldest);
        let Some(output) = self.merge_inputs(claim, retention)? else {
            return Ok(false);
        };
        if !self.commit_merge(claim, output)? {
            return Ok(false);
        }
        self.counters.merges_done.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    /// Steps 2 and 3; `None` when the store is shutting down.
    fn merge_inputs(
        &self,
        claim: &Claim,
        retention: Retention,
    ) -> Result<Option<Output>, StoreError> {
        let layout = &claim.tree.layout;
        let mut moved = movable_segments(
            &claim.inputs,
            &retention,
            self.factory.options.segment_bytes,
        );
        moved.sort_by(|a, b| a.info().key_min.cmp(&b.info().key_min));
        let moving: HashSet<SegmentId> = moved.iter().map(|segment| segment.info().id).collect();
        let mut merger = Merger::new();
        for run in &claim.inputs {
            let rewritten: Vec<_> = run
                .segments
                .iter()
                .filter(|segment| !moving.contains(&segment.info().id))
                .cloned()
                .collect();
            merger.add_cursor(Cursor::new(
                layout,
                &rewritten,
                KeyRange::all(),
                PageSource::File,
            ));
        }
        let barriers: VecDeque<_> = moved
            .iter()
            .map(|segment| segment.info().key_min.clone())
            .collect();
        let mut writer = RunWriter::new(&self.factory, layout, barriers);
        let should_stop = || self.is_stopping();
        if !rewrite(
            merger,
            retention,
            &layout.all_columns,
            &mut writer,
            should_stop,
        )? {
            return Ok(None);
        }
        Ok(Some(Output {
            moved,
            written: writer.finish()?,
        }))
    }

    /// Steps 4 and 5; false when the table was dropped in the meantime.
    fn commit_merge(&self, claim: &Claim, output: Output) -> Result<bool, StoreError> {
        let tree = &claim.tree;
        let mut manifest = self.manifest.lock();
        if !self.is_live(tree) {
            return Ok(false);
        }
        let target = claim.inputs.last().expect("a merge has inputs");
        let mut segments = [output.written.segments(), &output.moved].concat();
        segments.sort_by(|a, b| a.info().key_min.cmp(&b.info().key_min));
        let run = Arc::new(DiskRun {
            id: target.id,
            segments,
        });
        let run = (!run.segments.is_empty()).then_some(run);
        let install = |version: &Version| version.merged(&claim.inputs, run.clone());
        let next = install(&tree.version());
        let idle = next.last_idle_truncation();
        let mut edit = Edit {
            changes: vec![replacement(claim, run.as_deref())],
        };
        let known = &manifest.state().tables[&tree.layout.table].truncations;
        if let Some(position) = idle.map(CommitPosition)
            && known.iter().any(|&known| known <= position)
        {
            edit.changes.push(Change::ForgetTruncations {
                table: tree.layout.table,
                position,
            });
        }
        if let Err(error) = manifest.commit(&edit) {
            return Err(self.failed_commit(error, std::iter::once(output.written)));
        }
        tree.update(|version| install(version).without_truncations(idle));
        let written: u64 = output
            .written
            .commit()
            .iter()
            .map(|segment| segment.info().bytes)
            .sum();
        self.counters
            .bytes_merged
            .fetch_add(written, Ordering::Relaxed);
        self.retire_inputs(claim, &output.moved);
        Ok(true)
    }

    fn retire_inputs(&self, claim: &Claim, moved: &[Arc<Segment>]) {
        let stays = |segment: &Arc<Segment>| moved.iter().any(|moved| Arc::ptr_eq(moved, segment));
        for segment in claim.inputs.iter().flat_map(|run| &run.segments) {
            if !stays(segment) {
                segment.retire(&self.factory.cache);
            }
        }
    }
}

/// Whether runs on disk hold versions that a truncation hides from everyone: a merge would
/// remove them.
fn hides_on_disk(version: &Version, lowest: u64) -> bool {
    let oldest = version
        .runs
        .iter()
        .filter_map(|run| run.position_min())
        .min();
    let hides = |truncation: &u64| {
        *truncation <= lowest && oldest.is_some_and(|oldest| oldest < *truncation)
    };
    version.truncations.iter().any(hides)
}

/// The manifest change that takes the inputs of a merge out and puts its output in.
fn replacement(claim: &Claim, run: Option<&DiskRun>) -> Change {
    let target = claim.inputs.last().expect("a merge has inputs");
    let stays: HashSet<SegmentId> = ids(&target.segments)
        .filter(|id| run.is_some_and(|run| ids(&run.segments).any(|output| output == *id)))
        .collect();
    let inputs = claim.inputs.iter().flat_map(|run| ids(&run.segments));
    let outputs = run.iter().flat_map(|run| &run.segments);
    Change::ReplaceSegments {
        table: claim.tree.layout.table,
        removed: inputs.filter(|id| !stays.contains(id)).collect(),
        run: target.id,
        added: outputs
            .map(|segment| segment.info().clone())
            .filter(|info| !stays.contains(&info.id))
            .collect(),
    }
}

fn ids(segments: &[Arc<Segment>]) -> impl Iterator<Item = SegmentId> {
    segments.iter().map(|segment| segment.info().id)
}

/// Segments that would come out of the merge as they are.
fn movable_segments(
    inputs: &[Arc<DiskRun>],
    retention: &Retention,
    segment_bytes: u64,
) -> Vec<Arc<Segment>> {
    let mut movable = Vec::new();
    for (index, run) in inputs.iter().enumerate() {
        let others = || {
            inputs
                .iter()
                .enumerate()
                .filter(move |&(other, _)| other != index)
        };
        for segment in &run.segments {
            let large = segment.info().bytes * MOVED_SHARE_MIN >= segment_bytes;
            let touched = || others().any(|(_, other)| overlaps(other, segment));
            if large && retention.leaves_alone(&summary(segment)) && !touched() {
                movable.push(Arc::clone(segment));
            }
        }
    }
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

/// Whether a page of `run` shares keys with the range of `segment`.
fn overlaps(run: &DiskRun, segment: &Segment) -> bool {
    let range = segment.info();
    run.segments.iter().any(|other| {
        let pages = &other.pages()[other.pages_in(Some(&range.key_min), None)];
        pages
            .first()
            .is_some_and(|page| page.first_key <= range.key_max)
    })
}
