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
use crate::cursor::signed_bytes;
use crate::exceptions::{exception_bits, overhead_bytes, signed_bits};

use super::{WordCodec, delta, run_length, sample};

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

    /// A frame that costs more than anything else.
    const NEVER: Self = Self {
        width: u64::BITS,
        exceptions: 0,
        bytes: 1 << 32,
    };

    /// The width at which packed words and exceptions together cost least, where the largest
    /// distance has `distance_bits`, sign included. Of `rows` words some may be counted: they
    /// stand for the others.
    fn best(counts: &BitCounts, rows: usize, distance_bits: u32) -> Self {
        let counted = counts.iter().sum::<u32>() as usize;
        let width_max = largest(counts);
        let mut best = Self::at(width_max, 0, rows, distance_bits);
        let mut above = 0;
        for width in (0..width_max).rev() {
            above += counts[width as usize + 1] as usize;
            let exceptions = (above * rows).div_ceil(counted);
            if exceptions >= best.cost() {
                break;
            }
            let frame = Self::at(width, exceptions, rows, distance_bits);
            if frame.cost() < best.cost() {
                best = frame;
            }
        }
        best
    }

    fn at(width: u32, exceptions: usize, rows: usize, distance_bits: u32) -> Self {
        let exception_bytes = match exceptions {
            0 => 0,
            _ => {
                let bits = exceptions * exception_bits(distance_bits.saturating_sub(width));
                overhead_bytes(rows) + bits.div_ceil(u8::BITS as usize)
            }
        };
        Self {
            width,
            exceptions,
            bytes: packed_bytes(rows, width) + exception_bytes,
        }
    }

    /// The bytes, and what it takes to patch exceptions in.
    fn cost(&self) -> usize {
        self.bytes + self.exceptions * BYTES_PER_EXCEPTION
    }

    /// The frame of so many rows with the number of exceptions that their distances, of `largest`
    /// bits at most, really have by `count`; `None` if that is many more than it was made for.
    fn counted(
        self,
        rows: usize,
        largest: u32,
        distance_bits: u32,
        count: impl Fn(u64) -> usize,
    ) -> Option<Self> {
        if self.width >= largest {
            return Some(Self::at(self.width, 0, rows, distance_bits));
        }
        let exceptions = count(mask(self.width));
        let promised = self.exceptions * 2 + rows / EXCEPTIONS_UNFORESEEN;
        (exceptions <= promised).then(|| Self::at(self.width, exceptions, rows, distance_bits))
    }
}

// Where codecs compete, the time to decode counts as bytes: about a byte for two nanoseconds.

/// What an exception costs besides its bytes: it is patched in, and looked for where a word of
/// its group is looked up.
pub(super) const BYTES_PER_EXCEPTION: usize = 6;

/// Climbs that take as much longer than distances as a byte counts, above all where one of them
/// is looked up. Even steps have none.
const CLIMBS_PER_BYTE: usize = 2;

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
    /// What it takes when the time to decode counts too.
    pub(crate) cost: usize,
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
            profile.measure_words(words);
            profile.measure_steps(words);
        }
        profile
    }

    /// The profile as far as the codec needs it, and those that need less.
    pub(crate) fn like(words: &[u64], codec: WordCodec) -> Self {
        let mut profile = Self::extremes(words);
        if profile.min == profile.max {
            return profile;
        }
        (profile.frame, profile.steps) = (Frame::NEVER, Frame::NEVER);
        match codec {
            WordCodec::Pfor => profile.measure_words(words),
            WordCodec::Delta => profile.measure_steps(words),
            _ => {}
        }
        profile
    }

    /// The profile of words that shall be a frame without exceptions, whatever they are.
    pub(crate) fn flat(words: &[u64]) -> Self {
        let mut profile = Self::extremes(words);
        profile.frame = Frame::at(profile.range_width(), 0, words.len(), 0);
        profile.steps = Frame::NEVER;
        profile.runs = words.len();
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

    /// Finds the best frame for words: where they are many, by some blocks.
    fn measure_words(&mut self, words: &[u64]) {
        if words.len() > COUNTED_ROWS_MAX {
            self.count_words(words, BLOCKS_PER_COUNTED);
            let base = self.base;
            let (largest, distance_bits) = match base == self.min as u64 {
                true => (self.range_width(), self.range_width()),
                false => (u64::BITS, self.distance_bits_above(base as i64)),
            };
            let count = |most| distances_above(words, base, most);
            let frame = (self.frame).counted(words.len(), largest, distance_bits, count);
            if let Some(frame) = frame {
                self.frame = frame;
                return;
            }
        }
        self.count_words(words, 1);
    }

    /// Measures a frame by one block in every `blocks`.
    fn count_words(&mut self, words: &[u64], blocks: usize) {
        self.base = self.min as u64;
        let mut counts = [0; 65];
        for word in words.chunks(BLOCK).step_by(blocks).flatten() {
            counts[bits(word.wrapping_sub(self.base)) as usize] += 1;
        }
        saw(&mut counts, self.range_width());
        self.frame = Frame::best(&counts, self.rows, self.range_width());
        if counts[self.frame.width as usize] as usize * blocks * 4 > self.rows * 3 {
            self.measure_usual_frame(words, blocks);
        }
    }

    /// Finds the best frame for steps, as that for words. If steps are much dearer, roughly is
    /// enough.
    fn measure_steps(&mut self, words: &[u64]) {
        self.step = sample::usual_step(words, self.step_min);
        self.start_width = delta::start_width(words, self.step);
        if words.len() > COUNTED_ROWS_MAX {
            self.count_steps(words, BLOCKS_PER_COUNTED);
            if self.steps.bytes * 100 > self.frame.bytes * STEPS_PERCENT_MAX {
                return;
            }
            let (largest, climb_bits) = (self.climb_width_max(), self.climb_bits());
            let count = |most| climbs_above(words, self.step as u64, most);
            let steps = (self.steps).counted(words.len(), largest, climb_bits, count);
            if let Some(steps) = steps {
                self.steps = steps;
                return;
            }
        }
        self.count_steps(words, 1);
    }

    /// Measures a frame for steps by one block in every `blocks`.
    fn count_steps(&mut self, words: &[u64], blocks: usize) {
        let mut counts = [0; 65];
        for block in words.chunks(BLOCK + 1).step_by(blocks) {
            for pair in block.windows(2) {
                let climb = pair[1].wrapping_sub(pair[0]).wrapping_sub(self.step as u64);
                counts[bits(climb) as usize] += 1;
            }
        }
        saw(&mut counts, self.climb_width_max());
        self.steps = Frame::best(&counts, self.rows, self.climb_bits());
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
        let upper = Frame::best(&word_bits, self.rows, self.distance_bits_above(base));
        if upper.cost() < self.frame.cost() {
            self.frame = upper;
            self.base = base as u64;
        }
    }

    /// The codec that costs least: bytes, and bytes for the time that decoding takes.
    pub(crate) fn cheapest(&self, plain_bytes: usize) -> Choice {
        if self.min == self.max {
            return Choice {
                codec: WordCodec::Constant,
                bytes: signed_bytes(self.min),
                cost: 0,
            };
        }
        let choice = |codec, bytes, more| Choice {
            codec,
            bytes,
            cost: bytes + more,
        };
        let candidates = [
            choice(WordCodec::Plain, self.rows * plain_bytes, 0),
            choice(
                WordCodec::Pfor,
                self.pfor_bytes(),
                self.frame.exceptions * BYTES_PER_EXCEPTION,
            ),
            choice(
                WordCodec::RunLength,
                self.run_length_bytes(),
                self.runs * run_length::BYTES_PER_RUN,
            ),
            choice(WordCodec::Delta, self.delta_bytes(), self.time_of_climbs()),
        ];
        let cheapest = candidates.into_iter().min_by_key(|choice| choice.cost);
        cheapest.expect("there are candidates")
    }

    fn time_of_climbs(&self) -> usize {
        match self.steps.width == 0 && self.steps.exceptions == 0 {
            true => 0,
            false => self.steps.exceptions * BYTES_PER_EXCEPTION + self.rows / CLIMBS_PER_BYTE,
        }
    }

    fn pfor_bytes(&self) -> usize {
        signed_bytes(self.base as i64) + 2 + self.frame.bytes
    }

    fn run_length_bytes(&self) -> usize {
        run_length::bytes(self.rows, self.runs, self.min, self.range_width())
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

    /// Bits of the largest climb with its sign.
    fn climb_bits(&self) -> u32 {
        if self.step == self.step_min {
            return self.climb_width_max();
        }
        let low = self.step_min.wrapping_sub(self.step);
        let high = self.step_max.wrapping_sub(self.step);
        signed_bits(low, high).min(u64::BITS)
    }

    /// Bits of the largest distance from a base above the minimum, with its sign.
    fn distance_bits_above(&self, base: i64) -> u32 {
        let (low, high) = (self.min.wrapping_sub(base), self.max.wrapping_sub(base));
        signed_bits(low, high).min(u64::BITS)
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
