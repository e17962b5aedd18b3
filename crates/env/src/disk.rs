//! Files and directories, as the engines see them.
//!
//! Files are written once, front to back, and then only read; there is no write in place but of zeros that were
//! put there to make room. What
//! survives a crash: the bytes of a file before its last `sync`, under its name once the
//! directory has been synced after the create or rename. Everything else may be lost, kept in
//! part or torn.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is read and written past the operating system's cache comes in multiples of so many bytes: no device asks for more.
pub const DIRECT_ALIGNMENT: usize = 4 << 10;

/// A file being written.
pub trait WritableFile: Send {
    /// Appends all of `bytes`.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes room for so many bytes after what was appended: a sync of what is appended there need not make a new length
    /// of the file durable. Whoever reads the file finds zeros in what is left of the room, and so does who opens it
    /// again. May do nothing at all; where there is no space, the append will say so.
    fn reserve(&mut self, _bytes: usize) {}

    /// Says that the file will be synced soon, so that what was appended may be on its way meanwhile. Makes nothing
    /// durable, and may do nothing at all.
    fn will_sync(&mut self) {}

    /// Returns once everything appended so far is durable. After an error the file's content
    /// is unknown and it must not be used any further.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file being read. Clones share one handle.
pub trait ReadableFile: Send + Sync {
    /// Fills `buffer` from the bytes at `offset`; an error of kind `UnexpectedEof` when the
    /// file is shorter.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Says that these bytes will be read soon, so that they may be on their way meanwhile. Reads
    /// nothing itself, and may do nothing at all.
    fn will_read(&self, _offset: u64, _length: usize) {}

    /// The file's length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// Holds a directory for one process; released when dropped or when the process ends.
pub trait DirectoryLock: Send + Sync {}

/// A file system.
pub trait Disk: Send + Sync {
    /// Creates a file for writing; an error of kind `AlreadyExists` when there is one.
    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>>;

    /// Opens an existing file to append to it, after cutting it to `length` bytes.
    fn open_append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WritableFile>>;

    /// Creates a file for writing past the operating system's cache, where that can be: for whoever appends whole
    /// multiples of [`DIRECT_ALIGNMENT`] and keeps them in memory until they are written.
    fn create_direct(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        self.create(path)
    }

    /// [`Self::open_append`] of a file that is written as [`Self::create_direct`] has it.
    fn open_append_direct(&self, path: &Path, length: u64) -> io::Result<Box<dyn WritableFile>> {
        self.open_append(path, length)
    }

    /// Opens a file for reading.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadableFile>>;

    /// Opens a file for reading past the operating system's cache, where that can be: for whoever keeps in memory what it
    /// has read.
    fn open_direct(&self, path: &Path) -> io::Result<Arc<dyn ReadableFile>> {
        self.open(path)
    }

    /// Renames a file, replacing the target if there is one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// The files directly in a directory, in no order.
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>>;

    /// Creates a directory and its parents where missing; durable when it returns.
    fn create_directories(&self, directory: &Path) -> io::Result<()>;

    /// Makes creates, renames and removes in a directory durable.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Takes a directory for this process; an error of kind `WouldBlock` when another holds it.
    fn lock(&self, directory: &Path) -> io::Result<Box<dyn DirectoryLock>>;
}
