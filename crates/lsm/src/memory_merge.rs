//! A merge of memory runs, done in pieces beside the batches that arrive.
//!
//! 1. [`MemoryMerge::advance`] merges some more rows: it only notes which rows stay.
//! 2. When no rows are left, it copies those that stay, some columns a call.
//! 3. [`MemoryMerge::finish`] makes a run of the columns.
//!
//! The writer does all of it, a piece with each batch, because a merge of 8 MiB at once would keep it
//! for longer than a batch may take. Each cell is copied once: where pieces of rows were copied, and
//! joined in the end, the join alone took up to 25 ms (a processor of the Zen 3 kind).
//!
//! Runs are immutable, so nothing that happens between two pieces touches the merge: new runs are
//! newer than its inputs, and what a snapshot may see of those was decided when it began (see
//! `retention`). Only a flush takes the inputs away; then the merge is dropped.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};

use crate::batch::{GatherError, Places};
use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::layout::Layout;
use crate::memory_run::MemoryRun;
use crate::merge::Merger;
use crate::retention::{Collapse, Retention, RetentionFilter};
use crate::selection::Selection;

/// Rows of one run that are merged between two looks at how many rows are done.
const STEP_ROWS: usize = 256;

/// Rows that are copied in the time in which one is merged, about.
const COPIED_ROWS_A_MERGED_ROW: usize = 4;

/// Merges neighbouring runs of a tree into one.
pub(crate) struct MemoryMerge {
    inputs: Vec<Arc<MemoryRun>>,
    merger: Merger,
    filter: RetentionFilter,
    collapse: Collapse,
    /// Rows that should have been merged by now.
    rows_due: usize,
    /// Rows that stay, those that have been merged.
    kept: Selection,
    /// What has been copied of them; `None` until all rows are merged.
    copies: Option<ColumnCopies>,
}

/// A part of the columns of the rows that stay.
struct ColumnCopies {
    places: Places,
    /// The next ones follow.
    columns: Vec<ArrayRef>,
    /// Rows for which all columns should have been copied by now, if they were copied row by row.
    rows_due: usize,
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
            copies: None,
        }
    }

    /// The runs that are merged, newest first.
    pub fn inputs(&self) -> &[Arc<MemoryRun>] {
        &self.inputs
    }

    /// Bytes that it takes beside its inputs.
    pub fn bytes(&self) -> usize {
        self.kept.bytes() + self.copies.as_ref().map_or(0, ColumnCopies::bytes)
    }

    /// Merges so many more rows of the inputs, unless it is ahead, or copies for as long; false when
    /// nothing is left to do.
    pub fn advance(&mut self, rows: usize) -> Result<bool, StoreError> {
        if self.copies.is_none() {
            self.rows_due = self.rows_due.saturating_add(rows);
            if self.merge_due()? {
                return Ok(true);
            }
        }
        if self.kept.rows() == 0 {
            return Ok(false);
        }
        self.copy_more(rows)
    }

    /// False when no rows are left.
    fn merge_due(&mut self) -> Result<bool, StoreError> {
        let mut more = true;
        while more && self.merger.rows_merged() < self.rows_due {
            more = self.merger.advance(&mut self.filter, &mut self.kept)?;
        }
        Ok(more)
    }

    /// False when all columns have been copied.
    fn copy_more(&mut self, rows: usize) -> Result<bool, StoreError> {
        let kept = &self.kept;
        let copies = self.copies.get_or_insert_with(|| ColumnCopies::of(kept));
        let rows = rows.saturating_mul(COPIED_ROWS_A_MERGED_ROW);
        copies.rows_due = copies.rows_due.saturating_add(rows).min(kept.rows());
        let columns = kept.columns().len();
        let columns_due = (columns * copies.rows_due).div_ceil(kept.rows());
        let batch = kept.all(&copies.places);
        while copies.columns.len() < columns_due {
            let column = batch.column(copies.columns.len()).map_err(whole)?;
            copies.columns.push(column);
        }
        Ok(copies.columns.len() < columns)
    }

    /// What the inputs became; `None` when no version stays.
    ///
    /// # Panics
    /// While something is left to do.
    pub fn finish(self) -> Result<Option<MemoryRun>, StoreError> {
        let Some(copies) = self.copies else {
            assert_eq!(self.kept.rows(), 0, "rows that stay have been copied");
            return Ok(None);
        };
        assert_eq!(copies.columns.len(), self.kept.columns().len());
        let batch = self.kept.all(&copies.places);
        let versions = batch.version_columns(self.collapse).map_err(whole)?;
        let unchanged = batch.unchanged().map_err(whole)?;
        Ok(Some(MemoryRun::of(versions, copies.columns, unchanged)))
    }
}

impl ColumnCopies {
    /// Nothing yet.
    fn of(kept: &Selection) -> Self {
        Self {
            places: kept.places(),
            columns: Vec::with_capacity(kept.columns().len()),
            rows_due: 0,
        }
    }

    fn bytes(&self) -> usize {
        let columns = self.columns.iter().map(|c| c.get_buffer_memory_size());
        self.places.bytes() + columns.sum::<usize>()
    }
}

/// Why rows of runs that are merged could not be copied.
fn whole(error: GatherError) -> StoreError {
    match error {
        GatherError::Store(error) => error,
        GatherError::TooManyBytes => panic!("runs to merge are bounded in bytes"),
    }
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
