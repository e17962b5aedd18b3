//! The writer: appends groups and syncs them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use env::{Env, WritableFile};
use parking_lot::Mutex;

use super::group::{FILE_HEADER_BYTES, Group, LogNumber, file_header};
use super::log_reader::ReadLog;
use crate::error::{PrimaryError, io_failed};
use crate::work_queue::WorkQueue;

/// The log's file. Shared by the partition and the thread that writes for it.
pub struct LogWriter {
    env: Env,
    path: PathBuf,
    log: LogNumber,
    pub(super) queue: WorkQueue<Group, (Group, Result<(), PrimaryError>)>,
    target: Mutex<Target>,
}

struct Target {
    /// `None` until it has been cut to its length.
    file: Option<Box<dyn WritableFile>>,
    length: u64,
}

impl LogWriter {
    /// Starts a log; durable when it returns, with its name.
    pub(crate) fn create(env: Env, path: PathBuf) -> Result<Self, PrimaryError> {
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
        let folder = path.parent().unwrap_or(Path::new("."));
        let synced = env.disk.sync_directory(folder);
        synced.map_err(|error| io_failed("sync", folder, &error))?;
        Ok(Self::at(
            env,
            path,
            log,
            Some(file),
            FILE_HEADER_BYTES as u64,
        ))
    }

    /// Goes on with a log that was read, after making what was read durable: its last group may be
    /// one whose sync never came.
    pub(crate) fn resume(env: Env, path: PathBuf, read: &ReadLog) -> Result<Self, PrimaryError> {
        let file = env.disk.open_append(&path, read.length);
        let mut file = file.map_err(|error| io_failed("cut", &path, &error))?;
        file.sync()
            .map_err(|error| io_failed("sync", &path, &error))?;
        Ok(Self::at(env, path, read.log, Some(file), read.length))
    }

    fn at(
        env: Env,
        path: PathBuf,
        log: LogNumber,
        file: Option<Box<dyn WritableFile>>,
        length: u64,
    ) -> Self {
        Self {
            env,
            path,
            log,
            queue: WorkQueue::new(),
            target: Mutex::new(Target { file, length }),
        }
    }

    /// Writes a group and makes it durable; `false` when there was none. After an error that space on
    /// the disk would mend, the group is tried again; after any other one the log is of no more use.
    pub fn write(&self) -> Result<bool, PrimaryError> {
        let mut target = self.target.lock();
        let Some(mut group) = self.queue.take(1, |_, _| false).pop() else {
            return Ok(false);
        };
        match self.append(&mut target, &mut group) {
            Err(full @ PrimaryError::DiskFull { .. }) => {
                self.queue.give_back(std::iter::once(group));
                Err(full)
            }
            appended => {
                let synced = appended.and_then(|()| Self::sync(&mut target, &self.path));
                self.queue.finish((group, synced.clone()));
                synced.map(|()| true)
            }
        }
    }

    /// Waits until there may be something to write, but not longer than this.
    pub fn wait(&self, most: Duration) {
        self.queue.wait(most);
    }

    fn append(&self, target: &mut Target, group: &mut Group) -> Result<(), PrimaryError> {
        let mut file = match target.file.take() {
            Some(file) => file,
            None => {
                let file = self.env.disk.open_append(&self.path, target.length);
                file.map_err(|error| io_failed("cut", &self.path, &error))?
            }
        };
        let bytes = group.finish(self.log, target.length);
        file.append(bytes)
            .map_err(|error| io_failed("write", &self.path, &error))?;
        target.length += bytes.len() as u64;
        target.file = Some(file);
        Ok(())
    }

    fn sync(target: &mut Target, path: &Path) -> Result<(), PrimaryError> {
        let file = target.file.as_mut().expect("it was appended to");
        file.sync()
            .map_err(|error| PrimaryError::Poisoned(format!("{}: {error}", path.display())))
    }
}
