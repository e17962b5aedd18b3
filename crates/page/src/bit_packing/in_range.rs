//! Which narrow values lie in a range: a bit each.
//!
//! Eight neighbours, the row of a group ([`super::lanes`]), are compared at once, and what comes of it is a bit for each
//! of them in a byte for each lane. So for each block of eight rows:
//!
//! ```text
//!           row 0   row 1   …   row 7              lane 0   lane 1   …   lane 7
//! lane 0    v0      v8          v56       row 0    v0       v1           v7
//! lane 1    v1      v9          v57       row 1    v8       v9           v15
//! …                                  ──▶  …
//! lane 7    v7      v15         v63       row 7    v56      v57          v63
//! ```
//!
//! Those 64 bits are a matrix, which is transposed in three steps. To put each bit where it belongs as soon as it is known
//! would take a word of 64 bits for each value: twice as many vectors.

use std::array::from_fn;

use multiversion::multiversion;

use super::lanes::LANES;
use super::{BLOCK, BLOCKS_A_GROUP, NarrowBlock, NarrowGroup};

/// Of a block of values a bit for each from `first` to `last`.
#[inline(always)]
pub(super) fn block_bits(values: &NarrowBlock, first: u32, last: u32) -> u64 {
    let Some(span) = last.checked_sub(first) else {
        return 0;
    };
    let (rows, _) = values.as_chunks::<LANES>();
    let mut found = [0_u32; LANES];
    for (row, values) in rows.iter().enumerate() {
        for lane in 0..LANES {
            found[lane] |= u32::from(values[lane].wrapping_sub(first) <= span) << row;
        }
    }
    transposed(found.map(|lane| lane as u8))
}

/// The same for a group.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
pub(super) fn group_bits(values: &NarrowGroup, first: u32, last: u32) -> [u64; BLOCKS_A_GROUP] {
    let (blocks, _) = values.as_chunks::<BLOCK>();
    from_fn(|block| block_bits(&blocks[block], first, last))
}

/// Bit `column` of row `row` of the result is bit `row` of row `column` (Warren, Hacker's Delight, 7-3).
#[inline(always)]
fn transposed(rows: [u8; LANES]) -> u64 {
    let mut bits = u64::from_le_bytes(rows);
    let swap = (bits ^ (bits >> 7)) & 0x00AA_00AA_00AA_00AA;
    bits ^= swap ^ (swap << 7);
    let swap = (bits ^ (bits >> 14)) & 0x0000_CCCC_0000_CCCC;
    bits ^= swap ^ (swap << 14);
    let swap = (bits ^ (bits >> 28)) & 0x0000_0000_F0F0_F0F0;
    bits ^ swap ^ (swap << 28)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_its_bit() {
        let values: NarrowGroup = from_fn(|index| (index as u32 * 37) % 101);
        for (first, last) in [(0, 50), (17, 17), (60, u32::MAX), (0, u32::MAX), (5, 4)] {
            let bits = group_bits(&values, first, last);
            for (index, value) in values.iter().enumerate() {
                let found = bits[index / 64] >> (index % 64) & 1 == 1;
                assert_eq!(found, (first..=last).contains(value), "value {index}");
            }
        }
    }
}
