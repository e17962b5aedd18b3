//! The rows of a range of keys for which all conditions hold that the planner handed down.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use lsm::{FilteredScan, Form, Fragment, KeyRange, ScanCounts, ZoneFilter};

use super::read_error::ReadError;
use super::row_check::RowCheck;
use super::row_filters::RowFilters;
use super::scan::ScanTarget;
use super::zone_pruning::ZonePruning;

/// An open scan with its conditions.
pub(super) struct CheckedScan {
    scan: FilteredScan,
    check: RowCheck,
}

impl CheckedScan {
    pub(super) fn open(
        target: &ScanTarget,
        range: KeyRange,
        filters: &RowFilters,
    ) -> Result<Self, ReadError> {
        let zones: Arc<dyn ZoneFilter> = Arc::new(ZonePruning::new(filters));
        let (table, request) = (target.tree.id, target.request(range));
        let scan = target
            .snapshot
            .scan_wanted(table, request, filters.columns(), &zones)?;
        let check = RowCheck::new(filters)?;
        Ok(Self { scan, check })
    }

    /// What it has taken so far.
    pub(super) fn counts(&self) -> ScanCounts {
        self.scan.counts()
    }

    /// The next rows by key, perhaps none yet; `None` at the end.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        self.scan.next_wanted(&mut self.check)
    }

    /// The next rows by their sources, the projected columns in `forms`; `None` at the end.
    pub(super) fn next_fragments(
        &mut self,
        forms: &[Form],
    ) -> Result<Option<Vec<Fragment>>, ReadError> {
        self.scan.next_fragments(&mut self.check, forms)
    }
}
