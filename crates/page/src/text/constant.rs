//! Every cell that is not NULL is the same.
//!
//! ```text
//! the cell, up to the end of the segment
//! ```

use crate::cursor::Cursor;
use crate::error::PageError;
use crate::limits::decoded_text_bytes_max;
use crate::words::Sink;

use super::{TextCells, TextDecoder, TextRows, check_decoded_bytes};

/// Whether the cells are constant and do not unfold to more than a reader accepts.
pub(super) fn pays(rows: TextRows<'_>) -> bool {
    let mut cells = rows.cells_not_null();
    let Some(first) = cells.next() else {
        return false;
    };
    let decoded = first.len() * rows.len();
    // Comparing the lengths first spares a call for each empty cell, which is not cheap: the
    // bytes of an empty array lie nowhere, and memcmp stumbles over such addresses.
    let same = |cell: &[u8]| cell.len() == first.len() && (first.is_empty() || cell == first);
    decoded <= decoded_text_bytes_max(first.len(), rows.len()) && cells.all(same)
}

pub(super) fn encode(rows: TextRows<'_>, sink: &mut Sink<'_>) {
    let cell = rows.cells_not_null().next().expect("a cell is not NULL");
    sink.segment.extend_from_slice(cell);
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

    fn decode(&self) -> Result<TextCells, PageError> {
        Ok(self.repeat(self.rows))
    }

    fn gather(&self, slots: &[u32]) -> Result<TextCells, PageError> {
        Ok(self.repeat(slots.len()))
    }
}

impl Constant<'_> {
    fn repeat(&self, count: usize) -> TextCells {
        let length = self.cell.len();
        let offsets = match length {
            0 => vec![0; count + 1],
            _ => (0..=count).map(|row| (row * length) as i32).collect(),
        };
        TextCells {
            offsets,
            bytes: self.cell.repeat(count),
        }
    }
}
