//! Decoded text, and the two ways to build it.

use crate::error::PageError;

/// Bytes that a writer keeps free behind the last cell, so that short pieces can be copied with
/// a fixed length.
pub(super) const SPARE_BYTES: usize = 16;

/// Decoded cells, in the form of an Arrow array.
#[derive(Debug, Default)]
pub(crate) struct TextCells {
    /// Where cells begin and end: ascending from 0 to the number of bytes, one more than cells.
    pub(crate) offsets: Vec<i32>,
    pub(crate) bytes: Vec<u8>,
    /// Whether every cell is known to be UTF-8. If not, it may be.
    pub(crate) is_text: bool,
}

impl TextCells {
    /// No cells, in the memory of others that are not needed any more. The bytes are as many as
    /// asked for, whatever is in them: most memory need not be cleared.
    pub(super) fn emptied(mut self, cells: usize, bytes: usize) -> Self {
        self.offsets.clear();
        self.offsets.reserve_exact(cells + 1);
        self.offsets.push(0);
        self.bytes.resize(bytes, 0);
        self.is_text = false;
        self
    }

    /// Where the last cell ends.
    pub(super) fn end(&self) -> usize {
        self.offsets.last().map_or(0, |&end| end as usize)
    }

    /// Collects cells that lie ready.
    pub(super) fn of<'a>(cells: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Self {
        let mut collected = Self::default().emptied(cells.len(), 0);
        collected
            .bytes
            .reserve_exact(cells.clone().map(<[u8]>::len).sum());
        for cell in cells {
            collected.bytes.extend_from_slice(cell);
            collected.offsets.push(collected.bytes.len() as i32);
        }
        collected
    }
}

/// Puts cells together from short pieces. The number of bytes is known before.
#[derive(Debug)]
pub(super) struct TextWriter {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    end: usize,
}

impl TextWriter {
    /// A writer for `cells` cells of exactly `bytes` bytes together.
    pub(super) fn new(cells: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(cells + 1);
        offsets.push(0);
        Self {
            offsets,
            bytes: vec![0; bytes + SPARE_BYTES],
            end: 0,
        }
    }

    /// Appends the first `used` bytes of a piece to the current cell. Copies all of it, which
    /// is faster than to look how much is needed.
    #[inline]
    pub(super) fn append<const N: usize>(
        &mut self,
        piece: &[u8; N],
        used: usize,
    ) -> Result<(), PageError> {
        const { assert!(N <= SPARE_BYTES) };
        debug_assert!(used <= N, "a piece has no more bytes than it has");
        let free = self
            .bytes
            .get_mut(self.end..)
            .and_then(|free| free.first_chunk_mut());
        *free.ok_or(TOO_LONG)? = *piece;
        self.end += used;
        Ok(())
    }

    #[inline]
    pub(super) fn end_cell(&mut self) {
        self.offsets.push(self.end as i32);
    }

    pub(super) fn finish(mut self) -> Result<TextCells, PageError> {
        if self.end + SPARE_BYTES != self.bytes.len() {
            return Err(PageError::Malformed(
                "cells have other lengths than the segment says",
            ));
        }
        self.bytes.truncate(self.end);
        Ok(TextCells {
            offsets: self.offsets,
            bytes: self.bytes,
            is_text: false,
        })
    }
}

const TOO_LONG: PageError = PageError::Malformed("cells are longer than the segment says");
