//! Keys on their way to an index: numbers where the index keeps numbers, encoded bytes otherwise.

use std::ops::Range;

/// An encoded key, or the beginning of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key<'a> {
    /// Of an index that keeps numbers: so many bits at its end are missing, and zeros stand for them.
    Number { number: u128, missing_bits: u32 },
    /// Of any other one.
    Bytes(&'a [u8]),
}

/// A key that a statement looks for; bytes are a place in the statements' buffer.
#[derive(Clone, Debug)]
pub(crate) enum SoughtKey {
    Number { number: u128, missing_bits: u32 },
    Bytes(Range<usize>),
}

/// A row's key as an index keeps it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowKey<'a> {
    pub(crate) key: Key<'a>,
    /// Bytes of it that are looked for, where the key is bytes.
    pub(crate) declared_bytes: usize,
}

impl SoughtKey {
    /// The key, of statements with this buffer.
    #[inline]
    pub(crate) fn of<'b>(&self, buffer: &'b [u8]) -> Key<'b> {
        match self {
            Self::Number {
                number,
                missing_bits,
            } => Key::Number {
                number: *number,
                missing_bits: *missing_bits,
            },
            Self::Bytes(range) => Key::Bytes(&buffer[range.clone()]),
        }
    }
}

impl<'a> Key<'a> {
    /// The number.
    ///
    /// # Panics
    /// When it is bytes: the index's layout has made it.
    #[inline]
    pub(super) fn number(self) -> u128 {
        match self {
            Self::Number { number, .. } => number,
            Self::Bytes(_) => unreachable!("a key of an index of numbers is one"),
        }
    }

    /// The largest number that begins like it.
    #[inline]
    pub(super) fn last_number(self) -> u128 {
        match self {
            Self::Number {
                number,
                missing_bits,
            } => number | !u128::MAX.checked_shl(missing_bits).unwrap_or(0),
            Self::Bytes(_) => unreachable!("a key of an index of numbers is one"),
        }
    }

    /// The bytes.
    #[inline]
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Number { .. } => unreachable!("a key of an index of bytes is none"),
        }
    }
}
