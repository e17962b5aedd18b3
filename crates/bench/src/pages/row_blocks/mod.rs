//! Row-wise blocks under a general compressor: how an LSM-tree like RocksDB stores the rows.
//!
//! The block is RocksDB's block-based table format:
//!
//! 1. An entry is (shared, unshared, value length) as varints, the unshared tail of the key, the
//!    value. The key is the order-preserving key and 8 bytes of sequence number and kind; the
//!    value has a null bitmap and the other columns' cells, fixed width or length and text.
//! 2. Every 16th key is whole; the offsets of those entries and their count end the block.
//! 3. A block that reaches 16 KiB is compressed with the length in front; 5 bytes of type and
//!    checksum follow. The checksum is neither computed nor checked: in the rival's favour.
//!
//! Its index and filter blocks are not counted, as ours are not in the comparison.

mod compressor;
mod read;
mod write;

use anyhow::Result;
use arrow_array::ArrayRef;
use bytes::Bytes;

use super::contender::{Contender, Wanted};
use super::data_set::DataSet;
use compressor::Compressor;
use read::RowReader;
use write::{BlockWriter, Cells};

const BLOCK_BYTES: usize = 16 << 10;

/// The compressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowBlocks {
    /// As `parquet lz4`, by the same crate.
    Lz4,
    /// At level 3, RocksDB's default.
    Zstd,
}

impl Contender for RowBlocks {
    fn name(&self) -> &str {
        match self {
            Self::Lz4 => "row blocks lz4",
            Self::Zstd => "row blocks zstd-3",
        }
    }

    fn encode(&self, data: &DataSet) -> Result<Vec<Bytes>> {
        let mut compressor = Compressor::new(*self)?;
        let mut block = BlockWriter::default();
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let mut pieces = Vec::new();
        let cells = Cells::of(data)?;
        for row in 0..data.rows() {
            cells.write_key(row, &mut key)?;
            cells.write_value(row, &mut value)?;
            block.add(&key, &value);
            if block.bytes() >= BLOCK_BYTES {
                pieces.push(compressor.compress(block.finish())?);
                block.clear();
            }
        }
        if !block.is_empty() {
            pieces.push(compressor.compress(block.finish())?);
        }
        Ok(pieces)
    }

    fn decode(
        &self,
        data: &DataSet,
        pieces: &[Bytes],
        wanted: Wanted,
        each: &mut dyn FnMut(&[ArrayRef]),
    ) -> Result<()> {
        let mut compressor = Compressor::new(*self)?;
        let mut rows = RowReader::new(data, wanted);
        for piece in pieces {
            rows.read_block(compressor.decompress(piece)?)?;
            // Batches as large as the other formats': a block has a few hundred rows only.
            if rows.count() >= page::ROWS_MAX {
                each(&rows.finish());
            }
        }
        if rows.count() > 0 {
            each(&rows.finish());
        }
        Ok(())
    }
}

/// The columns that are not in the key, in schema order.
fn outside_key(data: &DataSet) -> impl Iterator<Item = usize> + '_ {
    (0..data.arrays.len()).filter(|column| !data.schema.key.contains(column))
}
