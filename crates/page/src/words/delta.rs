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
use std::ops::Range;

use arrow_buffer::BooleanBuffer;

use crate::bit_packing::{BLOCK, BLOCKS_A_GROUP, Block, GROUP, Packed, bits, pack};
use crate::cell::{Cell, Lane};
use crate::cursor::{Cursor, put_signed};
use crate::equal_range::equal_words;
use crate::error::PageError;
use crate::exceptions::{self, Exceptions};
use crate::word_order::{Sought, WordRange};

use super::block_directory::BlockDirectory;
use super::close_block::{CLOSE, CloseBlock};
use super::group::{add_up, widen, word_bits};
use super::pfor::{above, find_exceptions};
use super::{Profile, Sink, WordDecoder, append_to, buffer_of};

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
    /// Whether words of a block are near to one another.
    is_close: bool,
    /// Where close words are to be looked up and blocks are few.
    directory: Option<BlockDirectory>,
}

/// Whether words of a block are as near to one another as a [`CloseBlock`] has them.
fn is_close(step: u64, climb_width: u32, exceptions: &Exceptions<'_>) -> bool {
    let is_small = |value: i128| value.unsigned_abs() < CLOSE;
    let (low, high) = exceptions.extremes();
    // Neither exceeds 66 bits.
    1 << climb_width <= CLOSE
        && [step as i64 as i128, low << climb_width, high << climb_width]
            .into_iter()
            .all(is_small)
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
            is_close: is_close(step, climb_width, &exceptions),
            exceptions,
            starts,
            climbs,
            directory: None,
        })
    }

    fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        self.for_each(self.climbs.count(), append_to(cells))
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

    /// Not where it is asked for: others would have to make room for what it needs.
    #[inline(never)]
    fn get(&self, slot: usize) -> u64 {
        let (block, slot) = (slot / BLOCK, slot % BLOCK);
        let climb = match self.is_even() {
            true => 0,
            // That of the block's first word, too: a damaged page may have one there.
            false => self.climb(block, slot),
        };
        self.start(block)
            .wrapping_add(self.step.wrapping_mul(slot as u64))
            .wrapping_add(climb)
    }

    fn block(&self, index: usize, words: &mut Block) {
        self.unpack(index, words);
    }

    /// Finds the block, then looks at it as a whole: neither takes the processor by surprise, as
    /// halving does.
    fn equal(&self, slots: Range<usize>, sought: Sought) -> Range<usize> {
        if slots.is_empty() {
            return slots;
        }
        let index = self.last_less(slots.start / BLOCK..slots.end.div_ceil(BLOCK), sought);
        let block = index * BLOCK..(index + 1) * BLOCK;
        let inside = slots.start.max(block.start)..slots.end.min(block.end);
        let word = |slot| self.get(slot);
        let equal = match self.is_close && inside == block {
            true => self.equal_in_block(index, sought),
            false => equal_words(inside.clone(), sought, word),
        };
        let behind = inside.end..slots.end;
        if equal.end < inside.end || behind.is_empty() || sought.compare(word(behind.start)).is_ne()
        {
            return equal;
        }
        // The next block begins with it.
        equal.start..equal_words(behind, sought, word).end
    }

    fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError> {
        self.exceptions.check(self.climbs.count())?;
        let mut block = [0; BLOCK];
        let words = range.distances(0);
        let blocks = (0..self.climbs.blocks()).map(|index| {
            self.unpack(index, &mut block);
            word_bits(&block, words.first, words.span)
        });
        Ok(buffer_of(blocks.collect(), rows))
    }
}

impl Delta<'_> {
    /// Unpacks starts to look up cells.
    pub(super) fn prepare(&mut self) {
        if self.is_close {
            let start = |block| self.packed_start(block);
            self.directory = BlockDirectory::of(self.climbs.blocks(), &self.exceptions, start);
        }
    }

    /// Bytes of what is unpacked.
    pub(super) fn memory_bytes(&self) -> usize {
        let directory = self.directory.as_ref();
        directory.map_or(0, BlockDirectory::memory_bytes)
    }

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

    /// The last of the blocks that begins with a word that is less, or the first of them.
    #[inline]
    fn last_less(&self, blocks: Range<usize>, sought: Sought) -> usize {
        match &self.directory {
            // The first block may begin in front of the slots, with anything.
            Some(directory) => {
                let distance = sought.distance(directory.first());
                blocks.start + directory.below(blocks.start + 1..blocks.end, distance)
            }
            None => self.interpolate(blocks, sought),
        }
    }

    /// The last of the blocks that begins with a word that is less, or the first of them. The
    /// way from the first block's start to the last one's is taken to be even, which is right or
    /// nearly so for most keys; from there on steps double, and at last it halves.
    #[inline(never)]
    fn interpolate(&self, blocks: Range<usize>, sought: Sought) -> usize {
        let (mut low, mut high) = (blocks.start, blocks.end - 1);
        let start = |block| self.packed_start(block);
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
        let ahead = (share * (high - low) as i64 as f64) as isize;
        let mut guess = low.saturating_add_signed(ahead);
        // The start of `low` is less, that of `high` is not.
        let mut step = 1;
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

    /// The slots of the sought word in a whole block of close words.
    #[inline]
    fn equal_in_block(&self, index: usize, sought: Sought) -> Range<usize> {
        let mut climbs = self.climbs.unpack_narrow(index);
        let mut block = CloseBlock::new(&mut climbs, self.step as i32);
        for (slot, value) in self.exceptions_in(index) {
            block.patch(slot, self.above(value) as i32);
        }
        let before = self.start(index).wrapping_sub(self.step);
        let equal = block.equal(sought.distance(before));
        index * BLOCK + equal.start..index * BLOCK + equal.end
    }

    /// Makes words of climbs that follow one another. `before` is the word in front of them.
    #[inline]
    fn add_up(&self, climbs: &mut [u64], before: u64) {
        let mut word = before;
        for climb in climbs {
            // In this order only one addition waits for the word before.
            word = word.wrapping_add(climb.wrapping_add(self.step));
            *climb = word;
        }
    }

    /// The sum of the climbs of a block up to and including that of `slot`, counted from where it
    /// begins.
    #[inline]
    fn climb(&self, block: usize, slot: usize) -> u64 {
        let sum = self.climbs.sum(block, slot + 1);
        let exceptions = self.exceptions_in(block);
        exceptions.fold(sum, |sum, (other, value)| {
            let is_behind = u64::from(other > slot);
            sum.wrapping_add(self.above(value) & is_behind.wrapping_sub(1))
        })
    }

    /// The exceptions of a block: slots in the block, and values.
    #[inline]
    fn exceptions_in(&self, block: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        let numbers = match &self.directory {
            Some(directory) => directory.exceptions(block),
            None => self.exceptions.between(block * BLOCK, (block + 1) * BLOCK),
        };
        self.exceptions.numbered(numbers)
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
        self.add_up(block, self.before(index, self.starts.get(index)));
    }

    /// The climbs of a block.
    #[inline]
    fn climbs_of(&self, index: usize, block: &mut Block) {
        self.climbs.unpack(index, block);
        for (slot, value) in self.exceptions.in_block(index) {
            block[slot] = block[slot].wrapping_add(self.above(value));
        }
    }

    /// The first word of a block, but for a climb that a damaged page may have there.
    #[inline]
    fn start(&self, block: usize) -> u64 {
        match &self.directory {
            Some(directory) => {
                let distance = directory.distance(block) as i64;
                directory.first().wrapping_add(distance as u64)
            }
            None => self.packed_start(block),
        }
    }

    fn packed_start(&self, block: usize) -> u64 {
        self.before(block, self.starts.get(block))
            .wrapping_add(self.step)
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

#[cfg(test)]
mod tests {
    use crate::word_order::WordOrder;

    use super::*;

    /// Words that climb, stand still for a while, and leap: beyond any width, each a thousandth.
    fn words(repeat: usize) -> Vec<u64> {
        let step = |row: usize| match row {
            _ if !row.is_multiple_of(repeat) => 0,
            _ if row % 1000 == 999 => 1 << 33,
            _ => 3 + row as u64 * 7919 % 5,
        };
        let climb = |word: &mut u64, row| {
            *word += step(row);
            Some(*word)
        };
        (0..1500).scan(1 << 40, climb).collect()
    }

    #[test]
    fn words_are_found_wherever_they_repeat() {
        for repeat in [1, 2, 7, 64, 100] {
            let words = words(repeat);
            let (mut segment, mut section) = (Vec::new(), Vec::new());
            let sink = &mut Sink {
                segment: &mut segment,
                section: &mut section,
            };
            encode(&words, &Profile::of(&words), sink);
            let mut cursor = Cursor::new(&segment);
            let delta = Delta::open(&mut cursor, words.len(), &section).expect("intact");
            for slots in [
                0..words.len(),
                0..1000,
                70..1450,
                64..128,
                130..135,
                127..129,
            ] {
                check(&delta, &words, slots);
            }
        }
    }

    fn check(delta: &Delta<'_>, words: &[u64], slots: Range<usize>) {
        let inside = &words[slots.clone()];
        for word in words.iter().flat_map(|&word| [word - 1, word, word + 1]) {
            let first = slots.start + inside.partition_point(|&other| other < word);
            let end = slots.start + inside.partition_point(|&other| other <= word);
            let found = delta.equal(slots.clone(), Sought::new(WordOrder::SIGNED, word));
            assert_eq!(found, first..end, "{word} in {slots:?}");
        }
    }
}
