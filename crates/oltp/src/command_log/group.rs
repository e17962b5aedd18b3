//! The file's header, and groups: the records that one sync made durable.
//!
//! ```text
//! file:  "HEDGECMD" | version u32 | checksum u32 | log u64 | then groups
//! group: "HGRP" | checksum u32 | offset u64 | payload u32 | records u32 | then records
//! ```
//!
//! A group's checksum starts from the log's number and covers everything behind it, so a group of
//! another log or in another place is none. See `docs/format/command-log.md`.

use types::CommitPosition;

use super::record::Record;

/// Bytes of the file's header.
pub(super) const FILE_HEADER_BYTES: usize = 24;

/// Bytes of a group's header.
pub(super) const GROUP_HEADER_BYTES: usize = 24;

/// What this release writes and reads.
pub(super) const VERSION: u32 = 1;

/// Bytes of memory that the next group gets from one that was written.
const KEPT_BYTES_MAX: usize = 1 << 20;

const FILE_MAGIC: [u8; 8] = *b"HEDGECMD";
pub(super) const GROUP_MAGIC: [u8; 4] = *b"HGRP";
const CHECKSUM_AT: usize = 4;
const OFFSET_AT: usize = 8;
const PAYLOAD_AT: usize = 16;
const RECORDS_AT: usize = 20;
const _: () = assert!(RECORDS_AT + 4 == GROUP_HEADER_BYTES);

/// Tells logs apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogNumber(pub(super) u64);

/// What is wrong with a file's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderProblem {
    Damaged,
    TooNew(u32),
}

/// A group being made.
#[derive(Debug)]
pub(crate) struct Group {
    bytes: Vec<u8>,
    records: u32,
    last: CommitPosition,
}

/// The header of a log.
pub(super) fn file_header(log: LogNumber) -> [u8; FILE_HEADER_BYTES] {
    let mut header = [0; FILE_HEADER_BYTES];
    header[..8].copy_from_slice(&FILE_MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[16..].copy_from_slice(&log.0.to_le_bytes());
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..]);
    header[12..16].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// The log's number.
pub(super) fn parse_file_header(
    header: &[u8; FILE_HEADER_BYTES],
) -> Result<LogNumber, HeaderProblem> {
    let version = u32::from_le_bytes(header[8..12].try_into().expect("four bytes"));
    if header[..8] == FILE_MAGIC && version > VERSION {
        return Err(HeaderProblem::TooNew(version));
    }
    let log = LogNumber(u64::from_le_bytes(
        header[16..].try_into().expect("eight bytes"),
    ));
    if *header == file_header(log) {
        Ok(log)
    } else {
        Err(HeaderProblem::Damaged)
    }
}

impl Group {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; GROUP_HEADER_BYTES],
            records: 0,
            last: CommitPosition::ZERO,
        }
    }

    pub(super) fn push(&mut self, record: &Record<'_>) {
        debug_assert!(record.position > self.last);
        record.encode(&mut self.bytes);
        self.records += 1;
        self.last = record.position;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Without records. The memory for a usual group is kept.
    pub(super) fn clear(&mut self) {
        self.bytes.truncate(GROUP_HEADER_BYTES);
        self.bytes.shrink_to(KEPT_BYTES_MAX);
        self.records = 0;
    }

    /// The position of its last record.
    pub(super) fn last(&self) -> CommitPosition {
        self.last
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// The whole group, as it stands at an offset of a log.
    pub(super) fn finish(&mut self, log: LogNumber, offset: u64) -> &[u8] {
        let payload = u32::try_from(self.bytes.len() - GROUP_HEADER_BYTES);
        let payload = payload.expect("calls are refused before a group is so long");
        self.bytes[..4].copy_from_slice(&GROUP_MAGIC);
        self.bytes[OFFSET_AT..PAYLOAD_AT].copy_from_slice(&offset.to_le_bytes());
        self.bytes[PAYLOAD_AT..RECORDS_AT].copy_from_slice(&payload.to_le_bytes());
        self.bytes[RECORDS_AT..GROUP_HEADER_BYTES].copy_from_slice(&self.records.to_le_bytes());
        let checksum = checksum(log, &self.bytes);
        self.bytes[CHECKSUM_AT..OFFSET_AT].copy_from_slice(&checksum.to_le_bytes());
        &self.bytes
    }
}

fn checksum(log: LogNumber, group: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&log.0.to_le_bytes()), &group[OFFSET_AT..])
}

/// The length of the whole group that starts at an offset; `None` when none does.
pub(super) fn whole_group(log: LogNumber, bytes: &[u8], offset: usize) -> Option<usize> {
    let group = bytes.get(offset..)?;
    let header = group.get(..GROUP_HEADER_BYTES)?;
    let field = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    let length = GROUP_HEADER_BYTES + field(PAYLOAD_AT) as usize;
    let stands_here = header[OFFSET_AT..PAYLOAD_AT] == (offset as u64).to_le_bytes();
    let is_whole = header[..4] == GROUP_MAGIC
        && stands_here
        && field(CHECKSUM_AT) == checksum(log, group.get(..length)?);
    is_whole.then_some(length)
}
