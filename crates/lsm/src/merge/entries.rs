//! The rows of a step in the order of their keys, as entries of 16 to 32 bytes.
//!
//! The slices are merged two by two, without a branch that depends on a key.

use super::slice::Slice;
use crate::key_form::KeyForm;
use crate::selection::Selection;

/// Entries of a step, about: two buffers of them stay in a core's second cache.
const ENTRIES_MAX: usize = 4 << 10;

/// Rows of a slice that a step should take at most.
const SLICE_ROWS_MIN: usize = 64;

/// A row, by its key.
pub(super) struct Entry<K> {
    pub key: K,
    pub slice: u32,
    pub row: u32,
}

impl<K: Copy> Clone for Entry<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Copy> Copy for Entry<K> {}

/// How many rows of each of so many slices a step should take at most.
pub(super) fn step_rows(slices: usize) -> usize {
    (ENTRIES_MAX / slices).max(SLICE_ROWS_MIN)
}

/// The rows of all slices but one, keys ascending; of equal keys the newer slice's come first.
pub(super) fn sorted_entries<'a, F: KeyForm>(
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

/// The position of an entry's version.
#[inline]
pub(super) fn position_of<'a, F: KeyForm>(
    slices: &[Slice<'a, F>],
    entry: &Entry<F::Key<'a>>,
) -> u64 {
    let slice = &slices[entry.slice as usize];
    slice.positions.at(entry.row as usize)
}

/// Keeps an entry's row.
#[inline]
pub(super) fn keep<'a, F: KeyForm>(
    slices: &[Slice<'a, F>],
    entry: &Entry<F::Key<'a>>,
    out: &mut Selection,
) {
    let row = entry.row as usize;
    out.push(slices[entry.slice as usize].source(), row..row + 1);
}
