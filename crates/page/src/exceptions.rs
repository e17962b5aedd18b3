//! The exception section: what a column's frame is too narrow for.
//!
//! All columns of a page share one section behind the segments. A column that has exceptions
//! says in its segment how many there are, where they begin in the section and how many bytes
//! a value takes:
//!
//! ```text
//! segment:  count (LEB128) [ begin (LEB128) · value bytes, 1 to 8 (u8) ]   rest only if count > 0
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

/// Bytes that an exception takes in the section if the largest distance has that many bits.
pub(crate) const fn exception_bytes(distance_bits_max: u32) -> usize {
    let value_bytes = distance_bits_max.div_ceil(8);
    SLOT_BYTES
        + if value_bytes == 0 {
            1
        } else {
            value_bytes as usize
        }
}

/// Writes a column's exceptions, ascending by slot, and the reference to them.
pub(crate) fn write(exceptions: &[Exception], segment: &mut Vec<u8>, section: &mut Vec<u8>) {
    debug_assert!(
        exceptions.is_sorted_by(|a, b| a.slot < b.slot),
        "slots ascend"
    );
    put_unsigned(segment, exceptions.len() as u64);
    let Some(largest) = exceptions.iter().map(|e| e.distance).max() else {
        return;
    };
    let value_bytes = bits(largest).div_ceil(8).max(1) as usize;
    put_unsigned(segment, section.len() as u64);
    segment.push(value_bytes as u8);
    for exception in exceptions {
        section.extend_from_slice(&exception.slot.to_le_bytes());
    }
    for exception in exceptions {
        section.extend_from_slice(&exception.distance.to_le_bytes()[..value_bytes]);
    }
}

/// A column's exceptions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exceptions<'a> {
    slots: &'a [[u8; SLOT_BYTES]],
    values: &'a [u8],
    value_bytes: usize,
}

impl<'a> Exceptions<'a> {
    /// Reads the reference from the segment and checks that all slots are below `rows` and
    /// ascend.
    pub(crate) fn open(
        cursor: &mut Cursor<'_>,
        section: &'a [u8],
        rows: usize,
    ) -> Result<Self, PageError> {
        let count = cursor.count(ROWS_MAX)?;
        if count == 0 {
            return Ok(Self {
                slots: &[],
                values: &[],
                value_bytes: 1,
            });
        }
        let begin = cursor.count(section.len())?;
        let value_bytes = usize::from(cursor.byte()?);
        if !(1..=size_of::<u64>()).contains(&value_bytes) {
            return Err(PageError::Malformed(
                "the width of exceptions is not 1 to 8 bytes",
            ));
        }
        let mut section = Cursor::new(&section[begin..]);
        let slots = section.take(count * SLOT_BYTES)?.as_chunks().0;
        let values = section.take(count * value_bytes)?;
        let opened = Self {
            slots,
            values,
            value_bytes,
        };
        opened.check_slots(rows)?;
        Ok(opened)
    }

    fn check_slots(&self, rows: usize) -> Result<(), PageError> {
        let ascending = self
            .slots
            .is_sorted_by(|a, b| u16::from_le_bytes(*a) < u16::from_le_bytes(*b));
        let in_range = self.slot(self.len() - 1) < rows;
        if ascending && in_range {
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

    pub(crate) fn distance(&self, index: usize) -> u64 {
        let start = index * self.value_bytes;
        let mut value = [0; size_of::<u64>()];
        value[..self.value_bytes].copy_from_slice(&self.values[start..start + self.value_bytes]);
        u64::from_le_bytes(value)
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

        let read = Exceptions::open(&mut Cursor::new(&segment), &section, 901).expect("intact");
        assert_eq!(read.iter().collect::<Vec<_>>(), [(3, 70_000), (900, 1)]);
        assert_eq!((read.seek(0), read.seek(4), read.seek(901)), (0, 1, 2));
        assert!(Exceptions::open(&mut Cursor::new(&segment), &section, 900).is_err());
        assert!(Exceptions::open(&mut Cursor::new(&segment), &section[..14], 901).is_err());
    }
}
