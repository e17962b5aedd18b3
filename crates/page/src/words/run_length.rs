//! Run lengths: words that repeat, one after another.
//!
//! ```text
//! runs (LEB128) · base (signed LEB128) · value width (u8)
//! runs × ends, packed in as many bits as the number of rows needs · runs × value width bits
//! ```
//!
//! A run's end is the slot behind its last word, so ends ascend strictly, the last one is the
//! number of rows, and the run of a slot is found by binary search. A run's word is base +
//! value, wrapping.

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use crate::bit_packing::{BLOCK, Block, Packed, bits, pack, pack_mapped, packed_bytes};
use crate::cell::Cell;
use crate::cursor::{Cursor, put_signed, put_unsigned, signed_bytes, unsigned_bytes};
use crate::equal_range::equal_words;
use crate::error::PageError;
use crate::word_order::{Sought, WordRange};

use super::runs::Runs;
use super::{Sink, WordDecoder};

/// What a run costs besides its bytes, see [`super::profile`].
pub(super) const BYTES_PER_RUN: usize = 2;

/// Bytes of a segment of so many runs, whose words begin at `min`.
pub(super) fn bytes(rows: usize, runs: usize, min: i64, value_width: u32) -> usize {
    let header = unsigned_bytes(runs as u64) + signed_bytes(min) + 1;
    header + packed_bytes(runs, bits(rows as u64)) + packed_bytes(runs, value_width)
}

/// Encodes cells that there is no bound for.
pub(super) fn encode(words: &[u64], sink: &mut Sink<'_>) {
    let runs = Runs::of(words, usize::MAX).expect("there is no bound");
    encode_runs(&runs, sink);
}

/// Encodes cells if that costs no more than `cost_max`, and less than they do in plain form: as
/// their profile would have it, in one pass over all of them.
pub(super) fn encode_at_most<T: Cell + PartialEq>(
    cells: &[T],
    plain_bytes: usize,
    cost_max: usize,
    sink: &mut Sink<'_>,
) -> bool {
    let Some(runs) = Runs::of(cells, cost_max / BYTES_PER_RUN) else {
        return false;
    };
    let count = runs.ends.len();
    let cost = bytes(runs.rows, count, runs.min, runs.range_width()) + count * BYTES_PER_RUN;
    let is_cheap = runs.range_width() > 0 && cost <= cost_max && cost < runs.rows * plain_bytes;
    if is_cheap {
        encode_runs(&runs, sink);
    }
    is_cheap
}

fn encode_runs(runs: &Runs, sink: &mut Sink<'_>) {
    put_unsigned(sink.segment, runs.ends.len() as u64);
    put_signed(sink.segment, runs.min);
    sink.segment.push(runs.range_width() as u8);
    pack(&runs.ends, bits(runs.rows as u64), sink.segment);
    pack_mapped(&runs.words, runs.range_width(), sink.segment, |word| {
        word.wrapping_sub(runs.min as u64)
    });
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct RunLength<'a> {
    rows: usize,
    base: u64,
    ends: Packed<'a>,
    values: Packed<'a>,
    /// All runs, if they are few.
    few: Option<FewRuns>,
}

/// Runs that are best compared one by one: of a key's leading columns a page has few.
#[derive(Debug)]
struct FewRuns {
    /// The largest number behind the last run.
    ends: [u32; FEW_RUNS],
    words: [u64; FEW_RUNS],
}

const FEW_RUNS: usize = 4;

impl FewRuns {
    fn of(ends: &Packed<'_>, values: &Packed<'_>, base: u64) -> Option<Self> {
        let mut few = Self {
            ends: [u32::MAX; FEW_RUNS],
            words: [0; FEW_RUNS],
        };
        let runs = ends.count();
        let (few_ends, few_words) = (few.ends.get_mut(..runs)?, few.words.get_mut(..runs)?);
        for (run, (end, word)) in few_ends.iter_mut().zip(few_words).enumerate() {
            *end = ends.get(run) as u32;
            *word = base.wrapping_add(values.get(run));
        }
        Some(few)
    }

    #[inline]
    fn get(&self, slot: usize) -> u64 {
        let ended = self.ends.map(|end| usize::from(end <= slot as u32));
        self.words[ended.into_iter().sum::<usize>().min(FEW_RUNS - 1)]
    }

    /// Asks every run, and decides nothing before the last: which one it is, is not to be guessed
    /// by the processor.
    #[inline]
    fn equal(&self, slots: Range<usize>, sought: Sought) -> Range<usize> {
        let (mut first, mut end, mut begin) = (slots.start, slots.start, 0);
        for (word, run_end) in self.words.into_iter().zip(self.ends) {
            let behind = (run_end as usize).clamp(slots.start, slots.end);
            let order = sought.compare(word);
            // What lies behind the slots may be of another key prefix, and less again.
            let is_inside = begin < slots.end;
            first = if is_inside & order.is_lt() {
                behind
            } else {
                first
            };
            end = if is_inside & order.is_le() {
                behind
            } else {
                end
            };
            begin = run_end as usize;
        }
        first..end.max(first) // Ends of a damaged page may not ascend.
    }
}

impl<'a> WordDecoder<'a> for RunLength<'a> {
    fn open(cursor: &mut Cursor<'a>, rows: usize, _: &'a [u8]) -> Result<Self, PageError> {
        let runs = cursor.count(rows)?;
        let base = cursor.signed()? as u64;
        let value_width = cursor.bit_width()?;
        let ends = Packed::take(cursor, bits(rows as u64), runs)?;
        let values = Packed::take(cursor, value_width, runs)?;
        if runs == 0 || ends.get(runs - 1) != rows as u64 {
            return Err(PageError::Malformed("the runs do not end at the last row"));
        }
        Ok(Self {
            rows,
            base,
            few: FewRuns::of(&ends, &values, base),
            ends,
            values,
        })
    }

    fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        if self.rows >= self.ends.count() * LONG_RUN {
            return self.decode_long(cells);
        }
        let first = cells.len();
        cells.resize(first + self.rows, T::default());
        let decoded = &mut cells[first..];
        let (mut ends, mut values) = ([0; BLOCK], [0; BLOCK]);
        let mut begin = 0;
        for index in 0..self.ends.blocks() {
            self.ends.unpack(index, &mut ends);
            self.values.unpack(index, &mut values);
            for run in 0..self.ends.block_len(index) {
                let end = ends[run] as usize;
                if end <= begin || end > self.rows {
                    return Err(NOT_ASCENDING);
                }
                fill(&mut decoded[begin..], end - begin, self.cell(values[run]));
                begin = end;
            }
        }
        Ok(())
    }

    fn gather<T: Cell>(&self, slots: &[u32], cells: &mut Vec<T>) -> Result<(), PageError> {
        let mut run = 0;
        for &slot in slots {
            run = self.seek(run, u64::from(slot));
            cells.push(self.cell(self.values.get(run)));
        }
        Ok(())
    }

    #[inline]
    fn get(&self, slot: usize) -> u64 {
        match &self.few {
            Some(few) => few.get(slot),
            None => self.word_of_many(slot),
        }
    }

    fn block(&self, index: usize, words: &mut Block) {
        let begin = index * BLOCK;
        let mut run = 0;
        for (slot, word) in (begin..self.rows).zip(words) {
            run = self.seek(run, slot as u64);
            *word = self.word(run);
        }
    }

    fn equal(&self, slots: Range<usize>, sought: Sought) -> Range<usize> {
        if slots.is_empty() {
            return slots;
        }
        if let Some(few) = &self.few {
            return few.equal(slots, sought);
        }
        let first = match slots.start {
            0 => 0,
            start => self.run_of(start),
        };
        let last = match slots.end == self.rows {
            true => self.ends.count() - 1,
            false => self.seek(first, slots.end as u64 - 1),
        };
        let runs = equal_words(first..last + 1, sought, |run| self.word(run));
        let within = |begin: usize| begin.max(slots.start).min(slots.end);
        let begin = within(self.begin(runs.start));
        begin..within(self.begin(runs.end)).max(begin)
    }

    fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError> {
        let mut selected = BooleanBufferBuilder::new(rows);
        for run in 0..self.ends.count() {
            let length = (self.ends.get(run) as usize).checked_sub(selected.len());
            match length {
                Some(length) if selected.len() + length <= rows => {
                    selected.append_n(length, range.contains(self.word(run)));
                }
                _ => return Err(NOT_ASCENDING),
            }
        }
        Ok(selected.finish())
    }
}

/// Cells that are written at once, where there are as many, however few a run has: those behind
/// it are overwritten.
const SHORT_RUN: usize = 8;

/// Runs of so many cells on average are filled one by one.
const LONG_RUN: usize = 64;

/// Fills the first `count` cells.
#[inline]
fn fill<T: Cell>(cells: &mut [T], count: usize, cell: T) {
    match cells.first_chunk_mut::<SHORT_RUN>() {
        Some(short) => short.fill(cell),
        None => cells[..count].fill(cell),
    }
    if count > SHORT_RUN {
        cells[SHORT_RUN..count].fill(cell);
    }
}

const NOT_ASCENDING: PageError = PageError::Malformed("the ends of runs do not ascend");

impl RunLength<'_> {
    /// Decodes runs that are worth a call each.
    fn decode_long<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        let (first, mut begin) = (cells.len(), 0);
        for run in 0..self.ends.count() {
            let end = self.ends.get(run) as usize;
            if end <= begin || end > self.rows {
                return Err(NOT_ASCENDING);
            }
            cells.resize(first + end, self.cell(self.values.get(run)));
            begin = end;
        }
        Ok(())
    }

    /// Not where it is asked for: those with few runs would have to make room for what it needs.
    #[inline(never)]
    fn word_of_many(&self, slot: usize) -> u64 {
        self.word(self.run_of(slot))
    }

    /// The run of `slot`. Where runs have about one length, it is near its share of all.
    fn run_of(&self, slot: usize) -> usize {
        let near = slot * self.ends.count() / self.rows;
        self.seek_around(near, slot as u64)
    }

    /// Where a run begins; the number of rows behind the last one.
    fn begin(&self, run: usize) -> usize {
        match run {
            0 => 0,
            _ => self.ends.get(run - 1) as usize,
        }
    }

    /// The run of `slot`, which may be before or behind run `near`.
    fn seek_around(&self, near: usize, slot: u64) -> usize {
        let (mut from, mut reach) = (near, 1);
        while from > 0 && self.ends.get(from - 1) > slot {
            from = from.saturating_sub(reach);
            reach *= 2;
        }
        self.seek(from, slot)
    }

    /// The run of `slot`, at or behind run `from`: first in doubling steps, then by halves, so
    /// that near slots are cheap and far ones logarithmic.
    fn seek(&self, from: usize, slot: u64) -> usize {
        let last = self.ends.count() - 1;
        let (mut low, mut reach) = (from, 1);
        let mut high = from;
        while high < last && self.ends.get(high) <= slot {
            low = high + 1;
            high = (high + reach).min(last);
            reach *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.ends.get(middle) <= slot {
                low = middle + 1
            } else {
                high = middle
            }
        }
        low
    }

    /// The word of a run.
    #[inline]
    fn word(&self, run: usize) -> u64 {
        self.base.wrapping_add(self.values.get(run))
    }

    #[inline]
    fn cell<T: Cell>(&self, value: u64) -> T {
        T::from_word(self.base.wrapping_add(value))
    }
}
