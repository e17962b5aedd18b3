//! Reads one partition of a scan in fragments: rows of one source, or numbers of several, in no order.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use lsm::{Form, Fragment};

use super::checked_scan::CheckedScan;
use super::partition_ranges::PartitionRanges;
use super::range_scans::RangeScans;
use super::read_error::ReadError;
use super::reader::Reader;
use super::row_filters::RowFilters;
use super::scan::ScanTarget;
use super::scan_metrics::ScanMetrics;
use super::turns::InTurns;

/// Iterator of some fragments at a time. Ends after the first error.
pub(crate) struct Fragments {
    target: Arc<ScanTarget>,
    scans: RangeScans<CheckedScan>,
    filters: RowFilters,
    forms: Vec<Form>,
    metrics: ScanMetrics,
}

impl Fragments {
    /// Reads `ranges`, the projected columns in `forms`; nothing is opened before the first fragments are
    /// asked for.
    pub(super) fn new(
        target: Arc<ScanTarget>,
        ranges: PartitionRanges,
        filters: &RowFilters,
        forms: Vec<Form>,
        metrics: ScanMetrics,
    ) -> Self {
        Self {
            target,
            scans: RangeScans::new(ranges),
            filters: filters.clone(),
            forms,
            metrics,
        }
    }

    /// Batches of the same rows, from the beginning, with the names that `schema` gives their columns. What
    /// has been read is read again, and its rows are counted again in what `explain analyze` shows.
    pub(crate) fn into_batches(self, schema: SchemaRef) -> SendableRecordBatchStream {
        let ranges = self.scans.into_ranges_again();
        let (target, names, filters) = (self.target, schema.clone(), &self.filters);
        let reader = Reader::new(target, names, ranges, filters, None, self.metrics);
        Box::pin(RecordBatchStreamAdapter::new(schema, InTurns::new(reader)))
    }

    fn read(&mut self) -> Result<Option<Vec<Fragment>>, ReadError> {
        let open = |range| CheckedScan::open(&self.target, range, &self.filters);
        let read = |scan: &mut CheckedScan| scan.next_fragments(&self.forms);
        let next = self.scans.next(open, read);
        self.metrics.note(self.scans.counts());
        next
    }
}

impl Iterator for Fragments {
    type Item = Result<Vec<Fragment>>;

    fn next(&mut self) -> Option<Self::Item> {
        let timer = self.metrics.baseline.elapsed_compute().clone();
        let _running = timer.timer();
        let result = self.read().map_err(|error| self.target.read_error(error));
        match &result {
            Ok(Some(fragments)) => {
                let rows = fragments.iter().map(|fragment| fragment.rows).sum();
                self.metrics.baseline.record_output(rows);
            }
            Ok(None) => self.metrics.baseline.done(),
            Err(_) => self.scans.end(),
        }
        result.transpose()
    }
}
