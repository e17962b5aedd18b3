//! Every cell is the same.
//!
//! ```text
//! the cell, up to the end of the segment
//! ```

use arrow_buffer::BooleanBuffer;

use crate::cursor::Cursor;
use crate::error::PageError;
use crate::limits::decoded_text_bytes_max;
use crate::words::Sink;

use super::{TextCells, TextDecoder, TextRows, check_decoded_bytes};

/// Whether the cells are constant and do not unfold to more than a reader accepts.
pub(super) fn pays(rows: TextRows<'_>) -> bool {
    let first = rows.cell(0);
    if rows.contents().is_empty() {
        return true;
    }
    let decoded_bytes = first.len() * rows.len();
    decoded_bytes == rows.contents().len()
        && decoded_bytes <= decoded_text_bytes_max(first.len(), rows.len())
        && rows.cells().all(|cell| cell == first)
}

pub(super) fn encode(rows: TextRows<'_>, sink: &mut Sink<'_>) {
    sink.segment.extend_from_slice(rows.cell(0));
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Constant<'a> {
    cell: &'a [u8],
    rows: usize,
}

impl<'a> TextDecoder<'a> for Constant<'a> {
    fn open(mut segment: Cursor<'a>, rows: usize, _: &'a [u8]) -> Result<Self, PageError> {
        let cell = segment.take_rest();
        check_decoded_bytes(cell.len() * rows, cell.len(), rows)?;
        Ok(Self { cell, rows })
    }

    fn decode(&self, memory: TextCells) -> Result<TextCells, PageError> {
        Ok(self.repeat(self.rows, memory))
    }

    fn gather(&self, slots: &[u32]) -> Result<TextCells, PageError> {
        Ok(self.repeat(slots.len(), TextCells::default()))
    }

    fn cell<'b>(&'b self, _: usize, _: &'b mut Vec<u8>) -> Result<&'b [u8], PageError> {
        Ok(self.cell)
    }
}

impl Constant<'_> {
    /// The cell, once.
    pub(super) fn distinct(&self) -> TextCells {
        self.repeat(1, TextCells::default())
    }

    pub(super) fn select(&self, contains: impl Fn(&[u8]) -> bool) -> BooleanBuffer {
        if contains(self.cell) {
            BooleanBuffer::new_set(self.rows)
        } else {
            BooleanBuffer::new_unset(self.rows)
        }
    }

    fn repeat(&self, count: usize, memory: TextCells) -> TextCells {
        let length = self.cell.len();
        let mut cells = memory.emptied(count, 0);
        match length {
            0 => cells.offsets.resize(count + 1, 0),
            _ => (cells.offsets).extend((1..=count).map(|row| (row * length) as i32)),
        }
        cells.bytes.reserve_exact(length * count);
        for _ in 0..if length == 0 { 0 } else { count } {
            cells.bytes.extend_from_slice(self.cell);
        }
        cells.is_text = std::str::from_utf8(self.cell).is_ok();
        cells
    }
}
