//! Scans: what one snapshot sees of one tree, as batches.
//!
//! A scan holds the tree version that it found, so flushes and merges go on underneath. It
//! merges all runs through a [`SnapshotFilter`] and copies the projected columns of the rows
//! that are left; columns that nobody asked for are never decoded, and keys only where runs
//! overlap.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use types::key::SortKey;

use crate::batch::{Batch, GatherError};
use crate::cursor::{Cursor, PageSource};
use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::layout::Layout;
use crate::memory_run::MemoryRun;
use crate::merge::Merger;
use crate::page_cache::PageCache;
use crate::run::DiskRun;
use crate::scan_counts::{ScanCounts, ScanMeter};
use crate::selection::Selection;
use crate::tree::Tree;
use crate::version::Version;
use crate::visibility::SnapshotFilter;
use crate::zone_filter::ZoneFilter;

/// What to read of a table.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// Stored columns to return, in this order (may be empty: batches then carry row counts
    /// only).
    pub projection: Vec<usize>,
    /// Only keys in this range.
    pub range: KeyRange,
    /// Rows a batch has at most; at least one.
    pub batch_rows: usize,
}

/// Iterator of batches, key ascending. Ends after the first error.
pub struct Scan {
    merger: Merger,
    filter: SnapshotFilter,
    kept: Selection,
    schema: SchemaRef,
    batch_rows: usize,
    exhausted: bool,
    meter: Arc<ScanMeter>,
    layout: Arc<Layout>,
}

impl Scan {
    pub(crate) fn new(
        tree: &Tree,
        position: u64,
        request: ScanRequest,
        cache: &Arc<PageCache>,
        zone_filter: Option<&Arc<dyn ZoneFilter>>,
    ) -> Self {
        let version = tree.version();
        let mut merger = Merger::new();
        let meter = Arc::new(ScanMeter::default());
        for run in version.memory_runs() {
            if let Some(window) = run.window(&request.range) {
                meter.add_versions(window.end - window.at);
                merger.add_window(window);
            }
        }
        for run in &version.runs {
            let source = PageSource::Cache(Arc::clone(cache), Arc::clone(&meter));
            merger.add_cursor(Cursor::new(
                &tree.layout,
                &run.segments,
                request.range.clone(),
                source,
                zone_filter.cloned(),
            ));
        }
        let schema = Arc::new(tree.layout.projected(&request.projection));
        Self {
            merger,
            filter: SnapshotFilter::new(position, &version.truncations),
            kept: Selection::new(request.projection),
            schema,
            batch_rows: request.batch_rows.max(1),
            exhausted: false,
            meter,
            layout: Arc::clone(&tree.layout),
        }
    }

    /// What it has taken so far.
    pub fn counts(&self) -> ScanCounts {
        self.meter.counts()
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The types and places of the tree's columns.
    pub(crate) fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        self.next_rows(|batch| Ok((batch.columns()?, batch.rows())))
            .map(|copied| copied.map(|(columns, rows)| record_batch(&self.schema, columns, rows)))
    }

    /// Finds the next rows and takes what `copy` makes of them; `None` at the end.
    pub(crate) fn next_rows<T>(
        &mut self,
        copy: impl FnMut(&Batch<'_>) -> Result<T, GatherError>,
    ) -> Result<Option<T>, StoreError> {
        while !self.exhausted && !self.kept.is_ready(self.batch_rows) {
            self.exhausted = !self.merger.advance(&mut self.filter, &mut self.kept)?;
        }
        if self.kept.rows() == 0 {
            return Ok(None);
        }
        self.kept.take(self.batch_rows, copy).map(Some)
    }

    /// Makes further columns known to what [`Self::next_rows`] hands out, behind the projected
    /// ones.
    ///
    /// # Panics
    /// When rows have been taken.
    pub(crate) fn add_columns(&mut self, columns: &[usize]) {
        assert!(
            self.kept.rows() == 0 && !self.exhausted,
            "nothing is taken yet"
        );
        self.kept = Selection::new([self.kept.columns(), columns].concat());
    }

    /// Ends the scan, whatever is left.
    pub(crate) fn stop(&mut self) {
        self.exhausted = true;
        self.kept = Selection::new(Vec::new());
    }
}

/// A batch of a tree's columns.
pub(crate) fn record_batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> RecordBatch {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options);
    batch.expect("the columns of a tree have the types of its schema")
}

impl Iterator for Scan {
    type Item = Result<RecordBatch, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_batch();
        if next.is_err() {
            self.stop();
        }
        next.transpose()
    }
}

/// Cuts all keys into up to `parts` ranges of about equal work: the keys of the largest run.
pub(crate) fn split(version: &Version, parts: usize) -> Vec<KeyRange> {
    let on_disk = version.runs.iter().max_by_key(|run| run.versions());
    let in_memory = version.memory_runs().max_by_key(|run| run.rows());
    let cuts = match (on_disk, in_memory) {
        (Some(run), Some(memory)) if run.versions() < memory.rows() as u64 => {
            memory_cuts(memory, parts)
        }
        (Some(run), _) => disk_cuts(run, parts),
        (None, Some(memory)) => memory_cuts(memory, parts),
        (None, None) => Vec::new(),
    };
    ranges_between(cuts)
}

fn memory_cuts(run: &MemoryRun, parts: usize) -> Vec<SortKey> {
    let keys = &run.block().versions().keys;
    (1..parts)
        .map(|part| keys.key(part * run.rows() / parts))
        .collect()
}

/// Keys at which pages start to count: the first page of a segment with a bound starts below it.
fn disk_cuts(run: &DiskRun, parts: usize) -> Vec<SortKey> {
    let starts = run.segments.iter().flat_map(|segment| {
        let pages = segment.pages().iter();
        pages.map(|page| (&page.first_key).max(segment.key_min()))
    });
    let starts: Vec<&SortKey> = starts.collect();
    let places = (1..parts).map(|part| part * starts.len() / parts);
    // The first page is the first part's.
    let places = places.filter(|&place| place > 0);
    places.map(|place| starts[place].clone()).collect()
}

/// The ranges between ascending cuts. Equal neighbours count once.
fn ranges_between(mut cuts: Vec<SortKey>) -> Vec<KeyRange> {
    cuts.dedup();
    let starts = std::iter::once(None).chain(cuts.iter().cloned().map(Some));
    let ends = cuts.iter().cloned().map(Some).chain(std::iter::once(None));
    starts
        .zip(ends)
        .map(|(start, end)| KeyRange { start, end })
        .collect()
}
