//! Words that are multiples of one number, such as times in whole minutes or prices in whole
//! units, above a common remainder.
//!
//! ```text
//! remainder (signed LEB128) · divisor (LEB128, above 1) · stream of rows quotients
//! ```
//!
//! A word is remainder + quotient × divisor, wrapping. Quotients are what any other stream is:
//! frames, steps and runs apply to them.

use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use multiversion::multiversion;

use crate::cell::{Cell, Lane};
use crate::cursor::{Cursor, put_signed, put_unsigned};
use crate::equal_range::equal_words;
use crate::error::PageError;
use crate::word_order::{Sought, WordOrder, WordRange};

use super::{Profile, Sink, Stream, WordCodec, all_or_none, encode_stream_as};

/// Words whose distances are looked at before all words are.
const SAMPLE: usize = 32;

/// Rows of which all quotients take as long to be multiplied as a byte counts.
const ROWS_PER_BYTE: usize = 16;

/// The quotients of a column's words.
#[derive(Debug)]
pub(super) struct Draft {
    remainder: u64,
    divisor: u64,
    quotients: Vec<u64>,
    profile: Profile,
    stream: WordCodec,
    cost: usize,
}

impl Draft {
    /// The quotients, if they cost less than `cost_max`.
    pub(super) fn of(words: &[u64], cost_max: usize) -> Option<Self> {
        Self::profiled(words, cost_max, Profile::of)
    }

    /// The quotients, if they cost less than `cost_max` with the stream codec that they had on
    /// the last page.
    pub(super) fn like(words: &[u64], stream: WordCodec, cost_max: usize) -> Option<Self> {
        Self::profiled(words, cost_max, |quotients| {
            Profile::like(quotients, stream)
        })
    }

    fn profiled(
        words: &[u64],
        cost_max: usize,
        profile: impl FnOnce(&[u64]) -> Profile,
    ) -> Option<Self> {
        let divisor = common_divisor(words);
        if divisor <= 1 {
            return None;
        }
        let remainder = (words[0] as i64).rem_euclid(divisor) as u64;
        let divisor = divisor as u64;
        let mut quotients = Vec::with_capacity(words.len());
        if !divide(words, remainder, divisor, &mut quotients) {
            return None;
        }
        let profile = profile(&quotients);
        let choice = profile.cheapest(size_of::<u64>());
        let cost = choice.cost + words.len() / ROWS_PER_BYTE;
        (cost < cost_max).then_some(Self {
            remainder,
            divisor,
            quotients,
            profile,
            stream: choice.codec,
            cost,
        })
    }

    pub(super) fn cost(&self) -> usize {
        self.cost
    }

    /// The codec of the quotients.
    pub(super) fn stream(&self) -> WordCodec {
        self.stream
    }

    pub(super) fn encode(&self, sink: &mut Sink<'_>) {
        put_signed(sink.segment, self.remainder as i64);
        put_unsigned(sink.segment, self.divisor);
        encode_stream_as(&self.quotients, &self.profile, sink);
    }
}

/// The greatest common divisor of the distances between some words.
fn common_divisor(words: &[u64]) -> i64 {
    let count = words.len().min(SAMPLE);
    let mut divisor = 0;
    for index in 0..count {
        let distance = (words[index * words.len() / count] as i64).abs_diff(words[0] as i64);
        divisor = greatest_common_divisor(divisor, distance);
        if divisor == 1 {
            break;
        }
    }
    i64::try_from(divisor).unwrap_or(1) // 2^63 divides hardly anything.
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Leaves (word - remainder) / divisor of all words; false if one is not a whole number.
///
/// A whole quotient is found without a division: the even part of the divisor is shifted out,
/// and a product with the inverse of the odd part (modulo 2^64) gives the quotient, where there
/// is one (Warren, Hacker's Delight, 10-16).
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
fn divide(words: &[u64], remainder: u64, divisor: u64, quotients: &mut Vec<u64>) -> bool {
    let shift = divisor.trailing_zeros();
    let inverse = inverse(divisor >> shift);
    quotients.extend(words.iter().map(|word| {
        let distance = word.wrapping_sub(remainder) as i64;
        (distance >> shift).wrapping_mul(inverse as i64) as u64
    }));
    let pairs = words.iter().zip(quotients.iter());
    let differ = pairs.map(|(word, quotient)| {
        let product = quotient.wrapping_mul(divisor).wrapping_add(remainder);
        let small = (*quotient as i64).unsigned_abs() <= i64::MAX as u64 / divisor;
        u64::from(product != *word) | u64::from(!small)
    });
    differ.fold(0, |any, differs| any | differs) == 0
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the bits
/// that are right, of which there are three at first.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |inverse, _| {
        inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)))
    })
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Multiples<'a> {
    remainder: u64,
    divisor: u64,
    /// Of the divisor's odd part.
    inverse: u64,
    quotients: Stream<'a>,
}

impl<'a> Multiples<'a> {
    pub(super) fn open(
        cursor: &mut Cursor<'a>,
        rows: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        let remainder = cursor.signed()? as u64;
        let divisor = cursor.unsigned()?;
        Ok(Self {
            remainder,
            divisor,
            inverse: inverse(divisor.checked_shr(divisor.trailing_zeros()).unwrap_or(1)),
            quotients: Stream::open(cursor, rows, section)?,
        })
    }

    /// Unpacks what makes it faster to look up cells.
    pub(super) fn prepare(&mut self) {
        if let Stream::Delta(delta) = &mut self.quotients {
            delta.prepare();
        }
    }

    /// Bytes of what is unpacked.
    pub(super) fn memory_bytes(&self) -> usize {
        match &self.quotients {
            Stream::Delta(delta) => delta.memory_bytes(),
            _ => 0,
        }
    }

    /// Appends all cells.
    pub(super) fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        let start = cells.len();
        self.quotients.decode(cells)?;
        multiply(&mut cells[start..], self.divisor, self.remainder);
        Ok(())
    }

    /// Appends the cells of `slots`.
    pub(super) fn gather<T: Cell>(
        &self,
        slots: &[u32],
        cells: &mut Vec<T>,
    ) -> Result<(), PageError> {
        let start = cells.len();
        self.quotients.gather(slots, cells)?;
        multiply(&mut cells[start..], self.divisor, self.remainder);
        Ok(())
    }

    /// The word of a slot.
    #[inline]
    pub(super) fn get(&self, slot: usize) -> u64 {
        self.word(self.quotients.get(slot))
    }

    /// See [`super::WordDecoder::equal`]. Quotients ascend as words do if those are signed: a
    /// writer's are small enough not to wrap.
    pub(super) fn equal(&self, slots: Range<usize>, sought: Sought) -> Range<usize> {
        let distance = (sought.word() as i64).checked_sub(self.remainder as i64);
        let divisor = i64::try_from(self.divisor)
            .ok()
            .filter(|&divisor| divisor > 0);
        if let (WordOrder::SIGNED, Some(distance), Some(divisor)) =
            (sought.order(), distance, divisor)
        {
            let whole = self.whole_quotient(distance, divisor);
            let quotient = whole.unwrap_or_else(|| distance.div_euclid(divisor));
            let quotient = Sought::new(WordOrder::SIGNED, quotient as u64);
            let equal = self.quotients.equal(slots, quotient);
            return match whole {
                Some(_) => equal,
                None => equal.end..equal.end,
            };
        }
        equal_words(slots, sought, |slot| self.get(slot))
    }

    /// The quotient if it is a whole number, which takes no division; see [`divide`].
    #[inline]
    fn whole_quotient(&self, distance: i64, divisor: i64) -> Option<i64> {
        let odd_part = distance >> divisor.trailing_zeros();
        let quotient = odd_part.wrapping_mul(self.inverse as i64);
        (quotient.checked_mul(divisor) == Some(distance)).then_some(quotient)
    }

    /// See [`super::WordDecoder::select`].
    pub(super) fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError> {
        match self.quotients_in(range) {
            Some(Some(quotients)) => self.quotients.select(rows, quotients),
            Some(None) => Ok(all_or_none(rows, false)),
            None => self.select_by(rows, |word| range.contains(word)),
        }
    }

    /// The quotients of the words in a range, `Some(None)` if there are none; `None` where they do not
    /// order as words do.
    fn quotients_in(&self, range: WordRange) -> Option<Option<WordRange>> {
        let WordRange { order, low, high } = range;
        let divisor = i64::try_from(self.divisor).ok().filter(|&it| it > 0)?;
        if order != WordOrder::SIGNED {
            return None;
        }
        let divisor = i128::from(divisor);
        let distance = |key| i128::from(order.key(key) as i64) - i128::from(self.remainder as i64);
        let first = -(-distance(low)).div_euclid(divisor);
        let last = distance(high).div_euclid(divisor);
        let clamp = |quotient: i128| quotient.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Some((first <= last).then(|| WordRange {
            order,
            low: order.key(clamp(first) as u64),
            high: order.key(clamp(last) as u64),
        }))
    }

    /// Which words `contains` holds for.
    pub(super) fn select_by(
        &self,
        rows: usize,
        contains: impl Fn(u64) -> bool,
    ) -> Result<BooleanBuffer, PageError> {
        let mut words: Vec<u64> = Vec::with_capacity(rows);
        self.decode(&mut words)?;
        Ok(BooleanBuffer::collect_bool(rows, |row| {
            contains(words[row])
        }))
    }

    #[inline]
    fn word(&self, quotient: u64) -> u64 {
        quotient
            .wrapping_mul(self.divisor)
            .wrapping_add(self.remainder)
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
fn multiply<T: Cell>(cells: &mut [T], divisor: u64, remainder: u64) {
    let (divisor, remainder) = (T::Lane::cut(divisor), T::Lane::cut(remainder));
    for cell in cells {
        let quotient = T::Lane::cut(cell.to_word());
        *cell = T::from_lane(quotient.times(divisor).plus(remainder));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(words: &[u64]) -> Option<Draft> {
        Draft::of(words, Profile::of(words).cheapest(size_of::<u64>()).cost)
    }

    #[test]
    fn whole_minutes_are_divided() {
        let minute = |row: u64| 1_177_977_615 + 60 * (row * 61 + row * row * 7919 % 17);
        let words: Vec<u64> = (0..1000).map(minute).collect();
        let draft = draft(&words).expect("quotients take fewer bits");
        assert_eq!((draft.divisor, draft.remainder), (60, 15));
        let words_again = draft.quotients.iter().map(|quotient| quotient * 60 + 15);
        assert!(words_again.eq(words));
    }

    #[test]
    fn one_word_in_between_spoils_it() {
        let mut words: Vec<u64> = (0..1000).map(|row| row * row * 7919 % 1013 * 12).collect();
        assert!(draft(&words).is_some());
        words[777] += 6;
        assert!(draft(&words).is_none());
    }

    #[test]
    fn words_of_any_size_and_sign_come_back() {
        for divisor in [2_i64, 3, 60, 1 << 40, 86_400_000_000] {
            for first in [0, 5, -5, i64::MIN, i64::MAX - 40 * divisor] {
                let words: Vec<u64> = (0..40_i64)
                    .map(|row| first.wrapping_add(divisor * (row * row % 41)) as u64)
                    .collect();
                let mut quotients = Vec::new();
                let remainder = first.rem_euclid(divisor) as u64;
                if divide(&words, remainder, divisor as u64, &mut quotients) {
                    let back = quotients.iter().map(|quotient| {
                        quotient
                            .wrapping_mul(divisor as u64)
                            .wrapping_add(remainder)
                    });
                    assert!(back.eq(words));
                }
            }
        }
    }
}
