//! What is done to 256 words at once, with the vector instructions that the processor turns out
//! to have.
//!
//! The loops are plain; the compiler makes vector instructions of them. Words are computed in
//! lanes of their cell's width: wrapping arithmetic on words and on the low bits of words agree
//! in the low bits.

use std::array::from_fn;

use multiversion::multiversion;

use crate::bit_packing::{BLOCK, BLOCKS_A_GROUP, Block, GROUP, NarrowGroup};
use crate::cell::{Cell, Lane};

/// Neighbours in a block that are added up side by side.
const ROW: usize = 8;

/// Cells that are `base` and a distance each.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
pub(super) fn add_base<T: Cell>(distances: &NarrowGroup, base: u64, cells: &mut [T; GROUP]) {
    let base = T::Lane::cut(base);
    let lanes = distances
        .iter()
        .map(|&distance| T::Lane::from(distance).plus(base));
    T::from_lanes(lanes, cells);
}

/// The lanes of narrow values.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
pub(super) fn widen<L: Lane>(values: &NarrowGroup, lanes: &mut [L; GROUP]) {
    for (lane, value) in lanes.iter_mut().zip(values) {
        *lane = L::from(*value);
    }
}

/// Cells from climbs: in each block, the sum of `starts` and of all climbs and steps up to the
/// cell's own.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
pub(super) fn add_up<T: Cell>(
    climbs: &[T::Lane; GROUP],
    starts: &[u64; BLOCKS_A_GROUP],
    step: u64,
    cells: &mut [T; GROUP],
) {
    let step = T::Lane::cut(step);
    let (blocks, _) = cells.as_chunks_mut::<BLOCK>();
    for (block, (climbs, start)) in blocks
        .iter_mut()
        .zip(climbs.as_chunks::<BLOCK>().0.iter().zip(starts))
    {
        let mut before = T::Lane::cut(*start);
        let (rows, _) = block.as_chunks_mut::<ROW>();
        for (row, climbs) in rows.iter_mut().zip(climbs.as_chunks::<ROW>().0) {
            let sums = sums(climbs.map(|climb| climb.plus(step))).map(|sum| sum.plus(before));
            before = sums[ROW - 1];
            *row = sums.map(T::from_lane);
        }
    }
}

/// A bit for each word from `first` on that is at most `span` above it, modulo 2^64.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
pub(super) fn word_bits(words: &Block, first: u64, span: u64) -> u64 {
    let words = words.iter().enumerate();
    let bit = |(index, word): (usize, &u64)| u64::from(word.wrapping_sub(first) <= span) << index;
    words.map(bit).fold(0, |bits, bit| bits | bit)
}

/// The largest of some numbers; 0 if there are none.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
pub(crate) fn largest<N: Copy + Default + Ord>(numbers: &[N]) -> N {
    numbers.iter().copied().fold(N::default(), N::max)
}

/// The sums of each lane and all before it, in as many steps as the stride has bits.
#[inline(always)]
fn sums<L: Lane>(lanes: [L; ROW]) -> [L; ROW] {
    let pairs: [L; ROW] = from_fn(|i| {
        if i < 1 {
            lanes[i]
        } else {
            lanes[i].plus(lanes[i - 1])
        }
    });
    let fours: [L; ROW] = from_fn(|i| {
        if i < 2 {
            pairs[i]
        } else {
            pairs[i].plus(pairs[i - 2])
        }
    });
    from_fn(|i| {
        if i < 4 {
            fours[i]
        } else {
            fours[i].plus(fours[i - 4])
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_sums<T: Cell + PartialEq + std::fmt::Debug>() {
        let climbs: [T::Lane; GROUP] =
            from_fn(|i| T::Lane::cut((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let (starts, step) = ([7, u64::MAX, 1 << 40, 0], 3_u64.wrapping_neg());
        let mut cells = [T::default(); GROUP];
        add_up::<T>(&climbs, &starts, step, &mut cells);
        for (block, start) in starts.into_iter().enumerate() {
            let mut word = T::Lane::cut(start);
            for index in block * BLOCK..(block + 1) * BLOCK {
                word = word.plus(climbs[index]).plus(T::Lane::cut(step));
                assert_eq!(cells[index], T::from_lane(word), "cell {index}");
            }
        }
    }

    #[test]
    fn climbs_add_up() {
        check_sums::<i16>();
        check_sums::<i32>();
        check_sums::<u64>();
        check_sums::<i128>();
    }

    #[test]
    fn distances_lie_above_the_base() {
        let distances: NarrowGroup = from_fn(|i| i as u32 * 0x0101_0101);
        let base = u64::MAX - 5;
        let mut narrow = [0_i32; GROUP];
        add_base(&distances, base, &mut narrow);
        let mut wide = [0_i128; GROUP];
        add_base(&distances, base, &mut wide);
        for (index, distance) in distances.into_iter().enumerate() {
            let word = base.wrapping_add(u64::from(distance));
            assert_eq!(
                (narrow[index], wide[index]),
                (i32::from_word(word), i128::from_word(word))
            );
        }
    }
}
