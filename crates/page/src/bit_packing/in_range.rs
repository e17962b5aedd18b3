//! Which narrow values lie in a range: a bit each.

use std::array::from_fn;

use multiversion::multiversion;

use super::{BLOCK, BLOCKS_A_GROUP, NarrowBlock, NarrowGroup};

/// Of a block of values, a bit for each from `first` to `last`.
#[inline(always)]
pub(super) fn block_bits(values: &NarrowBlock, first: u32, last: u32) -> u64 {
    let values = values.iter().enumerate();
    let bit = |(index, &value): (usize, &u32)| u64::from(first <= value && value <= last) << index;
    values.map(bit).fold(0, |bits, bit| bits | bit)
}

/// The same for a group.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
pub(super) fn group_bits(values: &NarrowGroup, first: u32, last: u32) -> [u64; BLOCKS_A_GROUP] {
    let (blocks, _) = values.as_chunks::<BLOCK>();
    from_fn(|block| block_bits(&blocks[block], first, last))
}
