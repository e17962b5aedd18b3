//! The manifest's log: a chain of records, and beside it the marks of what was synced.
//!
//! 1. A record is appended to the log and the log is synced: the commit is durable.
//! 2. A mark goes to the marks file, without a sync of its own: "the log was synced up to here".
//!
//! Reading a log, a record that fails its checks is either the torn end of an append that never
//! was acknowledged, or damage to something that was. The marks tell: before the last mark it is
//! damage, after it the tail is cut. (Marks reach the disk a little later than what they speak
//! of. Damage to the very last record in that short time is taken for a torn end.)
//!
//! A record's checksum covers the previous record's, so a hole, a repetition or a record of
//! another log is found like any other damage.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::{Disk, Env};

use super::append_file::AppendFile;
use super::header::{HEADER_BYTES, Header, HeaderError, LOG_MAGIC};
use crate::byte_fields::{FieldReader, put_u32, put_u64};
use crate::disk_error::{checksum_mismatch, damaged, io_failed, read_failed};
use crate::error::StoreError;
use crate::museum::{self, Exhibit};

/// Length, checksum, sequence number.
const RECORD_HEAD_BYTES: usize = 4 + 4 + 8;

/// Log length, sequence number, record checksum, the mark's own checksum.
const MARK_BYTES: usize = 8 + 8 + 4 + 4;
const MARK_CHECKSUM_AT: usize = MARK_BYTES - 4;

/// Numbers the logs of one data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogNumber(pub(super) u64);

impl LogNumber {
    /// The first log of a data directory.
    pub(super) const FIRST: Self = Self(1);

    /// The path of the log in `directory`.
    pub(super) fn log_path(self, directory: &Path) -> PathBuf {
        directory.join(format!("manifest-{:010}.log", self.0))
    }

    /// The path of the marks beside the log.
    pub(super) fn marks_path(self, directory: &Path) -> PathBuf {
        directory.join(format!("manifest-{:010}.synced", self.0))
    }

    /// The number in the name of a log or marks file.
    pub(super) fn from_file_name(name: &str) -> Option<Self> {
        let (number, ending) = name.strip_prefix("manifest-")?.split_once('.')?;
        let number = number.parse().ok()?;
        matches!(ending, "log" | "synced").then_some(Self(number))
    }

    fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The last whole record: what the next one continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ChainEnd {
    sequence: u64,
    checksum: u32,
}

/// A mark: the log was synced when it was `length` long and ended in this record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    length: u64,
    end: ChainEnd,
}

/// A log being written.
pub(super) struct Log {
    number: LogNumber,
    records: AppendFile,
    marks: AppendFile,
    end: ChainEnd,
}

/// A log that was read.
pub(super) struct ReadLog {
    /// Where each record starts, and its payload, in order.
    pub(super) payloads: Vec<(u64, Vec<u8>)>,
    number: LogNumber,
    length: u64,
    end: ChainEnd,
    is_marked: bool,
}

fn record_checksum(previous: u32, length: u32, sequence: u64, payload: &[u8]) -> u32 {
    let checksum = crc32c::crc32c_append(previous, &length.to_le_bytes());
    let checksum = crc32c::crc32c_append(checksum, &sequence.to_le_bytes());
    crc32c::crc32c_append(checksum, payload)
}

impl Log {
    /// Starts log `number` with one record, durable but for its name in the directory.
    pub(super) fn create(
        env: &Env,
        directory: &Path,
        number: LogNumber,
        sequence: u64,
        payload: &[u8],
    ) -> Result<Self, StoreError> {
        let mut records = AppendFile::create(&env.disk, number.log_path(directory))?;
        let marks = AppendFile::create(&env.disk, number.marks_path(directory))?;
        let (header, checksum) = Header { number: number.0 }.encode(LOG_MAGIC);
        records.append(&header)?;
        let before = ChainEnd {
            sequence: sequence.wrapping_sub(1),
            checksum,
        };
        let mut log = Self {
            number,
            records,
            marks,
            end: before,
        };
        log.append(payload)?;
        // This first mark must not be missing where the log is in use.
        log.marks.append(&log.mark().encode(number))?;
        log.marks.sync()?;
        Ok(log)
    }

    /// Goes on with a log that was read and is marked to its end: all of it was synced.
    pub(super) fn resume(env: &Env, directory: &Path, read: &ReadLog) -> Result<Self, StoreError> {
        assert!(
            read.is_marked,
            "what was not synced may be gone at the next crash"
        );
        let number = read.number;
        let marks_path = number.marks_path(directory);
        let marks_bytes = read_file(&env.disk, &marks_path)?.len();
        let whole_marks = marks_bytes / MARK_BYTES * MARK_BYTES;
        Ok(Self {
            number,
            records: AppendFile::existing(&env.disk, number.log_path(directory), read.length),
            marks: AppendFile::existing(&env.disk, marks_path, whole_marks as u64),
            end: read.end,
        })
    }

    /// The log's number.
    pub(super) fn number(&self) -> LogNumber {
        self.number
    }

    /// The number of the log that follows this one.
    pub(super) fn next_number(&self) -> LogNumber {
        self.number.next()
    }

    /// The sequence number of the record that follows.
    pub(super) fn next_sequence(&self) -> u64 {
        self.end.sequence.wrapping_add(1)
    }

    /// Bytes in the log.
    pub(super) fn length(&self) -> u64 {
        self.records.length()
    }

    /// Appends a record and makes it durable, then marks it. Any error but
    /// [`StoreError::Poisoned`] leaves the log as it was.
    pub(super) fn commit(&mut self, payload: &[u8]) -> Result<(), StoreError> {
        self.append(payload)?;
        self.write_mark();
        Ok(())
    }

    fn append(&mut self, payload: &[u8]) -> Result<(), StoreError> {
        let length = u32::try_from(payload.len()).expect("an edit is smaller than 4 GiB");
        let sequence = self.next_sequence();
        let checksum = record_checksum(self.end.checksum, length, sequence, payload);
        let mut record = Vec::with_capacity(RECORD_HEAD_BYTES + payload.len());
        put_u32(&mut record, length);
        put_u32(&mut record, checksum);
        put_u64(&mut record, sequence);
        record.extend_from_slice(payload);
        self.records.append(&record)?;
        if !museum::shows(Exhibit::RecordUnsynced) {
            self.records.sync()?;
        }
        self.end = ChainEnd { sequence, checksum };
        Ok(())
    }

    fn mark(&self) -> Mark {
        Mark {
            length: self.records.length(),
            end: self.end,
        }
    }

    /// Without its mark a record is as durable, its damage only harder to tell from a torn end:
    /// so a full disk is no reason to fail.
    fn write_mark(&mut self) {
        if let Err(error) = self.marks.append(&self.mark().encode(self.number)) {
            tracing::warn!(path = %self.marks.path().display(), %error, "manifest mark left out");
        }
    }
}

impl Mark {
    fn encode(self, number: LogNumber) -> Vec<u8> {
        let mut out = Vec::with_capacity(MARK_BYTES);
        put_u64(&mut out, self.length);
        put_u64(&mut out, self.end.sequence);
        put_u32(&mut out, self.end.checksum);
        let checksum = Self::checksum(number, &out);
        put_u32(&mut out, checksum);
        out
    }

    fn checksum(number: LogNumber, fields: &[u8]) -> u32 {
        crc32c::crc32c_append(crc32c::crc32c(&number.0.to_le_bytes()), fields)
    }

    fn decode(bytes: &[u8], number: LogNumber) -> Option<Self> {
        let mut fields = FieldReader::new(bytes);
        let length = fields.u64().ok()?;
        let sequence = fields.u64().ok()?;
        let checksum = fields.u32().ok()?;
        let valid = fields.u32().ok()? == Self::checksum(number, &bytes[..MARK_CHECKSUM_AT]);
        valid.then_some(Self {
            length,
            end: ChainEnd { sequence, checksum },
        })
    }
}

/// Reads a whole file.
pub(super) fn read_file(disk: &Arc<dyn Disk>, path: &Path) -> Result<Vec<u8>, StoreError> {
    let file = disk
        .open(path)
        .map_err(|error| read_failed(path, 0, None, &error))?;
    let length = file
        .len()
        .map_err(|error| io_failed("stat", path, &error))?;
    let mut bytes = vec![0; usize::try_from(length).expect("64-bit addresses")];
    file.read_exact_at(&mut bytes, 0)
        .map_err(|error| read_failed(path, 0, None, &error))?;
    Ok(bytes)
}

impl ReadLog {
    /// The log's number.
    pub(super) fn number(&self) -> LogNumber {
        self.number
    }

    /// Whether a mark says that all of it was synced. Otherwise the last record may be one whose
    /// sync failed: the operating system shows it, but may never write it.
    pub(super) fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// The number of the log that follows this one.
    pub(super) fn next_number(&self) -> LogNumber {
        self.number.next()
    }

    /// The sequence number of the record that follows.
    pub(super) fn next_sequence(&self) -> u64 {
        self.end.sequence.wrapping_add(1)
    }

    /// Reads log `number`: every whole record up to the end or a torn tail.
    pub(super) fn read(env: &Env, directory: &Path, number: LogNumber) -> Result<Self, StoreError> {
        let path = number.log_path(directory);
        let bytes = read_file(&env.disk, &path)?;
        let checksum = Header::decode(&bytes, LOG_MAGIC)
            .and_then(|(header, checksum)| header.expect_number(number.0).map(|()| checksum))
            .map_err(|error| header_error(&path, error))?;
        let mark = last_mark(env, directory, number)?;
        let mut reader = RecordReader {
            bytes: &bytes,
            at: HEADER_BYTES,
            end: None,
            checksum,
        };
        let mut payloads = Vec::new();
        let torn = loop {
            let at = reader.at as u64;
            match reader.next_record() {
                Ok(Some(payload)) => payloads.push((at, payload.to_vec())),
                Ok(None) => break None,
                Err(detail) => break Some(detail),
            }
            reader
                .check_mark(mark)
                .map_err(|detail| damaged(&path, at, None, detail))?;
        };
        let length = reader.at as u64;
        if length < mark.length && !museum::shows(Exhibit::DamageTakenForTornEnd) {
            let detail = torn.unwrap_or_else(|| "the file ends too early".to_owned());
            return Err(damaged(&path, length, None, detail));
        }
        let end = reader.end.ok_or_else(|| {
            damaged(
                &path,
                length,
                None,
                "the log has no whole record".to_owned(),
            )
        })?;
        Ok(Self {
            payloads,
            number,
            length,
            end,
            is_marked: length == mark.length,
        })
    }
}

/// The words for a header that cannot be read.
pub(super) fn header_error(path: &Path, error: HeaderError) -> StoreError {
    match error {
        HeaderError::VersionTooNew { found, supported } => StoreError::VersionTooNew {
            file: path.display().to_string(),
            found,
            supported,
        },
        HeaderError::Damaged(detail) => damaged(path, 0, None, detail),
    }
}

/// The last readable mark. Marks after it may be torn; the first one was synced, so there is
/// one in every log that is in use.
fn last_mark(env: &Env, directory: &Path, number: LogNumber) -> Result<Mark, StoreError> {
    let path = number.marks_path(directory);
    let bytes = read_file(&env.disk, &path)?;
    let marks = bytes
        .chunks_exact(MARK_BYTES)
        .filter_map(|mark| Mark::decode(mark, number));
    let detail = || "no readable mark of what was synced".to_owned();
    marks
        .max_by_key(|mark| mark.length)
        .ok_or_else(|| damaged(&path, 0, None, detail()))
}

/// Walks the records of a log's bytes.
struct RecordReader<'a> {
    bytes: &'a [u8],
    at: usize,
    end: Option<ChainEnd>,
    /// Of the record (or header) before.
    checksum: u32,
}

impl<'a> RecordReader<'a> {
    /// The next record's payload; `None` at the end; in words why there is no whole record. Then
    /// `at` stays where the bad record starts.
    fn next_record(&mut self) -> Result<Option<&'a [u8]>, String> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let ends_early = || "the file ends inside a record".to_owned();
        let (head, rest) = rest
            .split_at_checked(RECORD_HEAD_BYTES)
            .ok_or_else(ends_early)?;
        let mut fields = FieldReader::new(head);
        let head = (fields.u32(), fields.u32(), fields.u64());
        let (Ok(length), Ok(expected), Ok(sequence)) = head else {
            return Err(ends_early());
        };
        let payload = rest.get(..length as usize).ok_or_else(ends_early)?;
        let found = record_checksum(self.checksum, length, sequence, payload);
        if found != expected && !museum::shows(Exhibit::RecordChecksumIgnored) {
            return Err(checksum_mismatch(expected, found));
        }
        if let Some(end) = self
            .end
            .filter(|end| end.sequence.wrapping_add(1) != sequence)
        {
            return Err(format!("record {sequence} follows record {}", end.sequence));
        }
        self.at += RECORD_HEAD_BYTES + payload.len();
        self.end = Some(ChainEnd {
            sequence,
            checksum: found,
        });
        self.checksum = found;
        Ok(Some(payload))
    }

    /// At the place that the mark speaks of, the chain must be what the mark says.
    fn check_mark(&self, mark: Mark) -> Result<(), String> {
        if self.at as u64 == mark.length && self.end != Some(mark.end) {
            return Err("the log is not the one whose end was marked".to_owned());
        }
        Ok(())
    }
}
