//! A step of a merge whose filter keeps every version that is the only one of its key.
//!
//! As where snapshots are held, or the newest rows are not visible yet: it has to see the versions of
//! keys that have several, and in a merge of many rows those are few.
//!
//! 1. Put the rows in the order of their keys (`entries`).
//! 2. Keep each that is alone. Hand the others to the filter, and the first and the last key, of which
//!    the steps before and after may have versions.

use types::key::SortKey;

use super::entries::{Entry, keep, position_of, sorted_entries};
use super::slice::{Slice, comes_first};
use super::{Filter, Rows};
use crate::error::StoreError;
use crate::key_form::KeyForm;
use crate::selection::Selection;

/// Keeps what the filter keeps of `slices` (at least one, none empty). Returns the last key.
pub(super) fn keep_lone<F: KeyForm>(
    slices: Vec<Slice<'_, F>>,
    last_key: Option<&SortKey>,
    filter: &mut impl Filter,
    out: &mut Selection,
) -> Result<SortKey, StoreError> {
    let mut entries = sorted_entries(&slices, None);
    let mut groups = entries.chunk_by_mut(|a, b| a.key == b.key).peekable();
    let mut continues = last_key.is_some_and(|key| slices.iter().any(|s| s.begins_with(key)));
    let mut is_first = true;
    while let Some(group) = groups.next() {
        let is_last = groups.peek().is_none();
        if group.len() == 1 && !is_first && !is_last {
            keep(&slices, &group[0], out);
        } else {
            visit(&slices, group, continues, filter, out)?;
        }
        (is_first, continues) = (false, false);
    }
    let last = entries.last().expect("a slice has rows");
    let keys = &slices[last.slice as usize].block.versions().keys;
    Ok(keys.key(last.row as usize))
}

/// Hands the versions of one key to the filter, in merge order.
fn visit<'a, F: KeyForm>(
    slices: &[Slice<'a, F>],
    group: &mut [Entry<F::Key<'a>>],
    mut continues: bool,
    filter: &mut impl Filter,
    out: &mut Selection,
) -> Result<(), StoreError> {
    // Of equal positions the newer run's come first already.
    group.sort_by(|a, b| {
        let (a, b) = (position_of(slices, a), position_of(slices, b));
        comes_first(b, a).cmp(&comes_first(a, b))
    });
    for entry in group {
        let slice = &slices[entry.slice as usize];
        let row = entry.row as usize;
        let rows = Rows {
            block: slice.block,
            source: slice.source(),
            range: row..row + 1,
            continues,
        };
        filter.visit(&rows, |_| false, out)?;
        continues = true;
    }
    Ok(())
}
