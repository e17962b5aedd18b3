//! The data file of a snapshot: a header, then chunks, each with rows or evicted entries of one table.
//!
//! ```text
//! file:  "HEDGESNP" | version u32 | checksum u32 | snapshot u64
//! chunk: "SCHK" | checksum u32 | offset u64 | kind u8 | 0 u8 | table u16 | payload u32 | count u32 | 0 u32
//! ```
//!
//! A chunk's checksum starts from the snapshot's number and covers everything behind it, so a chunk of
//! another snapshot or in another place is none. See `docs/format/primary-snapshot.md`.

use std::path::Path;

use super::SnapshotNumber;
use super::capture::Copied;
use crate::error::{PrimaryError, damaged};
use crate::schema::TableNumber;

/// Bytes of the file's header.
pub(crate) const FILE_HEADER_BYTES: usize = 24;
/// Bytes of a chunk's header.
pub(crate) const CHUNK_HEADER_BYTES: usize = 32;
/// What this release writes and reads.
pub(crate) const VERSION: u32 = 1;

const FILE_MAGIC: [u8; 8] = *b"HEDGESNP";
const CHUNK_MAGIC: [u8; 4] = *b"SCHK";

/// What is in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    /// Rows, as blocks have them.
    Rows = 1,
    /// Evicted entries: block u32, byte in the block u32.
    Evicted = 2,
}

/// The beginning of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    pub(crate) kind: ChunkKind,
    pub(crate) table: TableNumber,
    pub(crate) payload_bytes: u32,
    pub(crate) count: u32,
    checksum: u32,
}

/// A checksum of a header of magic, version, checksum and number.
fn header_checksum(header: &[u8; FILE_HEADER_BYTES]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..])
}

/// The header of a data file.
pub(crate) fn file_header(snapshot: SnapshotNumber) -> [u8; FILE_HEADER_BYTES] {
    let mut header = [0; FILE_HEADER_BYTES];
    header[..8].copy_from_slice(&FILE_MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[16..].copy_from_slice(&snapshot.0.to_le_bytes());
    let checksum = header_checksum(&header);
    header[12..16].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// Checks the header of a data file.
pub(crate) fn check_file_header(
    found: &[u8; FILE_HEADER_BYTES],
    snapshot: SnapshotNumber,
    path: &Path,
) -> Result<(), PrimaryError> {
    let version = u32_at(found, 8);
    if found[..8] == FILE_MAGIC && version > VERSION {
        return Err(PrimaryError::VersionTooNew {
            file: path.display().to_string(),
            found: version,
            supported: VERSION,
        });
    }
    let expected = file_header(snapshot);
    if *found == expected {
        return Ok(());
    }
    let detail = format!("found the header {found:02x?}, expected {expected:02x?}");
    Err(damaged(path, 0, detail))
}

/// The bytes of a chunk, as it stands at an offset.
pub(crate) fn chunk(
    snapshot: SnapshotNumber,
    offset: u64,
    kind: ChunkKind,
    table: TableNumber,
    copied: &Copied,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(CHUNK_HEADER_BYTES + copied.bytes.len());
    bytes.extend_from_slice(&CHUNK_MAGIC);
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&offset.to_le_bytes());
    bytes.extend_from_slice(&[kind as u8, 0]);
    bytes.extend_from_slice(&table.0.to_le_bytes());
    bytes.extend_from_slice(&(copied.bytes.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&copied.count.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&copied.bytes);
    let checksum = chunk_checksum(snapshot, &bytes[8..CHUNK_HEADER_BYTES], &copied.bytes);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn chunk_checksum(snapshot: SnapshotNumber, header: &[u8], payload: &[u8]) -> u32 {
    let seed = crc32c::crc32c(&snapshot.0.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c_append(seed, header), payload)
}

impl ChunkHeader {
    /// Reads the header of the chunk at an offset. It is right only if its payload is.
    pub(crate) fn parse(
        header: &[u8; CHUNK_HEADER_BYTES],
        path: &Path,
        offset: u64,
    ) -> Result<Self, PrimaryError> {
        let error = |detail: String| Err(damaged(path, offset, detail));
        if header[..4] != CHUNK_MAGIC {
            return error(format!("found {:02x?}, expected a chunk", &header[..4]));
        }
        let stored = u64::from_le_bytes(header[8..16].try_into().expect("eight bytes"));
        if stored != offset {
            return error(format!(
                "found the chunk of offset {stored}, expected {offset}"
            ));
        }
        let kind = match header[16] {
            1 => ChunkKind::Rows,
            2 => ChunkKind::Evicted,
            other => return error(format!("found a chunk of kind {other}, expected 1 or 2")),
        };
        Ok(Self {
            kind,
            table: TableNumber(u16::from_le_bytes([header[18], header[19]])),
            payload_bytes: u32_at(header, 20),
            count: u32_at(header, 24),
            checksum: u32_at(header, 4),
        })
    }

    /// Checks the payload, and the header with it.
    pub(crate) fn check(
        &self,
        snapshot: SnapshotNumber,
        header: &[u8; CHUNK_HEADER_BYTES],
        payload: &[u8],
        path: &Path,
        offset: u64,
    ) -> Result<(), PrimaryError> {
        let found = chunk_checksum(snapshot, &header[8..], payload);
        if found == self.checksum {
            return Ok(());
        }
        let detail = format!("found checksum {found:08x}, expected {:08x}", self.checksum);
        Err(damaged(path, offset, detail))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
