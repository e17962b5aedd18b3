//! A merge of memory runs, done in pieces beside the batches that arrive.
//!
//! 1. [`MemoryMerge::advance`] merges some more rows and copies those that stay into a piece.
//! 2. When no rows are left, [`MemoryMerge::finish`] joins the pieces into one run.
//!
//! The writer does both, a piece with each batch, because a merge of 8 MiB at once would keep it
//! for longer than a batch may take. Runs are immutable, so nothing that happens between two
//! pieces touches the merge: new runs are newer than its inputs, and what a snapshot may see of
//! those was decided when it began (see `retention`). Only a flush takes the inputs away; then the
//! merge is dropped.

use std::sync::Arc;

use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::layout::Layout;
use crate::memory_run::MemoryRun;
use crate::merge::Merger;
use crate::retention::{Collapse, Retention, RetentionFilter};
use crate::selection::Selection;

/// Rows of one run that are merged between two looks at how many rows are done.
const STEP_ROWS: usize = 256;

/// Merges neighbouring runs of a tree into one.
pub(crate) struct MemoryMerge {
    inputs: Vec<Arc<MemoryRun>>,
    merger: Merger,
    filter: RetentionFilter,
    collapse: Collapse,
    /// Rows that should have been merged by now.
    rows_due: usize,
    /// Merged, but not copied yet.
    kept: Selection,
    /// Copied: whole runs, one behind the other.
    pieces: Vec<MemoryRun>,
    piece_bytes: usize,
}

impl MemoryMerge {
    /// Begins to merge runs, newest first.
    pub fn new(inputs: Vec<Arc<MemoryRun>>, retention: Retention, layout: &Layout) -> Self {
        let mut merger = Merger::with_step_rows(STEP_ROWS);
        let windows = inputs.iter().filter_map(|run| run.window(&KeyRange::all()));
        windows.for_each(|window| merger.add_window(window));
        Self {
            inputs,
            merger,
            collapse: retention.collapse(),
            filter: RetentionFilter::new(retention),
            rows_due: 0,
            kept: Selection::new(layout.all_columns.clone()),
            pieces: Vec::new(),
            piece_bytes: 0,
        }
    }

    /// The runs that are merged, newest first.
    pub fn inputs(&self) -> &[Arc<MemoryRun>] {
        &self.inputs
    }

    /// Bytes of the pieces.
    pub fn bytes(&self) -> usize {
        self.piece_bytes
    }

    /// Merges so many more rows of the inputs, unless it is ahead; false when there are no more.
    pub fn advance(&mut self, rows: usize) -> Result<bool, StoreError> {
        self.rows_due = self.rows_due.saturating_add(rows);
        let mut more = true;
        while more && self.merger.rows_merged() < self.rows_due {
            more = self.merger.advance(&mut self.filter, &mut self.kept)?;
        }
        if self.kept.rows() > 0 {
            let piece = take_run(&mut self.kept, self.collapse)?;
            self.piece_bytes += piece.bytes();
            self.pieces.push(piece);
        }
        Ok(more)
    }

    /// What the inputs became; `None` when no version stays. There are no more rows.
    pub fn finish(mut self) -> Result<Option<MemoryRun>, StoreError> {
        if self.pieces.len() < 2 {
            return Ok(self.pieces.pop());
        }
        for piece in &self.pieces {
            let source = self.kept.source(piece.block());
            self.kept.push(source, 0..piece.rows());
        }
        take_run(&mut self.kept, Collapse::default()).map(Some)
    }
}

/// All kept rows as a run.
fn take_run(kept: &mut Selection, collapse: Collapse) -> Result<MemoryRun, StoreError> {
    let rows = kept.rows();
    let (versions, keys) = kept.take_all(|batch| batch.versions(collapse))?;
    assert_eq!(versions.len(), rows, "runs to merge are bounded in bytes");
    Ok(MemoryRun::from_sorted(versions, keys))
}

/// Merges runs, newest first, at once.
pub(crate) fn merge_runs(
    runs: &[Arc<MemoryRun>],
    retention: Retention,
    layout: &Layout,
) -> Result<Option<MemoryRun>, StoreError> {
    let mut merge = MemoryMerge::new(runs.to_vec(), retention, layout);
    while merge.advance(usize::MAX)? {}
    merge.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_rows::Written::Put;
    use crate::test_rows::{layout, run};

    /// Eight runs of interleaved keys, every fourth one in all of them.
    fn runs() -> Vec<Arc<MemoryRun>> {
        let run_of = |number: i64| {
            let own = move |key: i64| key % 8 == number || key % 4 == 0;
            let keys = (0..6_000).filter(move |&key| own(key));
            let written: Vec<_> = keys
                .map(|key| Put(key, 10 - number as u64, number, "text"))
                .collect();
            run(&written)
        };
        (0..8).map(run_of).collect()
    }

    fn versions(run: &MemoryRun) -> Vec<(Vec<u8>, u64)> {
        let versions = run.block().versions();
        (0..run.rows())
            .map(|row| {
                let key = format!("{:?}", versions.keys.key(row)).into_bytes();
                (key, versions.positions.at(row))
            })
            .collect()
    }

    #[test]
    fn in_pieces_it_becomes_the_same_run_as_at_once() {
        let retention = || Retention::new(20, [7], None);
        let at_once = merge_runs(&runs(), retention(), &layout()).expect("memory can be read");
        let at_once = at_once.expect("versions stay");
        let mut merge = MemoryMerge::new(runs(), retention(), &layout());
        let mut calls = 1;
        while merge.advance(1_000).expect("memory can be read") {
            calls += 1;
        }
        assert!(calls > 5, "{calls} calls were enough");
        assert!(merge.bytes() >= at_once.bytes());
        let in_pieces = merge.finish().expect("memory can be read");
        let in_pieces = in_pieces.expect("versions stay");
        assert_eq!(versions(&in_pieces), versions(&at_once));
    }
}
