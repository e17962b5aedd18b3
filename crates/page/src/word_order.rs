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

    /// The distances from `base` to the words in the range, modulo 2^64.
    #[inline]
    pub(crate) fn distances(self, base: u64) -> Distances {
        Distances {
            // Folding in the flip is an addition: it has the highest bit, or none.
            first: self.low.wrapping_sub(self.order.key(base)),
            span: self.high - self.low,
        }
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

/// Numbers from `first` on, and at most `span` above it, modulo 2^64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distances {
    pub(crate) first: u64,
    pub(crate) span: u64,
}

impl Distances {
    /// Those that fit 32 bits, as first and last; `None` where they are not neighbours.
    pub(crate) fn narrow(self) -> Option<(u32, u32)> {
        let last = self.first.wrapping_add(self.span);
        let narrow_last = last.min(u32::MAX.into()) as u32;
        match (u32::try_from(self.first), self.first <= last) {
            (Ok(first), true) => Some((first, narrow_last)),
            // What is above 2^64 begins with 0.
            (Err(_), false) => Some((0, narrow_last)),
            (Err(_), true) => Some((1, 0)),
            (Ok(_), false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_from_any_base_are_those_to_words_in_the_range() {
        let corners = [
            0,
            1,
            5,
            1 << 31,
            u64::from(u32::MAX),
            1 << 40,
            SIGN - 1,
            SIGN,
            u64::MAX,
        ];
        for order in [WordOrder::SIGNED, WordOrder { flip: 0 }] {
            for low in corners {
                for high in corners.into_iter().filter(|&high| low <= high) {
                    let range = WordRange { order, low, high };
                    for base in corners {
                        check_distances(range, base, &corners);
                    }
                }
            }
        }
    }

    fn check_distances(range: WordRange, base: u64, distances: &[u64]) {
        let Distances { first, span } = range.distances(base);
        let narrow = range.distances(base).narrow();
        for &distance in distances {
            let expected = range.contains(base.wrapping_add(distance));
            assert_eq!(distance.wrapping_sub(first) <= span, expected);
            if let (Some((first, last)), Ok(distance)) = (narrow, u32::try_from(distance)) {
                assert_eq!(first <= distance && distance <= last, expected);
            }
        }
    }
}
