//! Cells of a dictionary's entries, looked up by their codes: some codes at a time, in the way
//! that the longest entry allows.

use crate::error::PageError;
use crate::words::{NO_SUCH_CODE, largest};

use super::cells::TextCells;
use super::check_decoded_bytes;
use super::piece::Piece;

/// Entries that are looked up.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    table: Table<'a>,
    /// Bytes of the segment and rows of the page: they limit what the cells may take.
    limits: (usize, usize),
}

#[derive(Debug)]
enum Table<'a> {
    /// Each is a byte.
    Letters(&'a [u8]),
    /// Each has less than 16 bytes.
    Short(Vec<Piece<16>>),
    /// Each has less than 32 bytes.
    Medium(Vec<Piece<32>>),
    Long(Vec<&'a [u8]>),
}

impl<'a> Entries<'a> {
    /// The entries that lie between offsets into `bytes`, which ascend and end within them.
    pub(super) fn of(offsets: &[i32], bytes: &'a [u8], limits: (usize, usize)) -> Self {
        let entries = offsets
            .windows(2)
            .map(|pair| &bytes[pair[0] as usize..pair[1] as usize]);
        let lengths = entries.clone().map(<[u8]>::len);
        let shortest = lengths.clone().min().unwrap_or(0);
        let table = match lengths.max().unwrap_or(0) {
            1 if shortest == 1 => Table::Letters(bytes),
            0..16 => Table::Short(entries.map(Piece::of).collect()),
            16..32 => Table::Medium(entries.map(Piece::of).collect()),
            _ => Table::Long(entries.collect()),
        };
        Self { table, limits }
    }

    /// Memory for so many cells.
    pub(super) fn cells(&self, count: usize, memory: TextCells) -> TextCells {
        // Pieces are written over what is there: no more than readers accept, as it was before.
        let bytes = match self.table {
            Table::Short(_) | Table::Medium(_) => memory.bytes.len(),
            Table::Letters(_) | Table::Long(_) => 0,
        };
        memory.emptied(count, bytes)
    }

    /// Appends a cell for each code. There are not too many at a time.
    pub(super) fn append(&self, codes: &[u16], cells: &mut TextCells) -> Result<(), PageError> {
        match &self.table {
            Table::Letters(letters) => append_letters(letters, codes, cells),
            Table::Short(pieces) => append_pieces(pieces, codes, cells),
            Table::Medium(pieces) => append_pieces(pieces, codes, cells),
            Table::Long(entries) => self.append_long(entries, codes, cells),
        }
    }

    fn append_long(
        &self,
        entries: &[&[u8]],
        codes: &[u16],
        cells: &mut TextCells,
    ) -> Result<(), PageError> {
        let (segment_bytes, rows) = self.limits;
        for &code in codes {
            let entry = entries.get(usize::from(code)).ok_or(NO_SUCH_CODE)?;
            let end = cells.bytes.len() + entry.len();
            check_decoded_bytes(end, segment_bytes, rows)?;
            cells.bytes.extend_from_slice(entry);
            cells.offsets.push(end as i32);
        }
        Ok(())
    }
}

/// Appends pieces behind the last cell. Behind the new last one the bytes are anything.
fn append_pieces<const N: usize>(
    pieces: &[Piece<N>],
    codes: &[u16],
    cells: &mut TextCells,
) -> Result<(), PageError> {
    check(codes, pieces.len())?;
    let mut end = cells.end();
    let TextCells { offsets, bytes, .. } = cells;
    let room = end + (codes.len() + 1) * N;
    if bytes.len() < room {
        bytes.resize(room, 0);
    }
    let first = offsets.len();
    offsets.resize(first + codes.len(), 0);
    // Slices and a local end: in registers, it is not waited for.
    let bytes = bytes.as_mut_slice();
    for (offset, &code) in offsets[first..].iter_mut().zip(codes) {
        let piece = &pieces[usize::from(code)];
        bytes[end..end + N].copy_from_slice(piece.bytes());
        end += piece.len();
        *offset = end as i32;
    }
    Ok(())
}

/// Appends a cell of one byte for each code: the byte of its number.
fn append_letters(letters: &[u8], codes: &[u16], cells: &mut TextCells) -> Result<(), PageError> {
    check(codes, letters.len())?;
    let first = cells.bytes.len() as i32 + 1;
    cells.offsets.extend(first..first + codes.len() as i32);
    let letter = |&code: &u16| letters[usize::from(code)];
    cells.bytes.extend(codes.iter().map(letter));
    Ok(())
}

/// Checks that all codes have an entry.
fn check(codes: &[u16], entries: usize) -> Result<(), PageError> {
    match usize::from(largest(codes)) < entries {
        true => Ok(()),
        false => Err(NO_SUCH_CODE),
    }
}
