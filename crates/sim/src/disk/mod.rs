//! A simulated disk: what a file system may do to files between two syncs, and no more.
//!
//! 1. Every file remembers the bytes that its last sync made durable and those written since;
//!    every directory the names that its last sync made durable and the changes since.
//! 2. [`SimulatedDisk::crash`] makes the disk that is found after a crash. A kill keeps
//!    everything (but durable is only what was). A power cut decides for each 512-byte sector
//!    and each change of a name whether it had reached the disk.
//! 3. [`Faults`] say which operation fails, and how: a crash in the middle, an error, a full
//!    disk. After a crash every operation of the dead process fails.
//!
//! Operations that change something are numbered from 0, so a test can crash at each of them; or
//! it watches them and looks at what a crash would leave, while the process goes on.
//! One seed decides everything: [`SimulatedDisk::digest`] is equal for equal runs.
//!
//! Does not damage what is durable by itself; see [`SimulatedDisk::flip_byte`] and
//! [`SimulatedDisk::replace`].

mod directory;
mod faults;
mod file;
mod handle;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use env::{DirectoryLock, Disk, ReadableFile, WritableFile};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use directory::SimulatedDirectory;
pub use faults::{Crash, Fault, Faults};
use file::SimulatedFile;
use handle::{HeldDirectory, Reader, Writer};
pub use watch::{Moment, Watcher};
use xxhash_rust::xxh3::Xxh3;

/// Numbers files for ever, whatever their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FileId(u64);

/// The disk's content and what is planned for it.
#[derive(Clone)]
struct World {
    files: BTreeMap<FileId, SimulatedFile>,
    directories: BTreeMap<PathBuf, SimulatedDirectory>,
    next_file: u64,
    locked: Vec<PathBuf>,
    faults: Faults,
    random: StdRng,
    changes: u64,
    reads: u64,
    crashed: bool,
    digest: u64,
}

/// A disk in memory. Clones of the `Arc` are the same disk.
#[derive(Clone)]
pub struct SimulatedDisk {
    world: Arc<Mutex<World>>,
    watcher: Arc<Mutex<Option<Watcher>>>,
}

/// What the faults say about an operation that is about to happen.
enum Verdict {
    Proceed,
    /// Says that it happened. Only syncs can lie.
    Lie,
    /// Fails with this error; a write may happen in part.
    Fail(io::Error),
}

fn dead() -> io::Error {
    io::Error::other("the simulated process has crashed")
}

fn not_found(path: &Path) -> io::Error {
    io::Error::new(
        ErrorKind::NotFound,
        format!("{} does not exist", path.display()),
    )
}

fn place(path: &Path) -> (PathBuf, String) {
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    (directory, name.unwrap_or_default())
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            files: BTreeMap::new(),
            directories: BTreeMap::from([(PathBuf::from("/"), SimulatedDirectory::default())]),
            next_file: 0,
            locked: Vec::new(),
            faults: Faults::default(),
            random: StdRng::seed_from_u64(seed),
            changes: 0,
            reads: 0,
            crashed: false,
            digest: seed,
        }
    }

    fn note(&mut self, operation: &str, path: &Path, number: u64) {
        let mut mix = |value: u64| {
            let mixed = (self.digest ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            self.digest = mixed ^ (mixed >> 29);
        };
        operation.bytes().for_each(|byte| mix(byte.into()));
        path.to_string_lossy()
            .bytes()
            .for_each(|byte| mix(byte.into()));
        mix(number);
    }

    /// Numbers an operation that changes something and takes `room_bytes` more; says whether it
    /// may.
    fn change(&mut self, operation: &str, path: &Path, room_bytes: u64) -> Verdict {
        if self.crashed {
            return Verdict::Fail(dead());
        }
        self.note(operation, path, room_bytes);
        let number = self.changes;
        self.changes += 1;
        if self.faults.crash_at == Some(number) {
            self.crashed = true;
            return Verdict::Fail(dead());
        }
        match self.faults.changes.remove(&number) {
            Some(Fault::Lie) => Verdict::Lie,
            Some(fault) => Verdict::Fail(fault.error()),
            None if self.is_full(room_bytes) => Verdict::Fail(Fault::DiskFull.error()),
            None => Verdict::Proceed,
        }
    }

    fn is_full(&self, more: u64) -> bool {
        let Some(capacity) = self.faults.capacity_bytes else {
            return false;
        };
        let named = self
            .directories
            .values()
            .flat_map(SimulatedDirectory::files);
        let used: u64 = named.map(|file| self.files[&file].occupied_bytes()).sum();
        more > 0 && used + more > capacity
    }

    fn read(&mut self, path: &Path) -> io::Result<()> {
        if self.crashed {
            return Err(dead());
        }
        let number = self.reads;
        self.reads += 1;
        self.note("read", path, number);
        match self.faults.reads.remove(&number) {
            Some(fault) => Err(fault.error()),
            None => Ok(()),
        }
    }

    fn directory(&mut self, directory: &Path) -> io::Result<&mut SimulatedDirectory> {
        self.directories
            .get_mut(directory)
            .ok_or_else(|| not_found(directory))
    }

    fn find(&mut self, path: &Path) -> io::Result<FileId> {
        let (directory, name) = place(path);
        self.directory(&directory)?
            .get(&name)
            .ok_or_else(|| not_found(path))
    }

    fn file(&mut self, file: FileId) -> &mut SimulatedFile {
        self.files
            .get_mut(&file)
            .expect("a file lives as long as its handles and names")
    }

    /// The world after a crash, as decided file by file and name by name.
    fn after(&self, crash: Crash, random: &mut StdRng) -> Self {
        let mut world = Self::new(random.random());
        world.digest = self.digest;
        world.changes = self.changes;
        world.reads = self.reads;
        world.faults = self.faults.clone();
        world.next_file = self.next_file;
        for (path, directory) in &self.directories {
            world
                .directories
                .insert(path.clone(), directory.after(crash, random));
        }
        let known: BTreeSet<FileId> = world
            .directories
            .values()
            .flat_map(SimulatedDirectory::known_files)
            .collect();
        for id in known {
            world.files.insert(id, self.files[&id].after(crash, random));
        }
        world
    }
}

impl SimulatedDisk {
    /// An empty disk with the directory `/`.
    pub fn new(seed: u64) -> Self {
        Self::of(World::new(seed))
    }

    fn of(world: World) -> Self {
        Self {
            world: Arc::new(Mutex::new(world)),
            watcher: Arc::default(),
        }
    }

    /// A panic in a test must not hide behind a poisoned lock.
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plans faults in place of those planned before.
    pub fn plan(&self, faults: Faults) {
        self.world().faults = faults;
    }

    /// Operations so far that changed something, or tried to.
    pub fn changes(&self) -> u64 {
        self.world().changes
    }

    /// Reads so far.
    pub fn reads(&self) -> u64 {
        self.world().reads
    }

    /// Whether a planned crash has happened.
    pub fn has_crashed(&self) -> bool {
        self.world().crashed
    }

    /// A number that sums up everything that was done to the disk.
    pub fn digest(&self) -> u64 {
        self.world().digest
    }

    /// Ends the process that uses the disk, if it has not ended yet; gives the disk that the
    /// next process finds. Counting goes on, and what was planned for later still comes.
    pub fn crash(&self, crash: Crash) -> Self {
        let mut world = self.world();
        world.crashed = true;
        let mut random = StdRng::seed_from_u64(world.random.random());
        Self::of(world.after(crash, &mut random))
    }

    /// A copy of the disk as it is, synced or not, with the same future.
    pub fn fork(&self) -> Self {
        Self::of(self.world().clone())
    }

    /// A number that sums up the names and bytes of all files: equal for equal contents.
    pub fn contents(&self) -> u64 {
        let world = self.world();
        let mut digest = Xxh3::new();
        for (path, directory) in &world.directories {
            for (name, file) in directory.names() {
                let bytes = world.files[&file].bytes();
                digest.update(path.as_os_str().as_encoded_bytes());
                digest.update(name.as_bytes());
                digest.update(&bytes.len().to_le_bytes());
                digest.update(bytes);
            }
        }
        digest.digest()
    }

    /// Whether a power cut would change nothing.
    pub fn is_settled(&self) -> bool {
        let world = self.world();
        let mut directories = world.directories.values();
        directories.all(SimulatedDirectory::is_settled)
            && world.files.values().all(SimulatedFile::is_settled)
    }

    /// Bytes that the files occupy, in whole blocks.
    pub fn occupied_bytes(&self) -> u64 {
        let world = self.world();
        let named = world
            .directories
            .values()
            .flat_map(SimulatedDirectory::files);
        named.map(|file| world.files[&file].occupied_bytes()).sum()
    }

    /// Every file that has a name, with its length; by path.
    pub fn files(&self) -> Vec<(PathBuf, u64)> {
        let world = self.world();
        let mut files = Vec::new();
        for (path, directory) in &world.directories {
            for (name, file) in directory.names() {
                files.push((path.join(name), world.files[&file].len() as u64));
            }
        }
        files
    }

    /// Damages a file: cuts it.
    ///
    /// # Panics
    /// When there is no such file.
    pub fn cut(&self, path: &Path, length: u64) {
        let mut world = self.world();
        let file = world.find(path).expect("the file exists");
        world.file(file).set_len(length as usize);
    }

    /// What is in a file.
    ///
    /// # Panics
    /// When there is no such file.
    pub fn bytes(&self, path: &Path) -> Vec<u8> {
        let mut world = self.world();
        let file = world.find(path).expect("the file exists");
        world.file(file).bytes().to_vec()
    }

    /// Damages a file: it has these bytes now.
    ///
    /// # Panics
    /// When there is no such file.
    pub fn replace(&self, path: &Path, bytes: Vec<u8>) {
        let mut world = self.world();
        let file = world.find(path).expect("the file exists");
        world.file(file).replace(bytes);
    }

    /// Damages one byte of a file: flips one of its bits.
    ///
    /// # Panics
    /// When there is no such byte.
    pub fn flip_byte(&self, path: &Path, offset: u64, bit: u32) {
        let mut world = self.world();
        let file = world.find(path).expect("the file exists");
        world.file(file).flip(offset as usize, bit);
    }
}

impl Disk for SimulatedDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        self.pause(path, None);
        let mut world = self.world();
        if let Verdict::Fail(error) = world.change("create", path, 0) {
            return Err(error);
        }
        let id = FileId(world.next_file);
        let (directory, name) = place(path);
        let directory = world.directory(&directory)?;
        if directory.get(&name).is_some() {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "the file exists"));
        }
        directory.insert(name, id);
        world.next_file += 1;
        world.files.insert(id, SimulatedFile::default());
        Ok(Box::new(Writer::new(self.clone(), path, id, 0)))
    }

    fn open_append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WritableFile>> {
        self.pause(path, None);
        let mut world = self.world();
        if let Verdict::Fail(error) = world.change("cut", path, 0) {
            return Err(error);
        }
        let id = world.find(path)?;
        let length = length as usize;
        world.file(id).set_len(length);
        Ok(Box::new(Writer::new(self.clone(), path, id, length)))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadableFile>> {
        let mut world = self.world();
        world.read(path)?;
        let id = world.find(path)?;
        Ok(Arc::new(Reader::new(self.clone(), path, id)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.pause(from, None);
        let mut world = self.world();
        if let Verdict::Fail(error) = world.change("rename", from, 0) {
            return Err(error);
        }
        let (directory, old) = place(from);
        let (target, new) = place(to);
        assert_eq!(directory, target, "renames stay in their directory");
        let renamed = world.directory(&directory)?.rename(&old, new);
        if renamed {
            Ok(())
        } else {
            Err(not_found(from))
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.pause(path, None);
        let mut world = self.world();
        if let Verdict::Fail(error) = world.change("remove", path, 0) {
            return Err(error);
        }
        let (directory, name) = place(path);
        let removed = world.directory(&directory)?.remove(&name);
        if removed {
            Ok(())
        } else {
            Err(not_found(path))
        }
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let mut world = self.world();
        world.read(directory)?;
        let names = world.directory(directory)?.names();
        Ok(names.map(|(name, _)| directory.join(name)).collect())
    }

    fn create_directories(&self, directory: &Path) -> io::Result<()> {
        self.pause(directory, None);
        let mut world = self.world();
        if let Verdict::Fail(error) = world.change("mkdir", directory, 0) {
            return Err(error);
        }
        for ancestor in directory
            .ancestors()
            .filter(|path| !path.as_os_str().is_empty())
        {
            world.directories.entry(ancestor.to_owned()).or_default();
        }
        Ok(())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.pause(directory, None);
        let mut world = self.world();
        let verdict = world.change("sync", directory, 0);
        let directory = world.directory(directory)?;
        match verdict {
            Verdict::Proceed => {
                directory.sync();
                Ok(())
            }
            Verdict::Lie => Ok(()),
            Verdict::Fail(error) => Err(error),
        }
    }

    fn lock(&self, directory: &Path) -> io::Result<Box<dyn DirectoryLock>> {
        let mut world = self.world();
        if world.crashed {
            return Err(dead());
        }
        if world.locked.iter().any(|locked| locked == directory) {
            return Err(io::Error::new(
                ErrorKind::WouldBlock,
                "the directory is locked",
            ));
        }
        world.locked.push(directory.to_owned());
        Ok(Box::new(HeldDirectory::new(self.clone(), directory)))
    }
}
