//! LZ4 or zstd over a block, with the uncompressed length in front and a trailer behind.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;

use super::RowBlocks;

/// Type of compression and checksum behind every block.
const TRAILER_BYTES: usize = 5;
const LENGTH_BYTES: usize = size_of::<u32>();
const ZSTD_LEVEL: i32 = 3;

/// A compressor with its state and output buffer, which are reused.
pub enum Compressor {
    /// The output buffer.
    Lz4(Vec<u8>),
    /// Both directions and the output buffer.
    Zstd {
        /// To blocks.
        compressor: Box<zstd::bulk::Compressor<'static>>,
        /// From blocks.
        decompressor: Box<zstd::bulk::Decompressor<'static>>,
        /// The output.
        buffer: Vec<u8>,
    },
}

impl Compressor {
    /// Of this kind.
    pub fn new(blocks: RowBlocks) -> Result<Self> {
        Ok(match blocks {
            RowBlocks::Lz4 => Self::Lz4(Vec::new()),
            RowBlocks::Zstd => Self::Zstd {
                compressor: Box::new(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
                decompressor: Box::new(zstd::bulk::Decompressor::new()?),
                buffer: Vec::new(),
            },
        })
    }

    /// A block as it goes to disk.
    pub fn compress(&mut self, block: &[u8]) -> Result<Bytes> {
        let mut out = u32::try_from(block.len())?.to_le_bytes().to_vec();
        match self {
            Self::Lz4(_) => out.extend_from_slice(&lz4_flex::block::compress(block)),
            Self::Zstd { compressor, .. } => out.extend_from_slice(&compressor.compress(block)?),
        }
        out.resize(out.len() + TRAILER_BYTES, 0);
        Ok(out.into())
    }

    /// The block behind [`Self::compress`].
    pub fn decompress(&mut self, piece: &[u8]) -> Result<&[u8]> {
        let (length, rest) = piece
            .split_first_chunk::<LENGTH_BYTES>()
            .context("a short block")?;
        let length = u32::from_le_bytes(*length) as usize;
        let compressed = &rest[..rest.len() - TRAILER_BYTES];
        let (found, buffer) = match self {
            Self::Lz4(buffer) => {
                buffer.resize(buffer.len().max(length), 0);
                let found = lz4_flex::block::decompress_into(compressed, &mut buffer[..length])?;
                (found, buffer)
            }
            Self::Zstd {
                decompressor,
                buffer,
                ..
            } => {
                buffer.resize(buffer.len().max(length), 0);
                let found = decompressor.decompress_to_buffer(compressed, &mut buffer[..length])?;
                (found, buffer)
            }
        };
        ensure!(found == length, "a block of another length");
        Ok(&buffer[..length])
    }
}
