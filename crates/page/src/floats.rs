//! Floats that are decimal fractions, as prices and readings are, and floats of both signs.
//!
//! ```text
//! decimal:    exponent (u8, 0 to 22) · exceptions (see `exceptions`) · stream of rows words
//! sign last:  stream of rows words
//! ```
//!
//! Decimal (the idea of ALP: Afroozeh, Kuffó, Boncz, SIGMOD 2023): 19.99 is written as 1999 and
//! the exponent 2. The words are signed integers, so frames, runs and steps of the integer codecs
//! apply. A cell is `word / 10^exponent`, computed in 64 bits and, for `Float32`, rounded to 32.
//! ALP multiplies by a power and an inverse power and so needs two parameters; a division is
//! correctly rounded, needs one, and finds every fraction of up to 15 digits. What a division
//! does not give back bit by bit (-0.0, NaNs, infinities, long fractions) is an exception: the
//! value is the cell's bits, and its word repeats the one before.
//!
//! 1. Take a few cells evenly spread. If the last page's exponent suits all of them and the next
//!    smaller one does not, keep it. Otherwise try every exponent on them.
//! 2. Scale all cells, check each against its bits.
//! 3. Take the result if it is smaller than what the integer codecs make of the bits.
//!
//! Sign last: what is not decimal goes to the integer codecs as its bits. Where signs differ,
//! the sign would make the range of the bits as large as it can be; it moves from the highest
//! bit to the lowest.

use multiversion::multiversion;

use crate::cell::Cell;
use crate::cursor::Cursor;
use crate::error::PageError;
use crate::exceptions::{self, Exception, Exceptions, exception_bits};
use crate::words::{self, Profile, Sink, Stream};

/// The codecs of floats. The numbers are on disk: never change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FloatCodec {
    Decimal = 10,
    SignLast = 11,
}

impl FloatCodec {
    pub(crate) fn from_u8(number: u8) -> Option<Self> {
        [Self::Decimal, Self::SignLast]
            .into_iter()
            .find(|&codec| codec as u8 == number)
    }
}

/// Every power of ten that 64-bit floats hold exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Cells on which an exponent is chosen.
const SAMPLE: usize = 32;

/// Cells that are scaled before their errors are looked at.
const GROUP: usize = 64;

/// A frame is worth it if it takes no more than so many percent of the cells as they are.
const PERCENT_MAX: usize = 97;

/// Pages to leave out after the first one that was not decimal; twice as many after each
/// further one in a row.
const PAGES_TO_REST_MIN: u32 = 3;
const PAGES_TO_REST_MAX: u32 = 63;

/// Adding it to a float of magnitude below 2^51 puts the nearest integer into the low bits.
const ROUNDING: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52

/// A cell of a float column.
pub(crate) trait Float: Cell {
    fn to_double(self) -> f64;

    fn from_double(double: f64) -> Self;
}

impl Float for f32 {
    #[inline]
    fn to_double(self) -> f64 {
        f64::from(self)
    }

    #[inline]
    fn from_double(double: f64) -> Self {
        double as Self
    }
}

impl Float for f64 {
    #[inline]
    fn to_double(self) -> f64 {
        self
    }

    #[inline]
    fn from_double(double: f64) -> Self {
        double
    }
}

/// The integer nearest to `double` × `power`, or anything where that is too large.
#[inline]
fn scale(double: f64, power: f64) -> i64 {
    let rounded = double * power + ROUNDING;
    (rounded.to_bits() as i64).wrapping_sub(ROUNDING.to_bits() as i64)
}

/// The inverse. Writers have integers below 2^51 only: those that [`scale`] made.
#[inline]
fn unscale<F: Float>(integer: i64, power: f64) -> F {
    let shifted = f64::from_bits(ROUNDING.to_bits().wrapping_add(integer as u64));
    F::from_double((shifted - ROUNDING) / power)
}

/// The sign of a float's bits becomes the lowest bit.
#[inline]
fn sign_last<F: Float>(word: u64) -> u64 {
    match F::PLAIN_BYTES {
        4 => u64::from((word as u32).rotate_left(1)),
        _ => word.rotate_left(1),
    }
}

#[inline]
fn sign_first<F: Float>(word: u64) -> u64 {
    match F::PLAIN_BYTES {
        4 => u64::from((word as u32).rotate_right(1)),
        _ => word.rotate_right(1),
    }
}

fn append_sign_first<F: Float>(rotated: &[u64], cells: &mut Vec<F>) {
    let words = rotated.iter().map(|&word| sign_first::<F>(word));
    cells.extend(words.map(F::from_word));
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
fn append_unscaled<F: Float>(integers: &[i64], power: f64, cells: &mut Vec<F>) {
    cells.extend(integers.iter().map(|&integer| unscale::<F>(integer, power)));
}

/// Encodes columns of floats; keeps the exponent of the last page for the next.
#[derive(Debug, Default)]
pub(crate) struct FloatEncoder {
    exponent: Option<usize>,
    /// Pages still to be left out.
    pages_to_rest: u32,
    /// Pages that were to be left out the last time; 0 after a success.
    rest: u32,
    integers: Vec<u64>,
    exceptions: Vec<Exception>,
}

impl FloatEncoder {
    /// Encodes cells, given as their bits, and returns the codec's number.
    pub(crate) fn encode<F: Float>(
        &mut self,
        cells: &[u64],
        memory: &mut words::Memory,
        sink: &mut Sink<'_>,
    ) -> u8 {
        if let Some(exponent) = self.exponent::<F>(cells) {
            self.scale_all::<F>(cells, POWERS[exponent]);
            if let Some(codec) = self.encode_decimal::<F>(cells, exponent, sink) {
                return codec;
            }
        }
        if has_both_signs::<F>(cells)
            && let Some(codec) = self.encode_sign_last::<F>(cells, sink)
        {
            return codec;
        }
        words::encode(cells, F::PLAIN_BYTES, memory, sink) as u8
    }

    fn exponent<F: Float>(&mut self, cells: &[u64]) -> Option<usize> {
        if self.pages_to_rest > 0 {
            self.pages_to_rest -= 1;
            return None;
        }
        let sample = Sample::<F>::of(cells);
        self.exponent = match self.exponent {
            Some(last) if sample.is_exactly(last) => Some(last),
            _ => sample.best_exponent(),
        };
        self.rest = match self.exponent {
            Some(_) => 0,
            None => (self.rest * 2 + 1).clamp(PAGES_TO_REST_MIN, PAGES_TO_REST_MAX),
        };
        self.pages_to_rest = self.rest;
        self.exponent
    }

    /// Leaves the integers and the exceptions of all cells.
    fn scale_all<F: Float>(&mut self, cells: &[u64], power: f64) {
        self.integers.clear();
        self.exceptions.clear();
        for cells in cells.chunks(GROUP) {
            let mut group = [0; GROUP];
            let mut errors = 0;
            for (integer, &cell) in group.iter_mut().zip(cells) {
                let scaled = scale(F::from_word(cell).to_double(), power);
                errors |= unscale::<F>(scaled, power).to_word() ^ cell;
                *integer = scaled as u64;
            }
            if errors != 0 {
                self.except::<F>(cells, power, &mut group);
            }
            self.integers.extend_from_slice(&group[..cells.len()]);
        }
        self.fill_front();
    }

    /// Makes exceptions of the group's errors.
    #[cold]
    fn except<F: Float>(&mut self, cells: &[u64], power: f64, group: &mut [u64; GROUP]) {
        let mut before = self.integers.last().copied().unwrap_or(0);
        for (index, &cell) in cells.iter().enumerate() {
            if unscale::<F>(group[index] as i64, power).to_word() == cell {
                before = group[index];
                continue;
            }
            group[index] = before;
            self.exceptions.push(Exception {
                slot: (self.integers.len() + index) as u16,
                value: cell,
            });
        }
    }

    /// Exceptions in front of the first integer have none to repeat: they take that one.
    fn fill_front(&mut self) {
        let front = self
            .exceptions
            .iter()
            .zip(0..)
            .take_while(|(exception, slot)| exception.slot == *slot)
            .count();
        if let Some(&first) = self.integers.get(front) {
            self.integers[..front].fill(first);
        }
    }

    /// Writes the integers, unless they take more than the bits or a dictionary of them.
    fn encode_decimal<F: Float>(
        &self,
        cells: &[u64],
        exponent: usize,
        sink: &mut Sink<'_>,
    ) -> Option<u8> {
        let plain = cells.len() * F::PLAIN_BYTES;
        let profile = Profile::of(&self.integers);
        let bits_max = u8::BITS * F::PLAIN_BYTES as u32;
        let bytes = profile.cheapest(size_of::<u64>()).bytes
            + (self.exceptions.len() * exception_bits(bits_max)).div_ceil(8);
        if bytes * 2 > plain && bytes >= Profile::of(cells).cheapest(F::PLAIN_BYTES).bytes {
            return None;
        }
        if let Some(codec) = words::encode_dictionary(cells, bytes, sink) {
            return Some(codec as u8);
        }
        sink.segment.push(exponent as u8);
        exceptions::write(&self.exceptions, cells.len(), sink.segment, sink.section);
        words::encode_stream_as(&self.integers, &profile, sink);
        Some(FloatCodec::Decimal as u8)
    }

    fn encode_sign_last<F: Float>(&mut self, cells: &[u64], sink: &mut Sink<'_>) -> Option<u8> {
        self.integers.clear();
        self.integers
            .extend(cells.iter().map(|&cell| sign_last::<F>(cell)));
        let profile = Profile::of(&self.integers);
        let bytes = profile.cheapest(size_of::<u64>()).bytes;
        if bytes * 100 > cells.len() * F::PLAIN_BYTES * PERCENT_MAX {
            return None;
        }
        if let Some(codec) = words::encode_dictionary(cells, bytes, sink) {
            return Some(codec as u8);
        }
        words::encode_stream_as(&self.integers, &profile, sink);
        Some(FloatCodec::SignLast as u8)
    }
}

fn has_both_signs<F: Float>(cells: &[u64]) -> bool {
    let (any, all) = cells
        .iter()
        .fold((0, u64::MAX), |(any, all), cell| (any | cell, all & cell));
    let sign = 1 << (u8::BITS as usize * F::PLAIN_BYTES - 1);
    (any & !all) & sign != 0
}

/// Some cells of a page.
struct Sample<F> {
    cells: [F; SAMPLE],
    count: usize,
}

impl<F: Float> Sample<F> {
    fn of(cells: &[u64]) -> Self {
        let mut sample = Self {
            cells: [F::default(); SAMPLE],
            count: cells.len().min(SAMPLE),
        };
        for (index, cell) in sample.cells[..sample.count].iter_mut().enumerate() {
            *cell = F::from_word(cells[index * cells.len() / sample.count]);
        }
        sample
    }

    /// How many cells the exponent does not suit, and the bits of a frame for the others.
    fn try_exponent(&self, exponent: usize) -> (usize, u32) {
        let power = POWERS[exponent];
        let (mut errors, mut min, mut max) = (0, i64::MAX, i64::MIN);
        for cell in &self.cells[..self.count] {
            let integer = scale(cell.to_double(), power);
            if unscale::<F>(integer, power).to_word() == cell.to_word() {
                (min, max) = (min.min(integer), max.max(integer));
            } else {
                errors += 1;
            }
        }
        let range = max.saturating_sub(min).max(0) as u64;
        (errors, u64::BITS - range.leading_zeros())
    }

    /// Whether the exponent suits all cells and a smaller one does not.
    fn is_exactly(&self, exponent: usize) -> bool {
        self.try_exponent(exponent).0 == 0
            && (exponent == 0 || self.try_exponent(exponent - 1).0 > 0)
    }

    /// The exponent that takes the fewest bits, if that is fewer than the cells have.
    fn best_exponent(&self) -> Option<usize> {
        let cell_bits = F::PLAIN_BYTES * u8::BITS as usize;
        let error_bits = exception_bits(cell_bits as u32);
        let cost = |exponent| {
            let (errors, width) = self.try_exponent(exponent);
            errors * error_bits + self.count * width as usize
        };
        (0..POWERS.len())
            .map(|exponent| (cost(exponent), exponent))
            .min()
            .filter(|&(bits, _)| bits * 100 <= self.count * cell_bits * PERCENT_MAX)
            .map(|(_, exponent)| exponent)
    }
}

/// Floats in a segment, parsed and ready to decode.
#[derive(Debug)]
pub(crate) enum Floats<'a> {
    Decimal {
        rows: usize,
        power: f64,
        exceptions: Exceptions<'a>,
        integers: Stream<'a>,
    },
    SignLast(Stream<'a>),
}

impl<'a> Floats<'a> {
    pub(crate) fn open(
        codec: FloatCodec,
        mut cursor: Cursor<'a>,
        rows: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        if codec == FloatCodec::SignLast {
            return Ok(Self::SignLast(Stream::open(&mut cursor, rows, section)?));
        }
        let power = POWERS.get(usize::from(cursor.byte()?));
        Ok(Self::Decimal {
            rows,
            power: *power.ok_or(PageError::Malformed("an exponent exceeds 22"))?,
            exceptions: Exceptions::open(&mut cursor, rows, section)?,
            integers: Stream::open(&mut cursor, rows, section)?,
        })
    }

    /// The cell of a slot, which is below the number of rows.
    pub(crate) fn get<F: Float>(&self, slot: usize) -> F {
        match self {
            Self::SignLast(words) => F::from_word(sign_first::<F>(words.get(slot))),
            Self::Decimal {
                power,
                exceptions,
                integers,
                ..
            } => match exceptions.find(slot) {
                Some(bits) => F::from_word(bits),
                None => unscale(integers.get(slot) as i64, *power),
            },
        }
    }

    /// Appends all cells.
    pub(crate) fn decode<F: Float>(&self, cells: &mut Vec<F>) -> Result<(), PageError> {
        let start = cells.len();
        match self {
            Self::SignLast(words) => {
                let mut rotated: Vec<u64> = Vec::with_capacity(cells.capacity() - start);
                words.decode(&mut rotated)?;
                append_sign_first(&rotated, cells);
            }
            Self::Decimal {
                rows,
                power,
                exceptions,
                integers,
            } => {
                exceptions.check(*rows)?;
                let mut decoded: Vec<i64> = Vec::with_capacity(cells.capacity() - start);
                integers.decode(&mut decoded)?;
                append_unscaled(&decoded, *power, cells);
                exceptions.for_each(|slot, bits| cells[start + slot] = F::from_word(bits));
            }
        }
        Ok(())
    }

    /// Appends the cells of `slots`, which ascend and are below the number of rows.
    pub(crate) fn gather<F: Float>(
        &self,
        slots: &[u32],
        cells: &mut Vec<F>,
    ) -> Result<(), PageError> {
        match self {
            Self::SignLast(words) => {
                let mut rotated: Vec<u64> = Vec::with_capacity(slots.len());
                words.gather(slots, &mut rotated)?;
                append_sign_first(&rotated, cells);
            }
            Self::Decimal {
                rows,
                power,
                exceptions,
                integers,
            } => {
                exceptions.check(*rows)?;
                let start = cells.len();
                let mut picked: Vec<i64> = Vec::with_capacity(slots.len());
                integers.gather(slots, &mut picked)?;
                append_unscaled(&picked, *power, cells);
                exceptions.patch(slots, |index, bits| {
                    cells[start + index] = F::from_word(bits);
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<F: Float>(cells: &[F]) -> (u8, usize) {
        let words: Vec<u64> = cells.iter().map(|cell| cell.to_word()).collect();
        let (mut segment, mut section) = (Vec::new(), Vec::new());
        let mut sink = Sink {
            segment: &mut segment,
            section: &mut section,
        };
        let codec =
            FloatEncoder::default().encode::<F>(&words, &mut words::Memory::default(), &mut sink);
        if let Some(codec) = FloatCodec::from_u8(codec) {
            let floats = Floats::open(codec, Cursor::new(&segment), cells.len(), &section);
            let mut decoded: Vec<F> = Vec::new();
            floats
                .expect("intact")
                .decode(&mut decoded)
                .expect("intact");
            assert!(decoded.iter().map(|cell| cell.to_word()).eq(words));
        }
        (codec, segment.len() + section.len())
    }

    #[test]
    fn prices_take_the_bits_of_their_cents() {
        let prices: Vec<f64> = (0..1000_u32)
            .map(|i| f64::from(i * 7919 % 4096) / 100.0)
            .collect();
        let (codec, bytes) = round_trip(&prices);
        assert_eq!(codec, FloatCodec::Decimal as u8);
        assert!(bytes < 1000 * 12 / 8 + 20, "{bytes} bytes");
    }

    #[test]
    fn what_is_not_decimal_is_an_exception() {
        let odd = [
            -0.0,
            f64::NAN,
            f64::from_bits(0xFFF8_0000_0000_1234),
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MIN_POSITIVE,
            f64::MAX,
            std::f64::consts::PI,
            1e300,
            9_007_199_254_740_993.0,
        ];
        for front in [0, 1, 500] {
            let mut cells = vec![0.25; front];
            cells.extend(odd);
            cells.extend((0..900).map(|i| f64::from(i) / 4.0));
            assert_eq!(round_trip(&cells).0, FloatCodec::Decimal as u8);
            let singles: Vec<f32> = cells.iter().map(|&cell| cell as f32).collect();
            round_trip(&singles);
        }
        assert!(round_trip(&odd).1 > 0);
    }

    #[test]
    fn floats_of_both_signs_keep_their_sign_last() {
        let cells: Vec<f64> = (1..1000).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let (codec, bytes) = round_trip(&cells);
        assert_eq!(codec, FloatCodec::SignLast as u8);
        assert!(bytes < 999 * 58 / 8, "{bytes} bytes");
    }
}
