//! Files read and written past the operating system's cache (`O_DIRECT`): for bytes that their reader keeps in memory itself,
//! so that a second copy of them would only take room, and work to find it. Bytes that wait to be written are not hidden in
//! that cache either, where no budget sees them.
//!
//! The kernel wants offsets, lengths and memory aligned. What is read goes through a buffer of its thread, from which the wanted
//! bytes are copied, and what is written through a buffer of its file: 1 to 2 µs for 16 KiB.
//!
//! Bytes that were written through the cache and are not on disk yet are there before they are read: the kernel sees to it.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::disk::{DIRECT_ALIGNMENT, ReadableFile, WritableFile};

thread_local! {
    static BUFFER: RefCell<AlignedBuffer> = const { RefCell::new(AlignedBuffer(Vec::new())) };
}

/// Memory of which an aligned part can be had.
#[derive(Debug)]
struct AlignedBuffer(Vec<u8>);

impl AlignedBuffer {
    /// So many aligned bytes, with whatever was there.
    fn bytes(&mut self, length: usize) -> &mut [u8] {
        if self.0.len() < length + DIRECT_ALIGNMENT {
            self.0.resize(length + DIRECT_ALIGNMENT, 0);
        }
        let at = self.0.as_ptr().align_offset(DIRECT_ALIGNMENT);
        &mut self.0[at..at + length]
    }
}

/// `options` with the flag; opening fails with an error of kind `InvalidInput` where the file system has no such files.
fn direct(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(OFlags::DIRECT.bits().cast_signed())
}

/// A file being read.
#[derive(Debug)]
pub struct DirectFile(File);

impl DirectFile {
    /// Opens it; an error of kind `InvalidInput` where the file system has no such reads.
    pub fn open(path: &Path) -> io::Result<Self> {
        let opened = direct(OpenOptions::new().read(true)).open(path);
        opened.map(Self)
    }

    /// Reads the blocks that have the wanted bytes into `blocks`, which is aligned.
    fn read_blocks(&self, blocks: &mut [u8], start: u64, wanted: usize) -> io::Result<()> {
        let mut filled = 0;
        while filled < wanted {
            let read = self
                .0
                .read_at(&mut blocks[filled..], start + filled as u64)?;
            filled += read;
            // Only the end of a file is not aligned.
            if read == 0 || (read % DIRECT_ALIGNMENT != 0 && filled < wanted) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }
}

impl ReadableFile for DirectFile {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let before = offset as usize % DIRECT_ALIGNMENT;
        let wanted = before + buffer.len();
        BUFFER.with_borrow_mut(|memory| {
            let blocks = memory.bytes(wanted.next_multiple_of(DIRECT_ALIGNMENT));
            self.read_blocks(blocks, offset - before as u64, wanted)?;
            buffer.copy_from_slice(&blocks[before..wanted]);
            Ok(())
        })
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

/// A file being written.
#[derive(Debug)]
pub(crate) struct DirectWritableFile {
    file: File,
    buffer: AlignedBuffer,
}

impl DirectWritableFile {
    /// Opens a file to append to it, whose length is a multiple of [`DIRECT_ALIGNMENT`]; fails as [`DirectFile::open`] does.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = direct(OpenOptions::new().append(true)).open(path)?;
        let buffer = AlignedBuffer(Vec::new());
        Ok(Self { file, buffer })
    }
}

impl WritableFile for DirectWritableFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let aligned = self.buffer.bytes(bytes.len());
        aligned.copy_from_slice(bytes);
        self.file.write_all(aligned)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tempfile::TempDir;

    use super::*;
    use crate::{Disk, RealDisk};

    /// Beside the build: where temporary files go may be memory, which has no such files.
    fn folder() -> io::Result<TempDir> {
        tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR"))
    }

    fn read(file: &dyn ReadableFile, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut found = vec![0; length];
        file.read_exact_at(&mut found, offset).map(|()| found)
    }

    #[test]
    fn any_bytes_of_a_file_can_be_read_up_to_its_end() -> io::Result<()> {
        let bytes: Vec<u8> = (0..20_000_u32).map(|n| (n % 251) as u8).collect();
        let folder = folder()?;
        let path = folder.path().join("file");
        std::fs::write(&path, &bytes)?;
        let file = DirectFile::open(&path)?;
        for range in [0..1, 4_095..4_097, 5_000..20_000, 19_999..20_000] {
            let found = read(&file, range.start as u64, range.len())?;
            assert_eq!(found, bytes[range.clone()], "{range:?}");
        }
        let error = read(&file, 19_999, 2).err();
        assert_eq!(error.map(|e| e.kind()), Some(io::ErrorKind::UnexpectedEof));
        Ok(())
    }

    /// What was appended a moment ago is read, however it was: past the cache, after the file was cut, through it.
    #[test]
    fn bytes_are_read_as_soon_as_they_are_appended() -> io::Result<()> {
        const BLOCK: usize = 16 << 10;
        let folder = folder()?;
        let path = folder.path().join("file");
        let mut written = RealDisk.create_direct(&path)?;
        let file: Arc<dyn ReadableFile> = RealDisk.open_direct(&path)?;
        for block in 0..4 {
            if block == 2 {
                written = RealDisk.open_append_direct(&path, BLOCK as u64)?;
                written.append(&[7; BLOCK])?;
            }
            if block == 3 {
                written = RealDisk.open_append(&path, 2 * BLOCK as u64)?;
            }
            written.append(&[block; BLOCK])?;
            written.sync()?;
            let at = file.len()? - BLOCK as u64;
            assert_eq!(read(&*file, at, BLOCK)?, [block; BLOCK], "{block}");
        }
        assert_eq!(read(&*file, BLOCK as u64, 1)?, [7]);
        Ok(())
    }
}
