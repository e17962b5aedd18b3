//! A key as an index keeps it.

use std::cmp::Ordering;

use super::key::Key;

/// A form of keys. The default stands for none.
pub(super) trait StoredKey: Default {
    /// Whether it is a number, of which a copy costs nothing.
    const IS_NUMBER: bool;

    /// What is looked for: costs nothing to make.
    type Probe<'a>: Copy;

    /// The probe for a key; it stands at the beginning of what begins like it.
    fn probe(key: Key<'_>) -> Self::Probe<'_>;

    /// The probe for the end of a range: it stands behind what begins like it.
    fn last(key: Key<'_>) -> Self::Probe<'_>;

    /// Keeps a key.
    fn store(probe: Self::Probe<'_>) -> Self;

    /// How a kept key stands to a probe.
    fn compare(&self, probe: Self::Probe<'_>) -> Ordering;

    /// Whether the key lies behind everything that begins like the end of a range.
    fn is_behind(&self, end: Self::Probe<'_>) -> bool;

    /// The probe that finds this key.
    fn as_probe(&self) -> Self::Probe<'_>;

    /// Shows the encoded key, filled up.
    fn with_encoded<R>(&self, show: impl FnOnce(&[u8]) -> R) -> R;

    /// How many bits at the end of two keys are the same.
    fn equal_bits(&self, other: &Self) -> u32;

    /// How far it is behind another key, in steps of `1 << shift`, and whether it is a part of one further. `None` when it
    /// lies before that key, or too far behind.
    fn distance_from(&self, base: &Self, shift: u32) -> Option<(u32, bool)>;

    /// The key that is so many steps behind this one.
    fn at_distance(&self, distance: u32, shift: u32) -> Self;

    /// Bytes that a kept key takes beside itself.
    fn heap_bytes(probe: Self::Probe<'_>) -> usize;

    /// A copy.
    #[inline]
    fn again(&self) -> Self {
        Self::store(self.as_probe())
    }
}

/// A key that is one number is its own probe.
macro_rules! number_key {
    ($number:ty) => {
        impl StoredKey for $number {
            const IS_NUMBER: bool = true;

            type Probe<'a> = $number;

            #[inline]
            fn probe(key: Key<'_>) -> $number {
                key.number() as $number
            }

            #[inline]
            fn last(key: Key<'_>) -> $number {
                key.last_number() as $number
            }

            #[inline]
            fn store(probe: $number) -> Self {
                probe
            }

            #[inline]
            fn compare(&self, probe: $number) -> Ordering {
                self.cmp(&probe)
            }

            #[inline]
            fn is_behind(&self, end: $number) -> bool {
                *self > end
            }

            #[inline]
            fn as_probe(&self) -> $number {
                *self
            }

            #[inline]
            fn with_encoded<R>(&self, show: impl FnOnce(&[u8]) -> R) -> R {
                show(&self.to_be_bytes())
            }

            #[inline]
            fn equal_bits(&self, other: &Self) -> u32 {
                (self ^ other).trailing_zeros()
            }

            #[inline]
            fn distance_from(&self, base: &Self, shift: u32) -> Option<(u32, bool)> {
                let distance = self.checked_sub(*base)?;
                let steps = u32::try_from(distance >> shift).ok()?;
                Some((steps, distance & ((1 << shift) - 1) != 0))
            }

            #[inline]
            fn at_distance(&self, distance: u32, shift: u32) -> Self {
                self + (<$number>::from(distance) << shift)
            }

            #[inline]
            fn heap_bytes(_: $number) -> usize {
                0
            }
        }
    };
}

number_key!(u64);
number_key!(u128);

impl StoredKey for Box<[u8]> {
    const IS_NUMBER: bool = false;

    type Probe<'a> = &'a [u8];

    fn probe(key: Key<'_>) -> &[u8] {
        key.bytes()
    }

    fn last(key: Key<'_>) -> &[u8] {
        key.bytes()
    }

    fn store(probe: &[u8]) -> Self {
        probe.into()
    }

    fn compare(&self, probe: &[u8]) -> Ordering {
        (**self).cmp(probe)
    }

    fn is_behind(&self, end: &[u8]) -> bool {
        !self.starts_with(end) && **self > *end
    }

    fn as_probe(&self) -> &[u8] {
        self
    }

    fn with_encoded<R>(&self, show: impl FnOnce(&[u8]) -> R) -> R {
        show(self)
    }

    fn equal_bits(&self, _: &Self) -> u32 {
        0
    }

    fn distance_from(&self, _: &Self, _: u32) -> Option<(u32, bool)> {
        None
    }

    fn at_distance(&self, _: u32, _: u32) -> Self {
        unreachable!("it has no distance from any")
    }

    fn heap_bytes(probe: &[u8]) -> usize {
        probe.len()
    }
}
