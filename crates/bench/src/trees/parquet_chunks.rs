//! A Parquet file of which whole column chunks are read, each with one access, as query engines
//! read them. The crate's reader by itself reads page by page, of some ten kilobytes each.
//!
//! Invariant: of each column one chunk is in memory, that of the row group being read.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use env::ReadableFile;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};

use crate::direct_file::DirectFile;

/// See the module.
pub struct ParquetChunks {
    file: DirectFile,
    metadata: Arc<ParquetMetaData>,
    /// By column: where the chunk begins, and its bytes.
    loaded: Mutex<HashMap<usize, (u64, Bytes)>>,
}

impl ParquetChunks {
    /// Nothing read yet.
    pub fn new(file: DirectFile, metadata: &Arc<ParquetMetaData>) -> Self {
        Self {
            file,
            metadata: Arc::clone(metadata),
            loaded: Mutex::default(),
        }
    }

    /// The column whose chunk has the byte at `offset`, and the chunk's extent.
    fn chunk_at(&self, offset: u64) -> Option<(usize, Range<u64>)> {
        let groups = self.metadata.row_groups().iter();
        let mut chunks = groups.flat_map(|group| group.columns().iter().enumerate());
        chunks.find_map(|(column, chunk)| {
            let (start, length) = chunk.byte_range();
            let extent = start..start + length;
            extent.contains(&offset).then_some((column, extent))
        })
    }

    /// From `offset` to the end of its chunk.
    fn from(&self, offset: u64) -> Result<Bytes> {
        let outside = || ParquetError::General(format!("no chunk has the byte {offset}"));
        let (column, extent) = self.chunk_at(offset).ok_or_else(outside)?;
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let known = loaded.get(&column).filter(|(at, _)| *at == extent.start);
        let bytes = match known {
            Some((_, bytes)) => bytes.clone(),
            None => {
                let mut bytes = vec![0; (extent.end - extent.start) as usize];
                self.file.read_exact_at(&mut bytes, extent.start)?;
                let bytes = Bytes::from(bytes);
                loaded.insert(column, (extent.start, bytes.clone()));
                bytes
            }
        };
        Ok(bytes.slice((offset - extent.start) as usize..))
    }
}

impl Length for ParquetChunks {
    fn len(&self) -> u64 {
        self.file.len().unwrap_or(0)
    }
}

impl ChunkReader for ParquetChunks {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        Ok(self.from(start)?.slice(..length))
    }
}
