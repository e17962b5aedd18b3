//! A file that is appended to, whole records at a time.
//!
//! An append that failed may have left a part of its record, or all of it. The file is cut back to
//! the last whole record at once, and synced: who is told that nothing was appended may delete
//! what the record named. If that fails too, nobody knows, and the file is of no more use.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::{Disk, WritableFile};

use crate::disk_error::{io_failed, sync_failed};
use crate::error::StoreError;
use crate::museum::{self, Exhibit};

/// The file and how much of it holds whole records.
pub(super) struct AppendFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// `None` until the file has been cut to its length.
    file: Option<Box<dyn WritableFile>>,
    length: u64,
}

impl AppendFile {
    /// Creates the file, in place of a leftover of the same name.
    pub(super) fn create(disk: &Arc<dyn Disk>, path: PathBuf) -> Result<Self, StoreError> {
        // Usually there is none; if it cannot be removed, the create below says so.
        let _ = disk.remove(&path);
        let file = disk
            .create(&path)
            .map_err(|error| io_failed("create", &path, &error))?;
        Ok(Self {
            disk: Arc::clone(disk),
            path,
            file: Some(file),
            length: 0,
        })
    }

    /// An existing file; it will be cut to `length` bytes before the first append or sync.
    pub(super) fn existing(disk: &Arc<dyn Disk>, path: PathBuf, length: u64) -> Self {
        Self {
            disk: Arc::clone(disk),
            path,
            file: None,
            length,
        }
    }

    /// Appends one whole record. Any error but [`StoreError::Poisoned`] leaves the file as it was.
    pub(super) fn append(&mut self, record: &[u8]) -> Result<(), StoreError> {
        let file = self.open()?;
        if let Err(error) = file.append(record) {
            return Err(self.undo_append(&error));
        }
        self.length += record.len() as u64;
        Ok(())
    }

    fn undo_append(&mut self, error: &io::Error) -> StoreError {
        self.file = None;
        if museum::shows(Exhibit::AppendUndoneLate) {
            return io_failed("write", &self.path, error);
        }
        match self.sync() {
            Ok(()) => io_failed("write", &self.path, error),
            Err(_) => sync_failed(&self.path, error),
        }
    }

    /// Makes everything appended durable. After an error the file must not be used any more.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        let mut synced = self.open()?.sync();
        if synced.is_err() && museum::shows(Exhibit::SyncRetried) {
            synced = self.open()?.sync();
        }
        synced.map_err(|error| sync_failed(&self.path, &error))
    }

    /// Bytes of whole records.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The file's path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn open(&mut self) -> Result<&mut Box<dyn WritableFile>, StoreError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => self
                .disk
                .open_append(&self.path, self.length)
                .map_err(|error| io_failed("cut", &self.path, &error))?,
        };
        Ok(self.file.insert(file))
    }
}
