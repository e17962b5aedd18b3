//! A step of a merge whose filter has to see every version.
//!
//! Take the slice with the smallest head, search it for the second smallest head, hand the rows in
//! between to the filter as one range, repeat.

use std::cmp::Ordering;

use types::key::SortKey;

use super::slice::Slice;
use super::{Filter, Rows};
use crate::error::StoreError;
use crate::key_form::KeyForm;
use crate::selection::Selection;

/// Hands the rows of `slices` (none empty, at least one) to the filter in merge order. Returns
/// the last key.
pub(super) fn merge_slices<F: KeyForm>(
    mut slices: Vec<Slice<'_, F>>,
    last_key: Option<&SortKey>,
    filter: &mut impl Filter,
    out: &mut Selection,
) -> Result<SortKey, StoreError> {
    let mut last: Option<F::Key<'_>> = None;
    let mut order = by_head(&slices);
    loop {
        let first = order[0];
        let slice = &slices[first];
        let second = order.get(1);
        let end = second.map_or(slice.end, |&second| slice.rows_before(&slices[second]));
        let key = slice.key(slice.at);
        let continues = match last {
            Some(last) => last == key,
            None => last_key.is_some_and(|last_key| {
                slice
                    .block
                    .versions()
                    .keys
                    .compare_key(slice.at, last_key)
                    .is_eq()
            }),
        };
        let rows = Rows {
            block: slice.block,
            source: slice.source(),
            range: slice.at..end,
            continues,
        };
        if slice.unique_keys {
            filter.visit(&rows, |_| false, out)?;
        } else {
            filter.visit(&rows, |row| slice.key(row) == slice.key(row - 1), out)?;
        }
        last = Some(slice.key(end - 1));
        if end < slice.end {
            slices[first].at = end;
            sink_first(&mut order, &slices);
        } else if order.len() > 1 {
            order.remove(0);
        } else {
            return Ok(slice.block.versions().keys.key(end - 1));
        }
    }
}

/// The slices in the order of their heads.
fn by_head<F: KeyForm>(slices: &[Slice<'_, F>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..slices.len()).collect();
    order.sort_unstable_by(|&a, &b| match slices[a].leads(&slices[b]) {
        true => Ordering::Less,
        false => Ordering::Greater,
    });
    order
}

/// Restores the order after the first slice's head has moved on. Streams are few and the new
/// head is near: cheaper than a heap.
fn sink_first<F: KeyForm>(order: &mut [usize], slices: &[Slice<'_, F>]) {
    let moved = order[0];
    let mut place = 0;
    while place + 1 < order.len() && slices[order[place + 1]].leads(&slices[moved]) {
        order[place] = order[place + 1];
        place += 1;
    }
    order[place] = moved;
}
