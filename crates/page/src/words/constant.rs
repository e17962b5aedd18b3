//! Every word is the same.
//!
//! ```text
//! word (signed LEB128)
//! ```

use std::cmp::Ordering;
use std::ops::Range;

use arrow_buffer::BooleanBuffer;

use crate::bit_packing::Block;
use crate::cell::Cell;
use crate::cursor::{Cursor, put_signed};
use crate::error::PageError;
use crate::word_order::{Sought, WordRange};

use super::{Sink, WordDecoder, all_or_none};

pub(super) fn encode(words: &[u64], sink: &mut Sink<'_>) {
    debug_assert!(words.iter().all(|&word| word == words[0]), "one value");
    put_signed(sink.segment, words[0] as i64);
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Constant {
    word: u64,
    rows: usize,
}

impl Constant {
    pub(super) fn word(&self) -> u64 {
        self.word
    }
}

impl<'a> WordDecoder<'a> for Constant {
    fn open(cursor: &mut Cursor<'a>, rows: usize, _: &'a [u8]) -> Result<Self, PageError> {
        Ok(Self {
            word: cursor.signed()? as u64,
            rows,
        })
    }

    fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        cells.resize(cells.len() + self.rows, T::from_word(self.word));
        Ok(())
    }

    fn gather<T: Cell>(&self, slots: &[u32], cells: &mut Vec<T>) -> Result<(), PageError> {
        cells.resize(cells.len() + slots.len(), T::from_word(self.word));
        Ok(())
    }

    fn get(&self, _: usize) -> u64 {
        self.word
    }

    fn block(&self, _: usize, words: &mut Block) {
        words.fill(self.word);
    }

    fn equal(&self, slots: Range<usize>, sought: Sought) -> Range<usize> {
        match sought.compare(self.word) {
            Ordering::Less => slots.end..slots.end,
            Ordering::Equal => slots,
            Ordering::Greater => slots.start..slots.start,
        }
    }

    fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError> {
        Ok(all_or_none(rows, range.contains(self.word)))
    }
}
