//! Open files and held directories of a simulated disk.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use env::{DirectoryLock, ReadableFile, WritableFile};
use rand::Rng;
use rand::rngs::StdRng;

use super::{FileId, SimulatedDisk, Verdict};

/// Where bytes are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub file: FileId,
    pub offset: usize,
}

/// A file being written.
pub(super) struct Writer {
    disk: SimulatedDisk,
    path: PathBuf,
    file: FileId,
    /// Where what was appended ends; behind it there may be zeros.
    end: usize,
}

impl Writer {
    /// Appends after so many bytes.
    pub(super) fn new(disk: SimulatedDisk, path: &Path, file: FileId, end: usize) -> Self {
        Self {
            disk,
            path: path.to_owned(),
            file,
            end,
        }
    }

    /// Writes after what was appended, over the zeros that may be there.
    fn write(&self, operation: &str, bytes: &[u8]) -> io::Result<()> {
        let place = Place {
            file: self.file,
            offset: self.end,
        };
        self.disk.pause(&self.path, Some((place, bytes)));
        let mut world = self.disk.world();
        let was_dead = world.crashed;
        world.note("bytes", &self.path, bytes.len() as u64);
        let room = world.file(self.file).room_bytes(self.end + bytes.len());
        match world.change(operation, &self.path, room) {
            Verdict::Proceed | Verdict::Lie => {
                world.file(self.file).write(self.end, bytes);
                Ok(())
            }
            Verdict::Fail(error) => {
                if !was_dead {
                    let part = part_of_append(bytes.len(), &mut world.random);
                    world.file(self.file).write(self.end, &bytes[..part]);
                }
                Err(error)
            }
        }
    }
}

impl WritableFile for Writer {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write("append", bytes)?;
        self.end += bytes.len();
        Ok(())
    }

    fn reserve(&mut self, bytes: usize) {
        // As on a real disk: what fails here fails again when there is something to append.
        let _ = self.write("reserve", &vec![0; bytes]);
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.pause(&self.path, None);
        let mut world = self.disk.world();
        match world.change("sync", &self.path, 0) {
            Verdict::Proceed => {
                world.file(self.file).sync();
                Ok(())
            }
            Verdict::Lie => Ok(()),
            Verdict::Fail(error) => {
                // A sync that a crash cut short may yet write: its bytes stay unsynced.
                if !world.crashed {
                    world.file(self.file).fail_sync();
                }
                Err(error)
            }
        }
    }
}

/// How much of an append has happened that failed, or that a crash cut short: nothing, anything,
/// or all of it.
pub(super) fn part_of_append(length: usize, random: &mut StdRng) -> usize {
    match random.random_range(0..4) {
        0 => 0,
        1 => length,
        _ => random.random_range(0..=length),
    }
}

/// A file being read.
pub(super) struct Reader {
    disk: SimulatedDisk,
    path: PathBuf,
    file: FileId,
}

impl Reader {
    pub(super) fn new(disk: SimulatedDisk, path: &Path, file: FileId) -> Self {
        Self {
            disk,
            path: path.to_owned(),
            file,
        }
    }
}

impl ReadableFile for Reader {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut world = self.disk.world();
        world.read(&self.path)?;
        let bytes = world.file(self.file).bytes();
        let found = bytes
            .get(offset as usize..)
            .and_then(|rest| rest.get(..buffer.len()));
        let found = found.ok_or_else(|| io::Error::from(ErrorKind::UnexpectedEof))?;
        buffer.copy_from_slice(found);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let mut world = self.disk.world();
        world.read(&self.path)?;
        Ok(world.file(self.file).len() as u64)
    }
}

/// A directory held by the simulated process.
pub(super) struct HeldDirectory {
    disk: SimulatedDisk,
    directory: PathBuf,
}

impl HeldDirectory {
    pub(super) fn new(disk: SimulatedDisk, directory: &Path) -> Self {
        Self {
            disk,
            directory: directory.to_owned(),
        }
    }
}

impl DirectoryLock for HeldDirectory {}

impl Drop for HeldDirectory {
    fn drop(&mut self) {
        self.disk
            .world()
            .locked
            .retain(|locked| *locked != self.directory);
    }
}
