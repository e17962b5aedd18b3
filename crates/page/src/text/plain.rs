//! Cells as they are, end to end.
//!
//! ```text
//! stream of rows ends · bytes, up to the end of the segment
//! ```

use crate::cursor::Cursor;
use crate::error::PageError;
use crate::words::Sink;

use super::{TextCells, TextDecoder, TextRows, ends};

pub(super) fn encode(rows: TextRows<'_>, sink: &mut Sink<'_>) {
    ends::write(rows.lengths(), sink);
    sink.segment.extend_from_slice(rows.contents());
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Plain<'a> {
    offsets: Vec<i32>,
    bytes: &'a [u8],
}

impl<'a> TextDecoder<'a> for Plain<'a> {
    fn open(mut segment: Cursor<'a>, rows: usize, section: &'a [u8]) -> Result<Self, PageError> {
        let offsets = ends::read(&mut segment, rows, section)?;
        let bytes = segment.take_rest();
        if offsets[rows] as usize != bytes.len() {
            return Err(PageError::Malformed(
                "the ends of cells are not those of the bytes",
            ));
        }
        Ok(Self { offsets, bytes })
    }

    fn decode(&self) -> Result<TextCells, PageError> {
        Ok(TextCells {
            offsets: self.offsets.clone(),
            bytes: self.bytes.to_vec(),
        })
    }

    fn gather(&self, slots: &[u32]) -> Result<TextCells, PageError> {
        let cell = |slot: u32| {
            let slot = slot as usize;
            &self.bytes[self.offsets[slot] as usize..self.offsets[slot + 1] as usize]
        };
        Ok(TextCells::collect(slots.iter().map(|&slot| cell(slot))))
    }
}
