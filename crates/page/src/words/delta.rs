//! PFOR-DELTA: words that climb in small, even steps, such as keys and ends.
//!
//! ```text
//! first (signed LEB128) · step (signed LEB128) · start width (u8) · climb width (u8)
//! exceptions (see `exceptions`) · ⌈rows / 64⌉ × start width bits · rows × climb width bits
//! ```
//!
//! The step is the smallest usual difference between neighbours. What a difference is above it
//! is the *climb* of a word. In every block of 64 words the first has a *start*, which stands for
//! all climbs up to and including it, and 0 in place of its climb. So
//!
//! ```text
//! word i = first + i × step + start of its block + climbs of its block up to and including i
//! ```
//!
//! wrapping, and a word costs at most one block of work, not all before it. Numbers without a
//! gap have no climbs: they take a few bytes however many they are. Climbs that need more than
//! their width, and differences below the step, are exceptions. `first` is the first word or,
//! where words fall below the even steps, so much less that no start is negative.

use std::array::from_fn;
use std::convert::Infallible;
use std::ops::Range;

use arrow_buffer::BooleanBuffer;

use crate::bit_packing::{BLOCK, BLOCKS_A_GROUP, Block, GROUP, Packed, bits, pack};
use crate::cell::{Cell, Lane};
use crate::cursor::{Cursor, put_signed};
use crate::equal_range::equal_range;
use crate::error::PageError;
use crate::exceptions::{self, Exceptions};
use crate::value::{Sought, WordRange};

use super::group::{add_up, widen};
use super::pfor::{above, find_exceptions};
use super::{Profile, Sink, WordDecoder, block_bits, buffer_of};

/// What the first word of each block is above even steps from the first of all.
fn rises(words: &[u64], step: i64) -> impl Iterator<Item = i64> + '_ {
    let first = words[0];
    words
        .iter()
        .step_by(BLOCK)
        .enumerate()
        .map(move |(block, word)| {
            let even = (step as u64).wrapping_mul((block * BLOCK) as u64);
            word.wrapping_sub(first).wrapping_sub(even) as i64
        })
}

/// The starts of all blocks: the lowest rise, and the bits that the others need above it.
pub(super) fn start_width(words: &[u64], step: i64) -> u32 {
    let (low, high) = extremes(words, step);
    bits(high.wrapping_sub(low) as u64)
}

fn extremes(words: &[u64], step: i64) -> (i64, i64) {
    rises(words, step).fold((0, 0), |(low, high), rise| (low.min(rise), high.max(rise)))
}

/// The climb of each word, 0 where a block begins.
fn climbs(words: &[u64], step: i64) -> impl Iterator<Item = u64> + '_ {
    let climb = move |row: usize| match row % BLOCK {
        0 => 0,
        _ => words[row]
            .wrapping_sub(words[row - 1])
            .wrapping_sub(step as u64),
    };
    (0..words.len()).map(climb)
}

pub(super) fn encode(words: &[u64], profile: &Profile, sink: &mut Sink<'_>) {
    let width = profile.steps.width;
    let (low, _) = extremes(words, profile.step);
    put_signed(sink.segment, (words[0] as i64).wrapping_add(low));
    put_signed(sink.segment, profile.step);
    sink.segment.push(profile.start_width as u8);
    sink.segment.push(width as u8);
    let climbs: Vec<u64> = climbs(words, profile.step).collect();
    let exceptions = find_exceptions(climbs.iter().copied(), width);
    exceptions::write(&exceptions, words.len(), sink.segment, sink.section);
    let starts: Vec<u64> = rises(words, profile.step)
        .map(|rise| rise.wrapping_sub(low) as u64)
        .collect();
    pack(&starts, profile.start_width, sink.segment);
    pack(&climbs, width, sink.segment);
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Delta<'a> {
    first: u64,
    step: u64,
    exceptions: Exceptions<'a>,
    starts: Packed<'a>,
    climbs: Packed<'a>,
}

impl<'a> WordDecoder<'a> for Delta<'a> {
    fn open(cursor: &mut Cursor<'a>, rows: usize, section: &'a [u8]) -> Result<Self, PageError> {
        let first = cursor.signed()? as u64;
        let step = cursor.signed()? as u64;
        let start_width = cursor.bit_width()?;
        let climb_width = cursor.bit_width()?;
        let exceptions = Exceptions::open(cursor, rows, section)?;
        let starts = Packed::take(cursor, start_width, rows.div_ceil(BLOCK))?;
        let climbs = Packed::take(cursor, climb_width, rows)?;
        Ok(Self {
            first,
            step,
            exceptions,
            starts,
            climbs,
        })
    }

    fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        self.for_each(self.climbs.count(), |group| {
            cells.extend_from_slice(group);
            Ok(())
        })
    }

    fn for_each<T: Cell>(
        &self,
        rows: usize,
        mut each: impl FnMut(&[T]) -> Result<(), PageError>,
    ) -> Result<(), PageError> {
        self.exceptions.check(rows)?;
        if self.climbs.is_narrow() {
            return self.for_each_group(rows, each);
        }
        let mut block = [0; BLOCK];
        for index in 0..self.climbs.blocks() {
            self.unpack(index, &mut block);
            each(&block.map(T::from_word)[..self.climbs.block_len(index)])?;
        }
        Ok(())
    }

    fn gather<T: Cell>(&self, slots: &[u32], cells: &mut Vec<T>) -> Result<(), PageError> {
        self.exceptions.check(self.climbs.count())?;
        let mut block = [0; BLOCK];
        let mut unpacked = None;
        for &slot in slots {
            let index = slot as usize / BLOCK;
            if unpacked != Some(index) {
                self.unpack(index, &mut block);
                unpacked = Some(index);
            }
            cells.push(T::from_word(block[slot as usize % BLOCK]));
        }
        Ok(())
    }

    fn get(&self, slot: usize) -> u64 {
        let begin = slot - slot % BLOCK;
        let climb = match slot == begin || self.is_even() {
            true => 0,
            false => self.climb(begin, slot),
        };
        self.first
            .wrapping_add(self.step.wrapping_mul(slot as u64))
            .wrapping_add(self.starts.get(slot / BLOCK))
            .wrapping_add(climb)
    }

    fn block(&self, index: usize, words: &mut Block) {
        self.unpack(index, words);
    }

    /// Guesses the block, then adds up its climbs until the word is reached: neither takes the
    /// processor by surprise, as halving does.
    fn equal(&self, slots: Range<usize>, sought: Sought) -> Range<usize> {
        if slots.is_empty() {
            return slots;
        }
        let index = self.last_less(slots.start / BLOCK..slots.end.div_ceil(BLOCK), sought);
        let begin = index * BLOCK;
        let inside = slots.start.max(begin) - begin..slots.end.min(begin + BLOCK) - begin;
        let mut climbs = [0; BLOCK];
        self.climbs_of(index, &mut climbs);
        let in_front = climbs[..inside.start].iter();
        let mut word = in_front.fold(self.before(index, self.starts.get(index)), |word, climb| {
            word.wrapping_add(climb.wrapping_add(self.step))
        });
        let mut words = climbs[inside].iter().map(|climb| {
            word = word.wrapping_add(climb.wrapping_add(self.step));
            word
        });
        let inside = slots.start.max(begin)..slots.end.min(begin + BLOCK);
        let mut reached = None;
        let less = words.position(|word| {
            reached = Some(word);
            sought.is_reached(word)
        });
        let Some(less) = less else {
            // Perhaps the next block begins with it.
            let next = inside.end..slots.end;
            return match !next.is_empty() && sought.compare(self.get(next.start)).is_eq() {
                true => self.equal_by_slot(next, sought),
                false => inside.end..inside.end,
            };
        };
        let first = inside.start + less;
        if reached.is_some_and(|word| sought.compare(word).is_ne()) {
            return first..first;
        }
        match words.position(|word| sought.compare(word).is_ne()) {
            Some(more) => first..first + 1 + more,
            None => first..self.equal_by_slot(inside.end..slots.end, sought).end,
        }
    }

    fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError> {
        self.exceptions.check(self.climbs.count())?;
        let mut block = [0; BLOCK];
        let blocks = (0..self.climbs.blocks()).map(|index| {
            self.unpack(index, &mut block);
            block_bits(&block, |word| range.contains(word))
        });
        Ok(buffer_of(blocks.collect(), rows))
    }
}

impl Delta<'_> {
    /// Whether there are no climbs.
    fn is_even(&self) -> bool {
        self.climbs.width() == 0 && self.exceptions.is_empty()
    }

    /// The words of two slots next to each other in a block, the second one being `slot`.
    pub(super) fn pair(&self, slot: usize) -> (u64, u64) {
        let word = self.get(slot);
        if self.is_even() {
            return (word.wrapping_sub(self.step), word);
        }
        let climb = self.climbs.get(slot);
        let climb = match self.exceptions.find(slot) {
            Some(value) => climb.wrapping_add(self.above(value)),
            None => climb,
        };
        (word.wrapping_sub(self.step).wrapping_sub(climb), word)
    }

    /// The last of the blocks that begins with a word that is less, or the first of them. The
    /// way from the first block's start to the last one's is taken to be even, which is right or
    /// nearly so for most keys; from there on steps double, and at last it halves.
    fn last_less(&self, blocks: Range<usize>, sought: Sought) -> usize {
        let (mut low, mut high) = (blocks.start, blocks.end - 1);
        let start = |block| {
            self.before(block, self.starts.get(block))
                .wrapping_add(self.step)
        };
        // The first block may begin in front of the slots, with anything.
        if low == high {
            return low;
        }
        let second = start(low + 1);
        if sought.is_reached(second) {
            return low;
        }
        let last = start(high);
        if !sought.is_reached(last) {
            return high;
        }
        low += 1;
        let share = sought.share(second, last);
        let (mut guess, mut step) = (low + (share * (high - low) as f64) as usize, 1);
        // The start of `low` is less, that of `high` is not.
        while high - low > 1 {
            let block = match step < high - low {
                true => guess.clamp(low + 1, high - 1),
                false => low + (high - low) / 2,
            };
            match sought.is_reached(start(block)) {
                false => (low, guess) = (block, block + step),
                true => (high, guess) = (block, block.saturating_sub(step)),
            }
            step *= 2;
        }
        low
    }

    /// As [`WordDecoder::equal`], on words one by one.
    fn equal_by_slot(&self, slots: Range<usize>, sought: Sought) -> Range<usize> {
        let Ok(equal) = equal_range(slots, |slot| {
            Ok::<_, Infallible>(sought.compare(self.get(slot)))
        });
        equal
    }

    /// The sum of the climbs behind `begin`, where a block does, up to and including `slot`.
    #[inline]
    fn climb(&self, begin: usize, slot: usize) -> u64 {
        let sum = self.climbs.sum(begin / BLOCK, slot - begin + 1);
        let exceptions = self.exceptions.between(begin, slot + 1);
        exceptions.fold(sum, |sum, exception| {
            sum.wrapping_add(self.above(self.exceptions.value(exception)))
        })
    }

    /// Hands out the words of narrow climbs.
    fn for_each_group<T: Cell>(
        &self,
        rows: usize,
        mut each: impl FnMut(&[T]) -> Result<(), PageError>,
    ) -> Result<(), PageError> {
        let (mut narrow, mut group) = ([0; GROUP], [T::default(); GROUP]);
        let (mut climbs, mut starts) = ([T::Lane::default(); GROUP], [0; BLOCK]);
        let (mut exceptions, width) = (self.exceptions.grouped(), self.climbs.width());
        for index in 0..rows.div_ceil(GROUP) {
            self.climbs.unpack_group(index, &mut narrow);
            widen(&narrow, &mut climbs);
            exceptions.for_each(index, |slot, value| {
                let climb = &mut climbs[usize::from(slot)];
                *climb = climb.plus(T::Lane::cut(above(value, width)));
            });
            let block = index * BLOCKS_A_GROUP;
            if block.is_multiple_of(BLOCK) {
                self.starts.unpack(block / BLOCK, &mut starts);
            }
            let starts = from_fn(|i| self.before(block + i, starts[block % BLOCK + i]));
            add_up(&climbs, &starts, self.step, &mut group);
            each(&group[..GROUP.min(rows - index * GROUP)])?;
        }
        Ok(())
    }

    /// The words of a block.
    fn unpack(&self, index: usize, block: &mut Block) {
        self.climbs_of(index, block);
        let mut word = self.before(index, self.starts.get(index));
        for climb in block.iter_mut() {
            // In this order only one addition waits for the word before.
            word = word.wrapping_add(climb.wrapping_add(self.step));
            *climb = word;
        }
    }

    /// The climbs of a block.
    #[inline]
    fn climbs_of(&self, index: usize, block: &mut Block) {
        self.climbs.unpack(index, block);
        for (slot, value) in self.exceptions.in_block(index) {
            block[slot] = block[slot].wrapping_add(self.above(value));
        }
    }

    /// What the first climb and step of a block are added to.
    #[inline]
    fn before(&self, block: usize, start: u64) -> u64 {
        self.first
            .wrapping_add(self.step.wrapping_mul((block * BLOCK) as u64))
            .wrapping_add(start)
            .wrapping_sub(self.step)
    }

    #[inline]
    fn above(&self, value: u64) -> u64 {
        above(value, self.climbs.width())
    }
}
