//! FSST: pieces of text that recur, of up to eight bytes, become codes of one byte.
//!
//! ```text
//! 8 × symbols of length 1, 2, … 8 (u8 each) · symbol bytes, shortest symbols first
//! decoded bytes (LEB128) · stream of rows code ends · codes, up to the end of the segment
//! ```
//!
//! Code `c` below 255 stands for symbol `c`, code 255 for the byte behind it. Each cell has its
//! own codes, so one cell can be read without the others.
//!
//! The symbols are trained on a sample. That takes longer than encoding a page, so a column
//! keeps its symbols from page to page, for as long as they compress about as well as they did
//! when they were new; a page stores those that it uses. Training and compressing are the
//! `fsst-rs` crate's (Boncz, Neumann, Leis: FSST, VLDB 2020), reading is done here, where every
//! byte is checked.

use fsst::Compressor;

use crate::cursor::{Cursor, put_unsigned};
use crate::error::PageError;
use crate::words::{self, Sink};

use super::cells::{TextCells, TextWriter};
use super::ends::Ends;
use super::lengths::Lengths;
use super::rest::Rest;
use super::{TextDecoder, TextRows};

/// The code that says: the next byte is not a code.
const ESCAPE: u8 = 255;

const SYMBOL_BYTES_MAX: usize = 8;

/// Text that is too short in all to pay for a table of symbols.
const PAGE_TEXT_BYTES_MIN: usize = 1536;

/// Cells that are shorter on average rarely hold a piece worth a symbol.
const CELL_BYTES_MIN: usize = 6;

/// Pages that a table serves at least, good or bad: training takes as long as encoding several.
const PAGES_BEFORE_TRAINING: u32 = 32;

/// Codes per byte of text may grow by this factor before the table is trained again.
const DECAY_MAX: f64 = 1.08;

/// What a column remembers about its symbols.
#[derive(Default)]
pub(super) struct Memory {
    table: Option<Table>,
    rest: Rest,
}

/// A trained table.
struct Table {
    compressor: Compressor,
    /// Codes per byte of text on the page on which it was trained.
    density: f64,
    pages: u32,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pages = self.table.as_ref().map(|table| table.pages);
        f.debug_struct("Memory")
            .field("table_pages", &pages)
            .field("rest", &self.rest)
            .finish_non_exhaustive()
    }
}

impl Memory {
    /// No table yet, and none on pages that are to be left out.
    pub(super) fn resting(rest: Rest) -> Self {
        Self { table: None, rest }
    }

    /// For how long symbols are left out.
    pub(super) fn rest(&self) -> Rest {
        self.rest
    }

    /// Compresses the cells if that takes fewer than `bytes_max` bytes.
    pub(super) fn draft(
        &mut self,
        rows: TextRows<'_>,
        text_bytes: usize,
        bytes_max: usize,
    ) -> Option<Draft> {
        if text_bytes < PAGE_TEXT_BYTES_MIN.max(rows.len() * CELL_BYTES_MIN) {
            return None;
        }
        if self.rest.takes(text_bytes) {
            return None;
        }
        let cells: Vec<&[u8]> = rows.cells().collect();
        let draft = self.compress(&cells, text_bytes);
        if draft.bytes() < bytes_max {
            self.rest.end();
            return Some(draft);
        }
        self.rest.begin();
        self.table = None;
        None
    }

    fn compress(&mut self, cells: &Vec<&[u8]>, text_bytes: usize) -> Draft {
        if let Some(table) = &mut self.table {
            let compressed = Compressed::of(cells, &table.compressor);
            let density = compressed.codes.len() as f64 / text_bytes as f64;
            table.pages += 1;
            if density <= table.density * DECAY_MAX || table.pages < PAGES_BEFORE_TRAINING {
                return compressed.renumber(&table.compressor, text_bytes);
            }
        }
        let compressor = Compressor::train(cells);
        let compressed = Compressed::of(cells, &compressor);
        let density = compressed.codes.len() as f64 / text_bytes as f64;
        let table = self.table.insert(Table {
            compressor,
            density,
            pages: 0,
        });
        compressed.renumber(&table.compressor, text_bytes)
    }
}

/// Cells in a compressor's codes.
struct Compressed {
    codes: Vec<u8>,
    ends: Vec<u64>,
}

impl Compressed {
    fn of(cells: &[&[u8]], compressor: &Compressor) -> Self {
        let (mut codes, mut ends) = (Vec::new(), Vec::new());
        compressor
            .compress_bulk_into::<{ Compressor::DEFAULT_BULK_LANES }>(cells, &mut codes, &mut ends);
        Self { codes, ends }
    }

    /// Keeps the symbols that occur and numbers them by length.
    fn renumber(mut self, compressor: &Compressor, decoded_bytes: usize) -> Draft {
        let mut used = [false; 256];
        for_each_code(&mut self.codes, |code| used[usize::from(*code)] = true);
        let mut draft = Draft {
            symbol_counts: [0; SYMBOL_BYTES_MAX],
            symbols: Vec::new(),
            decoded_bytes,
            compressed: self,
        };
        let mut numbers = [0; 256];
        let mut next = 0;
        let lengths = compressor.symbol_lengths();
        for length in 1..=SYMBOL_BYTES_MAX {
            for (code, symbol) in compressor.symbol_table().iter().enumerate() {
                if used[code] && usize::from(lengths[code]) == length {
                    numbers[code] = next;
                    next += 1;
                    draft.symbol_counts[length - 1] += 1;
                    draft
                        .symbols
                        .extend_from_slice(&symbol.to_u64().to_le_bytes()[..length]);
                }
            }
        }
        for_each_code(&mut draft.compressed.codes, |code| {
            *code = numbers[usize::from(*code)]
        });
        draft
    }
}

/// Calls `each` with every code that is a symbol's; with those of a stride without asking each for an escape.
fn for_each_code(codes: &mut [u8], mut each: impl FnMut(&mut u8)) {
    let mut at = 0;
    while at < codes.len() {
        let rest = &mut codes[at..];
        let stride = rest.first_chunk::<STRIDE>();
        if stride.is_some_and(|stride| !has_escape(*stride)) {
            rest[..STRIDE].iter_mut().for_each(&mut each);
            at += STRIDE;
        } else if rest[0] == ESCAPE {
            at += 2;
        } else {
            each(&mut rest[0]);
            at += 1;
        }
    }
}

/// A segment to be written.
pub(super) struct Draft {
    symbol_counts: [u8; SYMBOL_BYTES_MAX],
    symbols: Vec<u8>,
    decoded_bytes: usize,
    compressed: Compressed,
}

impl Draft {
    /// Bytes that the segment takes, or a few less.
    pub(super) fn bytes(&self) -> usize {
        let ends = &self.compressed.ends;
        let code_counts = ends.iter().scan(0, |begin, &end| {
            let count = (end - *begin) as usize;
            *begin = end;
            Some(count)
        });
        SYMBOL_BYTES_MAX
            + self.symbols.len()
            + Lengths::of(code_counts).packed_bytes()
            + self.compressed.codes.len()
    }

    pub(super) fn encode(&self, sink: &mut Sink<'_>) {
        sink.segment.extend_from_slice(&self.symbol_counts);
        sink.segment.extend_from_slice(&self.symbols);
        put_unsigned(sink.segment, self.decoded_bytes as u64);
        words::encode_stream(&self.compressed.ends, sink);
        sink.segment.extend_from_slice(&self.compressed.codes);
    }
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Symbols<'a> {
    table: Box<SymbolTable>,
    decoded_bytes: usize,
    /// Where the codes of cells end.
    ends: Ends<'a>,
    codes: &'a [u8],
}

/// Symbols by code; those that do not exist are empty.
#[derive(Debug)]
struct SymbolTable {
    symbols: [[u8; SYMBOL_BYTES_MAX]; 256],
    lengths: [u8; 256],
}

/// Codes that are handled at once while none of them is an escape.
const STRIDE: usize = 8;

/// Bytes that a stride writes into, as far as the compiler can tell from lengths of four bits:
/// no access needs to be checked.
const STRIDE_BYTES_MAX: usize = 16 * STRIDE;

/// In place of the end behind a code that has none: the byte behind it belongs to it.
const NO_END: u32 = u32::MAX;

impl SymbolTable {
    fn read(segment: &mut Cursor<'_>) -> Result<Self, PageError> {
        let counts: [u8; SYMBOL_BYTES_MAX] = segment.array()?;
        let mut table = Self {
            symbols: [[0; SYMBOL_BYTES_MAX]; 256],
            lengths: [0; 256],
        };
        let mut code = 0;
        for (index, &count) in counts.iter().enumerate() {
            let length = index + 1;
            for _ in 0..count {
                if code >= usize::from(ESCAPE) {
                    return Err(PageError::Malformed("there are more than 255 symbols"));
                }
                table.symbols[code][..length].copy_from_slice(segment.take(length)?);
                table.lengths[code] = length as u8;
                code += 1;
            }
        }
        Ok(table)
    }

    /// Decodes all cells' codes in one go, which spares the processor a guess at the end of each
    /// cell. Leaves where the text of each code ends.
    fn expand_all(
        &self,
        codes: &[u8],
        bytes: &mut Vec<u8>,
        decoded_bytes: usize,
    ) -> Result<Vec<u32>, PageError> {
        bytes.resize(decoded_bytes + STRIDE_BYTES_MAX, 0);
        let mut ends = vec![0; codes.len()];
        let (mut at, mut end) = (0, 0);
        while at < codes.len() {
            let stride = codes[at..].first_chunk::<STRIDE>();
            let free = bytes.get_mut(end..).and_then(|free| free.first_chunk_mut());
            let free: &mut [u8; STRIDE_BYTES_MAX] = free.ok_or(TOO_LONG)?;
            match (stride, ends[at..].first_chunk_mut::<STRIDE>()) {
                (Some(stride), Some(ends)) if !has_escape(*stride) => {
                    end = self.expand_stride(stride, end, free, ends);
                    at += STRIDE;
                }
                _ if codes[at] == ESCAPE => {
                    free[0] = *codes.get(at + 1).ok_or(NO_BYTE)?;
                    end += 1;
                    ends[at] = NO_END;
                    ends[at + 1] = end as u32;
                    at += 2;
                }
                _ => {
                    let code = usize::from(codes[at]);
                    free[..SYMBOL_BYTES_MAX].copy_from_slice(&self.symbols[code]);
                    end += usize::from(self.lengths[code]);
                    ends[at] = end as u32;
                    at += 1;
                }
            }
        }
        if end != decoded_bytes {
            return Err(PageError::Malformed(
                "cells have other lengths than the segment says",
            ));
        }
        bytes.truncate(end);
        Ok(ends)
    }

    #[inline]
    fn expand_stride(
        &self,
        codes: &[u8; STRIDE],
        end: usize,
        free: &mut [u8; STRIDE_BYTES_MAX],
        ends: &mut [u32; STRIDE],
    ) -> usize {
        let mut used = 0;
        for (code, code_end) in codes.iter().zip(ends) {
            let code = usize::from(*code);
            free[used..used + SYMBOL_BYTES_MAX].copy_from_slice(&self.symbols[code]);
            used += usize::from(self.lengths[code] & 0xF);
            *code_end = (end + used) as u32;
        }
        end + used
    }

    /// Decodes the codes of one cell.
    #[inline]
    fn expand(&self, mut codes: &[u8], writer: &mut TextWriter) -> Result<(), PageError> {
        while let Some((&code, rest)) = codes.split_first() {
            codes = rest;
            if code == ESCAPE {
                let (&byte, rest) = codes.split_first().ok_or(NO_BYTE)?;
                codes = rest;
                writer.append(&[byte], 1)?;
            } else {
                let code = usize::from(code);
                writer.append(&self.symbols[code], usize::from(self.lengths[code]))?;
            }
        }
        writer.end_cell();
        Ok(())
    }

    /// The length of a cell.
    fn decoded_bytes(&self, mut codes: &[u8]) -> usize {
        let mut bytes = 0;
        while let Some((&code, rest)) = codes.split_first() {
            let escape = code == ESCAPE;
            bytes += if escape {
                1
            } else {
                usize::from(self.lengths[usize::from(code)])
            };
            codes = if escape {
                rest.get(1..).unwrap_or_default()
            } else {
                rest
            };
        }
        bytes
    }
}

/// Whether one of the codes is 255: only then adding one to its complement's lower bits carries.
#[inline]
fn has_escape(codes: [u8; STRIDE]) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = LOW << 7;
    let zeros = !u64::from_le_bytes(codes);
    zeros.wrapping_sub(LOW) & !zeros & HIGH != 0
}

const NO_BYTE: PageError = PageError::Malformed("an escaped byte is missing");
const TOO_LONG: PageError = PageError::Malformed("cells are longer than the segment says");

impl<'a> TextDecoder<'a> for Symbols<'a> {
    fn open(mut segment: Cursor<'a>, rows: usize, section: &'a [u8]) -> Result<Self, PageError> {
        let table = Box::new(SymbolTable::read(&mut segment)?);
        let decoded_bytes = segment.count(segment.len() * SYMBOL_BYTES_MAX)?;
        let ends = Ends::open(&mut segment, rows, section)?;
        if i32::try_from(decoded_bytes).is_err() {
            return Err(PageError::Malformed(
                "a segment holds more text than an array can",
            ));
        }
        Ok(Self {
            table,
            decoded_bytes,
            ends,
            codes: segment.take_rest(),
        })
    }

    fn decode(&self, memory: TextCells) -> Result<TextCells, PageError> {
        let bytes = memory.bytes.len();
        let mut cells = memory.emptied(self.ends.count(), bytes);
        self.ends.append_to(self.codes.len(), &mut cells.offsets)?;
        let ends = (self.table).expand_all(self.codes, &mut cells.bytes, self.decoded_bytes)?;
        let mut splits = false;
        for offset in &mut cells.offsets[1..] {
            let end = match *offset {
                0 => 0,
                codes => ends[codes as usize - 1],
            };
            splits |= end == NO_END;
            *offset = end as i32;
        }
        match splits {
            true => Err(NO_BYTE),
            false => Ok(cells),
        }
    }

    fn gather(&self, slots: &[u32]) -> Result<TextCells, PageError> {
        let offsets = self.ends.offsets(self.codes.len())?;
        let codes = |&slot: &u32| {
            let slot = slot as usize;
            &self.codes[offsets[slot] as usize..offsets[slot + 1] as usize]
        };
        let bytes = slots
            .iter()
            .map(|slot| self.table.decoded_bytes(codes(slot)))
            .sum();
        let mut writer = TextWriter::new(slots.len(), bytes);
        for slot in slots {
            self.table.expand(codes(slot), &mut writer)?;
        }
        writer.finish()
    }

    fn cell<'b>(&'b self, slot: usize, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], PageError> {
        buffer.clear();
        let mut codes = self.ends.cell(slot, self.codes)?.iter();
        while let Some(&code) = codes.next() {
            if code == ESCAPE {
                buffer.push(*codes.next().ok_or(NO_BYTE)?);
            } else {
                let code = usize::from(code);
                // All bytes of the symbol at once: a copy of known length.
                let end = buffer.len() + usize::from(self.table.lengths[code]);
                buffer.extend_from_slice(&self.table.symbols[code]);
                buffer.truncate(end);
            }
        }
        Ok(buffer)
    }
}
