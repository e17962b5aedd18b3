//! A block: evicted rows of one table, in a fixed number of bytes (Anti-Caching, section 3.1).
//!
//! ```text
//! checksum u32 | block u32 | version u16 | table u16 | rows u32 | payload u32 | 0 u32 | made at i64
//! for each row: bytes u32 | body | texts        zeros up to the block's size
//! ```
//!
//! The checksum covers everything behind it, zeros included, and so the block's number: a block in
//! another one's place is damage. `docs/format/block.md` is the whole of it.

use std::path::Path;

use crate::error::{PrimaryError, damaged};
use crate::evicted_entries::{BlockId, BlockPlace};
use crate::row_layout::{RowBytes, RowLayout};
use crate::schema::TableNumber;
use crate::snapshot::append_row;

/// Bytes before the first row.
pub(crate) const HEADER_BYTES: usize = 32;

/// What this release writes and reads.
const VERSION: u16 = 1;

const CHECKSUM_BYTES: usize = 4;
const BLOCK_AT: usize = 4;
const VERSION_AT: usize = 8;
const TABLE_AT: usize = 10;
const ROWS_AT: usize = 12;
const PAYLOAD_AT: usize = 16;
const MADE_AT: usize = 24;
/// Before each row.
const LENGTH_BYTES: usize = 4;

const _: () = assert!(MADE_AT + 8 == HEADER_BYTES);

/// A whole block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) id: BlockId,
    pub(crate) table: TableNumber,
    pub(crate) bytes: Vec<u8>,
}

/// A block being filled.
pub(crate) struct BlockBuilder {
    id: BlockId,
    table: TableNumber,
    bytes: Vec<u8>,
    block_bytes: usize,
    rows: u32,
}

impl BlockBuilder {
    /// An empty block.
    pub(crate) fn new(id: BlockId, table: TableNumber, block_bytes: usize) -> Self {
        let mut bytes = Vec::with_capacity(block_bytes);
        bytes.resize(HEADER_BYTES, 0);
        Self {
            id,
            table,
            bytes,
            block_bytes,
            rows: 0,
        }
    }

    /// Adds a row if there is room.
    pub(crate) fn push(&mut self, row: RowBytes<'_>, layout: &RowLayout) -> Option<BlockPlace> {
        let at = self.bytes.len();
        let length = row.body.len() + row.text.len();
        if at + LENGTH_BYTES + length > self.block_bytes {
            return None;
        }
        append_row(row, layout, &mut self.bytes);
        self.rows += 1;
        Some(BlockPlace {
            block: self.id,
            at: at as u32,
        })
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    /// The block.
    pub(crate) fn finish(mut self, time_us: i64) -> Block {
        let payload = (self.bytes.len() - HEADER_BYTES) as u32;
        self.bytes.resize(self.block_bytes, 0);
        let mut put =
            |at: usize, field: &[u8]| self.bytes[at..at + field.len()].copy_from_slice(field);
        put(BLOCK_AT, &self.id.0.to_le_bytes());
        put(VERSION_AT, &VERSION.to_le_bytes());
        put(TABLE_AT, &self.table.0.to_le_bytes());
        put(ROWS_AT, &self.rows.to_le_bytes());
        put(PAYLOAD_AT, &payload.to_le_bytes());
        put(MADE_AT, &time_us.to_le_bytes());
        let checksum = crc32c::crc32c(&self.bytes[CHECKSUM_BYTES..]);
        self.bytes[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
        Block {
            id: self.id,
            table: self.table,
            bytes: self.bytes,
        }
    }
}

impl Block {
    /// Checks what was read from `offset` of a file.
    pub(crate) fn parse(
        id: BlockId,
        bytes: Vec<u8>,
        path: &Path,
        offset: u64,
    ) -> Result<Self, PrimaryError> {
        assert!(bytes.len() > HEADER_BYTES, "blocks have room for rows");
        let found = crc32c::crc32c(&bytes[CHECKSUM_BYTES..]);
        let stored = u32_at(&bytes, 0);
        if found != stored {
            let detail = format!("checksum {found:08x}, stored {stored:08x}");
            return Err(damaged(path, offset, detail));
        }
        let version = u16_at(&bytes, VERSION_AT);
        if version > VERSION {
            return Err(PrimaryError::VersionTooNew {
                file: path.display().to_string(),
                found: version.into(),
                supported: VERSION.into(),
            });
        }
        let stored = u32_at(&bytes, BLOCK_AT);
        if stored != id.0 {
            let detail = format!("block {stored} in the place of block {}", id.0);
            return Err(damaged(path, offset, detail));
        }
        Ok(Self {
            id,
            table: TableNumber(u16_at(&bytes, TABLE_AT)),
            bytes,
        })
    }

    /// The row at a place that the builder named.
    ///
    /// # Panics
    /// When the place is none of the block's: its checksum was right, so the engine was wrong.
    pub(crate) fn row(&self, at: u32, layout: &RowLayout) -> RowBytes<'_> {
        self.find_row(at, layout).expect("a row starts here")
    }

    /// The row at a place; `None` when there is none of this layout.
    pub(crate) fn find_row(&self, at: u32, layout: &RowLayout) -> Option<RowBytes<'_>> {
        let (length, rest) = self.bytes.get(at as usize..)?.split_first_chunk::<4>()?;
        layout.split(rest.get(..u32::from_le_bytes(*length) as usize)?)
    }

    /// Rows that it was made with.
    pub(crate) fn rows(&self) -> u32 {
        u32_at(&self.bytes, ROWS_AT)
    }

    /// Where the rows are.
    pub(crate) fn places(&self) -> impl Iterator<Item = BlockPlace> + '_ {
        let end = HEADER_BYTES + u32_at(&self.bytes, PAYLOAD_AT) as usize;
        let mut at = HEADER_BYTES;
        std::iter::from_fn(move || {
            let place = BlockPlace {
                block: self.id,
                at: at as u32,
            };
            (at < end).then(|| {
                at += LENGTH_BYTES + u32_at(&self.bytes, at) as usize;
                place
            })
        })
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use types::{ColumnType, Value};

    use super::*;
    use crate::schema::ColumnDefinition;

    const BLOCK_BYTES: usize = 512;

    fn layout() -> RowLayout {
        RowLayout::new(&[
            ColumnDefinition::new("id", ColumnType::Int64),
            ColumnDefinition::new("text", ColumnType::Text).nullable(),
            ColumnDefinition::new("more", ColumnType::Bytes),
        ])
    }

    fn values(id: i64) -> [Value<'static>; 3] {
        let text = if id == 1 {
            Value::Null
        } else {
            Value::Bytes(b"text")
        };
        [Value::Int(id), text, Value::Bytes(&[7; 40])]
    }

    /// As many rows as fit.
    fn full() -> Block {
        let layout = layout();
        let mut builder = BlockBuilder::new(BlockId(9), TableNumber(2), BLOCK_BYTES);
        for id in 0.. {
            let mut row = Vec::new();
            layout.encode(&values(id), &mut row).expect("a row");
            let row = layout.split(&row).expect("of this layout");
            if builder.push(row, &layout).is_none() {
                return builder.finish(1_000);
            }
        }
        unreachable!("a block has an end");
    }

    fn parse(bytes: Vec<u8>) -> Result<Block, PrimaryError> {
        Block::parse(BlockId(9), bytes, Path::new("blocks"), 0)
    }

    #[test]
    fn rows_come_back() {
        let (block, layout) = (parse(full().bytes).expect("intact"), layout());
        let places: Vec<_> = block.places().collect();
        assert_eq!(places.len(), 7);
        for (id, place) in places.iter().enumerate() {
            let row = block.row(place.at, &layout);
            for (column, value) in values(id as i64).iter().enumerate() {
                assert!(layout.value(row, column).order(value).is_eq());
            }
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        for byte in 0..BLOCK_BYTES {
            let mut bytes = full().bytes;
            bytes[byte] ^= 1 << (byte % 8);
            assert!(
                matches!(parse(bytes), Err(PrimaryError::Corrupt { .. })),
                "{byte}"
            );
        }
    }

    #[test]
    fn a_block_in_another_ones_place_is_damage() {
        let parsed = Block::parse(BlockId(8), full().bytes, Path::new("blocks"), 512);
        let error = parsed.expect_err("block 9");
        assert!(
            error
                .to_string()
                .contains("block 9 in the place of block 8"),
            "{error}"
        );
    }

    /// Version 1, byte for byte.
    #[test]
    fn version_1_is_written_and_read() {
        let golden = include_bytes!("../../golden/block-1");
        assert_eq!(full().bytes, golden);
        assert_eq!(parse(golden.to_vec()).expect("intact"), full());
    }
}
