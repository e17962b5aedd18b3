//! The exception section: what a column's frame is too narrow for.
//!
//! All columns of a page share one section behind the segments. A column that has exceptions
//! says in its segment how many there are, where they begin in the section and how many bytes
//! a value takes (1 to 8, and 128 if values are signed):
//!
//! ```text
//! segment:  count (LEB128) [ begin (LEB128) · value bytes (u8) ]   rest only if count > 0
//! section:  … slots: count × u16, ascending · values: count × value bytes …
//! ```
//!
//! A value is the whole distance from the frame's base, not just the bits that did not fit:
//! patching is then a plain store.

use crate::bit_packing::bits;
use crate::cursor::{Cursor, put_unsigned};
use crate::error::PageError;
use crate::limits::ROWS_MAX;

const SLOT_BYTES: usize = size_of::<u16>();

/// A value in the exception section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    pub(crate) slot: u16,
    pub(crate) distance: u64,
}

/// Bytes that an exception takes in the section if its distance has at most so many bits.
pub(crate) const fn exception_bytes(distance_bits_max: u32) -> usize {
    SLOT_BYTES + value_bytes(distance_bits_max)
}

const fn value_bytes(bits: u32) -> usize {
    if bits == 0 {
        1
    } else {
        bits.div_ceil(u8::BITS) as usize
    }
}

/// Bits of the distances from `low` to `high` with their signs.
pub(crate) const fn signed_bits(low: i64, high: i64) -> u32 {
    let magnitudes = (low ^ (low >> 63)) | (high ^ (high >> 63));
    bits(magnitudes as u64) + 1
}

/// Writes a column's exceptions, ascending by slot, and the reference to them.
pub(crate) fn write(exceptions: &[Exception], segment: &mut Vec<u8>, section: &mut Vec<u8>) {
    debug_assert!(
        exceptions.is_sorted_by(|a, b| a.slot < b.slot),
        "slots ascend"
    );
    put_unsigned(segment, exceptions.len() as u64);
    if exceptions.is_empty() {
        return;
    }
    let form = ValueForm::narrowest(exceptions);
    put_unsigned(segment, section.len() as u64);
    segment.push(form.to_byte());
    for exception in exceptions {
        section.extend_from_slice(&exception.slot.to_le_bytes());
    }
    for exception in exceptions {
        section.extend_from_slice(&exception.distance.to_le_bytes()[..form.bytes]);
    }
}

/// How values are cut.
#[derive(Clone, Copy, Debug)]
struct ValueForm {
    /// 1 to 8.
    bytes: usize,
    /// Whether the highest bit is the sign.
    signed: bool,
}

impl ValueForm {
    const SIGNED: u8 = 0x80;

    /// Unsigned, but for distances below zero that are small that way.
    fn narrowest(exceptions: &[Exception]) -> Self {
        let (mut largest, mut low, mut high) = (0, i64::MAX, i64::MIN);
        for exception in exceptions {
            largest = largest.max(exception.distance);
            low = low.min(exception.distance as i64);
            high = high.max(exception.distance as i64);
        }
        let unsigned = value_bytes(bits(largest));
        let signed = value_bytes(signed_bits(low, high).min(u64::BITS));
        Self {
            bytes: unsigned.min(signed),
            signed: signed < unsigned,
        }
    }

    fn to_byte(self) -> u8 {
        self.bytes as u8 | if self.signed { Self::SIGNED } else { 0 }
    }

    fn from_byte(byte: u8) -> Result<Self, PageError> {
        let form = Self {
            bytes: usize::from(byte & !Self::SIGNED),
            signed: byte & Self::SIGNED != 0,
        };
        if (1..=size_of::<u64>()).contains(&form.bytes) {
            Ok(form)
        } else {
            Err(PageError::Malformed(
                "the width of exceptions is not 1 to 8 bytes",
            ))
        }
    }

    /// Cuts a word that has the value in its lowest bytes.
    #[inline]
    fn cut(self, word: u64) -> u64 {
        let unused = u64::BITS - u8::BITS * self.bytes as u32;
        if self.signed {
            ((word << unused) as i64 >> unused) as u64
        } else {
            word << unused >> unused
        }
    }
}

/// A column's exceptions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exceptions<'a> {
    slots: &'a [[u8; SLOT_BYTES]],
    /// All values, and what follows them in the section.
    values: &'a [u8],
    form: ValueForm,
}

impl<'a> Exceptions<'a> {
    const NONE: Self = Self {
        slots: &[],
        values: &[],
        form: ValueForm {
            bytes: 1,
            signed: false,
        },
    };

    /// Reads the reference from the segment. Whoever goes through all exceptions calls
    /// [`check`](Self::check) before; a search among slots that do not ascend merely finds others.
    pub(crate) fn open(cursor: &mut Cursor<'_>, section: &'a [u8]) -> Result<Self, PageError> {
        let count = cursor.count(ROWS_MAX)?;
        if count == 0 {
            return Ok(Self::NONE);
        }
        let begin = cursor.count(section.len())?;
        let form = ValueForm::from_byte(cursor.byte()?)?;
        let mut section = Cursor::new(&section[begin..]);
        let slots = section.take(count * SLOT_BYTES)?.as_chunks().0;
        let mut values = section;
        values.take(count * form.bytes)?;
        Ok(Self {
            slots,
            values: section.take_rest(),
            form,
        })
    }

    /// Checks that all slots are below `rows` and ascend.
    pub(crate) fn check(&self, rows: usize) -> Result<(), PageError> {
        let ascending = self
            .slots
            .is_sorted_by(|a, b| u16::from_le_bytes(*a) < u16::from_le_bytes(*b));
        let last = self.slots.last().map(|slot| u16::from_le_bytes(*slot));
        if ascending && last.is_none_or(|last| usize::from(last) < rows) {
            Ok(())
        } else {
            Err(PageError::Malformed(
                "exceptions do not ascend within the page's rows",
            ))
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn slot(&self, index: usize) -> usize {
        usize::from(u16::from_le_bytes(self.slots[index]))
    }

    #[inline]
    pub(crate) fn distance(&self, index: usize) -> u64 {
        let start = index * self.form.bytes;
        let word = match self.values.get(start..).and_then(|rest| rest.first_chunk()) {
            Some(word) => u64::from_le_bytes(*word),
            None => self.word_at_end(start),
        };
        self.form.cut(word)
    }

    fn word_at_end(&self, start: usize) -> u64 {
        let value = &self.values[start..];
        let mut word = [0; size_of::<u64>()];
        word[..value.len()].copy_from_slice(value);
        u64::from_le_bytes(word)
    }

    /// The first exception at or behind `slot`.
    pub(crate) fn seek(&self, slot: usize) -> usize {
        self.slots
            .partition_point(|s| usize::from(u16::from_le_bytes(*s)) < slot)
    }

    /// The distance of `slot`, if it is an exception.
    #[inline]
    pub(crate) fn find(&self, slot: usize) -> Option<u64> {
        if self.slots.is_empty() {
            return None;
        }
        let index = self.seek(slot);
        (index < self.len() && self.slot(index) == slot).then(|| self.distance(index))
    }

    /// Calls `each(index, distance)` for every exception that is at `slots[index]`. Slots ascend,
    /// as exceptions do: each exception looks for its slot behind the last one.
    pub(crate) fn patch(&self, slots: &[u32], mut each: impl FnMut(usize, u64)) {
        let mut from = 0;
        for (slot, distance) in self.iter() {
            from += slots[from..].partition_point(|&wanted| (wanted as usize) < slot);
            while slots
                .get(from)
                .is_some_and(|&wanted| wanted as usize == slot)
            {
                each(from, distance);
                from += 1;
            }
            if from == slots.len() {
                break;
            }
        }
    }

    /// Slots and distances, ascending by slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        (0..self.len()).map(|index| (self.slot(index), self.distance(index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_round_trip() {
        let written = [
            Exception {
                slot: 3,
                distance: 70_000,
            },
            Exception {
                slot: 900,
                distance: 1,
            },
        ];
        let (mut segment, mut section) = (Vec::new(), vec![0xEE; 5]);
        write(&written, &mut segment, &mut section);
        assert_eq!(segment, [2, 5, 3]);
        assert_eq!(section.len(), 5 + 2 * exception_bytes(bits(70_000)));

        let read = Exceptions::open(&mut Cursor::new(&segment), &section).expect("intact");
        assert_eq!(read.iter().collect::<Vec<_>>(), [(3, 70_000), (900, 1)]);
        assert_eq!((read.seek(0), read.seek(4), read.seek(901)), (0, 1, 2));
        assert!(read.check(901).is_ok() && read.check(900).is_err());
        assert!(Exceptions::open(&mut Cursor::new(&segment), &section[..14]).is_err());
    }

    #[test]
    fn small_distances_below_zero_take_few_bytes() {
        let written = [-300_i64, 40, -1].into_iter().zip(1..);
        let written: Vec<Exception> = written
            .map(|(distance, slot)| Exception {
                slot,
                distance: distance as u64,
            })
            .collect();
        let (mut segment, mut section) = (Vec::new(), Vec::new());
        write(&written, &mut segment, &mut section);
        assert_eq!(segment, [3, 0, 0x80 | 2]);
        assert_eq!(section.len(), 3 * exception_bytes(signed_bits(-300, 40)));
        let read = Exceptions::open(&mut Cursor::new(&segment), &section).expect("intact");
        let distances: Vec<i64> = read.iter().map(|(_, distance)| distance as i64).collect();
        assert_eq!(distances, [-300, 40, -1]);
    }
}
