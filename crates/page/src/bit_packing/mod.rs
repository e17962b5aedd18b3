//! Integers of 0 to 64 bits, packed without gaps.
//!
//! * [`end_to_end`]: value after value, for any width.
//! * [`lanes`]: in groups of 256, eight neighbours side by side, for most widths below 30.
//!
//! [`in_range`] compares what they unpack to with two bounds.
//!
//! Values of a width that is stored in lanes are in groups as long as there are 256 of them; the
//! rest follows end to end. Either way `count` values take `count` × width bits, rounded up to
//! bytes. Both forms are read in blocks of 64 values, or in groups where values are narrow.

mod end_to_end;
mod in_range;
mod lanes;

use crate::cursor::Cursor;
use crate::error::PageError;

pub(crate) use lanes::{GROUP, NarrowBlock, NarrowGroup};

/// Values that are unpacked at once.
pub(crate) const BLOCK: usize = 64;

/// Blocks in a group.
pub(crate) const BLOCKS_A_GROUP: usize = GROUP / BLOCK;

/// A block of values.
pub(crate) type Block = [u64; BLOCK];

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

/// Packs all values, each cut to the width.
pub(crate) fn pack(values: &[u64], width: u32, out: &mut Vec<u8>) {
    pack_mapped(values, width, out, |value| value);
}

/// Packs what `map` makes of each value, cut to the width.
pub(crate) fn pack_mapped(values: &[u64], width: u32, out: &mut Vec<u8>, map: impl Fn(u64) -> u64) {
    assert!(width <= u64::BITS, "words have 64 bits");
    match width {
        8 => return pack_whole::<1>(values, out, map),
        16 => return pack_whole::<2>(values, out, map),
        32 => return pack_whole::<4>(values, out, map),
        _ => {}
    }
    let (in_lanes, rest) = values.split_at(count_in_lanes(values.len(), width));
    let mut narrow = [0; GROUP];
    for group in in_lanes.as_chunks::<{ GROUP }>().0 {
        for (narrow, value) in narrow.iter_mut().zip(group) {
            *narrow = map(*value) as u32;
        }
        lanes::pack(&narrow, width, out);
    }
    let mut block = [0; BLOCK];
    for values in rest.chunks(BLOCK) {
        for (mapped, value) in block.iter_mut().zip(values) {
            *mapped = map(*value);
        }
        end_to_end::pack(&block, values.len(), width, out);
    }
}

/// Packs values of whole bytes, for which the compiler knows vector instructions.
fn pack_whole<const BYTES: usize>(values: &[u64], out: &mut Vec<u8>, map: impl Fn(u64) -> u64) {
    let start = out.len();
    out.resize(start + values.len() * BYTES, 0);
    let places = out[start..].as_chunks_mut::<BYTES>().0;
    for (place, value) in places.iter_mut().zip(values) {
        place.copy_from_slice(&map(*value).to_le_bytes()[..BYTES]);
    }
}

/// How many of the values are in groups.
fn count_in_lanes(count: usize, width: u32) -> usize {
    match lanes::applies(width) {
        true => count - count % GROUP,
        false => 0,
    }
}

/// Packed values in a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    /// Those that are in lanes, the others, and what follows in the page.
    bytes: &'a [u8],
    /// Where the others begin.
    rest: u32,
    width: u32,
    count: u32,
    count_in_lanes: u32,
}

impl<'a> Packed<'a> {
    /// Takes `count` values of `width` bits from the segment.
    pub(crate) fn take(
        cursor: &mut Cursor<'a>,
        width: u32,
        count: usize,
    ) -> Result<Self, PageError> {
        debug_assert!(width <= u64::BITS, "the width was checked when it was read");
        let count_in_lanes = count_in_lanes(count, width);
        let too_many = |_| PageError::Malformed("a segment has too many values");
        Ok(Self {
            bytes: cursor.take_with_rest(packed_bytes(count, width))?,
            rest: u32::try_from(packed_bytes(count_in_lanes, width)).map_err(too_many)?,
            width,
            count: u32::try_from(count).map_err(too_many)?,
            count_in_lanes: count_in_lanes as u32,
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    fn count_in_lanes(&self) -> usize {
        self.count_in_lanes as usize
    }

    /// The values that are not in lanes, and what follows.
    #[inline(always)]
    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.rest as usize..]
    }

    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    pub(crate) fn blocks(&self) -> usize {
        self.count().div_ceil(BLOCK)
    }

    /// Values in a block: 64 but for the last one.
    pub(crate) fn block_len(&self, block: usize) -> usize {
        (self.count() - block * BLOCK).min(BLOCK)
    }

    /// Whether values fit 32 bits.
    pub(crate) fn is_narrow(&self) -> bool {
        self.width <= u32::BITS
    }

    /// Unpacks a group of narrow values; what lies behind the last value is anything.
    #[inline]
    pub(crate) fn unpack_group(&self, group: usize, values: &mut NarrowGroup) {
        debug_assert!(self.is_narrow(), "the caller looked at the width");
        let is_whole = (group + 1) * GROUP <= self.count();
        match self.width {
            0 => values.fill(0),
            8 if is_whole => self.widen::<1>(group, values),
            16 if is_whole => self.widen::<2>(group, values),
            32 if is_whole => self.widen::<4>(group, values),
            _ if group * GROUP < self.count_in_lanes() => {
                lanes::unpack_group(self.group(group), self.width, values);
            }
            _ => self.unpack_blocks(group, values),
        }
    }

    /// Of a whole group of narrow values a bit for each from `first` to `last`.
    #[inline]
    pub(crate) fn bits_in_range(
        &self,
        group: usize,
        first: u32,
        last: u32,
    ) -> [u64; BLOCKS_A_GROUP] {
        if group * GROUP < self.count_in_lanes() {
            return lanes::bits_in_range(self.group(group), self.width, first, last);
        }
        let mut values = [0; GROUP];
        self.unpack_group(group, &mut values);
        in_range::group_bits(&values, first, last)
    }

    /// Unpacks a group that is not in lanes.
    fn unpack_blocks(&self, group: usize, values: &mut NarrowGroup) {
        let mut wide = [0; BLOCK];
        let blocks = group * BLOCKS_A_GROUP..self.blocks();
        for (block, values) in blocks.zip(values.as_chunks_mut::<BLOCK>().0) {
            self.unpack(block, &mut wide);
            *values = wide.map(|value| value as u32);
        }
    }

    /// Unpacks values of whole bytes, for which the compiler knows vector instructions.
    fn widen<const BYTES: usize>(&self, group: usize, values: &mut NarrowGroup) {
        let whole: &[[u8; BYTES]] = self.rest().as_chunks().0;
        for (value, bytes) in values.iter_mut().zip(&whole[group * GROUP..]) {
            let mut padded = [0; size_of::<u32>()];
            padded[..BYTES].copy_from_slice(bytes);
            *value = u32::from_le_bytes(padded);
        }
    }

    /// Unpacks a block; what lies behind the last value is anything.
    #[inline]
    pub(crate) fn unpack(&self, block: usize, values: &mut Block) {
        match block.checked_sub(self.count_in_lanes() / BLOCK) {
            Some(block) => end_to_end::unpack(self.rest(), self.width, block, values),
            None => *values = self.unpack_lanes(block).map(u64::from),
        }
    }

    /// Unpacks a block of narrow values; what lies behind the last value is anything.
    #[inline]
    pub(crate) fn unpack_narrow(&self, block: usize) -> NarrowBlock {
        if block * BLOCK < self.count_in_lanes() {
            return self.unpack_lanes(block);
        }
        let mut values = [0; BLOCK];
        self.unpack(block, &mut values);
        values.map(|value| value as u32)
    }

    /// Unpacks a block that is in lanes.
    #[inline]
    fn unpack_lanes(&self, block: usize) -> NarrowBlock {
        let (group, number) = (block / BLOCKS_A_GROUP, block % BLOCKS_A_GROUP);
        lanes::unpack(self.group(group), self.width, number)
    }

    /// The sum of the first `count` values (1 to 64) of a block, wrapping.
    #[inline]
    pub(crate) fn sum(&self, block: usize, count: usize) -> u64 {
        if block * BLOCK < self.count_in_lanes() {
            let (group, number) = (block / BLOCKS_A_GROUP, block % BLOCKS_A_GROUP);
            return lanes::sum(self.group(group), self.width, number, count);
        }
        let mut values = [0; BLOCK];
        self.unpack(block, &mut values);
        let sum = |sum: u64, value: &u64| sum.wrapping_add(*value);
        values[..count].iter().fold(0, sum)
    }

    /// One value.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> u64 {
        debug_assert!(index < self.count(), "the caller checks slots");
        match index.checked_sub(self.count_in_lanes()) {
            Some(index) => end_to_end::get(self.rest(), self.width, index),
            None => lanes::get(self.bytes, self.width, index),
        }
    }

    #[inline]
    fn group(&self, group: usize) -> &'a [u8] {
        &self.bytes[group * packed_bytes(GROUP, self.width)..]
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
        }
        assert_eq!(unpacked, values, "width {width}, count {count}");
        for (index, expected) in values.chunks(GROUP).enumerate() {
            let mut group = [u32::MAX; GROUP];
            if packed.is_narrow() {
                packed.unpack_group(index, &mut group);
                let group = group.map(u64::from);
                assert!(
                    group[..expected.len()] == *expected,
                    "width {width}, count {count}"
                );
            }
        }
        assert!(
            (0..count).all(|i| packed.get(i) == values[i]),
            "width {width}, count {count}"
        );
        for end in 1..=count {
            let (block, first) = ((end - 1) / BLOCK, (end - 1) / BLOCK * BLOCK);
            let sum = values[first..end]
                .iter()
                .fold(0_u64, |sum, v| sum.wrapping_add(*v));
            assert_eq!(
                packed.sum(block, end - first),
                sum,
                "width {width}, {first}..{end}"
            );
        }
    }

    #[test]
    fn every_width_and_odd_counts_round_trip() {
        for width in 0..=64 {
            for count in [0, 1, 2, 7, 63, 64, 65, 127, 128, 200, 255, 256, 257, 600] {
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
