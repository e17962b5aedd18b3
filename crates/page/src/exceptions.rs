//! The exception section: what a column's frame is too narrow for.
//!
//! All columns of a page share one section behind the segments. A column that has exceptions
//! says in its segment how many there are, where they begin in the section, and the frame of
//! their values:
//!
//! ```text
//! segment:  count (LEB128) [ begin (LEB128) · base (signed LEB128) · width (u8) ]   rest only if count > 0
//! section:  … ends: ⌈rows / 256⌉ × u16 · slots: count × u8 · values: count × width bits …
//! ```
//!
//! An end is the number of exceptions up to the end of a group of 256 rows, a slot is counted
//! from the start of its group. So an exception costs a byte and few bits, and whether a row is
//! one is known after a look at the few slots of its group. What a value stands for is up to the
//! codec; in a frame it is the part of a distance that its width cuts off.

use std::ops::Range;

use crate::bit_packing::{BLOCK, Block, GROUP, Packed, bits, mask, pack_mapped};
use crate::cursor::{Cursor, put_signed, put_unsigned};
use crate::error::PageError;
use crate::limits::ROWS_MAX;

const END_BYTES: usize = size_of::<u16>();

/// A value in the exception section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    pub(crate) slot: u16,
    pub(crate) value: u64,
}

/// Bits of an exception whose value needs so many.
pub(crate) const fn exception_bits(value_bits: u32) -> usize {
    u8::BITS as usize + value_bits as usize
}

/// Bytes that a column with exceptions takes besides them, about.
pub(crate) const fn overhead_bytes(rows: usize) -> usize {
    const REFERENCE_BYTES: usize = 7;
    REFERENCE_BYTES + rows.div_ceil(GROUP) * END_BYTES
}

/// Bits of the distances from `low` to `high` with their signs.
pub(crate) const fn signed_bits(low: i64, high: i64) -> u32 {
    let magnitudes = (low ^ (low >> 63)) | (high ^ (high >> 63));
    bits(magnitudes as u64) + 1
}

/// Writes the exceptions of a column of `rows` cells, ascending by slot, and the reference to
/// them.
pub(crate) fn write(
    exceptions: &[Exception],
    rows: usize,
    segment: &mut Vec<u8>,
    section: &mut Vec<u8>,
) {
    debug_assert!(
        exceptions.is_sorted_by(|a, b| a.slot < b.slot),
        "slots ascend"
    );
    put_unsigned(segment, exceptions.len() as u64);
    let values: Vec<u64> = exceptions.iter().map(|exception| exception.value).collect();
    let signed = values.iter().map(|&value| value as i64);
    let (Some(low), Some(high)) = (signed.clone().min(), signed.max()) else {
        return;
    };
    let width = bits(high.wrapping_sub(low) as u64);
    put_unsigned(segment, section.len() as u64);
    put_signed(segment, low);
    segment.push(width as u8);

    let mut end = 0;
    for group in 0..rows.div_ceil(GROUP) {
        let in_group = exceptions[end..]
            .partition_point(|exception| usize::from(exception.slot) / GROUP <= group);
        end += in_group;
        section.extend_from_slice(&(end as u16).to_le_bytes());
    }
    section.extend(exceptions.iter().map(|exception| exception.slot as u8));
    pack_mapped(&values, width, section, |value| {
        value.wrapping_sub(low as u64)
    });
}

/// A column's exceptions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exceptions<'a> {
    /// How many there are up to the end of each group of rows.
    ends: &'a [[u8; END_BYTES]],
    count: usize,
    /// The whole section, other columns' exceptions too: whoever loads more slots at once than
    /// it needs touches what lies around them.
    section: &'a [u8],
    /// Where the slots begin in it, which count within their group.
    slots_at: usize,
    base: u64,
    values: Packed<'a>,
}

impl<'a> Exceptions<'a> {
    /// Reads the reference to the exceptions of a column of `rows` cells from its segment.
    /// Whoever goes through all exceptions calls [`check`](Self::check) before; a search among
    /// slots that do not ascend merely finds others.
    pub(crate) fn open(
        cursor: &mut Cursor<'_>,
        rows: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        let count = cursor.count(ROWS_MAX)?;
        let (mut base, mut width, mut begin) = (0, 0, 0);
        let mut ends_bytes = 0;
        if count > 0 {
            begin = cursor.count(section.len())?;
            base = cursor.signed()? as u64;
            width = cursor.bit_width()?;
            ends_bytes = rows.div_ceil(GROUP) * END_BYTES;
        }
        let mut exceptions = Cursor::new(section);
        exceptions.take(begin)?;
        let ends = exceptions.take(ends_bytes)?.as_chunks().0;
        if ends
            .last()
            .is_some_and(|&end| usize::from(u16::from_le_bytes(end)) != count)
        {
            return Err(NOT_ASCENDING);
        }
        exceptions.take(count)?;
        Ok(Self {
            ends,
            count,
            section,
            slots_at: begin + ends_bytes,
            base,
            values: Packed::take(&mut exceptions, width, count)?,
        })
    }

    /// Of all exceptions.
    #[inline]
    fn slots(&self) -> &'a [u8] {
        &self.section[self.slots_at..][..self.count]
    }

    /// Checks that all slots are below `rows` and ascend.
    pub(crate) fn check(&self, rows: usize) -> Result<(), PageError> {
        let mut begin = 0;
        for (group, end) in self.ends.iter().enumerate() {
            let end = usize::from(u16::from_le_bytes(*end));
            let slots = self.slots().get(begin..end).ok_or(NOT_ASCENDING)?;
            let last = slots.last().map(|&slot| group * GROUP + usize::from(slot));
            if !ascend(slots) || last.is_some_and(|last| last >= rows) {
                return Err(NOT_ASCENDING);
            }
            begin = end;
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bounds of the values, as the frame has them; 0 and 0 if there are none.
    pub(crate) fn extremes(&self) -> (i128, i128) {
        let base = i128::from(self.base as i64);
        (base, base + i128::from(mask(self.values.width())))
    }

    /// The numbers of the exceptions in a group of rows.
    #[inline]
    fn in_group(&self, group: usize) -> Range<usize> {
        let end = |group: usize| {
            self.ends
                .get(group)
                .map_or(0, |end| usize::from(u16::from_le_bytes(*end)))
        };
        let begin = match group {
            0 => 0,
            _ => end(group - 1),
        };
        let end = end(group).min(self.count);
        begin.min(end)..end
    }

    /// The numbers of the exceptions from slot `first` to below slot `end`, which is behind it and
    /// at most the end of its group.
    #[inline]
    pub(crate) fn between(&self, first: usize, end: usize) -> Range<usize> {
        if self.count == 0 {
            return 0..0;
        }
        let group = self.in_group(first / GROUP);
        let bytes = |slot: usize| (slot % GROUP) as u64 * LOWEST;
        let (first, last) = (bytes(first), bytes(end - 1));
        let below = self.count(&group, |slots| less(slots, first));
        let up_to = self.count(&group, |slots| !less(last, slots));
        group.start + below..group.start + up_to.max(below)
    }

    /// The exceptions of a block: slots in the block, and values.
    #[inline]
    pub(crate) fn in_block(&self, block: usize) -> impl Iterator<Item = (usize, u64)> + Clone + '_ {
        self.numbered(self.between(block * BLOCK, (block + 1) * BLOCK))
    }

    /// Exceptions of a block by their numbers: slots in the block, and values.
    #[inline]
    pub(crate) fn numbered(
        &self,
        numbers: Range<usize>,
    ) -> impl Iterator<Item = (usize, u64)> + Clone + '_ {
        let slots = self.slots();
        numbers.map(|index| (usize::from(slots[index]) % BLOCK, self.value(index)))
    }

    #[inline]
    pub(crate) fn value(&self, index: usize) -> u64 {
        self.base.wrapping_add(self.values.get(index))
    }

    /// The value of `slot`, if it is an exception.
    #[inline]
    pub(crate) fn find(&self, slot: usize) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let group = self.in_group(slot / GROUP);
        let slot = (slot % GROUP) as u8;
        // Mostly it is not: then that is the only question with an answer to guess.
        let bytes = u64::from(slot) * LOWEST;
        match self.count(&group, |slots| equal(slots, bytes)) {
            0 => None,
            _ => self.find_in(group, slot),
        }
    }

    /// How many slots of a group `is` holds for, which gives the highest bits of eight bytes.
    /// Looks at all of a stride: where they are is not to be guessed by the processor, nor whether
    /// there are any.
    #[inline]
    fn count(&self, group: &Range<usize>, is: impl Fn(u64) -> u64) -> usize {
        let (mut counted, mut from) = (0, group.start);
        loop {
            let words = self.stride(from);
            let mask = &MASKS[(group.end - from).min(STRIDE)];
            let bits = |half: usize| (is(words[half]) & mask[half]) >> 7;
            counted += ((bits(0) + bits(1)).wrapping_mul(LOWEST) >> 56) as usize;
            from += STRIDE;
            if from >= group.end {
                return counted;
            }
        }
    }

    /// The slots from a number on, as two words; behind the last one are any bytes. Near the end
    /// of the section it loads what lies in front of them too, and shifts that out: where they lie
    /// is not to be guessed by the processor either.
    #[inline]
    fn stride(&self, from: usize) -> [u64; 2] {
        let at = self.slots_at + from;
        let begin = at.min(self.section.len().saturating_sub(STRIDE));
        match self.section[begin..].first_chunk() {
            Some(bytes) => halves(bytes, at - begin),
            None => self.short_stride(from),
        }
    }

    /// Where the section is shorter than a stride.
    #[cold]
    #[inline(never)]
    fn short_stride(&self, from: usize) -> [u64; 2] {
        let mut bytes = [0; STRIDE];
        let slots = self.slots().get(from..).unwrap_or_default();
        let copied = slots.len().min(STRIDE);
        bytes[..copied].copy_from_slice(&slots[..copied]);
        halves(&bytes, 0)
    }

    /// The value of a slot that is an exception of this group.
    #[cold]
    fn find_in(&self, group: Range<usize>, slot: u8) -> Option<u64> {
        let slots = &self.slots()[group.clone()];
        let index = slots.iter().position(|&other| other == slot)?;
        Some(self.value(group.start + index))
    }

    /// Calls `each(index, value)` for every exception that is at `slots[index]`. Slots ascend,
    /// as exceptions do: each exception looks for its slot behind the last one.
    pub(crate) fn patch(&self, slots: &[u32], mut each: impl FnMut(usize, u64)) {
        let mut from = 0;
        self.for_each(|slot, value| {
            from += slots[from..].partition_point(|&wanted| (wanted as usize) < slot);
            while slots
                .get(from)
                .is_some_and(|&wanted| wanted as usize == slot)
            {
                each(from, value);
                from += 1;
            }
        });
    }

    /// Calls `each(slot, value)` for every exception, ascending by slot.
    pub(crate) fn for_each(&self, mut each: impl FnMut(usize, u64)) {
        let mut grouped = self.grouped();
        for group in 0..self.ends.len() {
            grouped.for_each(group, |slot, value| {
                each(group * GROUP + usize::from(slot), value);
            });
        }
    }

    /// The exceptions for whoever takes them group by group.
    pub(crate) fn grouped(&self) -> GroupedExceptions<'_, 'a> {
        GroupedExceptions {
            exceptions: self,
            block: [0; BLOCK],
            unpacked: usize::MAX,
        }
    }
}

/// Exceptions for whoever takes them group by group.
#[derive(Debug)]
pub(crate) struct GroupedExceptions<'e, 'a> {
    exceptions: &'e Exceptions<'a>,
    /// Some values, unpacked.
    block: Block,
    /// Which: the number of their block.
    unpacked: usize,
}

impl GroupedExceptions<'_, '_> {
    /// Calls `each(slot in its group, value)` for the exceptions of a group.
    #[inline]
    pub(crate) fn for_each(&mut self, group: usize, mut each: impl FnMut(u8, u64)) {
        let Range { mut start, end } = self.exceptions.in_group(group);
        while start < end {
            if start / BLOCK != self.unpacked {
                self.unpacked = start / BLOCK;
                self.exceptions
                    .values
                    .unpack(self.unpacked, &mut self.block);
            }
            let values = &self.block[start % BLOCK..];
            let stop = end.min(start + values.len());
            for (slot, value) in self.exceptions.slots()[start..stop].iter().zip(values) {
                each(*slot, self.exceptions.base.wrapping_add(*value));
            }
            start = stop;
        }
    }
}

const NOT_ASCENDING: PageError =
    PageError::Malformed("exceptions do not ascend within the page's rows");

/// Whether slots ascend strictly.
fn ascend(slots: &[u8]) -> bool {
    let falls = |(before, slot): (&u8, &u8)| u8::from(before >= slot);
    let pairs = slots.iter().zip(slots.get(1..).unwrap_or_default());
    pairs.map(falls).fold(0, |any, falls| any | falls) == 0
}

/// Slots that are compared at once: as the bytes of two words, in few instructions on every
/// processor.
const STRIDE: usize = 2 * size_of::<u64>();

/// The lowest bit of every byte.
const LOWEST: u64 = u64::MAX / 0xFF;

/// The highest bit of every byte.
const HIGHEST: u64 = LOWEST << 7;

/// For each number of slots the highest bits of as many bytes.
static MASKS: [[u64; 2]; STRIDE + 1] = {
    let mut masks = [[0; 2]; STRIDE + 1];
    let mut count = 1;
    while count <= STRIDE {
        masks[count] = masks[count - 1];
        masks[count][(count - 1) / 8] |= 0x80 << ((count - 1) % 8 * 8);
        count += 1;
    }
    masks
};

/// A stride as two words, from a byte on; where that is behind the last one, any.
#[inline]
fn halves(bytes: &[u8; STRIDE], from: usize) -> [u64; 2] {
    let words = u128::from_le_bytes(*bytes).wrapping_shr(u8::BITS * from as u32);
    [words as u64, (words >> 64) as u64]
}

/// The highest bits of the bytes that are equal.
#[inline]
fn equal(bytes: u64, others: u64) -> u64 {
    let differ = bytes ^ others;
    !(((differ & !HIGHEST) + !HIGHEST) | differ) & HIGHEST
}

/// The highest bits of the bytes that are less than the others.
#[inline]
fn less(bytes: u64, others: u64) -> u64 {
    let low_bits_reach = (bytes | HIGHEST) - (others & !HIGHEST);
    ((!bytes & others) | (!(bytes ^ others) & !low_bits_reach)) & HIGHEST
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bit_packing::packed_bytes;

    fn exceptions(of: &[(u16, i64)]) -> Vec<Exception> {
        let exception = |&(slot, value): &(u16, i64)| Exception {
            slot,
            value: value as u64,
        };
        of.iter().map(exception).collect()
    }

    #[test]
    fn exceptions_round_trip() {
        let written = exceptions(&[(3, 70_000), (255, -1), (256, 0), (900, 1)]);
        let (mut segment, mut section) = (Vec::new(), vec![0xEE; 5]);
        write(&written, 901, &mut segment, &mut section);
        assert_eq!(segment, [4, 5, 1, 17]);
        assert_eq!(section.len(), 5 + 4 * END_BYTES + 4 + packed_bytes(4, 17));

        let read = Exceptions::open(&mut Cursor::new(&segment), 901, &section).expect("intact");
        let mut all = Vec::new();
        read.for_each(|slot, value| all.push((slot, value)));
        assert_eq!(all, [(3, 70_000), (255, u64::MAX), (256, 0), (900, 1)]);
        assert_eq!((read.find(255), read.find(254)), (Some(u64::MAX), None));
        assert_eq!((read.find(256), read.find(899)), (Some(0), None));
        assert_eq!(read.between(3, 256), 0..2);
        assert_eq!(read.between(4, 255), 1..1);
        assert_eq!(read.between(768, 900), 3..3);
        assert!(read.check(901).is_ok() && read.check(900).is_err());
        let cut = &section[..section.len() - 1];
        assert!(Exceptions::open(&mut Cursor::new(&segment), 901, cut).is_err());
    }

    /// Where nothing follows the slots: their values are equal and take no bits, and no other
    /// column has exceptions.
    #[test]
    fn exceptions_are_found_at_the_end_of_the_page() {
        for count in 1..40 {
            let slots = (0..count).map(|number| (number * number % 17 + number * 17, -3));
            let written = exceptions(&slots.collect::<Vec<_>>());
            let (mut segment, mut section) = (Vec::new(), Vec::new());
            write(&written, 700, &mut segment, &mut section);
            let read = Exceptions::open(&mut Cursor::new(&segment), 700, &section);
            let read = read.expect("intact");
            for slot in 0..700 {
                let is_one = written
                    .iter()
                    .any(|exception| usize::from(exception.slot) == slot);
                assert_eq!(
                    read.find(slot),
                    is_one.then_some(-3_i64 as u64),
                    "{slot} of {count}"
                );
            }
        }
    }

    #[test]
    fn slots_that_do_not_ascend_are_refused() {
        let written = exceptions(&[(3, 1), (4, 2)]);
        let (mut segment, mut section) = (Vec::new(), Vec::new());
        write(&written, 10, &mut segment, &mut section);
        section.swap(END_BYTES, END_BYTES + 1);
        let read = Exceptions::open(&mut Cursor::new(&segment), 10, &section).expect("sizes fit");
        assert!(read.check(10).is_err());
    }

    #[test]
    fn slots_compare_side_by_side() {
        let numbers = [0, 1, 2, 0x7E, 0x7F, 0x80, 0x81, 0xFE, 0xFF];
        for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
            // Neighbours that borrow or carry if anything does.
            let words =
                |number: u8| u64::from_le_bytes([number, 0, 0xFF, number, 0, 0xFF, 0, number]);
            let others = u64::from(b) * LOWEST;
            let expected = |is: fn(&u8, &u8) -> bool| {
                let bits = words(a)
                    .to_le_bytes()
                    .map(|byte| u8::from(is(&byte, &b)) << 7);
                u64::from_le_bytes(bits)
            };
            assert_eq!(equal(words(a), others), expected(u8::eq), "{a} {b}");
            assert_eq!(less(words(a), others), expected(u8::lt), "{a} {b}");
        }
    }

    #[test]
    fn none_take_a_byte() {
        let (mut segment, mut section) = (Vec::new(), Vec::new());
        write(&[], 1000, &mut segment, &mut section);
        assert_eq!((segment.as_slice(), section.len()), (&[0][..], 0));
        let read = Exceptions::open(&mut Cursor::new(&segment), 1000, &section).expect("intact");
        assert!(read.is_empty() && read.find(7).is_none() && read.check(1000).is_ok());
    }
}
