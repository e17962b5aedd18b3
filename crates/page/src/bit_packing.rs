//! Integers of 0 to 64 bits, end to end without gaps.
//!
//! Value `i` of width `w` takes the bits `i * w .. (i + 1) * w` of the packed bytes, where bit
//! `b` is bit `b % 8` (least significant first) of byte `b / 8`. The last byte is filled up
//! with zero bits.
//!
//! Sixty-four values of any width take a whole number of 64-bit words, so packing works on
//! blocks of 64 values with one kernel for each width: width and position are constants in it,
//! nothing is decided per value. A kernel is called through a table, once a block.

use crate::cursor::Cursor;
use crate::error::PageError;

/// Values that a kernel handles at once.
pub(crate) const BLOCK: usize = 64;

/// A block of values.
pub(crate) type Block = [u64; BLOCK];

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

/// The lowest `width` bits set.
pub(crate) const fn mask(width: u32) -> u64 {
    if width >= u64::BITS {
        u64::MAX
    } else {
        (1 << width) - 1
    }
}

/// Bits that `value` needs.
pub(crate) const fn bits(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// Bytes that `count` values of `width` bits take.
pub(crate) const fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

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

/// Packs blocks of values; only the last one may be short.
#[derive(Debug)]
pub(crate) struct Packer<'a> {
    width: u32,
    out: &'a mut Vec<u8>,
}

impl<'a> Packer<'a> {
    pub(crate) fn new(width: u32, out: &'a mut Vec<u8>) -> Self {
        assert!(width <= u64::BITS, "words have 64 bits");
        Self { width, out }
    }

    /// Appends the first `count` values of the block, each cut to the width.
    pub(crate) fn push(&mut self, values: &Block, count: usize) {
        let start = self.out.len();
        PACK[self.width as usize](values, self.out);
        if count < BLOCK {
            self.push_tail(start, count);
        }
    }

    /// Takes back what lies behind value `count` of the block that begins at `start`.
    fn push_tail(&mut self, start: usize, count: usize) {
        let bits = count * self.width as usize;
        self.out.truncate(start + bits.div_ceil(8));
        if !bits.is_multiple_of(8)
            && let Some(last) = self.out.last_mut()
        {
            *last &= (1 << (bits % 8)) - 1;
        }
    }
}

/// Packs all values.
pub(crate) fn pack(values: &[u64], width: u32, out: &mut Vec<u8>) {
    let mut packer = Packer::new(width, out);
    let (blocks, tail) = values.as_chunks::<BLOCK>();
    for block in blocks {
        packer.push(block, BLOCK);
    }
    if !tail.is_empty() {
        let mut block = [0; BLOCK];
        block[..tail.len()].copy_from_slice(tail);
        packer.push(&block, tail.len());
    }
}

/// Packed values in a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    bytes: &'a [u8],
    width: u32,
    count: usize,
}

impl<'a> Packed<'a> {
    /// Takes `count` values of `width` bits from the segment.
    pub(crate) fn take(
        cursor: &mut Cursor<'a>,
        width: u32,
        count: usize,
    ) -> Result<Self, PageError> {
        debug_assert!(width <= u64::BITS, "the width was checked when it was read");
        Ok(Self {
            bytes: cursor.take(packed_bytes(count, width))?,
            width,
            count,
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// All values, which take so many whole bytes each.
    pub(crate) fn whole_bytes<const BYTES: usize>(&self) -> &'a [[u8; BYTES]] {
        debug_assert_eq!(self.width as usize, BYTES * 8, "values have that width");
        self.bytes.as_chunks().0
    }

    pub(crate) fn blocks(&self) -> usize {
        self.count.div_ceil(BLOCK)
    }

    /// Values in a block: 64 but for the last one.
    pub(crate) fn block_len(&self, block: usize) -> usize {
        (self.count - block * BLOCK).min(BLOCK)
    }

    /// Unpacks a block; what lies behind the last value is zero.
    #[inline]
    pub(crate) fn unpack(&self, block: usize, values: &mut Block) {
        let block_bytes = self.width as usize * 8;
        let packed = &self.bytes[block * block_bytes..];
        if packed.len() >= block_bytes {
            UNPACK[self.width as usize](packed, values);
        } else {
            let mut padded = [0; BLOCK_BYTES_MAX];
            padded[..packed.len()].copy_from_slice(packed);
            UNPACK[self.width as usize](&padded, values);
        }
    }

    /// One value.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        debug_assert!(index < self.count, "the caller checks slots");
        let bit = index * self.width as usize;
        let start = bit / 8;
        let window = match self
            .bytes
            .get(start..)
            .and_then(|rest| rest.first_chunk::<16>())
        {
            Some(window) => *window,
            None => self.window_at_end(start),
        };
        (u128::from_le_bytes(window) >> (bit % 8)) as u64 & mask(self.width)
    }

    fn window_at_end(&self, start: usize) -> [u8; 16] {
        let rest = self.bytes.get(start..).unwrap_or_default();
        let mut window = [0; 16];
        window[..rest.len()].copy_from_slice(rest);
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(width: u32, count: usize) {
        let values: Vec<u64> = (0..count as u64)
            .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(i as u32) & mask(width))
            .collect();
        let mut bytes = Vec::new();
        pack(&values, width, &mut bytes);
        assert_eq!(bytes.len(), packed_bytes(count, width));

        let mut cursor = Cursor::new(&bytes);
        let packed = Packed::take(&mut cursor, width, count).expect("the bytes are there");
        let mut unpacked = Vec::new();
        for index in 0..packed.blocks() {
            let mut block = [u64::MAX; BLOCK];
            packed.unpack(index, &mut block);
            unpacked.extend_from_slice(&block[..packed.block_len(index)]);
            assert!(block[packed.block_len(index)..].iter().all(|&v| v == 0));
        }
        assert_eq!(unpacked, values, "width {width}, count {count}");
        assert!(
            (0..count).all(|i| packed.get(i) == values[i]),
            "width {width}, count {count}"
        );
    }

    #[test]
    fn every_width_and_odd_counts_round_trip() {
        for width in 0..=64 {
            for count in [0, 1, 2, 7, 63, 64, 65, 127, 128, 200] {
                check(width, count);
            }
        }
    }

    #[test]
    fn bits_beyond_the_width_are_cut() {
        let mut bytes = Vec::new();
        pack(&[u64::MAX, 0, u64::MAX], 3, &mut bytes);
        assert_eq!(bytes, [0b1100_0111, 0b0000_0001]);
    }
}
