//! The real file system, of which files are read past the page cache, so that what is cached is what a contender caches
//! itself.
//!
//! Reads that are announced are done by other threads, as the kernel does them for the page cache.
//!
//! Does not: write so. What is written is gone from the page cache before anything is measured or
//! is never read through it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::{DirectoryLock, Disk, ReadableFile, RealDisk, WritableFile};

use crate::reads_ahead::ReadsAhead;

/// A file being read.
#[derive(Clone, Debug)]
pub struct DirectFile {
    file: Arc<env::DirectFile>,
    ahead: Arc<ReadsAhead>,
}

impl DirectFile {
    /// Opens it.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: Arc::new(env::DirectFile::open(path)?),
            ahead: Arc::default(),
        })
    }
}

impl ReadableFile for DirectFile {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self.ahead.take(offset) {
            Some(bytes)
                if bytes
                    .as_ref()
                    .is_ok_and(|bytes| bytes.len() == buffer.len()) =>
            {
                buffer.copy_from_slice(&bytes?);
                Ok(())
            }
            _ => self.file.read_exact_at(buffer, offset),
        }
    }

    fn will_read(&self, offset: u64, length: usize) {
        let file = Arc::clone(&self.file);
        self.ahead.start(offset, move || {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, offset)?;
            Ok(bytes)
        });
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

/// The real file system, of which files are read directly.
#[derive(Debug)]
pub struct DirectDisk;

impl Disk for DirectDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(DirectFile::open(path)?))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        RealDisk.create(path)
    }

    fn open_append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WritableFile>> {
        RealDisk.open_append(path, length)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        RealDisk.list(directory)
    }

    fn create_directories(&self, directory: &Path) -> io::Result<()> {
        RealDisk.create_directories(directory)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        RealDisk.sync_directory(directory)
    }

    fn lock(&self, directory: &Path) -> io::Result<Box<dyn DirectoryLock>> {
        RealDisk.lock(directory)
    }
}
