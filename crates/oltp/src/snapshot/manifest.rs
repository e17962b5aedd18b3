//! The manifest: which snapshots there are, and what each needs. One small file, replaced as a whole.
//!
//! ```text
//! "HEDGEPMF" | version u32 | checksum u32 | snapshots u32 | for each:
//!   number u64 | position u64 | next number u64 | time i64 | log segment u64 | data bytes u64
//!   block bytes u32 | blocks a file u32 | block files u32 | u32 each
//!   tables u32 | for each: rows u64 | evicted u64 | digest u64 | schema u64
//! ```
//!
//! Snapshots stand in the order of their numbers. The checksum covers everything behind it. See
//! `docs/format/primary-snapshot.md`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use env::Disk;
use types::CommitPosition;

use super::SnapshotNumber;
use crate::anti_cache::FileNumber;
use crate::command_log::SegmentNumber;
use crate::digest::RowsDigest;
use crate::error::{PrimaryError, damaged, io_failed};

/// Name of the file in the partition's folder.
pub(crate) const FILE_NAME: &str = "snapshots.manifest";
/// Name while it is being written.
pub(crate) const NEW_FILE_NAME: &str = "snapshots.manifest.new";
/// What this release writes and reads.
const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"HEDGEPMF";
const CHECKED_FROM: usize = 16;

/// A complete snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotRecord {
    pub(crate) number: SnapshotNumber,
    /// The state is that after this commit.
    pub(crate) position: CommitPosition,
    /// Transactions before had numbers up to this one.
    pub(crate) last_number: u64,
    pub(crate) time_us: i64,
    /// The first segment of the log that may have later commits.
    pub(crate) segment: SegmentNumber,
    pub(crate) data_bytes: u64,
    pub(crate) geometry: BlockGeometry,
    /// Files in which evicted rows are, in order.
    pub(crate) block_files: Vec<FileNumber>,
    pub(crate) tables: Vec<TableRecord>,
}

/// How blocks lie in their files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockGeometry {
    pub(crate) block_bytes: u32,
    pub(crate) blocks_per_file: u32,
}

/// What a snapshot holds of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableRecord {
    pub(crate) rows: u64,
    pub(crate) evicted: u64,
    /// Of all rows, also the evicted ones.
    pub(crate) digest: RowsDigest,
    /// A hash of the table's declaration.
    pub(crate) schema: u64,
}

/// Reads the manifest of a partition's folder; nothing when there is none.
pub(crate) fn read_manifest(
    disk: &dyn Disk,
    folder: &Path,
) -> Result<Vec<SnapshotRecord>, PrimaryError> {
    let path = folder.join(FILE_NAME);
    let file = match disk.open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_failed("open", &path, &error)),
    };
    let length = file
        .len()
        .map_err(|error| io_failed("stat", &path, &error))?;
    let mut bytes = vec![0; length as usize];
    let read = file.read_exact_at(&mut bytes, 0);
    read.map_err(|error| io_failed("read", &path, &error))?;
    decode(&bytes, &path)
}

/// Replaces the manifest. On an error before the rename nothing has changed; `is_replaced` tells.
pub(crate) fn write_manifest(
    disk: &dyn Disk,
    folder: &Path,
    snapshots: &[SnapshotRecord],
    is_replaced: &mut bool,
) -> Result<(), PrimaryError> {
    let (new, path) = (folder.join(NEW_FILE_NAME), folder.join(FILE_NAME));
    // What an attempt that failed left.
    let _ = disk.remove(&new);
    let step = |operation, path: &PathBuf, result: std::io::Result<()>| {
        result.map_err(|error| io_failed(operation, path, &error))
    };
    let made = disk.create(&new);
    let mut file = made.map_err(|error| io_failed("create", &new, &error))?;
    step("write", &new, file.append(&encode(snapshots)))?;
    step("sync", &new, file.sync())?;
    *is_replaced = true;
    step("rename", &new, disk.rename(&new, &path))?;
    step("sync", &folder.to_owned(), disk.sync_directory(folder))
}

/// The bytes of a manifest.
pub(crate) fn encode(snapshots: &[SnapshotRecord]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    put_u32(&mut out, VERSION);
    put_u32(&mut out, 0);
    put_u32(&mut out, snapshots.len() as u32);
    for snapshot in snapshots {
        put_u64(&mut out, snapshot.number.0);
        put_u64(&mut out, snapshot.position.0);
        put_u64(&mut out, snapshot.last_number);
        put_u64(&mut out, snapshot.time_us as u64);
        put_u64(&mut out, snapshot.segment.0);
        put_u64(&mut out, snapshot.data_bytes);
        put_u32(&mut out, snapshot.geometry.block_bytes);
        put_u32(&mut out, snapshot.geometry.blocks_per_file);
        put_u32(&mut out, snapshot.block_files.len() as u32);
        snapshot
            .block_files
            .iter()
            .for_each(|file| put_u32(&mut out, file.0));
        put_u32(&mut out, snapshot.tables.len() as u32);
        for table in &snapshot.tables {
            put_u64(&mut out, table.rows);
            put_u64(&mut out, table.evicted);
            put_u64(&mut out, table.digest.0);
            put_u64(&mut out, table.schema);
        }
    }
    let checksum = crc32c::crc32c(&out[CHECKED_FROM..]);
    out[12..CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
    out
}

/// What a manifest's bytes say.
pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Vec<SnapshotRecord>, PrimaryError> {
    let mut rest = Rest {
        bytes,
        path,
        length: bytes.len(),
    };
    let magic = rest.take::<8>()?;
    if magic != MAGIC {
        return Err(damaged(
            path,
            0,
            format!("found {magic:02x?}, expected {MAGIC:02x?}"),
        ));
    }
    let version = rest.u32()?;
    if version != VERSION {
        return Err(PrimaryError::VersionTooNew {
            file: path.display().to_string(),
            found: version,
            supported: VERSION,
        });
    }
    let stored = rest.u32()?;
    let found = crc32c::crc32c(rest.bytes);
    if found != stored {
        let detail = format!("found checksum {found:08x}, expected {stored:08x}");
        return Err(damaged(path, 12, detail));
    }
    let snapshots = rest.list(Rest::snapshot)?;
    match rest.bytes.len() {
        0 => Ok(snapshots),
        more => Err(rest.error(format!("found {more} bytes more, expected the end"))),
    }
}

/// What has not been decoded yet.
struct Rest<'a> {
    bytes: &'a [u8],
    path: &'a Path,
    length: usize,
}

impl Rest<'_> {
    fn error(&self, detail: String) -> PrimaryError {
        damaged(self.path, (self.length - self.bytes.len()) as u64, detail)
    }

    fn take<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], PrimaryError> {
        let Some((taken, rest)) = self.bytes.split_first_chunk() else {
            let found = self.bytes.len();
            return Err(self.error(format!("found {found} bytes, expected {BYTES} at least")));
        };
        self.bytes = rest;
        Ok(*taken)
    }

    fn u32(&mut self) -> Result<u32, PrimaryError> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, PrimaryError> {
        self.take().map(u64::from_le_bytes)
    }

    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, PrimaryError>,
    ) -> Result<Vec<T>, PrimaryError> {
        (0..self.u32()?).map(|_| item(self)).collect()
    }

    fn snapshot(&mut self) -> Result<SnapshotRecord, PrimaryError> {
        Ok(SnapshotRecord {
            number: SnapshotNumber(self.u64()?),
            position: CommitPosition(self.u64()?),
            last_number: self.u64()?,
            time_us: self.u64()? as i64,
            segment: SegmentNumber(self.u64()?),
            data_bytes: self.u64()?,
            geometry: BlockGeometry {
                block_bytes: self.u32()?,
                blocks_per_file: self.u32()?,
            },
            block_files: self.list(|rest| rest.u32().map(FileNumber))?,
            tables: self.list(|rest| {
                Ok(TableRecord {
                    rows: rest.u64()?,
                    evicted: rest.u64()?,
                    digest: RowsDigest(rest.u64()?),
                    schema: rest.u64()?,
                })
            })?,
        })
    }
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}
