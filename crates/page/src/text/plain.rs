//! Cells as they are, end to end.
//!
//! ```text
//! stream of rows ends · bytes, up to the end of the segment
//! ```

use crate::cursor::Cursor;
use crate::error::PageError;
use crate::words::Sink;

use super::ends::{self, Ends};
use super::{TextCells, TextDecoder, TextRows};

pub(super) fn encode(rows: TextRows<'_>, sink: &mut Sink<'_>) {
    ends::write(rows.lengths(), sink);
    sink.segment.extend_from_slice(rows.contents());
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Plain<'a> {
    ends: Ends<'a>,
    bytes: &'a [u8],
}

impl<'a> TextDecoder<'a> for Plain<'a> {
    fn open(mut segment: Cursor<'a>, rows: usize, section: &'a [u8]) -> Result<Self, PageError> {
        let ends = Ends::open(&mut segment, rows, section)?;
        Ok(Self {
            ends,
            bytes: segment.take_rest(),
        })
    }

    fn decode(&self, memory: TextCells) -> Result<TextCells, PageError> {
        let mut cells = memory.emptied(self.ends.count(), self.bytes.len());
        self.ends.append_to(self.bytes.len(), &mut cells.offsets)?;
        cells.bytes.copy_from_slice(self.bytes);
        Ok(cells)
    }

    fn gather(&self, slots: &[u32]) -> Result<TextCells, PageError> {
        let offsets = self.ends.offsets(self.bytes.len())?;
        let cell = |slot: u32| {
            let slot = slot as usize;
            &self.bytes[offsets[slot] as usize..offsets[slot + 1] as usize]
        };
        Ok(TextCells::of(slots.iter().map(|&slot| cell(slot))))
    }

    fn cell<'b>(&'b self, slot: usize, _: &'b mut Vec<u8>) -> Result<&'b [u8], PageError> {
        self.ends.cell(slot, self.bytes)
    }
}
