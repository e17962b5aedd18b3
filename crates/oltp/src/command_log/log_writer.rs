//! The writer: appends groups and syncs them, segment after segment.
//!
//! Room is made ahead of the groups, so that most syncs find the file as long as it was and write the group's bytes
//! alone, not how long the file is now.

use std::path::{Path, PathBuf};
use std::time::Duration;

use env::{Env, WritableFile};
use parking_lot::Mutex;

use super::group::{FILE_HEADER_BYTES, Group, LogNumber, file_header};
use super::log_reader::ReadLog;
use super::{LogJob, SegmentNumber};
use crate::error::{PrimaryError, io_failed};
use crate::work_queue::WorkQueue;

/// Room that is made at a time: with groups of a kilobyte or two, one sync in fifty writes so much more, which takes a
/// disk of 400 MB/s 0.2 ms.
const RESERVED_BYTES: usize = 64 << 10;

/// The log's last segment. Shared by the partition and the thread that writes for it.
pub struct LogWriter {
    env: Env,
    folder: PathBuf,
    pub(super) queue: WorkQueue<LogJob, (Group, Result<(), PrimaryError>)>,
    target: Mutex<Target>,
}

/// The segment that is appended to.
struct Target {
    segment: SegmentNumber,
    path: PathBuf,
    log: LogNumber,
    /// `None` until it has been cut to its length.
    file: Option<Box<dyn WritableFile>>,
    length: u64,
    /// Up to here there is room.
    reserved: u64,
}

impl LogWriter {
    /// Starts a log with this segment; durable when it returns, with its name.
    pub(crate) fn create(
        env: Env,
        folder: PathBuf,
        segment: SegmentNumber,
    ) -> Result<Self, PrimaryError> {
        let target = Target::create(&env, &folder, segment)?;
        Ok(Self::at(env, folder, target))
    }

    /// Goes on with a segment that was read, after making what was read durable: its last group, and its
    /// name, may be ones whose sync never came.
    pub(crate) fn resume(env: Env, folder: PathBuf, read: &ReadLog) -> Result<Self, PrimaryError> {
        let path = folder.join(read.segment.name());
        let file = env.disk.open_append(&path, read.length);
        let mut file = file.map_err(|error| io_failed("cut", &path, &error))?;
        file.sync()
            .map_err(|error| io_failed("sync", &path, &error))?;
        let synced = env.disk.sync_directory(&folder);
        synced.map_err(|error| io_failed("sync", &folder, &error))?;
        let target = Target {
            segment: read.segment,
            path,
            log: read.log,
            file: Some(file),
            length: read.length,
            reserved: read.length,
        };
        Ok(Self::at(env, folder, target))
    }

    fn at(env: Env, folder: PathBuf, target: Target) -> Self {
        Self {
            env,
            folder,
            queue: WorkQueue::new(),
            target: Mutex::new(target),
        }
    }

    /// The segment that is appended to.
    pub(super) fn segment(&self) -> SegmentNumber {
        self.target.lock().segment
    }

    /// Writes a group and makes it durable; `false` when there was none. After an error that space on
    /// the disk would mend, the group is tried again; after any other one the log is of no more use.
    pub fn write(&self) -> Result<bool, PrimaryError> {
        let mut target = self.target.lock();
        let Some(mut job) = self.queue.take(1, |_, _| false).pop() else {
            return Ok(false);
        };
        match self.append(&mut target, &mut job) {
            Err(full @ PrimaryError::DiskFull { .. }) => {
                self.queue.give_back(std::iter::once(job));
                Err(full)
            }
            appended => {
                let synced = appended.and_then(|()| target.sync());
                self.queue.finish((job.group, synced.clone()));
                synced.map(|()| true)
            }
        }
    }

    /// Waits until there may be something to write, but not longer than this.
    pub fn wait(&self, most: Duration) {
        self.queue.wait(most);
    }

    fn append(&self, target: &mut Target, job: &mut LogJob) -> Result<(), PrimaryError> {
        if job.starts_segment {
            let next = SegmentNumber(target.segment.0 + 1);
            *target = Target::create(&self.env, &self.folder, next)?;
            job.starts_segment = false;
        }
        let path = &target.path;
        let mut file = match target.file.take() {
            Some(file) => file,
            None => {
                let file = self.env.disk.open_append(path, target.length);
                target.reserved = target.length;
                file.map_err(|error| io_failed("cut", path, &error))?
            }
        };
        let bytes = job.group.finish(target.log, target.length);
        file.append(bytes)
            .map_err(|error| io_failed("write", path, &error))?;
        target.length += bytes.len() as u64;
        if target.length > target.reserved {
            file.reserve(RESERVED_BYTES);
            target.reserved = target.length + RESERVED_BYTES as u64;
        }
        target.file = Some(file);
        Ok(())
    }
}

impl Target {
    /// Makes the file of a segment, and its name durable.
    fn create(env: &Env, folder: &Path, segment: SegmentNumber) -> Result<Self, PrimaryError> {
        let path = folder.join(segment.name());
        // A beginning that was never used.
        let _ = env.disk.remove(&path);
        let log = LogNumber(env.clock.wall_us() as u64);
        let mut file = env
            .disk
            .create(&path)
            .map_err(|error| io_failed("create", &path, &error))?;
        file.append(&file_header(log))
            .map_err(|error| io_failed("write", &path, &error))?;
        file.sync()
            .map_err(|error| io_failed("sync", &path, &error))?;
        let synced = env.disk.sync_directory(folder);
        synced.map_err(|error| io_failed("sync", folder, &error))?;
        Ok(Self {
            segment,
            path,
            log,
            file: Some(file),
            length: FILE_HEADER_BYTES as u64,
            reserved: FILE_HEADER_BYTES as u64,
        })
    }

    fn sync(&mut self) -> Result<(), PrimaryError> {
        let file = self.file.as_mut().expect("it was appended to");
        file.sync()
            .map_err(|error| PrimaryError::Poisoned(format!("{}: {error}", self.path.display())))
    }
}
