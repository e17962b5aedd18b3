//! Decimals that need more than 64 bits.
//!
//! A decimal column is stored in the first of these ways that its cells allow:
//!
//! 1. every cell fits a signed 64-bit word: words, like any integer column;
//! 2. the range of the cells fits 64 bits: a 128-bit base and the distances from it as a stream;
//! 3. as they are, 16 bytes each.
//!
//! ```text
//! frame:  base (i128, 16 bytes) · stream of rows words
//! plain:  rows × i128
//! ```

use crate::cursor::Cursor;
use crate::error::PageError;
use crate::words::{self, Sink, Stream};

const CELL_BYTES: usize = size_of::<i128>();

/// The codecs of wide decimals. The numbers are on disk: never change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum WideCodec {
    Frame = 8,
    Plain = 9,
}

impl WideCodec {
    pub(crate) fn from_u8(number: u8) -> Option<Self> {
        [Self::Frame, Self::Plain]
            .into_iter()
            .find(|&codec| codec as u8 == number)
    }
}

/// Whether every cell fits a signed word.
pub(crate) fn fit_words(cells: &[i128]) -> bool {
    cells.iter().all(|&cell| i128::from(cell as i64) == cell)
}

/// Encodes cells of which not all fit a word.
pub(crate) fn encode(cells: &[i128], sink: &mut Sink<'_>) -> WideCodec {
    let base = cells
        .iter()
        .copied()
        .min()
        .expect("a page has at least one row");
    let distance = |&cell: &i128| u64::try_from(cell.wrapping_sub(base) as u128);
    if let Ok(words) = cells.iter().map(distance).collect::<Result<Vec<_>, _>>() {
        sink.segment.extend_from_slice(&base.to_le_bytes());
        words::encode_stream(&words, sink);
        WideCodec::Frame
    } else {
        for cell in cells {
            sink.segment.extend_from_slice(&cell.to_le_bytes());
        }
        WideCodec::Plain
    }
}

/// Wide decimals in a segment, parsed and ready to decode.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be one more load on the way to every cell"
)]
pub(crate) enum Wide<'a> {
    Frame { base: i128, distances: Stream<'a> },
    Plain(&'a [[u8; CELL_BYTES]]),
}

impl<'a> Wide<'a> {
    pub(crate) fn open(
        codec: WideCodec,
        mut cursor: Cursor<'a>,
        rows: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        Ok(match codec {
            WideCodec::Frame => {
                let base = i128::from_le_bytes(cursor.array()?);
                Self::Frame {
                    base,
                    distances: Stream::open(&mut cursor, rows, section)?,
                }
            }
            WideCodec::Plain => Self::Plain(cursor.take(rows * CELL_BYTES)?.as_chunks().0),
        })
    }

    /// The cell of a slot, which is below the number of rows.
    pub(crate) fn get(&self, slot: usize) -> i128 {
        match self {
            Self::Frame { base, distances } => base.wrapping_add(i128::from(distances.get(slot))),
            Self::Plain(stored) => i128::from_le_bytes(stored[slot]),
        }
    }

    /// Appends all cells.
    pub(crate) fn decode(&self, cells: &mut Vec<i128>) -> Result<(), PageError> {
        match self {
            Self::Frame { base, distances } => {
                let mut words: Vec<u64> = Vec::new();
                distances.decode(&mut words)?;
                cells.extend(
                    words
                        .iter()
                        .map(|&word| base.wrapping_add(i128::from(word))),
                );
            }
            Self::Plain(stored) => {
                cells.extend(stored.iter().map(|&cell| i128::from_le_bytes(cell)));
            }
        }
        Ok(())
    }

    /// Appends the cells of `slots`.
    pub(crate) fn gather(&self, slots: &[u32], cells: &mut Vec<i128>) -> Result<(), PageError> {
        match self {
            Self::Frame { base, distances } => {
                let mut words: Vec<u64> = Vec::new();
                distances.gather(slots, &mut words)?;
                cells.extend(
                    words
                        .iter()
                        .map(|&word| base.wrapping_add(i128::from(word))),
                );
            }
            Self::Plain(stored) => {
                let picked = slots.iter().map(|&slot| stored[slot as usize]);
                cells.extend(picked.map(i128::from_le_bytes));
            }
        }
        Ok(())
    }
}
