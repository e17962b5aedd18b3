//! Where cells end within the bytes of a segment, as a stream of words.
//!
//! Ends only climb, so PFOR-DELTA makes a length's few bits of each, and nothing of them when
//! all cells have one length. They stay encoded until they are asked for: one cell costs two of
//! them.

use std::ops::Range;

use crate::bit_packing::{BLOCK, Block};
use crate::cursor::Cursor;
use crate::error::PageError;
use crate::words::{self, Sink, Stream};

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

/// Ends in a segment, parsed and ready to decode.
#[derive(Debug)]
pub(super) struct Ends<'a> {
    stream: Stream<'a>,
    count: usize,
}

impl<'a> Ends<'a> {
    pub(super) fn open(
        cursor: &mut Cursor<'a>,
        count: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        Ok(Self {
            stream: Stream::open(cursor, count, section)?,
            count,
        })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// All ends as the offsets of an Arrow array: 0 in front, ascending, `bytes` at last.
    pub(super) fn offsets(&self, bytes: usize) -> Result<Vec<i32>, PageError> {
        let mut offsets = Vec::with_capacity(self.count + 1);
        offsets.push(0);
        self.append_to(bytes, &mut offsets)?;
        Ok(offsets)
    }

    /// Appends all ends to the 0 in front of them.
    pub(super) fn append_to(&self, bytes: usize, offsets: &mut Vec<i32>) -> Result<(), PageError> {
        self.stream.decode(offsets)?;
        if !ascend(offsets) {
            return Err(NOT_ASCENDING);
        }
        if offsets[self.count] as usize != bytes {
            return Err(PageError::Malformed(
                "the ends of cells are not those of the bytes",
            ));
        }
        Ok(())
    }

    /// Where one cell lies. May be outside the bytes.
    #[inline]
    pub(super) fn range(&self, slot: usize) -> Range<usize> {
        if slot.is_multiple_of(BLOCK) {
            let begin = match slot {
                0 => 0,
                _ => self.stream.get(slot - 1),
            };
            return begin as usize..self.stream.get(slot) as usize;
        }
        let (begin, end) = self.stream.pair(slot);
        begin as usize..end as usize
    }

    /// The ends of a block of cells. What lies behind the last one is anything.
    pub(super) fn block(&self, index: usize, ends: &mut Block) {
        self.stream.block(index, ends);
    }

    /// One cell of `bytes`.
    #[inline]
    pub(super) fn cell<'b>(&self, slot: usize, bytes: &'b [u8]) -> Result<&'b [u8], PageError> {
        bytes.get(self.range(slot)).ok_or(NOT_ASCENDING)
    }
}

/// Whether no offset is below the one before it.
pub(crate) fn ascend(offsets: &[i32]) -> bool {
    let pairs = offsets.iter().zip(offsets.get(1..).unwrap_or_default());
    let falls = pairs.map(|(before, offset)| u32::from(before > offset));
    falls.fold(0, |any, falls| any | falls) == 0
}

pub(super) const NOT_ASCENDING: PageError = PageError::Malformed("the ends of cells do not ascend");
