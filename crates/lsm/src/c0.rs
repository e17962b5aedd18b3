//! C0: the memory component of a tree, a few memory runs merged in tiers.
//!
//! Each ingested batch becomes a run. When [`TIER_RUNS`] neighbouring runs are of about one
//! size, they are merged into one, so that a tree of n versions has about log n runs and each
//! version is copied about log n times. The merges keep what retention asks for: a row that is
//! updated over and over leaves one version behind once its updates are published.
//!
//! Runs are immutable: readers hold the list that they found and wait for nobody.

use std::sync::Arc;

use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::layout::Layout;
use crate::memory_run::MemoryRun;
use crate::merge::Merger;
use crate::retention::{Retention, RetentionFilter};
use crate::selection::Selection;

/// Runs of one size class that are merged into one.
const TIER_RUNS: usize = 8;

/// Runs that together are larger are left alone: the writer waits for these merges. One of this
/// size takes about 10 ms (of 64 MiB 75: then 1,000 rows took as long now and then).
const MERGE_BYTES_MAX: usize = 8 << 20;

/// How many of the newest runs (newest first) to merge; `None` while there is nothing to gain.
pub(crate) fn due_merge(runs: &[Arc<MemoryRun>]) -> Option<usize> {
    let class = |run: &MemoryRun| run.rows().max(1).ilog(TIER_RUNS);
    let newest = class(runs.first()?);
    // A run that outgrew the class of its elders takes them in with the rest.
    let count = runs.iter().take_while(|run| class(run) <= newest).count();
    let bytes: usize = runs[..count].iter().map(|run| run.bytes()).sum();
    (count >= TIER_RUNS && bytes <= MERGE_BYTES_MAX).then_some(count)
}

/// Merges memory runs (newest first) into one; `None` when no version stays.
pub(crate) fn merge_runs(
    runs: &[Arc<MemoryRun>],
    retention: Retention,
    layout: &Layout,
) -> Result<Option<MemoryRun>, StoreError> {
    let mut merger = Merger::new();
    for run in runs {
        run.window(&KeyRange::all())
            .into_iter()
            .for_each(|window| merger.add_window(window));
    }
    let collapse = retention.collapse();
    let mut filter = RetentionFilter::new(retention);
    let mut kept = Selection::new(layout.all_columns.clone());
    while merger.advance(&mut filter, &mut kept)? {}
    if kept.rows() == 0 {
        return Ok(None);
    }
    let all = kept.rows();
    let (rows, keys) = kept.take_all(|batch| batch.versions(collapse))?;
    assert_eq!(rows.len(), all, "runs to merge are bounded in bytes");
    Ok(Some(MemoryRun::from_sorted(rows, keys)))
}
