//! Short pieces of text by number, and cells put together from them.
//!
//! A piece is kept with its length in its last byte, so that one access finds both, and is
//! copied as a whole, which is faster than to look how much of it is needed: what is too much is
//! overwritten by the next piece.

use crate::error::PageError;
use crate::words::largest;

use super::cells::TextCells;

/// Pieces of fewer than `N` bytes.
#[derive(Debug)]
pub(super) struct Pieces<const N: usize>(Vec<[u8; N]>);

impl<const N: usize> Pieces<N> {
    /// Pieces that are whole cells. None may have `N` bytes or more.
    pub(super) fn of<'a>(cells: impl Iterator<Item = &'a [u8]>) -> Self {
        let piece = |cell: &[u8]| {
            let mut piece = [0; N];
            piece[..cell.len()].copy_from_slice(cell);
            piece[N - 1] = cell.len() as u8;
            piece
        };
        Self(cells.map(piece).collect())
    }

    /// Appends a cell for each code, of which there are not too many at a time, behind `end`.
    /// Returns where the last cell ends: behind it the bytes are anything.
    pub(super) fn append_cells(
        &self,
        codes: &[u16],
        mut end: usize,
        cells: &mut TextCells,
    ) -> Result<usize, PageError> {
        check(codes, self.0.len())?;
        let TextCells { offsets, bytes, .. } = cells;
        let room = end + (codes.len() + 1) * N;
        if bytes.len() < room {
            bytes.resize(room, 0);
        }
        let first = offsets.len();
        offsets.resize(first + codes.len(), 0);
        // Slices and a local end: in registers, it is not waited for.
        let (pieces, bytes) = (self.0.as_slice(), bytes.as_mut_slice());
        for (offset, &code) in offsets[first..].iter_mut().zip(codes) {
            let piece = &pieces[usize::from(code)];
            bytes[end..end + N].copy_from_slice(piece);
            end += usize::from(piece[N - 1]);
            *offset = end as i32;
        }
        Ok(end)
    }
}

/// Appends a cell of one byte for each code: the byte of its number.
pub(super) fn append_letters(
    letters: &[u8],
    codes: &[u16],
    cells: &mut TextCells,
) -> Result<(), PageError> {
    check(codes, letters.len())?;
    let first = cells.bytes.len() as i32 + 1;
    cells.offsets.extend(first..first + codes.len() as i32);
    let letter = |&code: &u16| letters[usize::from(code)];
    cells.bytes.extend(codes.iter().map(letter));
    Ok(())
}

/// Checks that so many pieces have all codes.
fn check(codes: &[u16], pieces: usize) -> Result<(), PageError> {
    match usize::from(largest(codes)) < pieces {
        true => Ok(()),
        false => Err(NO_SUCH_PIECE),
    }
}

pub(super) const NO_SUCH_PIECE: PageError = PageError::Malformed("a code is not in the dictionary");
