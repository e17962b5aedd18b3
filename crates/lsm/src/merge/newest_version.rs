//! A step of a merge whose filter keeps the newest version of each key, and nothing else.
//!
//! Then the filter need not see the versions, and the order of those of one key does not matter:
//!
//! 1. Put the rows in the order of their keys: merge the slices two by two, as entries of 16 to 32
//!    bytes, without a branch that depends on a key.
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

use super::slice::{Slice, comes_first};
use crate::key_form::KeyForm;
use crate::selection::Selection;

/// A slice with so many times the rows of all others together is searched instead of merged.
const BASE_SHARE_MIN: usize = 2;

/// Entries of a step, about: two buffers of them stay in a core's second cache.
const ENTRIES_MAX: usize = 4 << 10;

/// Rows of a slice that a step should take at most, where no slice is the base.
const SLICE_ROWS_MIN: usize = 64;

/// A row, by its key.
struct Entry<K> {
    key: K,
    slice: u32,
    row: u32,
}

impl<K: Copy> Clone for Entry<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Copy> Copy for Entry<K> {}

/// The index of the slice that has most of the rows, and no key twice.
fn base_of<F: KeyForm>(slices: &[Slice<'_, F>]) -> Option<usize> {
    let rows = slices.iter().map(Slice::rows).sum::<usize>();
    let is_base = |slice: &Slice<'_, F>| {
        slice.unique_keys && slice.rows() >= BASE_SHARE_MIN * (rows - slice.rows())
    };
    slices.iter().position(is_base)
}

/// How many rows of each slice a step should take at most.
pub(super) fn step_rows<F: KeyForm>(slices: &[Slice<'_, F>]) -> usize {
    match base_of(slices) {
        Some(_) => usize::MAX,
        None => (ENTRIES_MAX / slices.len()).max(SLICE_ROWS_MIN),
    }
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
    let groups = Groups {
        slices: &slices,
        entries: &entries,
    };
    match base {
        Some(base) => override_rows(&slices[base], groups, out),
        None => groups.for_each(|newest| keep(&slices, newest, out)),
    }
    key_at_end(&slices)
}

fn keep<'a, F: KeyForm>(slices: &[Slice<'a, F>], entry: &Entry<F::Key<'a>>, out: &mut Selection) {
    let row = entry.row as usize;
    out.push(slices[entry.slice as usize].source(), row..row + 1);
}

/// Keeps the rows of `base` and, in place of those of equal keys, newer entries.
fn override_rows<'a, F: KeyForm>(
    base: &Slice<'a, F>,
    groups: Groups<'_, 'a, F>,
    out: &mut Selection,
) {
    let (slices, source) = (groups.slices, base.source());
    let mut at = base.at;
    for newest in groups {
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
    let slice = &slices[entry.slice as usize];
    let position = slice.positions.at(entry.row as usize);
    let base_position = base.positions.at(row);
    comes_first(position, base_position) || position == base_position && slice.age < base.age
}

/// The newest entry of each key, keys ascending.
struct Groups<'e, 'a, F: KeyForm> {
    slices: &'e [Slice<'a, F>],
    entries: &'e [Entry<F::Key<'a>>],
}

impl<'e, 'a, F: KeyForm> Iterator for Groups<'e, 'a, F> {
    type Item = &'e Entry<F::Key<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (mut newest, mut rest) = self.entries.split_first()?;
        while let Some((other, others)) = rest.split_first()
            && other.key == newest.key
        {
            // Of equal positions the one of the newer run stays, which comes first.
            if comes_first(self.position_of(other), self.position_of(newest)) {
                newest = other;
            }
            rest = others;
        }
        self.entries = rest;
        Some(newest)
    }
}

impl<'a, F: KeyForm> Groups<'_, 'a, F> {
    fn position_of(&self, entry: &Entry<F::Key<'a>>) -> u64 {
        let slice = &self.slices[entry.slice as usize];
        slice.positions.at(entry.row as usize)
    }
}

/// The rows of all slices but one, keys ascending; of equal keys the newer slice's come first.
fn sorted_entries<'a, F: KeyForm>(
    slices: &[Slice<'a, F>],
    left_out: Option<usize>,
) -> Vec<Entry<F::Key<'a>>> {
    let rows = |index: usize| slices[index].rows();
    let merged = (0..slices.len()).filter(|&index| Some(index) != left_out && rows(index) > 0);
    let mut ends = Vec::with_capacity(slices.len());
    let mut entries = Vec::with_capacity(merged.clone().map(rows).sum());
    for index in merged {
        let slice = &slices[index];
        entries.extend((slice.at..slice.end).map(|row| Entry {
            key: slice.key(row),
            slice: index as u32,
            row: row as u32,
        }));
        ends.push(entries.len());
    }
    let mut merged = Vec::with_capacity(entries.len());
    while ends.len() > 1 {
        ends = merge_pairs(&entries, &ends, &mut merged);
        std::mem::swap(&mut entries, &mut merged);
        merged.clear();
    }
    entries
}

/// Merges each two neighbouring lists. `ends` are those of the lists; returns those of the merged
/// ones.
fn merge_pairs<K: Ord + Copy>(
    entries: &[Entry<K>],
    ends: &[usize],
    merged: &mut Vec<Entry<K>>,
) -> Vec<usize> {
    let mut start = 0;
    let mut merged_ends = Vec::with_capacity(ends.len().div_ceil(2));
    for pair in ends.chunks(2) {
        let (middle, end) = (pair[0], pair[pair.len() - 1]);
        merge_two(&entries[start..middle], &entries[middle..end], merged);
        merged_ends.push(end);
        start = end;
    }
    merged_ends
}

/// Appends the entries of two sorted lists in their order; of equal keys those of `newer` first.
fn merge_two<K: Ord + Copy>(newer: &[Entry<K>], older: &[Entry<K>], merged: &mut Vec<Entry<K>>) {
    let (mut newer_at, mut older_at) = (0, 0);
    while newer_at < newer.len() && older_at < older.len() {
        let takes_older = older[older_at].key < newer[newer_at].key;
        let next = std::hint::select_unpredictable(takes_older, &older[older_at], &newer[newer_at]);
        merged.push(*next);
        older_at += usize::from(takes_older);
        newer_at += usize::from(!takes_older);
    }
    merged.extend_from_slice(&newer[newer_at..]);
    merged.extend_from_slice(&older[older_at..]);
}

/// The largest key of the slices, those included that have been skipped.
fn key_at_end<F: KeyForm>(slices: &[Slice<'_, F>]) -> SortKey {
    let last = slices.iter().max_by_key(|slice| slice.key(slice.end - 1));
    let last = last.expect("there is a slice");
    last.block.versions().keys.key(last.end - 1)
}
