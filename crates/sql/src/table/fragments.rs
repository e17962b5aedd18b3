//! Reads one partition of a scan in fragments: rows of one source each, in no order.

use std::cell::RefCell;
use std::sync::Arc;

use datafusion::common::Result;
use lsm::{FilteredScan, Form, Fragment, KeyRange, ScanRequest, ZoneFilter};

use super::read_error::ReadError;
use super::row_check::RowCheck;
use super::row_filters::RowFilters;
use super::scan::ScanTarget;
use super::scan_metrics::ScanMetrics;
use super::zone_pruning::ZonePruning;

/// Iterator of some fragments at a time. Ends after the first error.
pub(crate) struct Fragments {
    target: Arc<ScanTarget>,
    scan: Option<FilteredScan>,
    check: RowCheck,
    forms: Vec<Form>,
    metrics: ScanMetrics,
}

impl Fragments {
    /// Reads `range`, if there is anything to read, the projected columns in `forms`.
    pub(super) fn open(
        target: Arc<ScanTarget>,
        range: Option<KeyRange>,
        filters: &RowFilters,
        forms: Vec<Form>,
        metrics: ScanMetrics,
    ) -> Result<Self> {
        let scan = match range {
            Some(range) => {
                let request = ScanRequest {
                    projection: target.stored.clone(),
                    range,
                    batch_rows: target.batch_rows,
                };
                let zones: Arc<dyn ZoneFilter> = Arc::new(ZonePruning::new(filters));
                let (table, columns) = (target.tree.id, filters.columns());
                let scan = target
                    .snapshot
                    .scan_wanted(table, request, columns, &zones)
                    .map_err(|error| target.error(&error))?;
                Some(scan)
            }
            None => None,
        };
        Ok(Self {
            target,
            scan,
            check: RowCheck::new(filters)?,
            forms,
            metrics,
        })
    }

    fn read(&mut self) -> Result<Option<Vec<Fragment>>, ReadError> {
        let Some(scan) = &mut self.scan else {
            return Ok(None);
        };
        // Sifting and checking take turns, each row is sifted first.
        let check = RefCell::new(&mut self.check);
        let next = scan.next_fragments(
            |rows| check.borrow_mut().sift(rows),
            |columns, rows| Ok(check.borrow_mut().check(&columns, rows)?),
            &self.forms,
        );
        self.metrics.note(scan.counts());
        next
    }
}

impl Iterator for Fragments {
    type Item = Result<Vec<Fragment>>;

    fn next(&mut self) -> Option<Self::Item> {
        let timer = self.metrics.baseline.elapsed_compute().clone();
        let _running = timer.timer();
        let result = self.read().map_err(|error| match error {
            ReadError::Store(error) => self.target.error(&error).into(),
            ReadError::Condition(error) => error,
        });
        match &result {
            Ok(Some(fragments)) => {
                let rows = fragments.iter().map(|fragment| fragment.rows).sum();
                self.metrics.baseline.record_output(rows);
            }
            Ok(None) => self.metrics.baseline.done(),
            Err(_) => self.scan = None,
        }
        result.transpose()
    }
}
