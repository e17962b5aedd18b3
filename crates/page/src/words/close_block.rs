//! The slots of a word in a block of PFOR-DELTA whose words are so near to one another that 32 bits
//! hold every distance.
//!
//! 1. Add up the climbs of each row of eight slots, two at a time.
//! 2. Add up the rows, and count those that end below the sought word: the next row has it.
//! 3. Add up the climbs of that row, and count the words that are below, and those that are not
//!    above.
//!
//! Every sum and comparison is made wherever the word is, so the processor has nothing to guess.
//!
//! Invariant: whatever the climbs, counts are within the block.

use std::array::from_fn;
use std::ops::Range;

use crate::bit_packing::{BLOCK, NarrowBlock};

/// Slots that are added up together.
const ROW: usize = 8;

const ROWS: usize = BLOCK / ROW;

/// Below this are steps, climbs and what exceptions add to them, where words are close: a block's
/// of all three together need no more than 31 bits and a sign.
pub(super) const CLOSE: u128 = 1 << 23;

const _: () = assert!(3 * CLOSE * BLOCK as u128 <= i32::MAX as u128);

/// The climbs of a block.
#[derive(Debug)]
pub(super) struct CloseBlock<'c> {
    climbs: &'c mut NarrowBlock,
    /// The sums of rows.
    sums: [i32; ROWS],
    step: i32,
}

impl<'c> CloseBlock<'c> {
    /// A block of climbs below [`CLOSE`] that steps are to be added to.
    #[inline]
    pub(super) fn new(climbs: &'c mut NarrowBlock, step: i32) -> Self {
        let (rows, _) = climbs.as_chunks::<ROW>();
        Self {
            sums: from_fn(|row| sum_of_small(&rows[row])),
            climbs,
            step,
        }
    }

    /// Adds to the climb of a slot what an exception says.
    #[inline]
    pub(super) fn patch(&mut self, slot: usize, above: i32) {
        self.climbs[slot] = self.climbs[slot].wrapping_add_signed(above);
        self.sums[slot / ROW] = self.sums[slot / ROW].wrapping_add(above);
    }

    /// The slots of the word that is `sought` above what the first climb is added to. Words ascend.
    #[inline]
    pub(super) fn equal(&self, sought: i32) -> Range<usize> {
        let (row, before) = self.row(sought);
        let Some(climbs) = self.climbs.as_chunks::<ROW>().0.get(row) else {
            return BLOCK..BLOCK;
        };
        let (mut word, mut below, mut not_above) = (before, 0, 0);
        for &climb in climbs {
            word = word.wrapping_add((climb as i32).wrapping_add(self.step));
            below += usize::from(word < sought);
            not_above += usize::from(word <= sought);
        }
        // The next row may begin with it, but values of keys are mostly unique.
        let next = self.climbs[(row * ROW + ROW).min(BLOCK - 1)];
        let next = word.wrapping_add((next as i32).wrapping_add(self.step));
        let end = match (not_above == ROW) & (next <= sought) {
            true => self.end(row + 1, word, sought),
            false => row * ROW + not_above,
        };
        row * ROW + below..end
    }

    /// The first row that does not end below the sought word, and the word in front of it.
    #[inline]
    fn row(&self, sought: i32) -> (usize, i32) {
        let row_step = self.step.wrapping_mul(ROW as i32);
        let (mut row, mut before, mut end) = (0, 0, 0_i32);
        for sum in self.sums {
            end = end.wrapping_add(sum.wrapping_add(row_step));
            let is_below = end < sought;
            row += usize::from(is_below);
            before = if is_below { end } else { before };
        }
        (row, before)
    }

    /// Behind the last slot from a row on that is not above the sought word.
    #[inline(never)]
    fn end(&self, row: usize, before: i32, sought: i32) -> usize {
        let mut word = before;
        let rest = self.climbs[row * ROW..].iter();
        let not_above = rest.take_while(|&&climb| {
            word = word.wrapping_add((climb as i32).wrapping_add(self.step));
            word <= sought
        });
        row * ROW + not_above.count()
    }
}

/// The sum of a row of numbers below [`CLOSE`], two at a time.
#[inline]
fn sum_of_small(row: &[u32; ROW]) -> i32 {
    let pairs: [u64; ROW / 2] = bytemuck::cast(*row);
    let pair = pairs[0] + pairs[1] + (pairs[2] + pairs[3]);
    (pair + (pair >> u32::BITS)) as u32 as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found() {
        for spread in [1, 2, 5, 1000] {
            let climbs: NarrowBlock = from_fn(|i| (i as u32 * 7919 % 13) / (13 / spread.min(13)));
            let mut patched = climbs;
            let mut block = CloseBlock::new(&mut patched, 3);
            block.patch(0, 70_000);
            block.patch(41, -2);
            let climb = |slot: usize| climbs[slot] as i32 + 3;
            let words: Vec<i32> = (0..BLOCK)
                .scan(70_000, |word, slot| {
                    *word += climb(slot) - if slot == 41 { 2 } else { 0 };
                    Some(*word)
                })
                .collect();
            for &sought in &words {
                for sought in [sought - 1, sought, sought + 1] {
                    let below = words.partition_point(|&word| word < sought);
                    let not_above = words.partition_point(|&word| word <= sought);
                    assert_eq!(block.equal(sought), below..not_above, "{sought}");
                }
            }
            assert_eq!(block.equal(i32::MIN), 0..0);
            assert_eq!(block.equal(i32::MAX), BLOCK..BLOCK);
        }
    }

    #[test]
    fn words_that_stay_are_found_across_rows() {
        let mut climbs = [0; BLOCK];
        (climbs[0], climbs[5], climbs[50]) = (7, 1, 1);
        let block = CloseBlock::new(&mut climbs, 0);
        assert_eq!((block.equal(7), block.equal(8)), (0..5, 5..50));
        assert_eq!((block.equal(9), block.equal(10)), (50..64, 64..64));
    }
}
