//! A step of a merge whose filter keeps the newest version of each key, and nothing else.
//!
//! Then the filter need not see the versions, and the order of those of one key does not matter:
//!
//! 1. Put the rows in the order of their keys (`entries`).
//! 2. Of neighbouring entries of one key keep the one that comes first in merge order.
//!
//! Where one slice has most of the rows (a page of the base, and the newer runs that override some
//! of it), its rows do not become entries: the others' keys are searched in it, in their order, and
//! what lies in between is kept as one range.
//!
//! ```text
//! entries      c′     f′              k′
//!              │      │               │
//! base     a b c d e  │  g h i j      │  m n      kept: a b c′ d e f′ g h i j k′ m n
//! ```

use types::key::SortKey;

use super::entries::{Entry, keep, position_of, sorted_entries};
use super::slice::{Slice, comes_first};
use crate::key_form::KeyForm;
use crate::selection::Selection;

/// A slice with so many times the rows of all others together is searched instead of merged.
const BASE_SHARE_MIN: usize = 2;

/// The index of the slice that has most of the rows, and no key twice.
pub(super) fn base_of<F: KeyForm>(slices: &[Slice<'_, F>]) -> Option<usize> {
    let rows = slices.iter().map(Slice::rows).sum::<usize>();
    let is_base = |slice: &Slice<'_, F>| {
        slice.unique_keys && slice.rows() >= BASE_SHARE_MIN * (rows - slice.rows())
    };
    slices.iter().position(is_base)
}

/// Keeps the newest version of each key of `slices` (at least one, none empty) but of `last_key`.
/// Returns the last key.
pub(super) fn keep_newest<F: KeyForm>(
    mut slices: Vec<Slice<'_, F>>,
    last_key: Option<&SortKey>,
    out: &mut Selection,
) -> SortKey {
    if let Some(key) = last_key {
        slices.iter_mut().for_each(|slice| slice.skip(key));
    }
    let base = base_of(&slices);
    let entries = sorted_entries(&slices, base);
    let groups = entries.chunk_by(|a, b| a.key == b.key);
    let newest = groups.map(|group| newest_of(&slices, group));
    match base {
        Some(base) => override_rows(&slices, &slices[base], newest, out),
        None => newest.for_each(|newest| keep(&slices, newest, out)),
    }
    key_at_end(&slices)
}

/// The entry of one key that comes first.
#[inline]
fn newest_of<'e, 'a, F: KeyForm>(
    slices: &[Slice<'a, F>],
    group: &'e [Entry<F::Key<'a>>],
) -> &'e Entry<F::Key<'a>> {
    // Of equal positions the one of the newer run stays, which comes first.
    let first = |newest: &'e Entry<F::Key<'a>>, other: &'e Entry<F::Key<'a>>| {
        let positions = (position_of(slices, other), position_of(slices, newest));
        match comes_first(positions.0, positions.1) {
            true => other,
            false => newest,
        }
    };
    group.iter().reduce(first).expect("a group has an entry")
}

/// Keeps the rows of `base` and, in place of those of equal keys, newer entries.
fn override_rows<'e, 'a: 'e, F: KeyForm>(
    slices: &[Slice<'a, F>],
    base: &Slice<'a, F>,
    newest: impl Iterator<Item = &'e Entry<F::Key<'a>>>,
    out: &mut Selection,
) where
    F::Key<'a>: 'e,
{
    let source = base.source();
    let mut at = base.at;
    for newest in newest {
        let row = F::first_not_below(base.keys, at..base.end, newest.key);
        let overridden = row < base.end && base.key(row) == newest.key;
        if overridden && !precedes(slices, newest, base, row) {
            // A table's first copy may lie above runs that are newer than it.
            continue;
        }
        out.push(source, at..row);
        keep(slices, newest, out);
        at = row + usize::from(overridden);
    }
    out.push(source, at..base.end);
}

/// Whether an entry comes before the row of `base` with the same key.
fn precedes<'a, F: KeyForm>(
    slices: &[Slice<'a, F>],
    entry: &Entry<F::Key<'a>>,
    base: &Slice<'a, F>,
    row: usize,
) -> bool {
    let age = slices[entry.slice as usize].age;
    let (position, base_position) = (position_of(slices, entry), base.positions.at(row));
    comes_first(position, base_position) || position == base_position && age < base.age
}

/// The largest key of the slices, those included that have been skipped.
fn key_at_end<F: KeyForm>(slices: &[Slice<'_, F>]) -> SortKey {
    let last = slices.iter().max_by_key(|slice| slice.key(slice.end - 1));
    let last = last.expect("there is a slice");
    last.block.versions().keys.key(last.end - 1)
}
