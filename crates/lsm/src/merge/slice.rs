//! The rows of one stream that a step of a merge may consume, and where the step ends.

use std::sync::Arc;

use types::key::SortKey;

use crate::block::{Block, Cells};
use crate::cursor::Window;
use crate::key_form::{KeyForm, gallop};
use crate::museum::{self, Exhibit};
use crate::selection::SourceId;

/// The row after the last that one step may consume.
pub(super) fn step_end(window: &Window, step_rows: usize) -> usize {
    window.end.min(window.at + step_rows)
}

/// Whether a version comes before another one of its key, as their positions say.
#[inline]
pub(super) fn comes_first(position: u64, other: u64) -> bool {
    match museum::shows(Exhibit::OlderVersionFirst) {
        true => position < other,
        false => position > other,
    }
}

/// The rows of one stream in a step.
pub(super) struct Slice<'a, F: KeyForm> {
    pub keys: F::View<'a>,
    pub positions: &'a Cells<u64>,
    pub unique_keys: bool,
    pub block: &'a Arc<Block>,
    pub source: Option<SourceId>,
    pub at: usize,
    pub end: usize,
    /// Whether rows of the stream from `end` on may come before rows of other slices.
    is_open: bool,
    /// Smaller is newer.
    pub age: usize,
}

impl<'a, F: KeyForm> Slice<'a, F> {
    pub fn new(window: &'a Window, step_rows: usize, age: usize) -> Self {
        let versions = window.block.versions();
        Self {
            keys: F::view(&versions.keys),
            positions: &versions.positions,
            unique_keys: window.block.summary().unique_keys,
            block: &window.block,
            source: None,
            at: window.at,
            end: step_end(window, step_rows),
            is_open: true,
            age,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.end - self.at
    }

    /// Leaves out all but the first rows.
    pub fn limit(&mut self, rows: usize) {
        if self.rows() > rows {
            self.end = self.at + rows;
            self.is_open = true;
        }
    }

    /// Whether the first row has this key.
    pub fn begins_with(&self, key: &SortKey) -> bool {
        let keys = &self.block.versions().keys;
        keys.compare_key(self.at, key).is_eq()
    }

    /// Leaves out the first rows that have this key.
    pub fn skip(&mut self, key: &SortKey) {
        while self.at < self.end && self.begins_with(key) {
            self.at += 1;
        }
    }

    /// The block as a source of the selection.
    ///
    /// # Panics
    /// Before the source is known.
    pub fn source(&self) -> SourceId {
        self.source.expect("sources are known before the merge")
    }

    #[inline]
    pub fn key(&self, row: usize) -> F::Key<'a> {
        F::key(self.keys, row)
    }

    /// Whether `row` comes before `other_row` of `other` in merge order.
    #[inline]
    pub fn precedes(&self, row: usize, other: &Self, other_row: usize) -> bool {
        let (key, other_key) = (self.key(row), other.key(other_row));
        if key != other_key {
            return key < other_key;
        }
        let (position, other_position) = (self.positions.at(row), other.positions.at(other_row));
        comes_first(position, other_position) || position == other_position && self.age < other.age
    }

    /// Whether the head comes before that of `other`.
    #[inline]
    pub fn leads(&self, other: &Self) -> bool {
        self.precedes(self.at, other, other.at)
    }

    /// The first row that does not come before the head of `other`. Row `at` does.
    pub fn rows_before(&self, other: &Self) -> usize {
        let key = other.key(other.at);
        let mut row = F::first_not_below(self.keys, self.at + 1..self.end, key);
        while row < self.end && self.precedes(row, other, other.at) {
            row += 1;
        }
        row
    }
}

/// Cuts every slice, of which none is empty, after the smallest last (key, position) of those that
/// are open; then none is. Slices that become empty go.
pub(super) fn cut_at_bound<F: KeyForm>(slices: &mut Vec<Slice<'_, F>>) {
    let open = (0..slices.len()).filter(|&index| slices[index].is_open);
    let last_first = |a: usize, b: usize| {
        let (slice, smallest) = (&slices[b], &slices[a]);
        match slice.precedes(slice.end - 1, smallest, smallest.end - 1) {
            true => b,
            false => a,
        }
    };
    let Some(bound) = open.reduce(last_first) else {
        return;
    };
    let cut_of = |index: usize| match index == bound {
        true => slices[index].end,
        false => cut(&slices[index], &slices[bound]),
    };
    let cuts: Vec<usize> = (0..slices.len()).map(cut_of).collect();
    for (slice, end) in slices.iter_mut().zip(cuts) {
        slice.end = end;
        slice.is_open = false;
    }
    slices.retain(|slice| slice.at < slice.end);
}

/// The end of the rows of `slice` that come before the last row of `bound` or equal it.
fn cut<'a, F: KeyForm>(slice: &Slice<'a, F>, bound: &Slice<'a, F>) -> usize {
    let last = bound.end - 1;
    gallop(slice.at..slice.end, |row| {
        !bound.precedes(last, slice, row) || equals(slice, row, bound, last)
    })
}

fn equals<'a, F: KeyForm>(a: &Slice<'a, F>, row: usize, b: &Slice<'a, F>, other: usize) -> bool {
    a.key(row) == b.key(other) && a.positions.at(row) == b.positions.at(other)
}
