//! What a column's words look like, and what each codec would make of them.
//!
//! 1. One pass finds the extremes, the number of runs and the extreme steps between neighbours.
//!    A small sample of the steps tells the smallest usual one: a few that go far back, to a -1
//!    that means "none", say, are exceptions like those that go far ahead.
//! 2. Another counts how many bits each word needs above the minimum, and each step above the
//!    usual one. Where there are many words it looks at every eighth block only, then counts
//!    the exceptions of the width that this suggests, and looks at all words if there are more
//!    than the blocks promised.
//! 3. From these counts the best width of a frame follows exactly: each width costs its bits
//!    for every word and an exception for every word that needs more.
//! 4. If nearly all words need the same number of bits, the minimum lies apart from them (a 0 or
//!    -1 that means "none", say). Then a frame that begins at the smallest usual word is measured
//!    too; what lies below it is an exception.
//!
//! Words are compared as signed integers. Distances wrap, so that words whose range exceeds 63
//! bits are merely expensive, not wrong.

use multiversion::multiversion;

use crate::bit_packing::{BLOCK, bits, mask, packed_bytes};
use crate::cursor::{signed_bytes, unsigned_bytes};
use crate::exceptions::{exception_bytes, signed_bits};

use super::{WordCodec, delta, sample};

/// How many words need how many bits: index = bits, 0 to 64.
type BitCounts = [u32; 65];

/// A frame's width and what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Bits a word.
    pub(crate) width: u32,
    /// Words that need more.
    pub(crate) exceptions: usize,
    /// Bytes of the packed words and the exceptions.
    bytes: usize,
}

impl Frame {
    const NONE: Self = Self {
        width: 0,
        exceptions: 0,
        bytes: 0,
    };

    /// The width at which packed words and exceptions together are smallest.
    /// Of `rows` words some may be counted: they stand for the others.
    fn best(counts: &BitCounts, rows: usize, exception_bytes: usize) -> Self {
        let counted = counts.iter().sum::<u32>() as usize;
        let width_max = largest(counts);
        let mut best = Self::at(width_max, 0, rows, exception_bytes);
        let mut above = 0;
        for width in (0..width_max).rev() {
            above += counts[width as usize + 1] as usize;
            let exceptions = (above * rows).div_ceil(counted);
            if exceptions * exception_bytes >= best.bytes {
                break;
            }
            let frame = Self::at(width, exceptions, rows, exception_bytes);
            if frame.bytes < best.bytes {
                best = frame;
            }
        }
        best
    }

    fn at(width: u32, exceptions: usize, rows: usize, exception_bytes: usize) -> Self {
        let reference = match exceptions {
            0 => 0,
            _ => unsigned_bytes(exceptions as u64) + 4,
        };
        Self {
            width,
            exceptions,
            bytes: packed_bytes(rows, width) + exceptions * exception_bytes + reference,
        }
    }

    /// The frame of so many rows with the number of exceptions that their distances, of `largest`
    /// bits at most, really have by `count`; `None` if that is many more than it was made for.
    fn counted(
        self,
        rows: usize,
        largest: u32,
        exception_bytes: usize,
        count: impl Fn(u64) -> usize,
    ) -> Option<Self> {
        if self.width >= largest {
            return Some(Self::at(self.width, 0, rows, exception_bytes));
        }
        let exceptions = count(mask(self.width));
        let promised = self.exceptions * 2 + rows / EXCEPTIONS_UNFORESEEN;
        (exceptions <= promised).then(|| Self::at(self.width, exceptions, rows, exception_bytes))
    }
}

/// Words of which all are counted; of more, some blocks.
const COUNTED_ROWS_MAX: usize = 1024;

/// One block in so many is counted.
const BLOCKS_PER_COUNTED: usize = 8;

/// One exception in so many words is fine where the counted blocks had none.
const EXCEPTIONS_UNFORESEEN: usize = 128;

/// Steps that need more than so many percent of what the frame takes are not looked at again.
const STEPS_PERCENT_MAX: usize = 140;

/// A codec and what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) codec: WordCodec,
    pub(crate) bytes: usize,
}

/// The profile of a column's words.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    rows: usize,
    /// The smallest word.
    pub(crate) min: i64,
    /// The largest word.
    pub(crate) max: i64,
    /// Runs of equal words.
    pub(crate) runs: usize,
    /// The smallest usual difference between a word and the one before it.
    pub(crate) step: i64,
    /// The smallest difference.
    step_min: i64,
    /// The largest difference.
    step_max: i64,
    /// The first word of the best frame.
    pub(crate) base: u64,
    /// The best frame.
    pub(crate) frame: Frame,
    /// The best frame for the steps above `step`.
    pub(crate) steps: Frame,
    /// Bits of the largest block start, see [`delta`].
    pub(crate) start_width: u32,
}

impl Profile {
    /// Profiles words; there is at least one.
    pub(crate) fn of(words: &[u64]) -> Self {
        let mut profile = Self::extremes(words);
        if profile.min != profile.max {
            profile.measure_frames(words);
        }
        profile
    }

    fn extremes(words: &[u64]) -> Self {
        let extremes = extremes(words);
        Self {
            rows: words.len(),
            min: extremes.min,
            max: extremes.max,
            runs: extremes.runs,
            step: extremes.step_min,
            step_min: extremes.step_min,
            step_max: extremes.step_max,
            base: extremes.min as u64,
            frame: Frame::NONE,
            steps: Frame::NONE,
            start_width: 0,
        }
    }

    fn measure_frames(&mut self, words: &[u64]) {
        self.step = sample::usual_step(words, self.step_min);
        self.start_width = delta::start_width(words, self.step);
        if words.len() <= COUNTED_ROWS_MAX || !self.measure_some(words) {
            self.measure(words, 1);
        }
    }

    /// Measures frames by one block in every `blocks`.
    fn measure(&mut self, words: &[u64], blocks: usize) {
        self.base = self.min as u64;
        let mut word_bits = [0; 65];
        let mut step_bits = [0; 65];
        for block in words.chunks(BLOCK + 1).step_by(blocks) {
            for pair in block.windows(2) {
                let difference = pair[1].wrapping_sub(pair[0]);
                word_bits[bits(pair[1].wrapping_sub(self.min as u64)) as usize] += 1;
                step_bits[bits(difference.wrapping_sub(self.step as u64)) as usize] += 1;
            }
            word_bits[bits(block[0].wrapping_sub(self.min as u64)) as usize] += 1;
        }
        saw(&mut word_bits, self.range_width());
        saw(&mut step_bits, self.climb_width_max());
        self.frame = Frame::best(&word_bits, self.rows, exception_bytes(self.range_width()));
        self.steps = Frame::best(&step_bits, self.rows, self.climb_bytes());
        if word_bits[self.frame.width as usize] as usize * blocks * 4 > self.rows * 3 {
            self.measure_usual_frame(words, blocks);
        }
    }

    /// Measures frames by some blocks, and then counts their exceptions in all words. Returns
    /// whether the blocks were like the rest.
    fn measure_some(&mut self, words: &[u64]) -> bool {
        self.measure(words, BLOCKS_PER_COUNTED);
        let base = self.base;
        let (largest, bytes) = match base == self.min as u64 {
            true => (self.range_width(), exception_bytes(self.range_width())),
            false => (u64::BITS, self.exception_bytes_above(base as i64)),
        };
        let count = |most| distances_above(words, base, most);
        let Some(frame) = self.frame.counted(words.len(), largest, bytes, count) else {
            return false;
        };
        self.frame = frame;
        if self.steps.bytes * 100 > frame.bytes * STEPS_PERCENT_MAX {
            return true;
        }
        let (largest, bytes) = (self.climb_width_max(), self.climb_bytes());
        let count = |most| climbs_above(words, self.step as u64, most);
        let Some(steps) = self.steps.counted(words.len(), largest, bytes, count) else {
            return false;
        };
        self.steps = steps;
        true
    }

    /// Measures frames that begin at the smallest usual word. What lies below has a distance that
    /// wraps.
    fn measure_usual_frame(&mut self, words: &[u64], blocks: usize) {
        let base = sample::usual_word(words, self.min);
        if base == self.min {
            return;
        }
        let mut word_bits = [0; 65];
        for word in words.chunks(BLOCK + 1).step_by(blocks).flatten() {
            word_bits[bits(word.wrapping_sub(base as u64)) as usize] += 1;
        }
        saw(&mut word_bits, u64::BITS);
        let upper = Frame::best(&word_bits, self.rows, self.exception_bytes_above(base));
        if upper.bytes < self.frame.bytes {
            self.frame = upper;
            self.base = base as u64;
        }
    }

    /// The codec that takes the fewest bytes; the one that decodes faster where two are equal.
    pub(crate) fn cheapest(&self, plain_bytes: usize) -> Choice {
        if self.min == self.max {
            return Choice {
                codec: WordCodec::Constant,
                bytes: signed_bytes(self.min),
            };
        }
        let candidates = [
            Choice {
                codec: WordCodec::Plain,
                bytes: self.rows * plain_bytes,
            },
            Choice {
                codec: WordCodec::Pfor,
                bytes: self.pfor_bytes(),
            },
            Choice {
                codec: WordCodec::RunLength,
                bytes: self.run_length_bytes(),
            },
            Choice {
                codec: WordCodec::Delta,
                bytes: self.delta_bytes(),
            },
        ];
        let cheapest = candidates.into_iter().min_by_key(|choice| choice.bytes);
        cheapest.expect("there are candidates")
    }

    fn pfor_bytes(&self) -> usize {
        signed_bytes(self.base as i64) + 2 + self.frame.bytes
    }

    fn run_length_bytes(&self) -> usize {
        let header = unsigned_bytes(self.runs as u64) + signed_bytes(self.min) + 1;
        header
            + packed_bytes(self.runs, bits(self.rows as u64))
            + packed_bytes(self.runs, self.range_width())
    }

    fn delta_bytes(&self) -> usize {
        let header = 2 * signed_bytes(self.min) + signed_bytes(self.step) + 3;
        let starts = packed_bytes(self.rows.div_ceil(BLOCK), self.start_width);
        header + starts + self.steps.bytes
    }

    /// Bits of the largest climb, see [`delta`]; all of them if some steps are below the usual.
    fn climb_width_max(&self) -> u32 {
        match self.step == self.step_min {
            true => bits(self.step_max.wrapping_sub(self.step) as u64),
            false => u64::BITS,
        }
    }

    /// Bytes of a climb that is an exception.
    fn climb_bytes(&self) -> usize {
        if self.step == self.step_min {
            return exception_bytes(self.climb_width_max());
        }
        let low = self.step_min.wrapping_sub(self.step);
        let high = self.step_max.wrapping_sub(self.step);
        exception_bytes(signed_bits(low, high))
    }

    /// Bytes of an exception from a frame that begins above the minimum.
    fn exception_bytes_above(&self, base: i64) -> usize {
        let (low, high) = (self.min.wrapping_sub(base), self.max.wrapping_sub(base));
        exception_bytes(signed_bits(low, high))
    }

    /// Bits of the largest distance from the minimum.
    pub(crate) fn range_width(&self) -> u32 {
        bits(self.max.wrapping_sub(self.min) as u64)
    }
}

/// What one pass over all words finds.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    min: i64,
    max: i64,
    runs: usize,
    step_min: i64,
    step_max: i64,
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
fn extremes(words: &[u64]) -> Extremes {
    let first = *words.first().expect("a page has at least one row") as i64;
    let (mut min, mut max, mut runs) = (first, first, 1);
    let (mut step_min, mut step_max) = (i64::MAX, i64::MIN);
    for (before, word) in words.iter().zip(&words[1..]) {
        let (before, word) = (*before as i64, *word as i64);
        let difference = word.wrapping_sub(before);
        min = min.min(word);
        max = max.max(word);
        step_min = step_min.min(difference);
        step_max = step_max.max(difference);
        runs += usize::from(difference != 0);
    }
    Extremes {
        min,
        max,
        runs,
        step_min,
        step_max,
    }
}

/// How many words have a distance from `base` above `most`.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
fn distances_above(words: &[u64], base: u64, most: u64) -> usize {
    let above = |word: &u64| usize::from(word.wrapping_sub(base) > most);
    words.iter().map(above).sum()
}

/// How many steps are more than `most` above `step`.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
fn climbs_above(words: &[u64], step: u64, most: u64) -> usize {
    let climb = |(before, word): (&u64, &u64)| word.wrapping_sub(*before).wrapping_sub(step);
    let pairs = words.iter().zip(&words[1..]);
    pairs.map(|pair| usize::from(climb(pair) > most)).sum()
}

/// Makes sure that the bits of the largest word count, whichever blocks were counted.
fn saw(counts: &mut BitCounts, bits: u32) {
    let count = &mut counts[bits as usize];
    *count = (*count).max(1);
}

/// The largest number of bits that occurs.
fn largest(counts: &BitCounts) -> u32 {
    counts.iter().rposition(|&count| count > 0).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_outlier_becomes_an_exception() {
        let mut words: Vec<u64> = (0..1000).map(|i| i * 7919 % 16).collect();
        words[500] = 1 << 40;
        let profile = Profile::of(&words);
        assert_eq!((profile.frame.width, profile.frame.exceptions), (4, 1));
        assert_eq!(codec_of(&words), WordCodec::Pfor);
    }

    #[test]
    fn a_frame_may_lie_far_above_the_minimum() {
        let mut words: Vec<u64> = (0..1000).map(|i| (1 << 40) + i * 7919 % 16).collect();
        words[500] = 0;
        words[501] = u64::MAX;
        let profile = Profile::of(&words);
        assert_eq!((profile.frame.width, profile.frame.exceptions), (4, 2));
        assert_eq!(profile.base, 1 << 40);
    }

    fn codec_of(words: &[u64]) -> WordCodec {
        Profile::of(words).cheapest(size_of::<u64>()).codec
    }

    #[test]
    fn the_shape_of_the_data_decides() {
        let ascending: Vec<u64> = (0..1000).map(|i| 1_000_000 + i * 3).collect();
        assert_eq!(codec_of(&ascending), WordCodec::Delta);
        let runs: Vec<u64> = (0..1000).map(|i| (i / 100) * 0x9E37_79B9_7F4A).collect();
        assert_eq!(codec_of(&runs), WordCodec::RunLength);
        let noise: Vec<u64> = (1..1000_u64)
            .map(|i| (i * i).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .collect();
        assert_eq!(codec_of(&noise), WordCodec::Plain);
        assert_eq!(codec_of(&[7; 5]), WordCodec::Constant);
    }
}
