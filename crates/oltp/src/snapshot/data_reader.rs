//! Reading a data file, chunk by chunk, from its beginning to its end.
//!
//! Whatever is not as the writer made it is damage.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::{Disk, ReadableFile};

use super::chunk::{CHUNK_HEADER_BYTES, ChunkHeader, FILE_HEADER_BYTES, check_file_header};
use super::manifest::SnapshotRecord;
use super::{SnapshotNumber, data_path};
use crate::error::{PrimaryError, damaged, io_failed};
use crate::evicted_entries::{BlockId, BlockPlace};

/// Bytes of an evicted entry in a chunk.
const ENTRY_BYTES: usize = 8;

/// See the module.
pub(crate) struct DataReader {
    snapshot: SnapshotNumber,
    path: PathBuf,
    file: Arc<dyn ReadableFile>,
    bytes: u64,
    at: u64,
}

/// A chunk whose checksum is right.
pub(crate) struct DataChunk {
    pub(crate) header: ChunkHeader,
    payload: Vec<u8>,
    at: u64,
}

impl DataReader {
    /// Opens the data file of a snapshot.
    pub(crate) fn open(
        disk: &dyn Disk,
        folder: &Path,
        snapshot: &SnapshotRecord,
    ) -> Result<Self, PrimaryError> {
        let path = data_path(folder, snapshot.number);
        let file = match disk.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(damaged(&path, 0, "found no file, expected a snapshot"));
            }
            Err(error) => return Err(io_failed("open", &path, &error)),
        };
        let found = file
            .len()
            .map_err(|error| io_failed("stat", &path, &error))?;
        if found != snapshot.data_bytes {
            let detail = format!("found {found} bytes, expected {}", snapshot.data_bytes);
            return Err(damaged(&path, found.min(snapshot.data_bytes), detail));
        }
        let reader = Self {
            snapshot: snapshot.number,
            path,
            file,
            bytes: found,
            at: FILE_HEADER_BYTES as u64,
        };
        let mut header = [0; FILE_HEADER_BYTES];
        reader.read(&mut header, 0)?;
        check_file_header(&header, snapshot.number, &reader.path)?;
        Ok(reader)
    }

    /// Whether there are no more chunks.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes
    }

    /// The next chunk, until [`Self::pass`]; `None` at the end.
    pub(crate) fn chunk(&self) -> Result<Option<DataChunk>, PrimaryError> {
        if self.is_at_end() {
            return Ok(None);
        }
        let (at, mut bytes) = (self.at, [0; CHUNK_HEADER_BYTES]);
        self.read(&mut bytes, at)?;
        let header = ChunkHeader::parse(&bytes, &self.path, at)?;
        let payload_at = at + CHUNK_HEADER_BYTES as u64;
        let rest = self.bytes - payload_at;
        if u64::from(header.payload_bytes) > rest {
            let expected = header.payload_bytes;
            let detail = format!("found {rest} bytes of payload, expected {expected}");
            return Err(damaged(&self.path, at, detail));
        }
        let mut payload = vec![0; header.payload_bytes as usize];
        self.read(&mut payload, payload_at)?;
        header.check(self.snapshot, &bytes, &payload, &self.path, at)?;
        Ok(Some(DataChunk {
            header,
            payload,
            at,
        }))
    }

    /// Goes on behind a chunk.
    pub(crate) fn pass(&mut self, chunk: &DataChunk) {
        self.at = chunk.at + (CHUNK_HEADER_BYTES + chunk.payload.len()) as u64;
    }

    /// Something is wrong with a chunk nevertheless.
    pub(crate) fn error(&self, chunk: &DataChunk, detail: String) -> PrimaryError {
        damaged(&self.path, chunk.at, detail)
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<(), PrimaryError> {
        if offset + buffer.len() as u64 > self.bytes {
            let (found, expected) = (self.bytes - offset, buffer.len());
            let detail = format!("found {found} bytes, expected {expected} at least");
            return Err(damaged(&self.path, offset, detail));
        }
        let read = self.file.read_exact_at(buffer, offset);
        read.map_err(|error| io_failed("read", &self.path, &error))
    }
}

impl DataChunk {
    /// The rows of a chunk of rows; `None` for one that is cut.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Option<&[u8]>> {
        rows(&self.payload)
    }

    /// The places of a chunk of evicted rows.
    pub(crate) fn places(&self) -> impl Iterator<Item = BlockPlace> {
        self.payload.chunks_exact(ENTRY_BYTES).map(|entry| {
            let number =
                |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().expect("four bytes"));
            BlockPlace {
                block: BlockId(number(0)),
                at: number(4),
            }
        })
    }
}

/// Rows end to end; `None` for one that is cut.
pub(super) fn rows(mut payload: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    std::iter::from_fn(move || {
        if payload.is_empty() {
            return None;
        }
        let row = payload
            .split_first_chunk::<4>()
            .and_then(|(length, rest)| rest.split_at_checked(u32::from_le_bytes(*length) as usize));
        payload = row.map_or(&[], |(_, rest)| rest);
        Some(row.map(|(row, _)| row))
    })
}
