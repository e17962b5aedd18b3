//! Front coding: ascending cells without what each shares with the one before.
//!
//! ```text
//! stream of rows prefix lengths · stream of rows suffix ends · suffixes, up to the end
//! ```
//!
//! A cell is the first bytes of the cell before it, as many as its prefix length says, and its
//! suffix. Every 16th cell is a *restart*: its prefix length is 0, so it lies ready, and a cell
//! costs at most 16 suffixes of work. A search looks at restarts first.

use std::ops::Range;

use crate::bit_packing::{BLOCK, Block, bits, packed_bytes};
use crate::cursor::Cursor;
use crate::error::PageError;
use crate::limits::decoded_text_bytes_max;
use crate::words::{self, Sink, Stream};

use super::ends::{self, Ends};
use super::lengths::Lengths;
use super::{TextCells, TextDecoder, TextRows, check_decoded_bytes};

/// Cells from one restart to the next. On disk: never change it.
const RESTART: usize = 16;

/// Shared prefixes of a page's cells.
#[derive(Debug)]
pub(super) struct Draft {
    prefixes: Vec<u64>,
    repeats: bool,
    bytes: usize,
}

impl Draft {
    /// Measures prefixes; `None` where cells do not ascend, or would unfold to more than a
    /// reader accepts.
    pub(super) fn of(rows: TextRows<'_>) -> Option<Self> {
        let mut prefixes = Vec::with_capacity(rows.len());
        prefixes.push(0);
        let mut repeats = false;
        let mut before = rows.cell(0);
        for row in 1..rows.len() {
            let cell = rows.cell(row);
            let shared = shared_prefix(before, cell);
            if shared < before.len() && before.get(shared) > cell.get(shared) {
                return None;
            }
            repeats |= shared == cell.len() && shared == before.len();
            prefixes.push(match row % RESTART {
                0 => 0,
                _ => shared as u64,
            });
            before = cell;
        }
        let suffixes = Lengths::of(suffix_lengths(rows, &prefixes));
        let longest = prefixes.iter().max().copied().unwrap_or(0);
        let limit = decoded_text_bytes_max(suffixes.sum, rows.len());
        (rows.contents().len() <= limit).then(|| Self {
            repeats,
            bytes: suffixes.sum + suffixes.packed_bytes() + packed_bytes(rows.len(), bits(longest)),
            prefixes,
        })
    }

    /// Whether some cells are equal.
    pub(super) fn repeats(&self) -> bool {
        self.repeats
    }

    /// Bytes that the segment takes, or a few less.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn encode(&self, rows: TextRows<'_>, sink: &mut Sink<'_>) {
        words::encode_stream(&self.prefixes, sink);
        ends::write(suffix_lengths(rows, &self.prefixes), sink);
        for (row, &prefix) in self.prefixes.iter().enumerate() {
            sink.segment
                .extend_from_slice(&rows.cell(row)[prefix as usize..]);
        }
    }
}

fn suffix_lengths(rows: TextRows<'_>, prefixes: &[u64]) -> impl Iterator<Item = usize> {
    rows.lengths()
        .zip(prefixes)
        .map(|(length, &prefix)| length - prefix as usize)
}

/// The number of bytes at the front that are equal.
fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    let (a_words, _) = a.as_chunks::<8>();
    let (b_words, _) = b.as_chunks::<8>();
    let equal = a_words.iter().zip(b_words).take_while(|(a, b)| a == b);
    let start = equal.count() * 8;
    let rest = a[start..].iter().zip(&b[start..]);
    start + rest.take_while(|(a, b)| a == b).count()
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Prefixes<'a> {
    rows: usize,
    segment_bytes: usize,
    prefixes: Stream<'a>,
    ends: Ends<'a>,
    suffixes: &'a [u8],
}

impl<'a> TextDecoder<'a> for Prefixes<'a> {
    fn open(mut segment: Cursor<'a>, rows: usize, section: &'a [u8]) -> Result<Self, PageError> {
        Ok(Self {
            rows,
            segment_bytes: segment.len(),
            prefixes: Stream::open(&mut segment, rows, section)?,
            ends: Ends::open(&mut segment, rows, section)?,
            suffixes: segment.take_rest(),
        })
    }

    fn decode(&self, memory: TextCells) -> Result<TextCells, PageError> {
        let mut prefixes: Vec<u64> = Vec::with_capacity(self.rows);
        self.prefixes.decode(&mut prefixes)?;
        let ends = self.ends.offsets(self.suffixes.len())?;
        let shared = prefixes
            .iter()
            .fold(0, |sum: u64, &p| sum.saturating_add(p));
        let decoded_bytes = self.suffixes.len().saturating_add(shared as usize);
        check_decoded_bytes(decoded_bytes, self.segment_bytes, self.rows)?;
        let mut cells = memory.emptied(self.rows, decoded_bytes + PIECE_BYTES);
        let bytes = cells.bytes.as_mut_slice();
        let (mut before, mut end) = (0, 0);
        for (row, &prefix) in prefixes.iter().enumerate() {
            let begin = end;
            let prefix = checked_prefix(prefix, row, begin - before)?;
            copy_prefix(bytes, before, begin, prefix);
            let suffix = ends[row] as usize..ends[row + 1] as usize;
            end = begin + prefix + suffix.len();
            copy_suffix(self.suffixes, suffix, &mut bytes[begin + prefix..]);
            cells.offsets.push(end as i32);
            before = begin;
        }
        cells.bytes.truncate(end);
        Ok(cells)
    }

    fn gather(&self, slots: &[u32]) -> Result<TextCells, PageError> {
        let mut cells = TextCells::default().emptied(slots.len(), 0);
        let (mut cell, mut next) = (Vec::new(), 0);
        for &slot in slots {
            let slot = slot as usize;
            self.walk(next.max(restart(slot)), slot, &mut cell)?;
            next = slot + 1;
            cells.bytes.extend_from_slice(&cell);
            check_decoded_bytes(cells.bytes.len(), self.segment_bytes, self.rows)?;
            cells.offsets.push(cells.bytes.len() as i32);
        }
        Ok(cells)
    }

    fn cell<'b>(&'b self, slot: usize, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], PageError> {
        if slot == restart(slot) {
            return self.ends.cell(slot, self.suffixes);
        }
        let group = Group::of(self, restart(slot));
        for row in restart(slot)..=slot {
            group.step(row, buffer)?;
        }
        Ok(buffer)
    }

    /// Halves over restarts, which lie ready, and then walks from one to the next.
    fn partition(
        &self,
        slots: Range<usize>,
        buffer: &mut Vec<u8>,
        below: impl Fn(&[u8]) -> bool,
    ) -> Result<usize, PageError> {
        if slots.is_empty() {
            return Ok(slots.start);
        }
        let mut restarts = slots.start / RESTART..(slots.end - 1) / RESTART;
        while !restarts.is_empty() {
            let middle = restarts.start + restarts.len() / 2;
            if below(self.ends.cell((middle + 1) * RESTART, self.suffixes)?) {
                restarts.start = middle + 1;
            } else {
                restarts.end = middle;
            }
        }
        let begin = restarts.start * RESTART;
        let end = slots.end.min(begin + RESTART);
        let group = Group::of(self, begin);
        for slot in begin..end {
            group.step(slot, buffer)?;
            if slot >= slots.start && !below(buffer) {
                return Ok(slot);
            }
        }
        Ok(end)
    }
}

impl Prefixes<'_> {
    /// Turns the cell before `from` (any bytes, where `from` is a restart) into that of `slot`.
    #[inline]
    fn walk(&self, from: usize, slot: usize, cell: &mut Vec<u8>) -> Result<(), PageError> {
        for row in from..=slot {
            let prefix = checked_prefix(self.prefixes.get(row), row, cell.len())?;
            cell.truncate(prefix);
            cell.extend_from_slice(self.ends.cell(row, self.suffixes)?);
        }
        Ok(())
    }
}

/// Bytes that are copied at once where fewer are needed: a copy of known length.
const PIECE_BYTES: usize = 16;

/// Copies the first `count` bytes of the cell at `from` to `to`, behind it. There are at least
/// [`PIECE_BYTES`] behind the last cell.
#[inline]
fn copy_prefix(bytes: &mut [u8], from: usize, to: usize, count: usize) {
    if count <= PIECE_BYTES {
        let piece: [u8; PIECE_BYTES] = *bytes[from..].first_chunk().expect("there is room behind");
        bytes[to..to + PIECE_BYTES].copy_from_slice(&piece);
    } else {
        bytes.copy_within(from..from + count, to);
    }
}

/// Copies a suffix to the front of `to`.
#[inline]
fn copy_suffix(suffixes: &[u8], suffix: Range<usize>, to: &mut [u8]) {
    let piece = suffixes[suffix.start..].first_chunk::<PIECE_BYTES>();
    match piece {
        Some(piece) if suffix.len() <= PIECE_BYTES => to[..PIECE_BYTES].copy_from_slice(piece),
        _ => to[..suffix.len()].copy_from_slice(&suffixes[suffix]),
    }
}

/// The cells from one restart to the next.
struct Group<'a, 'p> {
    column: &'p Prefixes<'a>,
    /// The end of the cell before the restart.
    before: u64,
    prefixes: Block,
    ends: Block,
}

const _: () = assert!(BLOCK.is_multiple_of(RESTART)); // A group lies in one block.

impl<'a, 'p> Group<'a, 'p> {
    fn of(column: &'p Prefixes<'a>, restart: usize) -> Self {
        let mut group = Self {
            column,
            before: column.ends.range(restart).start as u64,
            prefixes: [0; BLOCK],
            ends: [0; BLOCK],
        };
        column.prefixes.block(restart / BLOCK, &mut group.prefixes);
        column.ends.block(restart / BLOCK, &mut group.ends);
        group
    }

    /// Turns the cell before into that of `slot`, or anything into a restart's.
    #[inline]
    fn step(&self, slot: usize, cell: &mut Vec<u8>) -> Result<(), PageError> {
        let index = slot % BLOCK;
        let begin = match slot % RESTART {
            0 => self.before,
            _ => self.ends[index - 1],
        };
        let prefix = checked_prefix(self.prefixes[index], slot, cell.len())?;
        let range = begin as usize..self.ends[index] as usize;
        let suffix = self.column.suffixes.get(range);
        cell.truncate(prefix);
        cell.extend_from_slice(suffix.ok_or(ends::NOT_ASCENDING)?);
        Ok(())
    }
}

/// The restart at or before a slot.
fn restart(slot: usize) -> usize {
    slot - slot % RESTART
}

fn checked_prefix(prefix: u64, row: usize, before_bytes: usize) -> Result<usize, PageError> {
    let longest = match row % RESTART {
        0 => 0,
        _ => before_bytes,
    };
    match usize::try_from(prefix) {
        Ok(prefix) if prefix <= longest => Ok(prefix),
        _ => Err(PageError::Malformed(
            "a cell shares more than the cell before it has",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(cells: &[&str]) -> Option<Draft> {
        let bytes = cells.concat();
        let offsets: Vec<i32> = (0..=cells.len())
            .map(|count| cells[..count].concat().len() as i32)
            .collect();
        Draft::of(TextRows {
            offsets: &offsets,
            bytes: bytes.as_bytes(),
        })
    }

    #[test]
    fn only_ascending_cells_have_prefixes() {
        let ascending = draft(&["", "a", "ab", "abcdefghijk", "abcdefghijx", "b"]);
        let ascending = ascending.expect("ascending");
        assert_eq!(ascending.prefixes, [0, 0, 1, 2, 10, 0]);
        assert!(!ascending.repeats());
        assert!(draft(&["a", "a"]).expect("ascending").repeats());
        assert!(draft(&["ab", "a"]).is_none());
        assert!(draft(&["b", "ab"]).is_none());
    }

    #[test]
    fn restarts_share_nothing() {
        let cells = ["same"; 40];
        let draft = draft(&cells).expect("ascending");
        let restarts: Vec<usize> = (0..40).filter(|&row| draft.prefixes[row] == 0).collect();
        assert_eq!(restarts, [0, 16, 32]);
    }
}
