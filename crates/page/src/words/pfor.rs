//! Patched frame of reference: bit-packed distances from a base, outliers as exceptions.
//!
//! ```text
//! base (signed LEB128) · width (u8) · exceptions (see `exceptions`) · rows × width bits
//! ```
//!
//! A word is base + distance, wrapping. Where a slot has an exception, its distance comes from
//! there and the packed bits mean nothing (they are the low bits of it).

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use crate::bit_packing::{BLOCK, Block, Packed, mask, pack_mapped};
use crate::cell::Cell;
use crate::cursor::{Cursor, put_signed};
use crate::error::PageError;
use crate::exceptions::{self, Exception, Exceptions};
use crate::value::WordRange;

use super::{Profile, Sink, WordDecoder, all_or_none, block_bits, buffer_of};

pub(super) fn encode(words: &[u64], profile: &Profile, sink: &mut Sink<'_>) {
    let (base, width) = (profile.base, profile.frame.width);
    put_signed(sink.segment, base as i64);
    sink.segment.push(width as u8);
    let distances = words.iter().map(|word| word.wrapping_sub(base));
    if profile.frame.exceptions > 0 {
        exceptions::write(
            &find_exceptions(distances, width),
            sink.segment,
            sink.section,
        );
    } else {
        exceptions::write(&[], sink.segment, sink.section);
    }
    pack_mapped(words, width, sink.segment, |word| word.wrapping_sub(base));
}

/// Distances that need more than `width` bits.
pub(super) fn find_exceptions(distances: impl Iterator<Item = u64>, width: u32) -> Vec<Exception> {
    distances
        .enumerate()
        .filter(|&(_, distance)| distance > mask(width))
        .map(|(slot, distance)| Exception {
            slot: slot as u16,
            distance,
        })
        .collect()
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
        let exceptions = Exceptions::open(cursor, section)?;
        Ok(Self {
            base,
            exceptions,
            distances: Packed::take(cursor, width, rows)?,
        })
    }

    fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        self.exceptions.check(self.distances.count())?;
        let start = cells.len();
        match self.distances.width() {
            8 => self.widen::<T, 1>(cells),
            16 => self.widen::<T, 2>(cells),
            32 => self.widen::<T, 4>(cells),
            _ => self.unpack(cells),
        }
        for (slot, distance) in self.exceptions.iter() {
            cells[start + slot] = self.cell(distance);
        }
        Ok(())
    }

    fn gather<T: Cell>(&self, slots: &[u32], cells: &mut Vec<T>) -> Result<(), PageError> {
        self.exceptions.check(self.distances.count())?;
        let start = cells.len();
        let distances = slots.iter().map(|&slot| self.distances.get(slot as usize));
        cells.extend(distances.map(|distance| self.cell::<T>(distance)));
        self.exceptions.patch(slots, |index, distance| {
            cells[start + index] = self.cell(distance);
        });
        Ok(())
    }

    #[inline]
    fn get(&self, slot: usize) -> u64 {
        let distance = match self.exceptions.find(slot) {
            Some(distance) => distance,
            None => self.distances.get(slot),
        };
        self.base.wrapping_add(distance)
    }

    fn block(&self, index: usize, words: &mut Block) {
        self.distances.unpack(index, words);
        for word in words.iter_mut() {
            *word = word.wrapping_add(self.base);
        }
        let mut exception = self.exceptions.seek(index * BLOCK);
        while exception < self.exceptions.len() {
            let slot = self.exceptions.slot(exception);
            if slot >= (index + 1) * BLOCK {
                break;
            }
            words[slot % BLOCK] = self.base.wrapping_add(self.exceptions.distance(exception));
            exception += 1;
        }
    }

    fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError> {
        self.exceptions.check(self.distances.count())?;
        let last = self.base.wrapping_add(mask(self.distances.width()));
        let selected = match range.decides(self.base, last) {
            Some(all) => all_or_none(rows, all),
            None => self.select_packed(rows, range),
        };
        if self.exceptions.len() == 0 {
            return Ok(selected);
        }
        let mut patched = BooleanBufferBuilder::new(rows);
        patched.append_buffer(&selected);
        for (slot, distance) in self.exceptions.iter() {
            patched.set_bit(slot, range.contains(self.base.wrapping_add(distance)));
        }
        Ok(patched.finish())
    }
}

impl Pfor<'_> {
    /// Decodes distances of any width.
    fn unpack<T: Cell>(&self, cells: &mut Vec<T>) {
        let (mut narrow, mut block) = ([0; BLOCK], [0; BLOCK]);
        for index in 0..self.distances.blocks() {
            if self.distances.unpack_narrow(index, &mut narrow) {
                cells.extend(narrow.map(|distance| self.cell::<T>(u64::from(distance))));
                continue;
            }
            self.distances.unpack(index, &mut block);
            let distances = &block[..self.distances.block_len(index)];
            cells.extend(distances.iter().map(|&distance| self.cell::<T>(distance)));
        }
    }

    /// Decodes distances of whole bytes, for which the compiler knows vector instructions.
    fn widen<T: Cell, const BYTES: usize>(&self, cells: &mut Vec<T>) {
        let distances = self.distances.whole_bytes::<BYTES>();
        cells.extend(distances.iter().map(|distance| {
            let mut padded = [0; size_of::<u64>()];
            padded[..BYTES].copy_from_slice(distance);
            self.cell::<T>(u64::from_le_bytes(padded))
        }));
    }

    fn select_packed(&self, rows: usize, range: WordRange) -> BooleanBuffer {
        let mut block = [0; BLOCK];
        let blocks = (0..self.distances.blocks()).map(|index| {
            self.distances.unpack(index, &mut block);
            block_bits(&block, |distance| {
                range.contains(self.base.wrapping_add(distance))
            })
        });
        buffer_of(blocks.collect(), rows)
    }

    #[inline]
    fn cell<T: Cell>(&self, distance: u64) -> T {
        T::from_word(self.base.wrapping_add(distance))
    }
}
