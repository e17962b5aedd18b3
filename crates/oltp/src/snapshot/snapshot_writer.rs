//! The writer: puts what the partition has copied on disk, beside its thread.
//!
//! 1. A data file is made, and chunks are appended to it as they come, and synced every few MiB: what waits in the
//!    page cache to be written is memory that no budget counts. Rows are digested here.
//! 2. When the partition says that everything was copied and that the blocks are written, these are synced,
//!    then the file and its name; then the manifest is replaced.
//! 3. After that, and only then, older data files and segments of the log that no kept snapshot needs
//!    are removed. What cannot be removed is removed when the partition is opened.
//!
//! **Invariant:** a snapshot that fails leaves what was there before. When it is not known whether the
//! manifest was replaced, or whether blocks are durable, no snapshot is made any more until the next start,
//! and nothing is removed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use env::{Env, WritableFile};
use parking_lot::Mutex;

use super::capture::Copied;
use super::chunk::{ChunkKind, chunk, file_header};
use super::data_reader::rows;
use super::leftovers::remove_leftovers;
use super::manifest::{SnapshotRecord, TableRecord, write_manifest};
use super::{SnapshotNumber, data_path};
use crate::anti_cache::BlockFiles;
use crate::error::{PrimaryError, io_failed};
use crate::row_layout::RowLayout;
use crate::schema::{TableDefinition, TableNumber};
use crate::work_queue::WorkQueue;

/// Bytes that are appended between two syncs, at most but for the last chunk. A process with 39 MB of them was ended by the
/// kernel, at the limit of its memory, for want of a page that it could take away.
const UNSYNCED_BYTES_MAX: u64 = 4 << 20;

/// What the writer does next.
pub(crate) enum Job {
    /// A data file is made.
    Begin(SnapshotNumber),
    Append(ChunkKind, TableNumber, Copied),
    /// The snapshot is complete; `kept` stay beside it. Sizes and digests of its record are those of
    /// evicted rows only.
    Finish {
        record: SnapshotRecord,
        kept: Vec<SnapshotRecord>,
    },
    /// The snapshot is not wanted any more.
    Discard,
}

/// What the writer has done.
pub(crate) enum Event {
    /// So many bytes were appended, or are not wanted any more.
    Appended(usize),
    Finished(SnapshotRecord),
    /// The snapshot failed.
    Failed {
        error: PrimaryError,
        left: Left,
    },
}

/// What a snapshot that failed leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing: there may be another one.
    Nothing,
    /// Blocks of which it is not known whether they are durable: there can be no other.
    Blocks,
    /// A manifest of which it is not known whether it names it: there can be no other.
    Unknown,
}

/// The data file that is being written.
struct DataFile {
    number: SnapshotNumber,
    path: PathBuf,
    file: Box<dyn WritableFile>,
    bytes: u64,
    synced_bytes: u64,
    tables: Vec<TableRecord>,
}

impl DataFile {
    fn append(&mut self, bytes: &[u8]) -> Result<(), PrimaryError> {
        let appended = self.file.append(bytes);
        appended.map_err(|error| io_failed("write", &self.path, &error))?;
        self.bytes += bytes.len() as u64;
        if self.bytes - self.synced_bytes > UNSYNCED_BYTES_MAX {
            self.sync()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), PrimaryError> {
        let synced = self.file.sync();
        synced.map_err(|error| io_failed("sync", &self.path, &error))?;
        self.synced_bytes = self.bytes;
        Ok(())
    }
}

/// Writes snapshots of a partition. Shared by the partition and the thread that writes for it.
pub struct SnapshotWriter {
    env: Env,
    folder: PathBuf,
    layouts: Vec<RowLayout>,
    /// The files whose blocks snapshots name.
    blocks: Option<Arc<BlockFiles>>,
    pub(super) queue: WorkQueue<Job, Event>,
    data: Mutex<Option<DataFile>>,
    is_served: AtomicBool,
}

impl SnapshotWriter {
    /// A writer in the partition's folder.
    pub(crate) fn new(
        env: Env,
        folder: PathBuf,
        tables: &[TableDefinition],
        blocks: Option<Arc<BlockFiles>>,
    ) -> Arc<Self> {
        let layouts = tables.iter().map(|table| RowLayout::new(&table.columns));
        Arc::new(Self {
            env,
            folder,
            layouts: layouts.collect(),
            blocks,
            queue: WorkQueue::new(),
            data: Mutex::default(),
            is_served: AtomicBool::new(false),
        })
    }

    /// Does one piece of work; `false` when there was none. After an error the snapshot is given up;
    /// the log still has everything.
    pub fn write(&self) -> Result<bool, PrimaryError> {
        self.is_served.store(true, Ordering::Relaxed);
        let mut data = self.data.lock();
        let Some(job) = self.queue.take(1, |_, _| false).pop() else {
            return Ok(false);
        };
        let mut left = Left::Nothing;
        let result = match job {
            Job::Begin(number) => self.begin(number).map(|file| *data = Some(file)),
            Job::Append(kind, table, copied) => {
                let bytes = copied.bytes.len();
                let appended = data
                    .as_mut()
                    .map_or(Ok(()), |data| self.append(data, kind, table, &copied));
                self.queue.finish(Event::Appended(bytes));
                appended
            }
            Job::Finish { record, kept } => match data.take() {
                Some(file) => self.finish(file, record, kept, &mut left),
                None => Ok(()),
            },
            Job::Discard => {
                self.remove(&mut data);
                Ok(())
            }
        };
        if let Err(error) = &result {
            self.remove(&mut data);
            let error = error.clone();
            self.queue.finish(Event::Failed { error, left });
        }
        result.map(|()| true)
    }

    /// Whether somebody writes snapshots.
    pub(super) fn is_served(&self) -> bool {
        self.is_served.load(Ordering::Relaxed)
    }

    /// Waits until there may be something to write, but not longer than this.
    pub fn wait(&self, most: Duration) {
        self.queue.wait(most);
    }

    fn begin(&self, number: SnapshotNumber) -> Result<DataFile, PrimaryError> {
        let path = data_path(&self.folder, number);
        // What a process that ended has left.
        let _ = self.env.disk.remove(&path);
        let made = self.env.disk.create(&path);
        let file = made.map_err(|error| io_failed("create", &path, &error))?;
        let mut data = DataFile {
            number,
            path,
            file,
            bytes: 0,
            synced_bytes: 0,
            tables: vec![TableRecord::default(); self.layouts.len()],
        };
        data.append(&file_header(number))?;
        Ok(data)
    }

    fn append(
        &self,
        data: &mut DataFile,
        kind: ChunkKind,
        table: TableNumber,
        copied: &Copied,
    ) -> Result<(), PrimaryError> {
        let record = &mut data.tables[usize::from(table.0)];
        match kind {
            ChunkKind::Evicted => record.evicted += u64::from(copied.count),
            ChunkKind::Rows => {
                record.rows += u64::from(copied.count);
                let layout = &self.layouts[usize::from(table.0)];
                for row in rows(&copied.bytes) {
                    let row = row.and_then(|row| layout.split(row));
                    record.digest.add(row.expect("a table's own rows"));
                }
            }
        }
        data.append(&chunk(data.number, data.bytes, kind, table, copied))
    }

    fn finish(
        &self,
        mut data: DataFile,
        mut record: SnapshotRecord,
        mut kept: Vec<SnapshotRecord>,
        left: &mut Left,
    ) -> Result<(), PrimaryError> {
        let disk = &*self.env.disk;
        for (record, written) in record.tables.iter_mut().zip(&data.tables) {
            record.rows = written.rows;
            record.evicted = written.evicted;
            record.digest.merge(written.digest);
        }
        record.data_bytes = data.bytes;
        kept.push(record.clone());
        if let Err(error) = self.make_durable(&mut data, &kept, left) {
            if *left != Left::Unknown {
                let _ = disk.remove(&data.path);
            }
            return Err(error);
        }
        remove_leftovers(disk, &self.folder, &kept);
        self.queue.finish(Event::Finished(record));
        Ok(())
    }

    /// Makes first what the manifest names durable, then the manifest.
    fn make_durable(
        &self,
        data: &mut DataFile,
        kept: &[SnapshotRecord],
        left: &mut Left,
    ) -> Result<(), PrimaryError> {
        let disk = &*self.env.disk;
        if let Some(blocks) = &self.blocks {
            *left = Left::Blocks;
            blocks.sync()?;
            *left = Left::Nothing;
        }
        data.sync()?;
        let synced = disk.sync_directory(&self.folder);
        synced.map_err(|error| io_failed("sync", &self.folder, &error))?;
        let mut is_unknown = false;
        let written = write_manifest(disk, &self.folder, kept, &mut is_unknown);
        if written.is_err() && is_unknown {
            *left = Left::Unknown;
        }
        written
    }

    fn remove(&self, data: &mut Option<DataFile>) {
        if let Some(data) = data.take() {
            let _ = self.env.disk.remove(&data.path);
        }
    }
}
