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

use std::cmp::Ordering;
use std::convert::Infallible;
use std::ops::Range;

use arrow_buffer::BooleanBuffer;

use crate::bit_packing::{BLOCK, Block, Packed, bits, pack};
use crate::cell::Cell;
use crate::cursor::{Cursor, put_signed};
use crate::equal_range::equal_range;
use crate::error::PageError;
use crate::exceptions::{self, Exceptions};
use crate::value::WordRange;

use super::pfor::find_exceptions;
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
    exceptions::write(&exceptions, sink.segment, sink.section);
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
        let exceptions = Exceptions::open(cursor, section)?;
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
        self.exceptions.check(self.climbs.count())?;
        let mut block = [0; BLOCK];
        let mut starts = [0; BLOCK];
        let mut exception = 0;
        for index in 0..self.climbs.blocks() {
            if index.is_multiple_of(BLOCK) {
                self.starts.unpack(index / BLOCK, &mut starts);
            }
            self.climbs.unpack(index, &mut block);
            exception = self.patch(index, exception, &mut block);
            self.sum(index, starts[index % BLOCK], &mut block);
            let words = &block[..self.climbs.block_len(index)];
            cells.extend(words.iter().map(|&word| T::from_word(word)));
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

    fn equal(&self, slots: Range<usize>, compare: impl Fn(u64) -> Ordering) -> Range<usize> {
        if slots.is_empty() || self.is_even() {
            return self.equal_by_slot(slots, compare);
        }
        // The first equal word is in front of the first block that starts with one that is not
        // less, or is that start.
        let mut blocks = slots.start / BLOCK..(slots.end - 1) / BLOCK;
        while !blocks.is_empty() {
            let middle = blocks.start + blocks.len() / 2;
            match compare(self.start(middle + 1)) {
                Ordering::Less => blocks.start = middle + 1,
                _ => blocks.end = middle,
            }
        }
        let (begin, mut block) = (blocks.start * BLOCK, [0; BLOCK]);
        self.unpack(blocks.start, &mut block);
        let inside = slots.start.max(begin) - begin..slots.end.min(begin + BLOCK) - begin;
        let Ok(found) = equal_range(inside.clone(), |row| {
            Ok::<_, Infallible>(compare(block[row]))
        });
        let first = begin + found.start;
        let end = begin + found.end;
        let may_go_on = found.end == inside.end && end < slots.end;
        if may_go_on && compare(self.get(end)).is_eq() {
            return first..self.equal_by_slot(end..slots.end, compare).end;
        }
        first..end
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
        self.climbs.width() == 0 && self.exceptions.len() == 0
    }

    /// The words of two slots next to each other in a block, the second one being `slot`.
    pub(super) fn pair(&self, slot: usize) -> (u64, u64) {
        let word = self.get(slot);
        if self.is_even() {
            return (word.wrapping_sub(self.step), word);
        }
        let climb = match self.exceptions.find(slot) {
            Some(climb) => climb,
            None => self.climbs.get(slot),
        };
        (word.wrapping_sub(self.step).wrapping_sub(climb), word)
    }

    /// The first word of a block.
    #[inline]
    fn start(&self, index: usize) -> u64 {
        self.first
            .wrapping_add(self.step.wrapping_mul((index * BLOCK) as u64))
            .wrapping_add(self.starts.get(index))
    }

    /// As [`WordDecoder::equal`], on words one by one.
    fn equal_by_slot(
        &self,
        slots: Range<usize>,
        compare: impl Fn(u64) -> Ordering,
    ) -> Range<usize> {
        let Ok(equal) = equal_range(slots, |slot| Ok::<_, Infallible>(compare(self.get(slot))));
        equal
    }

    /// The sum of the climbs behind `begin`, where a block does, up to and including `slot`.
    fn climb(&self, begin: usize, slot: usize) -> u64 {
        let sum = self.climbs.sum(begin / BLOCK, slot - begin + 1);
        let exceptions = self.exceptions.seek(begin)..self.exceptions.seek(slot + 1);
        exceptions.fold(sum, |sum, exception| {
            let at = self.exceptions.slot(exception);
            if !(begin..=slot).contains(&at) {
                return sum; // Slots do not ascend: the page is not a writer's.
            }
            sum.wrapping_sub(self.climbs.get(at))
                .wrapping_add(self.exceptions.distance(exception))
        })
    }

    /// The words of a block.
    fn unpack(&self, index: usize, block: &mut Block) {
        self.climbs.unpack(index, block);
        self.patch(index, self.exceptions.seek(index * BLOCK), block);
        self.sum(index, self.starts.get(index), block);
    }

    /// Puts the block's exceptions, which begin with number `exception`, over the packed
    /// climbs. Returns the number of the next block's first exception.
    fn patch(&self, index: usize, mut exception: usize, block: &mut Block) -> usize {
        while exception < self.exceptions.len() {
            let slot = self.exceptions.slot(exception);
            if slot >= (index + 1) * BLOCK {
                break;
            }
            block[slot % BLOCK] = self.exceptions.distance(exception);
            exception += 1;
        }
        exception
    }

    /// Turns climbs into words.
    #[inline]
    fn sum(&self, index: usize, start: u64, block: &mut Block) {
        let even = self.step.wrapping_mul((index * BLOCK) as u64);
        let mut word = self
            .first
            .wrapping_add(even)
            .wrapping_add(start)
            .wrapping_sub(self.step);
        for climb in block.iter_mut() {
            // In this order only one addition waits for the word before.
            word = word.wrapping_add(climb.wrapping_add(self.step));
            *climb = word;
        }
    }
}
