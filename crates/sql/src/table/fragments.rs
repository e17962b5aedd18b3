//! Reads one partition of a scan in fragments: rows of one source each, in no order.

use std::sync::Arc;

use datafusion::common::Result;
use lsm::{Form, Fragment, KeyRange};

use super::checked_scan::CheckedScan;
use super::read_error::ReadError;
use super::row_filters::RowFilters;
use super::scan::ScanTarget;
use super::scan_metrics::ScanMetrics;

/// Iterator of some fragments at a time. Ends after the first error.
pub(crate) struct Fragments {
    target: Arc<ScanTarget>,
    source: Source,
    forms: Vec<Form>,
    metrics: ScanMetrics,
}

/// Where the next fragments come from.
enum Source {
    /// Not opened yet.
    Range(KeyRange, RowFilters),
    Open(Box<CheckedScan>),
    Ended,
}

impl Fragments {
    /// Reads `range`, if there is anything to read, the projected columns in `forms`; nothing is opened
    /// before the first fragments are asked for.
    pub(super) fn new(
        target: Arc<ScanTarget>,
        range: Option<KeyRange>,
        filters: &RowFilters,
        forms: Vec<Form>,
        metrics: ScanMetrics,
    ) -> Self {
        let source = range.map(|range| Source::Range(range, filters.clone()));
        Self {
            target,
            source: source.unwrap_or(Source::Ended),
            forms,
            metrics,
        }
    }

    fn read(&mut self) -> Result<Option<Vec<Fragment>>, ReadError> {
        if let Source::Range(range, filters) = &self.source {
            let scan = CheckedScan::open(&self.target, range.clone(), filters)?;
            self.source = Source::Open(Box::new(scan));
        }
        let Source::Open(scan) = &mut self.source else {
            return Ok(None);
        };
        let next = scan.next_fragments(&self.forms);
        self.metrics.note(scan.counts());
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
            Err(_) => self.source = Source::Ended,
        }
        result.transpose()
    }
}
