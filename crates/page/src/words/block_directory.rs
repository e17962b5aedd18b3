//! What the blocks of a PFOR-DELTA column begin with, unpacked for whoever looks cells up: all
//! first words are compared with another one in less time than it takes to guess where among them
//! it is, and the exceptions of a block are known without a search.
//!
//! Invariant: bounds of exceptions are at most their number. They ascend if those do.

use std::ops::Range;

use multiversion::multiversion;

use crate::bit_packing::BLOCK;
use crate::exceptions::Exceptions;

/// Blocks that have a directory: three quarters of a kilobyte.
const BLOCKS_MAX: usize = 128;

/// First words are less than this away from the first of all.
const FAR: u64 = 1 << 30;

/// The directory of blocks.
#[derive(Debug)]
pub(super) struct BlockDirectory {
    first: u64,
    /// How far each first word is above that of the first block.
    distances: Box<[i32]>,
    /// Exceptions in front of each block, and those in front of the end.
    exceptions: Box<[u16]>,
}

impl BlockDirectory {
    /// `None` if there are no blocks, or many, or their first words are far apart.
    pub(super) fn of(
        blocks: usize,
        exceptions: &Exceptions<'_>,
        word: impl Fn(usize) -> u64,
    ) -> Option<Self> {
        if !(1..=BLOCKS_MAX).contains(&blocks) {
            return None;
        }
        let first = word(0);
        let distance = |block| {
            let distance = word(block).wrapping_sub(first) as i64;
            (distance.unsigned_abs() < FAR).then_some(distance as i32)
        };
        let distances = (0..blocks).map(distance).collect::<Option<_>>()?;
        let in_front = |block| match block {
            0 => 0,
            _ => exceptions.between((block - 1) * BLOCK, block * BLOCK).end as u16,
        };
        Some(Self {
            first,
            distances,
            exceptions: (0..=blocks).map(in_front).collect(),
        })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.distances) + size_of_val(&*self.exceptions)
    }

    /// The numbers of a block's exceptions.
    #[inline]
    pub(super) fn exceptions(&self, block: usize) -> Range<usize> {
        match self.exceptions[block..] {
            [begin, end, ..] => usize::from(begin)..usize::from(end),
            _ => 0..0,
        }
    }

    /// The first word of the first block.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// How far a block's first word is above that of the first block.
    #[inline]
    pub(super) fn distance(&self, block: usize) -> i32 {
        self.distances[block]
    }

    /// How many of some blocks begin less far above the first one.
    #[inline]
    pub(super) fn below(&self, blocks: Range<usize>, distance: i32) -> usize {
        count_below(&self.distances[blocks], distance)
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn count_below(numbers: &[i32], bound: i32) -> usize {
    let below = numbers.iter().map(|&number| u32::from(number < bound));
    below.sum::<u32>() as usize
}
