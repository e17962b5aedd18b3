//! Merges streams into new segments: the common core of flush and merge.

use crate::error::StoreError;
use crate::merge::Merger;
use crate::retention::{Retention, RetentionFilter};
use crate::run_writer::RunWriter;
use crate::selection::Selection;

/// Writes what `retention` keeps of the merged versions. `goes_on` is called between batches and
/// may take finished segments from the writer. False, with the work half done, as soon as it says
/// so.
pub(crate) fn rewrite(
    mut merger: Merger,
    retention: Retention,
    columns: &[usize],
    writer: &mut RunWriter<'_>,
    mut goes_on: impl FnMut(&mut RunWriter<'_>) -> Result<bool, StoreError>,
) -> Result<bool, StoreError> {
    let collapse = retention.collapse();
    let mut filter = RetentionFilter::new(retention);
    let mut kept = Selection::new(columns.to_vec());
    let batch_rows = writer.batch_rows();
    let mut more = true;
    while more || kept.rows() > 0 {
        if !goes_on(writer)? {
            return Ok(false);
        }
        while more && !kept.is_ready(batch_rows) {
            more = merger.advance(&mut filter, &mut kept)?;
        }
        if kept.rows() > 0 {
            let copied = kept.take(batch_rows, |batch| batch.versions(collapse));
            let (rows, keys) = copied?;
            writer.append(&rows, &keys)?;
        }
    }
    Ok(true)
}
