//! Each distinct cell once, in the order of first appearance, and a code for each row.
//!
//! ```text
//! entries (LEB128) · stream of entries ends · stream of rows codes · entry bytes, up to the end
//! ```
//!
//! Codes are words like any others: few bits each, runs where the rows are sorted by the
//! column, and exceptions where rare cells appear late.

use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use hashbrown::HashMap;

use crate::bit_packing::{bits, packed_bytes};
use crate::cell::Cell;
use crate::cursor::{Cursor, put_unsigned};
use crate::error::PageError;
use crate::limits::decoded_text_bytes_max;
use crate::words::{self, NO_SUCH_CODE, Sink, Stream};

use super::cells::TextCells;
use super::ends::{self, Ends};
use super::entries::Entries;
use super::lengths::Lengths;
use super::{TextDecoder, TextRows};

/// Rows to look at before the share of distinct cells counts.
const ROWS_BEFORE_GIVING_UP: usize = 128;

/// Cells of up to this length are looked up as one integer.
const SHORT_BYTES_MAX: usize = 15;

/// The code of each distinct cell. Most cells worth a dictionary are short: as integers they
/// are hashed and compared without branches on their length, which none could predict.
#[derive(Default)]
struct Codes<'a> {
    short: HashMap<u128, u64>,
    long: HashMap<&'a [u8], u64>,
}

impl<'a> Codes<'a> {
    /// The code of a cell; `next` if it is new.
    #[inline]
    fn code(&mut self, rows: TextRows<'a>, row: usize, next: u64) -> u64 {
        let cell = rows.range(row);
        if cell.len() <= SHORT_BYTES_MAX {
            *self
                .short
                .entry(short_cell(rows.bytes, cell))
                .or_insert(next)
        } else {
            *self.long.entry(&rows.bytes[cell]).or_insert(next)
        }
    }
}

/// A short cell and its length as one integer.
#[inline]
fn short_cell(bytes: &[u8], cell: Range<usize>) -> u128 {
    let window = bytes
        .get(cell.start..)
        .and_then(|rest| rest.first_chunk::<16>());
    let padded = match window {
        Some(window) => u128::from_le_bytes(*window) & ((1 << (8 * cell.len())) - 1),
        None => short_cell_at_end(&bytes[cell.clone()]),
    };
    padded | (cell.len() as u128) << (8 * SHORT_BYTES_MAX)
}

#[cold]
fn short_cell_at_end(cell: &[u8]) -> u128 {
    let mut padded = [0; size_of::<u128>()];
    padded[..cell.len()].copy_from_slice(cell);
    u128::from_le_bytes(padded)
}

/// The dictionary of a page's cells.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    entries: Vec<&'a [u8]>,
    codes: Vec<u64>,
    entry_bytes: usize,
}

impl<'a> Draft<'a> {
    /// Collects the distinct cells; `None` as soon as there are too many to be worth it, or if
    /// the cells would unfold to more than a reader accepts.
    pub(super) fn of(rows: TextRows<'a>) -> Option<Self> {
        let mut known = Codes::default();
        let mut draft = Self {
            entries: Vec::new(),
            codes: Vec::with_capacity(rows.len()),
            entry_bytes: 0,
        };
        for row in 0..rows.len() {
            let next = draft.entries.len() as u64;
            let code = known.code(rows, row, next);
            if code == next {
                draft.add(rows.cell(row));
                if row >= ROWS_BEFORE_GIVING_UP && draft.entries.len() * 4 > row * 3 {
                    return None;
                }
            }
            draft.codes.push(code);
        }
        let limit = decoded_text_bytes_max(draft.entry_bytes, rows.len());
        (rows.contents().len() <= limit).then_some(draft)
    }

    fn add(&mut self, cell: &'a [u8]) {
        self.entries.push(cell);
        self.entry_bytes += cell.len();
    }

    /// Bytes that the segment takes, or a few less.
    pub(super) fn bytes(&self) -> usize {
        let code_bits = bits(self.entries.len() as u64 - 1);
        self.entry_bytes
            + Lengths::of(self.entries.iter().map(|entry| entry.len())).packed_bytes()
            + packed_bytes(self.codes.len(), code_bits)
    }

    pub(super) fn encode(&self, sink: &mut Sink<'_>) {
        put_unsigned(sink.segment, self.entries.len() as u64);
        ends::write(self.entries.iter().map(|entry| entry.len()), sink);
        words::encode_stream(&self.codes, sink);
        self.entries
            .iter()
            .for_each(|entry| sink.segment.extend_from_slice(entry));
    }
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Dictionary<'a> {
    rows: usize,
    segment_bytes: usize,
    ends: Ends<'a>,
    codes: Stream<'a>,
    bytes: &'a [u8],
}

impl<'a> TextDecoder<'a> for Dictionary<'a> {
    fn open(mut segment: Cursor<'a>, rows: usize, section: &'a [u8]) -> Result<Self, PageError> {
        let segment_bytes = segment.len();
        let entries = segment.count(rows)?;
        if entries == 0 {
            return Err(PageError::Malformed("a dictionary is empty"));
        }
        let ends = Ends::open(&mut segment, entries, section)?;
        let codes = Stream::open(&mut segment, rows, section)?;
        let bytes = segment.take_rest();
        Ok(Self {
            rows,
            segment_bytes,
            ends,
            codes,
            bytes,
        })
    }

    fn decode(&self, memory: TextCells) -> Result<TextCells, PageError> {
        self.look_up(self.rows, memory, |each| {
            self.codes.for_each(self.rows, each)
        })
    }

    fn gather(&self, slots: &[u32]) -> Result<TextCells, PageError> {
        let mut codes = Vec::with_capacity(slots.len());
        self.codes.gather(slots, &mut codes)?;
        self.look_up(slots.len(), TextCells::default(), |each| each(&codes))
    }

    fn cell<'b>(&'b self, slot: usize, _: &'b mut Vec<u8>) -> Result<&'b [u8], PageError> {
        let code = usize::from(self.codes.get(slot) as Code);
        if code >= self.ends.count() {
            return Err(NO_SUCH_CODE);
        }
        self.ends.cell(code, self.bytes)
    }
}

/// A code as it is decoded. A page has fewer entries than rows, and those fit 16 bits.
type Code = u16;

impl Dictionary<'_> {
    /// The entries.
    pub(super) fn distinct(&self) -> Result<TextCells, PageError> {
        let offsets = self.ends.offsets(self.bytes.len())?;
        Ok(TextCells {
            is_text: is_text(&offsets, self.bytes),
            offsets,
            bytes: self.bytes.to_vec(),
        })
    }

    /// The entry of each cell.
    pub(super) fn codes(&self) -> Result<Vec<Code>, PageError> {
        let mut codes = Vec::with_capacity(self.rows);
        self.codes.decode(&mut codes)?;
        match usize::from(words::largest(&codes)) < self.ends.count() {
            true => Ok(codes),
            false => Err(NO_SUCH_CODE),
        }
    }

    /// The cells whose entry's bit is set.
    pub(super) fn rows_of(&self, wanted: &BooleanBuffer) -> Result<BooleanBuffer, PageError> {
        let wanted: Vec<bool> = wanted.iter().take(self.ends.count()).collect();
        words::select_codes(&self.codes, self.rows, &wanted)
    }

    /// Which cells `contains` holds for.
    pub(super) fn select(
        &self,
        contains: impl Fn(&[u8]) -> bool,
    ) -> Result<BooleanBuffer, PageError> {
        let offsets = self.ends.offsets(self.bytes.len())?;
        let contained: Vec<bool> = offsets
            .windows(2)
            .map(|pair| contains(&self.bytes[pair[0] as usize..pair[1] as usize]))
            .collect();
        words::select_codes(&self.codes, self.rows, &contained)
    }

    /// The cells of so many codes, which `for_each` hands out.
    fn look_up(
        &self,
        count: usize,
        memory: TextCells,
        for_each: impl FnOnce(EachCodes<'_>) -> Result<(), PageError>,
    ) -> Result<TextCells, PageError> {
        let offsets = self.ends.offsets(self.bytes.len())?;
        let entries = Entries::of(&offsets, self.bytes, (self.segment_bytes, self.rows));
        let mut cells = entries.cells(count, memory);
        for_each(&mut |codes| entries.append(codes, &mut cells))?;
        let end = cells.end();
        cells.bytes.truncate(end);
        cells.is_text = is_text(&offsets, self.bytes);
        Ok(cells)
    }
}

/// Whether all entries are UTF-8.
fn is_text(offsets: &[i32], bytes: &[u8]) -> bool {
    let is_text = |pair: &[i32]| {
        let entry = &bytes[pair[0] as usize..pair[1] as usize];
        std::str::from_utf8(entry).is_ok()
    };
    offsets.windows(2).all(is_text)
}

/// What is done with some codes at a time.
type EachCodes<'e> = &'e mut dyn FnMut(&[Code]) -> Result<(), PageError>;

const _: () = assert!(Code::PLAIN_BYTES == size_of::<u16>());
