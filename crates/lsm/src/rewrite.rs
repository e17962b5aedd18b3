//! Merges streams into new segments: the common core of flush and merge.

use crate::error::StoreError;
use crate::merge::Merger;
use crate::retention::{Retention, RetentionFilter};
use crate::run_writer::RunWriter;
use crate::selection::Selection;

/// Rows copied at a time.
const BATCH_ROWS: usize = 8192;

/// Writes what `retention` keeps of the merged versions. False, with the work half done, as soon
/// as `should_stop` says so.
pub(crate) fn rewrite(
    mut merger: Merger,
    retention: Retention,
    columns: &[usize],
    writer: &mut RunWriter<'_>,
    should_stop: impl Fn() -> bool,
) -> Result<bool, StoreError> {
    let forget_positions = retention.forget_positions();
    let mut filter = RetentionFilter::new(retention);
    let mut kept = Selection::new(columns.to_vec());
    let mut more = true;
    while more || kept.rows() > 0 {
        if should_stop() {
            return Ok(false);
        }
        while more && !kept.is_ready(BATCH_ROWS) {
            more = merger.advance(&mut filter, &mut kept)?;
        }
        if kept.rows() > 0 {
            let copied = kept.take(BATCH_ROWS, |batch| batch.versions(forget_positions));
            let (rows, keys) = copied?;
            writer.append(&rows, &keys)?;
        }
    }
    Ok(true)
}
