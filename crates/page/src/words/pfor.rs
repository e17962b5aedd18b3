//! Patched frame of reference: bit-packed distances from a base, outliers as exceptions.
//!
//! ```text
//! base (signed LEB128) · width (u8) · exceptions (see `exceptions`) · rows × width bits
//! ```
//!
//! A word is base + distance, wrapping. Packed are the low bits of the distance; where a slot has
//! an exception, that is what comes above them, with a sign: what lies below the base is negative.

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use crate::bit_packing::{BLOCK, BLOCKS_A_GROUP, Block, GROUP, Packed, mask, pack_mapped};
use crate::cell::Cell;
use crate::cursor::{Cursor, put_signed};
use crate::error::PageError;
use crate::exceptions::{self, Exception, Exceptions};
use crate::word_order::WordRange;

use super::group::{add_base, word_bits};
use super::{Profile, Sink, WordDecoder, all_or_none, append_to, buffer_of};

pub(super) fn encode(words: &[u64], profile: &Profile, sink: &mut Sink<'_>) {
    let (base, width) = (profile.base, profile.frame.width);
    put_signed(sink.segment, base as i64);
    sink.segment.push(width as u8);
    let exceptions = match profile.frame.exceptions {
        0 => Vec::new(),
        _ => find_exceptions(words.iter().map(|word| word.wrapping_sub(base)), width),
    };
    exceptions::write(&exceptions, words.len(), sink.segment, sink.section);
    pack_mapped(words, width, sink.segment, |word| word.wrapping_sub(base));
}

/// What lies above the width of distances that need more.
pub(super) fn find_exceptions(distances: impl Iterator<Item = u64>, width: u32) -> Vec<Exception> {
    distances
        .enumerate()
        .filter(|&(_, distance)| distance > mask(width))
        .map(|(slot, distance)| Exception {
            slot: slot as u16,
            value: (distance as i64 >> width) as u64,
        })
        .collect()
}

/// What an exception adds to the packed bits of its distance.
#[inline]
pub(super) fn above(value: u64, width: u32) -> u64 {
    value.checked_shl(width).unwrap_or(0)
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Pfor<'a> {
    base: u64,
    exceptions: Exceptions<'a>,
    distances: Packed<'a>,
}

impl<'a> WordDecoder<'a> for Pfor<'a> {
    fn open(cursor: &mut Cursor<'a>, rows: usize, section: &'a [u8]) -> Result<Self, PageError> {
        let base = cursor.signed()? as u64;
        let width = cursor.bit_width()?;
        let exceptions = Exceptions::open(cursor, rows, section)?;
        Ok(Self {
            base,
            exceptions,
            distances: Packed::take(cursor, width, rows)?,
        })
    }

    fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        self.for_each(self.distances.count(), append_to(cells))
    }

    fn for_each<T: Cell>(
        &self,
        rows: usize,
        mut each: impl FnMut(&[T]) -> Result<(), PageError>,
    ) -> Result<(), PageError> {
        self.exceptions.check(rows)?;
        let (mut narrow, mut cells) = ([0; GROUP], [T::default(); GROUP]);
        let mut exceptions = self.exceptions.grouped();
        for group in 0..rows.div_ceil(GROUP) {
            if self.distances.is_narrow() {
                self.distances.unpack_group(group, &mut narrow);
                add_base(&narrow, self.base, &mut cells);
            } else {
                self.unpack_wide(group, &mut cells);
            }
            exceptions.for_each(group, |slot, value| {
                self.patch(&mut cells[usize::from(slot)], value);
            });
            each(&cells[..GROUP.min(rows - group * GROUP)])?;
        }
        Ok(())
    }

    fn gather<T: Cell>(&self, slots: &[u32], cells: &mut Vec<T>) -> Result<(), PageError> {
        self.exceptions.check(self.distances.count())?;
        let start = cells.len();
        let distances = slots.iter().map(|&slot| self.distances.get(slot as usize));
        cells.extend(distances.map(|distance| self.cell::<T>(distance)));
        self.exceptions.patch(slots, |index, value| {
            self.patch(&mut cells[start + index], value);
        });
        Ok(())
    }

    #[inline]
    fn get(&self, slot: usize) -> u64 {
        match self.exceptions.is_empty() {
            true => self.base.wrapping_add(self.distances.get(slot)),
            false => self.get_patched(slot),
        }
    }

    fn block(&self, index: usize, words: &mut Block) {
        self.distances.unpack(index, words);
        for word in words.iter_mut() {
            *word = word.wrapping_add(self.base);
        }
        for (slot, value) in self.exceptions.in_block(index) {
            self.patch(&mut words[slot], value);
        }
    }

    fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError> {
        self.exceptions.check(self.distances.count())?;
        let last = self.base.wrapping_add(mask(self.distances.width()));
        let selected = match range.decides(self.base, last) {
            Some(all) => all_or_none(rows, all),
            None => self.select_packed(rows, range),
        };
        if self.exceptions.is_empty() {
            return Ok(selected);
        }
        let mut patched = BooleanBufferBuilder::new(rows);
        patched.append_buffer(&selected);
        self.exceptions.for_each(|slot, value| {
            let packed = self.base.wrapping_add(self.distances.get(slot));
            let word = packed.wrapping_add(above(value, self.distances.width()));
            patched.set_bit(slot, range.contains(word));
        });
        Ok(patched.finish())
    }
}

impl Pfor<'_> {
    /// The word of a slot that may be an exception. Not where it is asked for: those without
    /// exceptions would have to make room for what it needs.
    #[inline(never)]
    fn get_patched(&self, slot: usize) -> u64 {
        let word = self.base.wrapping_add(self.distances.get(slot));
        match self.exceptions.find(slot) {
            None => word,
            Some(value) => word.wrapping_add(above(value, self.distances.width())),
        }
    }

    /// Decodes a group of distances of more than 32 bits.
    fn unpack_wide<T: Cell>(&self, group: usize, cells: &mut [T; GROUP]) {
        let mut distances = [0; BLOCK];
        let blocks = group * BLOCKS_A_GROUP..self.distances.blocks();
        for (index, cells) in blocks.zip(cells.as_chunks_mut::<BLOCK>().0) {
            self.distances.unpack(index, &mut distances);
            *cells = distances.map(|distance| self.cell(distance));
        }
    }

    /// Adds to a cell what its exception says.
    #[inline]
    fn patch<T: Cell>(&self, cell: &mut T, value: u64) {
        let above = above(value, self.distances.width());
        *cell = T::from_word(cell.to_word().wrapping_add(above));
    }

    fn select_packed(&self, rows: usize, range: WordRange) -> BooleanBuffer {
        let distances = range.distances(self.base);
        let mut bits = Vec::with_capacity(self.distances.blocks());
        if self.distances.is_narrow()
            && let Some((first, last)) = distances.narrow()
        {
            for group in 0..rows / GROUP {
                bits.extend_from_slice(&self.distances.bits_in_range(group, first, last));
            }
        }
        // What is left of narrow distances, or all wide ones.
        let mut block = [0; BLOCK];
        for index in bits.len()..self.distances.blocks() {
            self.distances.unpack(index, &mut block);
            bits.push(word_bits(&block, distances.first, distances.span));
        }
        buffer_of(bits, rows)
    }

    #[inline]
    fn cell<T: Cell>(&self, distance: u64) -> T {
        T::from_word(self.base.wrapping_add(distance))
    }
}
