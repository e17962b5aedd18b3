//! Groups of 256 narrow integers in eight lanes, for vector instructions.
//!
//! ```text
//!              lane 0    lane 1    …   lane 7        (u32 each)
//! word 0       v0, v8 …  v1, v9 …      v7, v15 …     32 values a lane, end to end from the lowest
//! word 1       …         …             …             bit up; a value may begin in one word and
//! …                                                  end in the next of its lane
//! word w-1
//! ```
//!
//! Value `i` is number `i / 8` of lane `i % 8`. So eight neighbours have their bits at the same
//! place of eight neighbouring words: one shift and one mask serve them all, and they come out
//! in order. The loops say just that; the compiler makes vector instructions of them, those that
//! the processor turns out to have (the idea: Afroozeh, Boncz, "The FastLanes Compression Layout",
//! VLDB 2023; there in groups of 1,024).

use multiversion::multiversion;

use super::in_range::block_bits;
use super::{BLOCK, BLOCKS_A_GROUP, mask};

/// Values in a group.
pub(crate) const GROUP: usize = LANES * ROWS;

/// Neighbours that lie side by side.
pub(super) const LANES: usize = 8;
const ROWS: usize = u32::BITS as usize;
const ROWS_A_BLOCK: usize = BLOCK / LANES;
const WORD_BYTES: usize = size_of::<u32>();
const ROW_BYTES: usize = LANES * WORD_BYTES;

const _: () = assert!(GROUP.is_multiple_of(BLOCK));

/// A block of narrow values.
pub(crate) type NarrowBlock = [u32; BLOCK];

/// A group of narrow values.
pub(crate) type NarrowGroup = [u32; GROUP];

/// Whether values of this width are stored in lanes. Whole bytes need no bits put together, and
/// wider values are rarely many. The eight values that a block has in a lane add up within 32
/// bits.
pub(super) const fn applies(width: u32) -> bool {
    matches!(width, 1..=7 | 9..=15 | 17..=29)
}

/// Runs `$body` with the width as the constant `$constant`.
macro_rules! with_width {
    ($width:expr, $constant:ident => $body:expr) => {
        with_width!(@list $width, $constant => $body;
            1 2 3 4 5 6 7 9 10 11 12 13 14 15 17 18 19 20 21 22 23 24 25 26 27 28 29)
    };
    (@list $width:expr, $constant:ident => $body:expr; $($number:literal)*) => {
        match $width {
            $($number => {
                const $constant: usize = $number;
                $body
            })*
            _ => unreachable!("values of this width are not stored in lanes"),
        }
    };
}

/// Appends a group, each value cut to the width.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(super) fn pack(values: &[u32; GROUP], width: u32, out: &mut Vec<u8>) {
    with_width!(width, WIDTH => pack_group::<WIDTH>(values, out));
}

#[inline(always)]
fn pack_group<const WIDTH: usize>(values: &[u32; GROUP], out: &mut Vec<u8>) {
    let mut words = [[0; LANES]; WIDTH];
    let (rows, _) = values.as_chunks::<LANES>();
    for (number, row) in rows.iter().enumerate() {
        let bit = number * WIDTH;
        let (word, shift) = (bit / ROWS, (bit % ROWS) as u32);
        let cut = row.map(|value| value & mask(WIDTH as u32) as u32);
        for lane in 0..LANES {
            words[word][lane] |= cut[lane] << shift;
        }
        if shift as usize + WIDTH > ROWS {
            for lane in 0..LANES {
                words[word + 1][lane] |= cut[lane] >> (u32::BITS - shift);
            }
        }
    }
    for word in words {
        out.extend_from_slice(word.map(u32::to_le_bytes).as_flattened());
    }
}

/// Unpacks block number `block` (0 to 3) of the group at the start of `packed`.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(super) fn unpack(packed: &[u8], width: u32, block: usize) -> NarrowBlock {
    with_width!(width, WIDTH => unpack_any_block::<WIDTH>(packed, block))
}

/// Unpacks the group at the start of `packed`.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(super) fn unpack_group(packed: &[u8], width: u32, values: &mut NarrowGroup) {
    with_width!(width, WIDTH => unpack_all_blocks::<WIDTH>(packed, values));
}

/// Of the group at the start of `packed` a bit for each value from `first` to `last`. They need not be written
/// down on the way.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
pub(super) fn bits_in_range(
    packed: &[u8],
    width: u32,
    first: u32,
    last: u32,
) -> [u64; BLOCKS_A_GROUP] {
    with_width!(width, WIDTH => bits_of_all_blocks::<WIDTH>(packed, first, last))
}

#[inline(always)]
fn bits_of_all_blocks<const WIDTH: usize>(
    packed: &[u8],
    first: u32,
    last: u32,
) -> [u64; BLOCKS_A_GROUP] {
    [
        block_bits(&unpack_block::<WIDTH, 0>(packed), first, last),
        block_bits(&unpack_block::<WIDTH, 1>(packed), first, last),
        block_bits(&unpack_block::<WIDTH, 2>(packed), first, last),
        block_bits(&unpack_block::<WIDTH, 3>(packed), first, last),
    ]
}

#[inline(always)]
fn unpack_all_blocks<const WIDTH: usize>(packed: &[u8], values: &mut NarrowGroup) {
    let (blocks, _) = values.as_chunks_mut::<BLOCK>();
    for (block, values) in blocks.iter_mut().enumerate() {
        *values = unpack_any_block::<WIDTH>(packed, block);
    }
}

#[inline(always)]
fn unpack_any_block<const WIDTH: usize>(packed: &[u8], block: usize) -> NarrowBlock {
    match block {
        0 => unpack_block::<WIDTH, 0>(packed),
        1 => unpack_block::<WIDTH, 1>(packed),
        2 => unpack_block::<WIDTH, 2>(packed),
        _ => unpack_block::<WIDTH, 3>(packed),
    }
}

#[inline(always)]
fn unpack_block<const WIDTH: usize, const NUMBER: usize>(packed: &[u8]) -> NarrowBlock {
    let words: &[[u8; ROW_BYTES]; WIDTH] = packed
        .as_chunks()
        .0
        .first_chunk()
        .expect("the caller hands over a whole group");
    let mut values = [0; BLOCK];
    let (rows, _) = values.as_chunks_mut::<LANES>();
    for (index, row) in rows.iter_mut().enumerate() {
        *row = unpack_row(words, NUMBER * ROWS_A_BLOCK + index);
    }
    values
}

#[inline(always)]
fn unpack_row<const WIDTH: usize>(words: &[[u8; ROW_BYTES]; WIDTH], row: usize) -> [u32; LANES] {
    let bit = row * WIDTH;
    let (word, shift) = (bit / ROWS, (bit % ROWS) as u32);
    let mut values = lanes(&words[word]).map(|lane| lane >> shift);
    if shift as usize + WIDTH > ROWS {
        let high = lanes(&words[word + 1]);
        for lane in 0..LANES {
            values[lane] |= high[lane] << (u32::BITS - shift);
        }
    }
    values.map(|value| value & mask(WIDTH as u32) as u32)
}

#[inline(always)]
fn lanes(bytes: &[u8; ROW_BYTES]) -> [u32; LANES] {
    let (words, _) = bytes.as_chunks::<WORD_BYTES>();
    std::array::from_fn(|lane| u32::from_le_bytes(words[lane]))
}

/// A block of ones, and behind it a block of zeros: from some place on, a mask for the first
/// values of a block.
static ONES_AND_ZEROS: [u32; 2 * BLOCK] = {
    let mut masks = [0; 2 * BLOCK];
    let mut index = 0;
    while index < BLOCK {
        masks[index] = u32::MAX;
        index += 1;
    }
    masks
};

/// The sum of the first `count` values (up to 64) of block number `block` (0 to 3) of the group at
/// the start of `packed`. They need not be written down on the way.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(super) fn sum(packed: &[u8], width: u32, block: usize, count: usize) -> u64 {
    let mask = ONES_AND_ZEROS[BLOCK - count..]
        .first_chunk()
        .expect("a block has no more values");
    with_width!(width, WIDTH => sum_of_any_block::<WIDTH>(packed, block, mask))
}

#[inline(always)]
fn sum_of_any_block<const WIDTH: usize>(packed: &[u8], block: usize, mask: &NarrowBlock) -> u64 {
    // Only the sum leaves an arm: values that did would leave the registers of vectors.
    match block {
        0 => sum_masked(&unpack_block::<WIDTH, 0>(packed), mask),
        1 => sum_masked(&unpack_block::<WIDTH, 1>(packed), mask),
        2 => sum_masked(&unpack_block::<WIDTH, 2>(packed), mask),
        _ => sum_masked(&unpack_block::<WIDTH, 3>(packed), mask),
    }
}

#[inline(always)]
fn sum_masked(values: &NarrowBlock, mask: &NarrowBlock) -> u64 {
    let rows = values.as_chunks::<LANES>().0.iter();
    // No value has more than 29 bits: eight of them, of a lane each, add up within 32.
    let mut sums = [0; LANES];
    for (values, mask) in rows.zip(mask.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            sums[lane] += values[lane] & mask[lane];
        }
    }
    sums.into_iter().map(u64::from).sum()
}

/// One value of the groups that are in `packed`, end to end: each has a whole number of words.
///
/// The word in which it ends is mostly the one in which it begins, and which values are different
/// is not to be guessed by the processor: it is loaded in any case.
#[inline(always)]
pub(super) fn get(packed: &[u8], width: u32, index: usize) -> u64 {
    let bit = index / LANES * width as usize;
    let shift = bit % ROWS;
    let first = bit / ROWS * LANES + index % LANES;
    let last = first + LANES * usize::from(shift + width as usize > ROWS);
    let (words, _) = packed.as_chunks();
    let word = |at: usize| u64::from(u32::from_le_bytes(words[at]));
    let value = word(first) | word(last) << ROWS;
    value >> shift & ((1 << width) - 1)
}
