//! Reading the log, and telling its torn end from damage.
//!
//! A group is written only when the one before it is durable. So a group that fails its checks is the
//! torn end of one that never was acknowledged if no whole group follows, and damage if one does.
//! (Damage to the very last group is taken for a torn end.) A segment is started when all groups of the
//! one before are durable: only the last one may have a torn end.

use std::io::ErrorKind;
use std::path::Path;

use env::Disk;

use super::SegmentNumber;
use super::group::{
    FILE_HEADER_BYTES, GROUP_HEADER_BYTES, HeaderProblem, LogNumber, VERSION, parse_file_header,
    whole_group,
};
use super::record::Record;
use crate::error::{PrimaryError, damaged, io_failed};

/// A segment that was read.
pub(crate) struct ReadLog {
    bytes: Vec<u8>,
    /// Bytes up to the end of the last whole group.
    pub(super) length: u64,
    pub(super) log: LogNumber,
    pub(crate) segment: SegmentNumber,
}

/// Numbers of the segments in a folder from this one on, in order. None may be missing.
pub(crate) fn read_segments(
    disk: &dyn Disk,
    folder: &Path,
    first: SegmentNumber,
) -> Result<Vec<SegmentNumber>, PrimaryError> {
    let files = disk.list(folder);
    let files = files.map_err(|error| io_failed("list", folder, &error))?;
    let numbers = files
        .iter()
        .filter_map(|path| SegmentNumber::of_name(path.file_name()?.to_str()?));
    let mut numbers: Vec<_> = numbers.filter(|number| *number >= first).collect();
    numbers.sort_unstable();
    for (expected, found) in (first.0..).zip(&numbers) {
        if found.0 != expected {
            let path = folder.join(SegmentNumber(expected).name());
            let detail = format!("found no file, expected a segment before {}", found.name());
            return Err(damaged(&path, 0, detail));
        }
    }
    Ok(numbers)
}

/// Refuses a log from `first` on that ends before `end`, the segment that was begun for a snapshot: what
/// the snapshot has would be missing.
pub(crate) fn check_reaches(
    disk: &dyn Disk,
    folder: &Path,
    first: SegmentNumber,
    end: SegmentNumber,
) -> Result<(), PrimaryError> {
    let found = read_segments(disk, folder, first)?;
    let missing = SegmentNumber(first.0 + found.len() as u64);
    if missing >= end {
        return Ok(());
    }
    let detail = "found no file, expected a segment that a snapshot was made after";
    Err(damaged(&folder.join(missing.name()), 0, detail))
}

impl ReadLog {
    /// Reads a segment; `None` when there is none, or only the beginning of a header.
    pub(crate) fn read(
        disk: &dyn Disk,
        folder: &Path,
        segment: SegmentNumber,
    ) -> Result<Option<Self>, PrimaryError> {
        read_log(disk, &folder.join(segment.name()), segment)
    }

    /// Bytes of the segment.
    pub(crate) fn bytes(&self) -> u64 {
        self.length
    }

    /// Refuses a segment that another one follows, if it has a torn end. Behind its last group there may be room that
    /// was made for another one.
    pub(crate) fn check_whole(&self, folder: &Path) -> Result<(), PrimaryError> {
        let rest = &self.bytes[self.length as usize..];
        if rest.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let (found, expected) = (rest.len(), self.segment.0 + 1);
        let detail = format!(
            "found {found} bytes that are no group, expected the end or zeros: segment {expected} follows"
        );
        Err(damaged(
            &folder.join(self.segment.name()),
            self.length,
            detail,
        ))
    }
}

fn read_log(
    disk: &dyn Disk,
    path: &Path,
    segment: SegmentNumber,
) -> Result<Option<ReadLog>, PrimaryError> {
    let Some(bytes) = read_file(disk, path)? else {
        return Ok(None);
    };
    let Some(header) = bytes.first_chunk::<FILE_HEADER_BYTES>() else {
        return Ok(None);
    };
    let log = match parse_file_header(header) {
        Ok(log) => log,
        Err(HeaderProblem::TooNew(found)) => {
            return Err(PrimaryError::VersionTooNew {
                file: path.display().to_string(),
                found,
                supported: VERSION,
            });
        }
        // Made, but never synced: nothing that follows was acknowledged.
        Err(HeaderProblem::Damaged) if bytes.len() == FILE_HEADER_BYTES => return Ok(None),
        Err(HeaderProblem::Damaged) => return Err(damaged(path, 0, "the header is damaged")),
    };
    let mut end = FILE_HEADER_BYTES;
    while let Some(length) = whole_group(log, &bytes, end) {
        end += length;
    }
    let later = (end + 1..bytes.len()).find(|at| whole_group(log, &bytes, *at).is_some());
    if let Some(later) = later {
        let detail = format!("a group is damaged; the next whole one is at {later}");
        return Err(damaged(path, end as u64, detail));
    }
    Ok(Some(ReadLog {
        bytes,
        length: end as u64,
        log,
        segment,
    }))
}

fn read_file(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<u8>>, PrimaryError> {
    let file = match disk.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_failed("open", path, &error)),
    };
    let length = file
        .len()
        .map_err(|error| io_failed("stat", path, &error))?;
    let mut bytes = vec![0; length as usize];
    let read = file.read_exact_at(&mut bytes, 0);
    read.map_err(|error| io_failed("read", path, &error))?;
    Ok(Some(bytes))
}

impl ReadLog {
    /// The records, in order.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let mut at = FILE_HEADER_BYTES;
        let mut rest: &[u8] = &[];
        std::iter::from_fn(move || {
            if rest.is_empty() && at < self.length as usize {
                let length = whole_group(self.log, &self.bytes, at).expect("it was checked");
                rest = &self.bytes[at + GROUP_HEADER_BYTES..at + length];
                at += length;
            }
            if rest.is_empty() {
                return None;
            }
            Some(Record::decode(&mut rest).expect("a whole group has whole records"))
        })
    }
}
