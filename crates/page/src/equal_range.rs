//! The slots of a value among slots whose cells ascend, with as few comparisons as possible.
//!
//! 1. Halve until the first slot that is not below the value is known. The comparison that found
//!    it also told whether its cell is equal, and the nearest one that told "above" bounds the end.
//! 2. Look for the end behind the first slot, in doubling steps: keys are mostly unique, and then
//!    the first step ends it.
//!
//! Invariant: it ends, within the slots, even if cells do not ascend.

use std::cmp::Ordering;
use std::convert::Infallible;
use std::ops::Range;

use crate::word_order::Sought;

/// The slots whose cells are equal; where they would be, if there is none. `compare` says how
/// the cell of a slot compares to the value.
#[inline]
pub(crate) fn equal_range<E>(
    slots: Range<usize>,
    mut compare: impl FnMut(usize) -> Result<Ordering, E>,
) -> Result<Range<usize>, E> {
    let Range { mut start, mut end } = slots;
    let mut above = end;
    while start < end {
        let middle = start + (end - start) / 2;
        match compare(middle)? {
            Ordering::Less => start = middle + 1,
            Ordering::Equal => end = middle,
            Ordering::Greater => (end, above) = (middle, middle),
        }
    }
    let first = end;
    if first == above {
        return Ok(first..first);
    }
    let (mut start, mut step) = (first + 1, 1);
    while start + step <= above && compare(start + step - 1)?.is_le() {
        start += step;
        step *= 2;
    }
    let mut end = above.min(start + step - 1);
    while start < end {
        let middle = start + (end - start) / 2;
        match compare(middle)?.is_le() {
            true => start = middle + 1,
            false => end = middle,
        }
    }
    Ok(first..start)
}

/// As [`equal_range`], for words that are there without fail.
#[inline]
pub(crate) fn equal_words(
    slots: Range<usize>,
    sought: Sought,
    word: impl Fn(usize) -> u64,
) -> Range<usize> {
    let compare = |slot| Ok::<_, Infallible>(sought.compare(word(slot)));
    let Ok(equal) = equal_range(slots, compare);
    equal
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn find(cells: &[u32], slots: Range<usize>, value: u32) -> (Range<usize>, usize) {
        let comparisons = Cell::new(0);
        let Ok(found) = equal_range(slots, |slot| {
            comparisons.set(comparisons.get() + 1);
            Ok::<_, Infallible>(cells[slot].cmp(&value))
        });
        (found, comparisons.get())
    }

    #[test]
    fn every_value_is_found_in_every_range() {
        for repeat in [1, 2, 3, 40] {
            let cells: Vec<u32> = (0..60).map(|slot| 1 + 2 * (slot / repeat)).collect();
            for start in 0..=cells.len() {
                for end in start..=cells.len() {
                    for value in 0..=2 * 60 / repeat + 2 {
                        let (found, _) = find(&cells, start..end, value);
                        let range = &cells[start..end];
                        let first = start + range.partition_point(|&cell| cell < value);
                        let last = start + range.partition_point(|&cell| cell <= value);
                        assert_eq!(found, first..last, "{value} in {start}..{end}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_unique_value_costs_one_comparison_more_than_halving_at_most() {
        let cells: Vec<u32> = (0..1024).collect();
        for value in 0..1024 {
            let (found, comparisons) = find(&cells, 0..1024, value);
            assert_eq!(found, value as usize..value as usize + 1);
            assert!(comparisons <= 11 + 1, "{comparisons} for {value}");
        }
    }

    #[test]
    fn it_ends_within_the_slots_where_cells_do_not_ascend() {
        let cells: Vec<u32> = (0..300_u32)
            .map(|slot| slot.wrapping_mul(2_654_435_761) % 7)
            .collect();
        for value in 0..8 {
            let (found, _) = find(&cells, 20..290, value);
            assert!(20 <= found.start && found.start <= found.end && found.end <= 290);
        }
    }
}
