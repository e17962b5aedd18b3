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
use lsm::{KeyRange, Scan};

use super::checked_scan::CheckedScan;
use super::read_error::ReadError;
use super::row_filters::RowFilters;
use super::scan::ScanTarget;
use super::scan_metrics::ScanMetrics;

/// After so many batches of which hardly a row was wanted, the thread looks what else there is to do:
/// whether the statement was cancelled, above all.
const BATCHES_AT_ONCE: usize = 16;

/// Iterator of a partition's batches.
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
    /// Not opened yet.
    Range(KeyRange, RowFilters),
    All(Scan),
    Filtered(Box<Filtered>),
    Ended,
}

/// A scan with conditions.
struct Filtered {
    scan: CheckedScan,
    together: BatchCoalescer,
}

impl Reader {
    /// Reads `range`, if there is anything to read; nothing is opened before the first batch is
    /// asked for.
    pub(super) fn new(
        target: Arc<ScanTarget>,
        schema: SchemaRef,
        range: Option<KeyRange>,
        filters: &RowFilters,
        limit: Option<usize>,
        metrics: ScanMetrics,
    ) -> Self {
        let source = range.map(|range| Source::Range(range, filters.clone()));
        Self {
            target,
            schema,
            source: source.unwrap_or(Source::Ended),
            left: limit.unwrap_or(usize::MAX),
            metrics,
        }
    }

    fn open(&self, range: KeyRange, filters: &RowFilters) -> Result<Source, ReadError> {
        let target = &self.target;
        if filters.conditions().is_empty() {
            let request = target.request(range);
            let scan = target.snapshot.scan(target.tree.id, request)?;
            return Ok(Source::All(scan));
        }
        // A batch that is half full goes on as it is: a copy would cost more than it saves.
        let together = BatchCoalescer::new(self.schema.clone(), target.batch_rows)
            .with_biggest_coalesce_batch_size(Some(target.batch_rows / 2));
        Ok(Source::Filtered(Box::new(Filtered {
            scan: CheckedScan::open(target, range, filters)?,
            together,
        })))
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        if let Source::Range(range, filters) = &self.source {
            self.source = self.open(range.clone(), filters)?;
        }
        let (batch, counts) = match &mut self.source {
            Source::All(scan) => {
                let batch = scan.next().transpose()?;
                let batch = batch.map(|batch| with_schema(&batch, &self.schema));
                (batch.transpose()?, scan.counts())
            }
            Source::Filtered(filtered) => {
                (filtered.next_batch(&self.schema)?, filtered.scan.counts())
            }
            Source::Ended | Source::Range(..) => return Ok(None),
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
    /// The next rows for which all conditions hold, perhaps none yet; `None` at the end.
    fn next_batch(&mut self, schema: &SchemaRef) -> Result<Option<RecordBatch>, ReadError> {
        for _ in 0..BATCHES_AT_ONCE {
            if let Some(batch) = self.together.next_completed_batch() {
                return Ok(Some(batch));
            }
            let Some(batch) = self.scan.next_batch()? else {
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
