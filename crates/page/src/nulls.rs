//! Which cells of a column are NULL.
//!
//! The form that takes the fewest bytes stands in front of the column's segment; its number is
//! in the directory:
//!
//! ```text
//! 0  no cell is NULL     nothing
//! 1  bitmap              ⌈rows / 8⌉ bytes, bit = 1: not NULL (least significant first)
//! 2  NULL slots          count (u16) · count × slot (u16), ascending
//! 3  slots not NULL      count (u16) · count × slot (u16), ascending
//! ```
//!
//! NULL cells are not stored: behind this come the other cells, end to end. A column of which
//! all cells are NULL has no segment at all (codec 0).

use arrow_array::Array;
use arrow_buffer::{BooleanBuffer, MutableBuffer, NullBuffer, bit_util};

use crate::cursor::Cursor;
use crate::error::PageError;

const SLOT_BYTES: usize = size_of::<u16>();

/// How NULLs are stored. The numbers are on disk: never change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum NullForm {
    None = 0,
    Bitmap = 1,
    NullSlots = 2,
    ValidSlots = 3,
}

impl NullForm {
    /// The form of a number of two bits.
    pub(crate) fn from_two_bits(number: u8) -> Self {
        match number & 0b11 {
            0 => Self::None,
            1 => Self::Bitmap,
            2 => Self::NullSlots,
            _ => Self::ValidSlots,
        }
    }
}

/// The NULLs of some rows of an array; `None` where there are none.
pub(crate) fn of_rows(array: &dyn Array, start: usize, rows: usize) -> Option<NullBuffer> {
    let nulls = array.nulls()?.slice(start, rows);
    (nulls.null_count() > 0).then_some(nulls)
}

/// Appends the cheapest form.
pub(crate) fn encode(nulls: Option<&NullBuffer>, segment: &mut Vec<u8>) -> NullForm {
    let Some(nulls) = nulls else {
        return NullForm::None;
    };
    let (rows, null_count) = (nulls.len(), nulls.null_count());
    let listed = null_count.min(rows - null_count);
    if SLOT_BYTES * (1 + listed) >= rows.div_ceil(8) {
        append_bitmap(nulls, segment);
        NullForm::Bitmap
    } else if listed == null_count {
        append_slots(&!nulls.inner(), listed, segment);
        NullForm::NullSlots
    } else {
        append_slots(nulls.inner(), listed, segment);
        NullForm::ValidSlots
    }
}

fn append_bitmap(nulls: &NullBuffer, segment: &mut Vec<u8>) {
    let bitmap = nulls.inner().sliced();
    let bytes = nulls.len().div_ceil(8);
    segment.extend_from_slice(&bitmap.as_slice()[..bytes]);
    let used = nulls.len() % 8;
    if used > 0
        && let Some(last) = segment.last_mut()
    {
        *last &= (1 << used) - 1;
    }
}

fn append_slots(set: &BooleanBuffer, count: usize, segment: &mut Vec<u8>) {
    segment.extend_from_slice(&(count as u16).to_le_bytes());
    for slot in set.set_indices() {
        segment.extend_from_slice(&(slot as u16).to_le_bytes());
    }
}

/// Reads a form back.
pub(crate) fn decode(
    form: NullForm,
    cursor: &mut Cursor<'_>,
    rows: usize,
) -> Result<Option<NullBuffer>, PageError> {
    let valid = match form {
        NullForm::None => return Ok(None),
        NullForm::Bitmap => {
            let bytes = cursor.take(rows.div_ceil(8))?;
            BooleanBuffer::new(bytes.into(), 0, rows)
        }
        NullForm::NullSlots => !&read_slots(cursor, rows)?,
        NullForm::ValidSlots => read_slots(cursor, rows)?,
    };
    Ok(Some(NullBuffer::new(valid)))
}

/// A bitmap with the listed slots set.
fn read_slots(cursor: &mut Cursor<'_>, rows: usize) -> Result<BooleanBuffer, PageError> {
    let count = usize::from(u16::from_le_bytes(cursor.array()?));
    let slots: &[[u8; SLOT_BYTES]] = cursor.take(count * SLOT_BYTES)?.as_chunks().0;
    let mut bitmap = MutableBuffer::from_len_zeroed(rows.div_ceil(8));
    for slot in slots {
        let slot = usize::from(u16::from_le_bytes(*slot));
        if slot >= rows {
            return Err(PageError::Malformed("a NULL slot lies behind the last row"));
        }
        bit_util::set_bit(&mut bitmap, slot);
    }
    Ok(BooleanBuffer::new(bitmap.into(), 0, rows))
}

/// NULLs as they are stored, to look some of them up.
#[derive(Debug)]
pub(crate) enum NullMap<'a> {
    None,
    All,
    Bitmap { valid: Bitmap<'a>, stored: usize },
    NullSlots(&'a [[u8; SLOT_BYTES]]),
    ValidSlots(&'a [[u8; SLOT_BYTES]]),
}

/// A bitmap, least significant bit first; bits behind the last row are 0.
#[derive(Debug)]
pub(crate) struct Bitmap<'a> {
    bytes: &'a [u8],
    rows: usize,
}

impl Bitmap<'_> {
    fn is_set(&self, slot: usize) -> bool {
        self.bytes[slot / 8] >> (slot % 8) & 1 == 1
    }

    /// Set bits in front of `slot`.
    fn count(&self, slot: usize) -> usize {
        let (whole, rest) = self.bytes[..slot.div_ceil(8)].split_at(slot / 8);
        let (chunks, tail) = whole.as_chunks::<8>();
        let in_chunks: u32 = chunks
            .iter()
            .map(|chunk| u64::from_le_bytes(*chunk).count_ones())
            .sum();
        let in_tail: u32 = tail.iter().map(|byte| byte.count_ones()).sum();
        let in_last = rest
            .first()
            .map_or(0, |byte| (byte & ((1 << (slot % 8)) - 1)).count_ones());
        (in_chunks + in_tail + in_last) as usize
    }
}

impl<'a> NullMap<'a> {
    /// Parses a form and checks that slots ascend below the number of rows.
    pub(crate) fn open(
        form: NullForm,
        cursor: &mut Cursor<'a>,
        rows: usize,
    ) -> Result<Self, PageError> {
        Ok(match form {
            NullForm::None => Self::None,
            NullForm::Bitmap => {
                let bytes = cursor.take(rows.div_ceil(8))?;
                let valid = Bitmap { bytes, rows };
                let stored = valid.count(valid.rows);
                Self::Bitmap { valid, stored }
            }
            NullForm::NullSlots => Self::NullSlots(ascending_slots(cursor, rows)?),
            NullForm::ValidSlots => Self::ValidSlots(ascending_slots(cursor, rows)?),
        })
    }

    /// The number of cells that are not NULL.
    pub(crate) fn stored(&self, rows: usize) -> usize {
        match self {
            Self::None => rows,
            Self::All => 0,
            Self::Bitmap { stored, .. } => *stored,
            Self::NullSlots(slots) => rows - slots.len(),
            Self::ValidSlots(slots) => slots.len(),
        }
    }

    /// How many cells in front of the slot are not NULL; `None` where it is NULL itself.
    #[inline]
    pub(crate) fn rank(&self, slot: usize) -> Option<usize> {
        let find = |slots: &[[u8; SLOT_BYTES]]| {
            slots.binary_search_by_key(&slot, |stored| usize::from(u16::from_le_bytes(*stored)))
        };
        match self {
            Self::None => Some(slot),
            Self::All => None,
            Self::Bitmap { valid, .. } => valid.is_set(slot).then(|| valid.count(slot)),
            Self::NullSlots(slots) => find(slots).err().map(|before| slot - before),
            Self::ValidSlots(slots) => find(slots).ok(),
        }
    }

    /// Puts one bit for each stored cell where the rows are not NULL.
    pub(crate) fn spread_bits(&self, bits: BooleanBuffer, rows: usize) -> BooleanBuffer {
        if matches!(self, Self::None) {
            return bits;
        }
        let mut rank = 0;
        BooleanBuffer::collect_bool(rows, |slot| {
            let valid = match self {
                Self::ValidSlots(slots) => slots
                    .get(rank)
                    .is_some_and(|next| usize::from(u16::from_le_bytes(*next)) == slot),
                Self::NullSlots(slots) => slots
                    .get(slot - rank)
                    .is_none_or(|next| usize::from(u16::from_le_bytes(*next)) != slot),
                Self::Bitmap { valid, .. } => valid.is_set(slot),
                Self::None | Self::All => false,
            };
            rank += usize::from(valid);
            valid && bits.value(rank - 1)
        })
    }
}

fn ascending_slots<'a>(
    cursor: &mut Cursor<'a>,
    rows: usize,
) -> Result<&'a [[u8; SLOT_BYTES]], PageError> {
    let count = usize::from(u16::from_le_bytes(cursor.array()?));
    let slots: &[[u8; SLOT_BYTES]] = cursor.take(count * SLOT_BYTES)?.as_chunks().0;
    let slot = |stored: &[u8; SLOT_BYTES]| usize::from(u16::from_le_bytes(*stored));
    let ascend = slots.is_sorted_by(|a, b| slot(a) < slot(b));
    if ascend && slots.last().is_none_or(|last| slot(last) < rows) {
        Ok(slots)
    } else {
        Err(PageError::Malformed(
            "NULL slots do not ascend within the page's rows",
        ))
    }
}

/// The NULLs of the given slots.
pub(crate) fn gather(nulls: &NullBuffer, slots: &[u32]) -> NullBuffer {
    let valid = |index: usize| nulls.is_valid(slots[index] as usize);
    NullBuffer::new(BooleanBuffer::collect_bool(slots.len(), valid))
}

/// For each of the slots that is not NULL, how many cells in front of it are not. Slots ascend.
pub(crate) fn ranks(nulls: &NullBuffer, slots: &[u32]) -> Vec<u32> {
    let mut ranks = Vec::with_capacity(slots.len());
    let (mut counted, mut rank) = (0, 0);
    for &slot in slots {
        let slot = slot as usize;
        rank += nulls
            .inner()
            .slice(counted, slot - counted)
            .count_set_bits();
        counted = slot;
        if nulls.is_valid(slot) {
            ranks.push(rank as u32);
        }
    }
    ranks
}

/// Puts stored cells where the rows are not NULL.
pub(crate) fn spread<T: Copy + Default>(cells: &[T], nulls: &NullBuffer) -> Vec<T> {
    debug_assert_eq!(
        cells.len(),
        nulls.len() - nulls.null_count(),
        "one cell for each"
    );
    let mut rows = vec![T::default(); nulls.len()];
    for (row, &cell) in nulls.valid_indices().zip(cells) {
        rows[row] = cell;
    }
    rows
}

/// The same for the offsets of text: a NULL cell is empty.
pub(crate) fn spread_offsets(offsets: &[i32], nulls: &NullBuffer) -> Vec<i32> {
    let mut rows = Vec::with_capacity(nulls.len() + 1);
    let mut stored = 0;
    rows.push(offsets[stored]);
    for valid in nulls {
        stored += usize::from(valid);
        rows.push(offsets[stored]);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(valid: Vec<bool>, expected: NullForm) {
        let rows = valid.len();
        let nulls = NullBuffer::from(valid);
        let mut segment = Vec::new();
        let form = encode(Some(&nulls), &mut segment);
        assert_eq!(form, expected);
        let mut cursor = Cursor::new(&segment);
        let decoded = decode(form, &mut cursor, rows).expect("intact");
        assert_eq!(decoded, Some(nulls));
        assert!(cursor.take_rest().is_empty());
    }

    #[test]
    fn the_smallest_form_is_chosen_and_round_trips() {
        check((0..1000).map(|i| i % 3 == 0).collect(), NullForm::Bitmap);
        check(
            (0..1000).map(|i| i % 300 == 5).collect(),
            NullForm::ValidSlots,
        );
        check(
            (0..1000).map(|i| i % 300 != 5).collect(),
            NullForm::NullSlots,
        );
        check(vec![true, false, true], NullForm::Bitmap);
    }

    #[test]
    fn slots_out_of_range_are_errors() {
        let segment = [1, 0, 9, 0];
        assert!(decode(NullForm::NullSlots, &mut Cursor::new(&segment), 9).is_err());
        assert!(decode(NullForm::NullSlots, &mut Cursor::new(&segment), 10).is_ok());
        assert!(decode(NullForm::NullSlots, &mut Cursor::new(&segment[..3]), 10).is_err());
    }

    #[test]
    fn cells_are_spread_over_rows_that_are_not_null() {
        let nulls = NullBuffer::from(vec![false, true, false, true, true]);
        assert_eq!(spread(&[7, 8, 9], &nulls), [0, 7, 0, 8, 9]);
        assert_eq!(spread_offsets(&[0, 2, 2, 5], &nulls), [0, 0, 2, 2, 2, 5]);
        assert_eq!(ranks(&nulls, &[0, 1, 2, 4]), [0, 2]);
    }
}
