//! The row of a key whose newest version is a patch: a scan of that key, which folds it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use types::key::SortKey;

use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::page_cache::PageCache;
use crate::scan::{Scan, ScanRequest};
use crate::tree::Tree;

/// The wanted columns of the key's row, as a batch of one row.
pub(super) fn patched_row(
    tree: &Tree,
    position: u64,
    key: &SortKey,
    columns: &[usize],
    cache: &Arc<PageCache>,
) -> Result<Option<RecordBatch>, StoreError> {
    let request = ScanRequest {
        projection: columns.to_vec(),
        range: KeyRange::only(key),
        batch_rows: 1,
    };
    Scan::new(tree, position, request, cache).next().transpose()
}
