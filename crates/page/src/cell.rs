//! Cells of fixed width as 64-bit words, the form that the integer codecs work on.
//!
//! Integers are sign-extended, floats are their bits. Going back cuts the word to the cell, so
//! every codec may compute with wrapping words.

use types::ColumnType;

/// A fixed-width cell that a word can stand for.
pub(crate) trait Cell: Copy + Default {
    /// Bytes of the cell in plain form, at most 8.
    const PLAIN_BYTES: usize;

    fn from_word(word: u64) -> Self;

    fn to_word(self) -> u64;
}

macro_rules! integer_cell {
    ($($integer:ty => $plain_bytes:expr),*) => {
        $(impl Cell for $integer {
            const PLAIN_BYTES: usize = $plain_bytes;

            #[inline]
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

// Of i128 only cells that fit 64 bits get here, see `wide`.
integer_cell!(u8 => 1, u16 => 2, i16 => 2, i32 => 4, i64 => 8, u64 => 8, i128 => 8);

impl Cell for f32 {
    const PLAIN_BYTES: usize = 4;

    #[inline]
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

    #[inline]
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
