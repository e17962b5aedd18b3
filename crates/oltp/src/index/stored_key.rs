//! A key as an index keeps it.

use std::cmp::Ordering;

use xxhash_rust::xxh3::xxh3_64;

use crate::key_encoding::{wide, word};

/// A form of keys.
pub(super) trait StoredKey: Sized {
    /// What is looked for: costs nothing to make.
    type Probe<'a>: Copy;

    /// What is kept of a key's hash: nothing where it is made again at no cost; for bytes all of it,
    /// because it is one of the key's beginning only.
    type KeptHash: From<u64>;

    /// The probe for an encoded key. What a beginning of a key lacks is filled with `rest`.
    fn probe(encoded: &[u8], rest: u8) -> Self::Probe<'_>;

    /// Keeps a key.
    fn store(probe: Self::Probe<'_>) -> Self;

    /// How a kept key stands to a probe.
    fn compare(&self, probe: Self::Probe<'_>) -> Ordering;

    /// Whether the key lies behind everything that begins like the end of a range.
    fn is_behind(&self, end: Self::Probe<'_>) -> bool;

    /// The probe that finds this key.
    fn as_probe(&self) -> Self::Probe<'_>;

    /// A number that spreads well.
    fn hash(probe: Self::Probe<'_>) -> u64;

    /// The hash under which the key is kept.
    fn kept_hash(&self, kept: &Self::KeptHash) -> u64;

    /// Shows the encoded key, filled up.
    fn with_encoded<R>(&self, show: impl FnOnce(&[u8]) -> R) -> R;

    /// Bytes that a kept key takes beside itself.
    fn heap_bytes(probe: Self::Probe<'_>) -> usize;

    /// A copy.
    fn again(&self) -> Self {
        Self::store(self.as_probe())
    }
}

/// No hash is kept.
pub(super) struct NoHash;

impl From<u64> for NoHash {
    fn from(_: u64) -> Self {
        Self
    }
}

/// Multiplies and folds, so that both halves of the product count.
#[inline]
fn mixed(number: u64) -> u64 {
    let product = u128::from(number ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
    (product as u64) ^ ((product >> 64) as u64)
}

/// A key that is one number: it is its own probe, and its hash costs less to make than to keep.
macro_rules! number_key {
    ($number:ty, $from_encoded:path, $hash:expr) => {
        impl StoredKey for $number {
            type Probe<'a> = $number;
            type KeptHash = NoHash;

            #[inline]
            fn probe(encoded: &[u8], rest: u8) -> $number {
                $from_encoded(encoded, rest)
            }

            fn store(probe: $number) -> Self {
                probe
            }

            #[inline]
            fn compare(&self, probe: $number) -> Ordering {
                self.cmp(&probe)
            }

            fn is_behind(&self, end: $number) -> bool {
                *self > end
            }

            #[inline]
            fn as_probe(&self) -> $number {
                *self
            }

            #[inline]
            fn hash(probe: $number) -> u64 {
                $hash(probe)
            }

            #[inline]
            fn kept_hash(&self, _: &NoHash) -> u64 {
                Self::hash(*self)
            }

            fn with_encoded<R>(&self, show: impl FnOnce(&[u8]) -> R) -> R {
                show(&self.to_be_bytes())
            }

            fn heap_bytes(_: $number) -> usize {
                0
            }
        }
    };
}

number_key!(u64, word, mixed);
number_key!(u128, wide, |probe: u128| mixed(
    mixed(probe as u64) ^ ((probe >> 64) as u64)
));

impl StoredKey for Box<[u8]> {
    type Probe<'a> = &'a [u8];
    type KeptHash = u64;

    fn probe(encoded: &[u8], _rest: u8) -> &[u8] {
        encoded
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

    fn hash(probe: &[u8]) -> u64 {
        xxh3_64(probe)
    }

    fn kept_hash(&self, kept: &u64) -> u64 {
        *kept
    }

    fn with_encoded<R>(&self, show: impl FnOnce(&[u8]) -> R) -> R {
        show(self)
    }

    fn heap_bytes(probe: &[u8]) -> usize {
        probe.len()
    }
}
