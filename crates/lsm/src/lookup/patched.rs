//! The row of a key whose newest version is a patch: a scan of that key, which folds it.

use arrow_array::RecordBatch;
use types::key::SortKey;

use super::View;
use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::scan::{Scan, ScanRequest};

/// The wanted columns of the key's row, as a batch of one row.
pub(super) fn patched_row(
    view: &View<'_>,
    key: &SortKey,
    columns: &[usize],
) -> Result<Option<RecordBatch>, StoreError> {
    let request = ScanRequest {
        projection: columns.to_vec(),
        range: KeyRange::only(key),
        batch_rows: 1,
    };
    let mut scan = Scan::new(view.tree, view.position, request, view.cache, None);
    scan.next().transpose()
}
