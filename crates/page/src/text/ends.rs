//! Where cells end within the bytes of a segment, as a stream of words.
//!
//! Ends only climb, so PFOR-DELTA makes a length's few bits of each, and nothing of them when
//! all cells have one length.

use crate::cursor::Cursor;
use crate::error::PageError;
use crate::words::{self, Sink, Words};

/// Writes the ends of cells of the given lengths.
pub(super) fn write(lengths: impl Iterator<Item = usize>, sink: &mut Sink<'_>) {
    let mut end = 0;
    let ends: Vec<u64> = lengths
        .map(|length| {
            end += length as u64;
            end
        })
        .collect();
    words::encode_stream(&ends, sink);
}

/// Reads `count` ends back: the offsets of an Arrow array, with 0 in front, ascending.
pub(super) fn read<'a>(
    cursor: &mut Cursor<'a>,
    count: usize,
    section: &'a [u8],
) -> Result<Vec<i32>, PageError> {
    let mut offsets = Vec::with_capacity(count + 1);
    offsets.push(0);
    Words::open_stream(cursor, count, section)?.decode(&mut offsets)?;
    if offsets.is_sorted() {
        Ok(offsets)
    } else {
        Err(PageError::Malformed("the ends of cells do not ascend"))
    }
}
