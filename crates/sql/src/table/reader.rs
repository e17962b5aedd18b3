//! Reads one partition of a scan.
//!
//! With conditions to check, batches of few rows are put together to full ones: what comes next
//! pays for each batch, not only for rows.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::BatchCoalescer;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use lsm::Scan;

use super::checked_scan::CheckedScan;
use super::partition_ranges::PartitionRanges;
use super::range_scans::RangeScans;
use super::read_error::ReadError;
use super::row_filters::RowFilters;
use super::scan::ScanTarget;
use super::scan_metrics::ScanMetrics;

/// After so many batches of which hardly a row was wanted, the thread looks what else there is to do:
/// whether the statement was cancelled, above all.
const BATCHES_AT_ONCE: usize = 16;

/// Iterator of a partition's batches. Ends after the first error.
pub(super) struct Reader {
    target: Arc<ScanTarget>,
    schema: SchemaRef,
    source: Source,
    /// Rows still wanted.
    left: usize,
    metrics: ScanMetrics,
}

/// Where the next batch comes from.
enum Source {
    All(Box<RangeScans<Scan>>),
    Filtered(Box<Filtered>),
    Ended,
}

/// RangeScans with conditions.
struct Filtered {
    scans: RangeScans<CheckedScan>,
    filters: RowFilters,
    together: BatchCoalescer,
}

impl Reader {
    /// Reads `ranges`; nothing is opened before the first batch is asked for.
    pub(super) fn new(
        target: Arc<ScanTarget>,
        schema: SchemaRef,
        ranges: PartitionRanges,
        filters: &RowFilters,
        limit: Option<usize>,
        metrics: ScanMetrics,
    ) -> Self {
        let source = match filters.conditions() {
            [] => Source::All(Box::new(RangeScans::new(ranges))),
            _ => Source::Filtered(Box::new(Filtered::new(&target, &schema, ranges, filters))),
        };
        Self {
            target,
            schema,
            source,
            left: limit.unwrap_or(usize::MAX),
            metrics,
        }
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        let target = &self.target;
        let (batch, counts) = match &mut self.source {
            Source::All(scans) => {
                let open = |range| target.snapshot.scan(target.tree.id, target.request(range));
                let batch = scans.next(open, |scan| scan.next().transpose())?;
                let batch = batch.map(|batch| with_schema(&batch, &self.schema));
                (batch.transpose()?, scans.counts())
            }
            Source::Filtered(filtered) => {
                let batch = filtered.next_batch(target, &self.schema)?;
                (batch, filtered.scans.counts())
            }
            Source::Ended => return Ok(None),
        };
        self.metrics.note(counts);
        let Some(batch) = batch else {
            self.source = Source::Ended;
            return Ok(None);
        };
        let rows = batch.num_rows().min(self.left);
        self.left -= rows;
        if self.left == 0 {
            self.source = Source::Ended;
        }
        Ok(Some(batch.slice(0, rows)))
    }
}

impl Filtered {
    fn new(
        target: &ScanTarget,
        schema: &SchemaRef,
        ranges: PartitionRanges,
        filters: &RowFilters,
    ) -> Self {
        // A batch that is half full goes on as it is: a copy would cost more than it saves.
        let together = BatchCoalescer::new(schema.clone(), target.batch_rows)
            .with_biggest_coalesce_batch_size(Some(target.batch_rows / 2));
        Self {
            scans: RangeScans::new(ranges),
            filters: filters.clone(),
            together,
        }
    }

    /// The next rows for which all conditions hold, perhaps none yet; `None` at the end.
    fn next_batch(
        &mut self,
        target: &ScanTarget,
        schema: &SchemaRef,
    ) -> Result<Option<RecordBatch>, ReadError> {
        for _ in 0..BATCHES_AT_ONCE {
            if let Some(batch) = self.together.next_completed_batch() {
                return Ok(Some(batch));
            }
            let open = |range| CheckedScan::open(target, range, &self.filters);
            let Some(batch) = self.scans.next(open, CheckedScan::next_batch)? else {
                self.together
                    .finish_buffered_batch()
                    .map_err(DataFusionError::from)?;
                return Ok(self.together.next_completed_batch());
            };
            if batch.num_rows() > 0 {
                let batch = with_schema(&batch, schema)?;
                self.together
                    .push_batch(batch)
                    .map_err(DataFusionError::from)?;
            }
        }
        let full = self.together.next_completed_batch();
        Ok(full.or_else(|| Some(RecordBatch::new_empty(schema.clone()))))
    }
}

/// The batch with the names that the planner gave its columns.
pub(super) fn with_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = batch.columns().to_vec();
    Ok(RecordBatch::try_new_with_options(
        schema.clone(),
        columns,
        &options,
    )?)
}

impl Iterator for Reader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let timer = self.metrics.baseline.elapsed_compute().clone();
        let _running = timer.timer();
        let result = self.read().map_err(|error| self.target.read_error(error));
        match &result {
            Ok(Some(batch)) => self.metrics.baseline.record_output(batch.num_rows()),
            Ok(None) => self.metrics.baseline.done(),
            Err(_) => self.source = Source::Ended,
        }
        result.transpose()
    }
}
