//! Words as they are, little-endian, each cut to the width of its cell.
//!
//! ```text
//! rows × cell bytes (1, 2, 4 or 8; the column's type says how many, streams have 8)
//! ```

use std::ops::Range;

use arrow_buffer::BooleanBuffer;

use crate::bit_packing::{BLOCK, Block};
use crate::cell::Cell;
use crate::cursor::Cursor;
use crate::equal_range::equal_words;
use crate::error::PageError;
use crate::word_order::{Sought, WordRange};

use super::{Sink, hand_out};

pub(super) fn encode(words: &[u64], plain_bytes: usize, sink: &mut Sink<'_>) {
    for word in words {
        sink.segment
            .extend_from_slice(&word.to_le_bytes()[..plain_bytes]);
    }
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Plain<'a> {
    bytes: &'a [u8],
    plain_bytes: usize,
}

impl<'a> Plain<'a> {
    /// The one codec whose segment does not say how wide it is.
    pub(super) fn open(
        cursor: &mut Cursor<'a>,
        rows: usize,
        plain_bytes: usize,
    ) -> Result<Self, PageError> {
        Ok(Self {
            bytes: cursor.take(rows * plain_bytes)?,
            plain_bytes,
        })
    }

    pub(super) fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        match self.plain_bytes {
            1 => cells.extend(self.words::<1>().iter().map(|&word| cell::<T, 1>(word))),
            2 => cells.extend(self.words::<2>().iter().map(|&word| cell::<T, 2>(word))),
            4 => cells.extend(self.words::<4>().iter().map(|&word| cell::<T, 4>(word))),
            _ => cells.extend(self.words::<8>().iter().map(|&word| cell::<T, 8>(word))),
        }
        Ok(())
    }

    /// See [`super::WordDecoder::for_each`].
    pub(super) fn for_each<T: Cell>(
        &self,
        rows: usize,
        each: impl FnMut(&[T]) -> Result<(), PageError>,
    ) -> Result<(), PageError> {
        hand_out(rows, |cells| self.decode(cells), each)
    }

    pub(super) fn gather<T: Cell>(
        &self,
        slots: &[u32],
        cells: &mut Vec<T>,
    ) -> Result<(), PageError> {
        match self.plain_bytes {
            1 => self.pick::<T, 1>(slots, cells),
            2 => self.pick::<T, 2>(slots, cells),
            4 => self.pick::<T, 4>(slots, cells),
            _ => self.pick::<T, 8>(slots, cells),
        }
        Ok(())
    }

    #[inline]
    pub(super) fn get(&self, slot: usize) -> u64 {
        match self.plain_bytes {
            1 => cell(self.words::<1>()[slot]),
            2 => cell(self.words::<2>()[slot]),
            4 => cell(self.words::<4>()[slot]),
            _ => cell(self.words::<8>()[slot]),
        }
    }

    /// See [`super::WordDecoder::block`].
    pub(super) fn block(&self, index: usize, words: &mut Block) {
        let rows = self.bytes.len() / self.plain_bytes;
        for (slot, word) in (index * BLOCK..rows).zip(words) {
            *word = self.get(slot);
        }
    }

    /// See [`super::WordDecoder::equal`].
    pub(super) fn equal(&self, slots: Range<usize>, sought: Sought) -> Range<usize> {
        equal_words(slots, sought, |slot| self.get(slot))
    }

    /// See [`super::WordDecoder::select`].
    pub(super) fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError> {
        Ok(BooleanBuffer::collect_bool(rows, |row| {
            range.contains(self.get(row))
        }))
    }

    fn pick<T: Cell, const BYTES: usize>(&self, slots: &[u32], cells: &mut Vec<T>) {
        let words = self.words::<BYTES>();
        cells.extend(
            slots
                .iter()
                .map(|&slot| cell::<T, BYTES>(words[slot as usize])),
        );
    }

    fn words<const BYTES: usize>(&self) -> &'a [[u8; BYTES]] {
        self.bytes.as_chunks().0
    }
}

/// Extends the sign, as it was before the word was cut. (Floats ignore the extension.)
#[inline]
fn cell<T: Cell, const BYTES: usize>(word: [u8; BYTES]) -> T {
    let sign = if word[BYTES - 1] & 0x80 == 0 {
        0
    } else {
        u8::MAX
    };
    let mut extended = [sign; size_of::<u64>()];
    extended[..BYTES].copy_from_slice(&word);
    T::from_word(u64::from_le_bytes(extended))
}
