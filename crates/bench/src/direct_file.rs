//! Files read past the page cache, so that what is cached is what a contender caches itself.
//!
//! The kernel wants offsets, lengths and memory aligned: each read goes through a buffer of the
//! thread, from which the wanted bytes are copied. That costs ours a few microseconds a page.
//!
//! Reads that are announced are done by other threads, as the kernel does them for the page cache.
//!
//! Does not: write so. What is written is gone from the page cache before anything is measured or
//! is never read through it.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::{DirectoryLock, Disk, ReadableFile, RealDisk, WritableFile};
use rustix::fs::OFlags;

use crate::reads_ahead::ReadsAhead;

/// What offsets, lengths and memory are aligned to: no device asks for more.
const ALIGNMENT: usize = 4 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A file being read.
#[derive(Clone, Debug)]
pub struct DirectFile {
    file: Arc<File>,
    ahead: Arc<ReadsAhead>,
}

impl DirectFile {
    /// Opens it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let direct = OFlags::DIRECT.bits().cast_signed();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(direct)
            .open(path)?;
        Ok(Self {
            file: Arc::new(file),
            ahead: Arc::default(),
        })
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let before = offset as usize % ALIGNMENT;
        let wanted = before + buffer.len();
        let length = wanted.next_multiple_of(ALIGNMENT);
        BUFFER.with_borrow_mut(|memory| {
            if memory.len() < length + ALIGNMENT {
                memory.resize(length + ALIGNMENT, 0);
            }
            let at = memory.as_ptr().align_offset(ALIGNMENT);
            let blocks = &mut memory[at..at + length];
            self.read_blocks(blocks, offset - before as u64, wanted)?;
            buffer.copy_from_slice(&blocks[before..wanted]);
            Ok(())
        })
    }

    /// Reads the blocks that have the wanted bytes into `blocks`, which is aligned.
    fn read_blocks(&self, blocks: &mut [u8], start: u64, wanted: usize) -> io::Result<()> {
        let mut filled = 0;
        while filled < wanted {
            let read = self
                .file
                .read_at(&mut blocks[filled..], start + filled as u64)?;
            filled += read;
            // Only the end of a file is not aligned.
            if read == 0 || (read % ALIGNMENT != 0 && filled < wanted) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
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
            _ => self.read(buffer, offset),
        }
    }

    fn will_read(&self, offset: u64, length: usize) {
        let file = self.clone();
        self.ahead.start(offset, move || {
            let mut bytes = vec![0; length];
            file.read(&mut bytes, offset)?;
            Ok(bytes)
        });
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_of_a_file_can_be_read_up_to_its_end() -> io::Result<()> {
        let bytes: Vec<u8> = (0..20_000_u32).map(|n| (n % 251) as u8).collect();
        // Beside the build: where temporary files go may be memory, which cannot be read directly.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR"))?;
        let path = folder.path().join("file");
        std::fs::write(&path, &bytes)?;
        let file = DirectFile::open(&path)?;
        for range in [0..1, 4_095..4_097, 5_000..20_000, 19_999..20_000] {
            let mut found = vec![0; range.len()];
            file.read_exact_at(&mut found, range.start as u64)?;
            assert_eq!(found, bytes[range.clone()], "{range:?}");
        }
        let error = file.read_exact_at(&mut [0; 2], 19_999).err();
        assert_eq!(error.map(|e| e.kind()), Some(io::ErrorKind::UnexpectedEof));
        Ok(())
    }
}
