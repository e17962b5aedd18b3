//! Cells of fixed width as 64-bit words, the form that the integer codecs work on.
//!
//! Integers are sign-extended, floats are their bits. Going back cuts the word to the cell, so
//! every codec may compute with wrapping words.

use types::ColumnType;

/// A fixed-width cell that a word can stand for.
pub(crate) trait Cell: Copy + Default {
    /// Bytes of the cell in plain form, at most 8.
    const PLAIN_BYTES: usize;

    /// As many low bits of a word as decide on the cell: with narrow lanes, more of them are
    /// computed at once.
    type Lane: Lane;

    fn from_word(word: u64) -> Self;

    fn from_lane(lane: Self::Lane) -> Self;

    fn to_word(self) -> u64;

    /// Makes cells of as many lanes.
    #[inline(always)]
    fn from_lanes(lanes: impl Iterator<Item = Self::Lane>, cells: &mut [Self]) {
        for (cell, lane) in cells.iter_mut().zip(lanes) {
            *cell = Self::from_lane(lane);
        }
    }
}

/// The low bits of a word.
pub(crate) trait Lane: Copy + Default + From<u32> {
    /// The low bits of a word.
    fn cut(word: u64) -> Self;

    /// The sum, wrapping.
    fn plus(self, other: Self) -> Self;

    /// The product, wrapping.
    fn times(self, other: Self) -> Self;
}

impl Lane for u32 {
    #[inline(always)]
    fn cut(word: u64) -> Self {
        word as Self
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
}

impl Lane for u64 {
    #[inline(always)]
    fn cut(word: u64) -> Self {
        word
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
}

macro_rules! integer_cell {
    ($($integer:ty => $plain_bytes:expr, $lane:ty);*) => {
        $(impl Cell for $integer {
            const PLAIN_BYTES: usize = $plain_bytes;

            type Lane = $lane;

            #[inline(always)]
            fn from_lane(lane: $lane) -> Self {
                Self::from_word(u64::from(lane))
            }

            #[inline(always)]
            fn from_word(word: u64) -> Self {
                word as i64 as Self
            }

            #[inline]
            fn to_word(self) -> u64 {
                self as u64
            }
        })*
    };
}

integer_cell!(
    u8 => 1, u32; u16 => 2, u32; i16 => 2, u32; i32 => 4, u32;
    i64 => 8, u64; u64 => 8, u64
);

/// Cells that fit 64 bits; for others see `wide`.
impl Cell for i128 {
    const PLAIN_BYTES: usize = size_of::<u64>();

    type Lane = u64;

    #[inline(always)]
    fn from_lane(lane: u64) -> Self {
        Self::from(lane as i64)
    }

    #[inline(always)]
    fn from_word(word: u64) -> Self {
        Self::from(word as i64)
    }

    #[inline]
    fn to_word(self) -> u64 {
        self as u64
    }

    /// There are no vector instructions for integers of 128 bits, but for their halves: that
    /// halves the time to decode a decimal column (0.95 to 0.5 ns a cell).
    #[inline(always)]
    fn from_lanes(lanes: impl Iterator<Item = u64>, cells: &mut [Self]) {
        let halves: &mut [[u64; 2]] = bytemuck::cast_slice_mut(cells);
        for (halves, lane) in halves.iter_mut().zip(lanes) {
            let sign = (lane as i64 >> 63) as u64;
            *halves = match cfg!(target_endian = "little") {
                true => [lane, sign],
                false => [sign, lane],
            };
        }
    }
}

impl Cell for f32 {
    const PLAIN_BYTES: usize = 4;

    type Lane = u32;

    #[inline(always)]
    fn from_lane(lane: u32) -> Self {
        Self::from_bits(lane)
    }

    #[inline(always)]
    fn from_word(word: u64) -> Self {
        Self::from_bits(word as u32)
    }

    #[inline]
    fn to_word(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Cell for f64 {
    const PLAIN_BYTES: usize = 8;

    type Lane = u64;

    #[inline(always)]
    fn from_lane(lane: u64) -> Self {
        Self::from_bits(lane)
    }

    #[inline(always)]
    fn from_word(word: u64) -> Self {
        Self::from_bits(word)
    }

    #[inline]
    fn to_word(self) -> u64 {
        self.to_bits()
    }
}

/// Bytes of a cell of a column in plain form. Types that have no words never ask.
pub(crate) fn plain_bytes(column_type: ColumnType) -> usize {
    match column_type {
        ColumnType::Bool => u8::PLAIN_BYTES,
        ColumnType::Int16 => i16::PLAIN_BYTES,
        ColumnType::Int32 | ColumnType::Date => i32::PLAIN_BYTES,
        ColumnType::Float32 => f32::PLAIN_BYTES,
        ColumnType::Float64 => f64::PLAIN_BYTES,
        _ => i64::PLAIN_BYTES,
    }
}
