//! How the words of a column order, and what is sought among them.

use std::cmp::Ordering;

use types::ColumnType;

const SIGN: u64 = 1 << 63;

/// How the words of a column order: as unsigned integers once `flip` is folded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordOrder {
    flip: u64,
}

impl WordOrder {
    pub(crate) fn of(column_type: ColumnType) -> Self {
        let flip = match column_type {
            ColumnType::UInt64 => 0,
            _ => SIGN,
        };
        Self { flip }
    }

    /// That of signed integers.
    pub(crate) const SIGNED: Self = Self { flip: SIGN };

    #[inline]
    pub(crate) fn key(self, word: u64) -> u64 {
        word ^ self.flip
    }
}

/// A word that is sought among ascending ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sought {
    order: WordOrder,
    key: u64,
}

impl Sought {
    pub(crate) fn new(order: WordOrder, word: u64) -> Self {
        Self {
            order,
            key: order.key(word),
        }
    }

    pub(crate) fn word(self) -> u64 {
        self.order.key(self.key) // The inverse is the same.
    }

    pub(crate) fn order(self) -> WordOrder {
        self.order
    }

    /// How a word compares.
    #[inline]
    pub(crate) fn compare(self, word: u64) -> Ordering {
        self.order.key(word).cmp(&self.key)
    }

    /// Whether a word is not less.
    #[inline]
    pub(crate) fn is_reached(self, word: u64) -> bool {
        self.order.key(word) >= self.key
    }

    /// How far the sought word is above another; as far as can be where that exceeds 32 bits.
    #[inline]
    pub(crate) fn distance(self, word: u64) -> i32 {
        let word = self.order.key(word);
        let beyond = if self.key < word { i32::MIN } else { i32::MAX };
        let distance = self.key.wrapping_sub(word) as i64;
        match i32::try_from(distance) {
            Ok(distance) if (distance < 0) == (self.key < word) => distance,
            _ => beyond,
        }
    }

    /// Where between two words the sought one lies, about: 0 at the lower, 1 at the higher. (Words
    /// further apart than half of all there are give any number: unsigned ones convert slowly.)
    #[inline]
    pub(crate) fn share(self, low: u64, high: u64) -> f64 {
        let low = self.order.key(low);
        let (part, whole) = (
            self.key.wrapping_sub(low),
            self.order.key(high).wrapping_sub(low),
        );
        part as i64 as f64 / whole as i64 as f64
    }
}

/// Words between two bounds, both included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordRange {
    pub(crate) order: WordOrder,
    /// Key of the smallest word.
    pub(crate) low: u64,
    /// Key of the largest word, not below `low`.
    pub(crate) high: u64,
}

impl WordRange {
    #[inline]
    pub(crate) fn contains(self, word: u64) -> bool {
        self.order.key(word).wrapping_sub(self.low) <= self.high - self.low
    }

    /// Whether it contains all (`Some(true)`) or none (`Some(false)`) of the words from `first`
    /// to `last`.
    pub(crate) fn decides(self, first: u64, last: u64) -> Option<bool> {
        let (first, last) = (self.order.key(first), self.order.key(last));
        if first > last {
            return None; // The words wrap around.
        }
        if self.low <= first && last <= self.high {
            return Some(true);
        }
        (last < self.low || self.high < first).then_some(false)
    }
}
