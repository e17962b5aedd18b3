//! Integers end to end: the form of every width, in which the last, short group is stored too.
//!
//! Sixty-four values of any width take a whole number of 64-bit words, so packing works on
//! blocks of 64 values with one kernel for each width: width and position are constants in it,
//! nothing is decided per value. A kernel is called through a table, once a block.

use super::{BLOCK, Block, mask};

/// Packed bytes of a block of the largest width.
const BLOCK_BYTES_MAX: usize = BLOCK * size_of::<u64>();

type PackKernel = fn(&Block, &mut Vec<u8>);
type UnpackKernel = fn(&[u8], &mut Block);

/// Runs `$body` 64 times with `$index` as a constant.
macro_rules! for_each_in_block {
    ($index:ident => $body:block) => {
        for_each_in_block!(@unroll $index $body
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59
            60 61 62 63)
    };
    (@unroll $index:ident $body:block $($number:literal)*) => {
        $({
            const $index: usize = $number;
            $body
        })*
    };
}

/// Fills a table of 65 kernels, one for each width.
macro_rules! kernels {
    ($kernel:ident) => {
        kernels!(@list $kernel
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59
            60 61 62 63 64)
    };
    (@list $kernel:ident $($width:literal)*) => {
        [$($kernel::<$width>),*]
    };
}

static PACK: [PackKernel; 65] = kernels!(pack_block);
static UNPACK: [UnpackKernel; 65] = kernels!(unpack_block);

fn pack_block<const WIDTH: usize>(values: &Block, out: &mut Vec<u8>) {
    if WIDTH == 0 {
        return;
    }
    let mask = mask(WIDTH as u32);
    let mut words = [0_u64; WIDTH];
    for_each_in_block!(INDEX => {
        let bit = INDEX * WIDTH;
        let shift = bit % 64;
        let value = values[INDEX] & mask;
        words[bit / 64] |= value << shift;
        if shift + WIDTH > 64 {
            words[bit / 64 + 1] |= value >> (64 - shift);
        }
    });
    out.extend_from_slice(words.map(u64::to_le_bytes).as_flattened());
}

fn unpack_block<const WIDTH: usize>(packed: &[u8], values: &mut Block) {
    if WIDTH == 0 {
        values.fill(0);
        return;
    }
    let words: &[[u8; 8]; WIDTH] = packed
        .as_chunks()
        .0
        .first_chunk()
        .expect("the caller hands over a whole block");
    let mask = mask(WIDTH as u32);
    for_each_in_block!(INDEX => {
        let bit = INDEX * WIDTH;
        let shift = bit % 64;
        let mut value = u64::from_le_bytes(words[bit / 64]) >> shift;
        if shift + WIDTH > 64 {
            value |= u64::from_le_bytes(words[bit / 64 + 1]) << (64 - shift);
        }
        values[INDEX] = value & mask;
    });
}

/// Appends the first `count` values of the block, each cut to the width.
pub(super) fn pack(values: &Block, count: usize, width: u32, out: &mut Vec<u8>) {
    let start = out.len();
    PACK[width as usize](values, out);
    if count < BLOCK {
        cut_tail(start, count * width as usize, out);
    }
}

/// Takes back what lies behind so many bits of the block that begins at `start`.
fn cut_tail(start: usize, bits: usize, out: &mut Vec<u8>) {
    out.truncate(start + bits.div_ceil(8));
    if !bits.is_multiple_of(8)
        && let Some(last) = out.last_mut()
    {
        *last &= (1 << (bits % 8)) - 1;
    }
}

/// Unpacks a block; what lies behind the last value is anything.
#[inline]
pub(super) fn unpack(packed: &[u8], width: u32, block: usize, values: &mut Block) {
    let block_bytes = width as usize * 8;
    let packed = &packed[block * block_bytes..];
    if packed.len() >= block_bytes {
        UNPACK[width as usize](packed, values);
    } else {
        let mut padded = [0; BLOCK_BYTES_MAX];
        padded[..packed.len()].copy_from_slice(packed);
        UNPACK[width as usize](&padded, values);
    }
}

/// Bits of a value that lies within eight bytes, wherever it begins.
const NARROW_MAX: u32 = u64::BITS - 7;

/// One value.
#[inline(always)]
pub(super) fn get(packed: &[u8], width: u32, index: usize) -> u64 {
    let bit = index * width as usize;
    let (start, shift) = (bit / 8, bit % 8);
    let rest = packed.get(start..).unwrap_or_default();
    let value = match rest.first_chunk() {
        Some(window) if width <= NARROW_MAX => u64::from_le_bytes(*window) >> shift,
        _ => wide(rest, shift),
    };
    value & mask(width)
}

/// The bits behind the first `shift`: as many as the widest value has, or fewer where the page
/// ends.
#[cold]
#[inline(never)]
fn wide(rest: &[u8], shift: usize) -> u64 {
    let window = match rest.first_chunk() {
        Some(window) => *window,
        None => {
            let mut window = [0; 16];
            window[..rest.len()].copy_from_slice(rest);
            window
        }
    };
    (u128::from_le_bytes(window) >> shift) as u64
}
