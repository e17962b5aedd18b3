//! The runs of equal cells of a column: where each ends, and its word.
//!
//! Cells are compared in the width that they have in their array, a stride of neighbours at a time.
//! Where none differ, as in most strides of a column that is worth run lengths, that is all; in the
//! others every place is written down and those without an end are written over, which leaves the
//! processor one thing to guess a stride.

use multiversion::multiversion;

use crate::bit_packing::bits;
use crate::cell::Cell;

/// Neighbours that are compared at once.
const STRIDE: usize = 16;

/// The runs of a column.
#[derive(Debug)]
pub(super) struct Runs {
    pub(super) rows: usize,
    /// The slot behind the last cell of each run, ascending.
    pub(super) ends: Vec<u64>,
    pub(super) words: Vec<u64>,
    /// The smallest word.
    pub(super) min: i64,
    /// The largest word.
    max: i64,
}

impl Runs {
    /// The runs of at least one cell; `None` if they are more than `runs_max`.
    pub(super) fn of<T: Cell + PartialEq>(cells: &[T], runs_max: usize) -> Option<Self> {
        let mut ends = Vec::new();
        if !find_ends(cells, runs_max, &mut ends) {
            return None;
        }
        let word = |&end: &u64| cells[end as usize - 1].to_word();
        let words: Vec<u64> = ends.iter().map(word).collect();
        let signed = words.iter().map(|&word| word as i64);
        Some(Self {
            rows: cells.len(),
            min: signed.clone().min()?,
            max: signed.max()?,
            ends,
            words,
        })
    }

    /// Bits of the largest distance from the smallest word.
    pub(super) fn range_width(&self) -> u32 {
        bits(self.max.wrapping_sub(self.min) as u64)
    }
}

/// Appends the ends of runs; false as soon as there are more than `runs_max`.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn find_ends<T: Cell + PartialEq>(cells: &[T], runs_max: usize, ends: &mut Vec<u64>) -> bool {
    let pairs = cells.len() - 1;
    let (strides, _) = cells[..pairs].as_chunks::<STRIDE>();
    let (next_strides, _) = cells[1..].as_chunks::<STRIDE>();
    for (number, (stride, next)) in strides.iter().zip(next_strides).enumerate() {
        let differ = |(a, b): (&T, &T)| a != b;
        if stride
            .iter()
            .zip(next)
            .map(differ)
            .fold(false, |any, is| any | is)
        {
            append_ends(stride, next, number * STRIDE, ends);
            if ends.len() >= runs_max {
                return false;
            }
        }
    }
    for slot in strides.len() * STRIDE..pairs {
        if cells[slot] != cells[slot + 1] {
            ends.push(slot as u64 + 1);
        }
    }
    ends.push(cells.len() as u64);
    ends.len() <= runs_max
}

/// Appends the ends of runs in a stride that begins at `slot`.
#[inline(always)]
fn append_ends<T: PartialEq>(
    stride: &[T; STRIDE],
    next: &[T; STRIDE],
    slot: usize,
    ends: &mut Vec<u64>,
) {
    let (mut found, mut count) = ([0; STRIDE], 0);
    for index in 0..STRIDE {
        found[count % STRIDE] = (slot + index + 1) as u64;
        count += usize::from(stride[index] != next[index]);
    }
    ends.extend_from_slice(&found[..count]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_of_a_plain_comparison() {
        for rows in [1, 2, 15, 16, 17, 33, 500] {
            for length in [1, 2, 5, 16, 40, 1000] {
                let cells: Vec<i32> = (0..rows).map(|row| (row / length) * 7 % 5 - 2).collect();
                let runs = Runs::of(&cells, usize::MAX).expect("as many as there are");
                let mut begin = 0;
                for (run, (&end, &word)) in cells
                    .chunk_by(|a, b| a == b)
                    .zip(runs.ends.iter().zip(&runs.words))
                {
                    begin += run.len();
                    assert_eq!((end, word), (begin as u64, run[0].to_word()));
                }
                assert_eq!(begin, cells.len());
                assert_eq!(runs.min, i64::from(*cells.iter().min().expect("a cell")));
                assert_eq!(runs.max, i64::from(*cells.iter().max().expect("a cell")));
                assert!(Runs::of(&cells, runs.ends.len()).is_some());
                assert!(Runs::of(&cells, runs.ends.len() - 1).is_none());
            }
        }
    }
}
