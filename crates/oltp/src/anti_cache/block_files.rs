//! Blocks on disk: files that are only appended to, with so many blocks each.
//!
//! A block's number says which file it is in and where, so nothing has to be looked up. Blocks that are
//! written together go out in one sequential write. A write that failed is cut off and tried again:
//! until it succeeds the partition keeps the block in memory. Files are synced when a snapshot is to
//! name them, and not before; blocks are written meanwhile.
//!
//! Blocks are read and written past the operating system's cache: what is hot is in the partition's memory, so that rows
//! of other blocks would be there in vain, and what waits to be written in that cache would be memory that nobody budgets.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use env::{DIRECT_ALIGNMENT, Env, ReadableFile, WritableFile};
use parking_lot::Mutex;

use super::block::Block;
use super::open_files::OpenFiles;
use crate::error::{PrimaryError, damaged, io_failed};
use crate::evicted_entries::BlockId;
use crate::work_queue::WorkQueue;

/// Blocks that are written in one go at most.
const BLOCKS_WRITTEN_MAX: usize = 64;

/// Numbers a file of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileNumber(pub(crate) u32);

/// What the writer does next.
pub(crate) enum WriteJob {
    Write(Arc<Block>),
    Remove(FileNumber),
}

/// A block that was asked for.
pub(crate) type Fetched = (BlockId, Result<Arc<Block>, PrimaryError>);

/// See the module. Shared by the partition and the threads that read and write for it.
pub struct BlockFiles {
    env: Env,
    folder: PathBuf,
    block_bytes: usize,
    blocks_per_file: u32,
    /// Done are the blocks that were written.
    pub(crate) writes: WorkQueue<WriteJob, BlockId>,
    pub(crate) fetches: WorkQueue<BlockId, Fetched>,
    readers: Mutex<OpenFiles>,
    read_time: ReadTime,
    appended: Mutex<Appended>,
    /// Files before this one are an earlier process's.
    pub(super) first_file: FileNumber,
}

/// What reads have taken.
#[derive(Default)]
struct ReadTime {
    reads: AtomicU64,
    took_ns: AtomicU64,
}

impl ReadTime {
    fn note(&self, took: Duration) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.took_ns.fetch_add(took_ns, Ordering::Relaxed);
    }

    fn average(&self) -> Duration {
        let reads = self.reads.load(Ordering::Relaxed).max(1);
        Duration::from_nanos(self.took_ns.load(Ordering::Relaxed) / reads)
    }
}

#[derive(Default)]
struct Appended {
    file: Option<AppendedFile>,
    /// Files that are complete and were not synced, with their lengths.
    unsynced: Vec<(FileNumber, u64)>,
}

/// The file that is being appended to.
struct AppendedFile {
    number: FileNumber,
    /// `None` until it has been cut to its length.
    file: Option<Box<dyn WritableFile>>,
    length: u64,
}

impl Appended {
    /// Whether the file is complete and was not synced.
    fn is_unsynced(&self, number: FileNumber) -> bool {
        self.unsynced
            .iter()
            .any(|(unsynced, _)| *unsynced == number)
    }

    /// The file was synced, or is not needed.
    fn forget_unsynced(&mut self, number: FileNumber) {
        self.unsynced.retain(|(unsynced, _)| *unsynced != number);
    }

    /// The file will be removed.
    fn forget(&mut self, number: FileNumber) {
        self.forget_unsynced(number);
        if self.file.as_ref().is_some_and(|file| file.number == number) {
            self.file = None;
        }
    }
}

impl BlockFiles {
    /// Takes a folder for blocks. What an earlier process left stays.
    pub(crate) fn open(
        env: Env,
        folder: PathBuf,
        block_bytes: usize,
        blocks_per_file: u32,
    ) -> Result<Self, PrimaryError> {
        let disk = &env.disk;
        disk.create_directories(&folder)
            .map_err(|error| io_failed("create", &folder, &error))?;
        let files = disk
            .list(&folder)
            .map_err(|error| io_failed("list", &folder, &error))?;
        let last = files.iter().filter_map(|path| number_of(path)).max();
        Ok(Self {
            first_file: FileNumber(last.map_or(0, |last| last.0 + 1)),
            env,
            folder,
            block_bytes,
            blocks_per_file,
            writes: WorkQueue::new(),
            fetches: WorkQueue::new(),
            readers: Mutex::default(),
            read_time: ReadTime::default(),
            appended: Mutex::default(),
        })
    }

    /// Removes the files of earlier processes but those that are needed.
    pub(crate) fn remove_others(
        &self,
        is_needed: impl Fn(FileNumber) -> bool,
    ) -> Result<(), PrimaryError> {
        let listed = self.env.disk.list(&self.folder);
        let listed = listed.map_err(|error| io_failed("list", &self.folder, &error))?;
        let numbers = listed.iter().filter_map(|path| number_of(path));
        numbers
            .filter(|number| *number < self.first_file && !is_needed(*number))
            .try_for_each(|number| self.remove(number))
    }

    /// The first block of this process: in a file of its own.
    pub(crate) fn first_block(&self) -> BlockId {
        let first = self.first_file.0.checked_mul(self.blocks_per_file);
        BlockId(first.expect("2^32 blocks were never written"))
    }

    /// The file that a block is in.
    pub(crate) fn file_of(&self, block: BlockId) -> FileNumber {
        FileNumber(block.0 / self.blocks_per_file)
    }

    /// Writes the blocks that wait, up to a few, or removes a file; `false` when there was nothing to
    /// do. An error leaves the blocks to be tried again.
    pub fn write(&self) -> Result<bool, PrimaryError> {
        let mut appended = self.appended.lock();
        let jobs = self
            .writes
            .take(BLOCKS_WRITTEN_MAX, |last, next| match (last, next) {
                (WriteJob::Write(last), WriteJob::Write(next)) => {
                    self.file_of(last.id) == self.file_of(next.id)
                }
                _ => false,
            });
        let result = match &jobs[..] {
            [] => return Ok(false),
            [WriteJob::Remove(number)] => {
                appended.forget(*number);
                // What cannot be removed is when the partition is opened. Trying again now would keep
                // the blocks behind from being written.
                let _ = self.remove(*number);
                Ok(())
            }
            jobs => self.append(&mut appended, jobs),
        };
        if result.is_err() {
            self.writes.give_back(jobs.into_iter());
        }
        result.map(|()| true)
    }

    /// Reads one of the blocks that are asked for; `false` when there was none. Several threads may
    /// read at the same time.
    pub fn fetch(&self) -> bool {
        let jobs = self.fetches.take(1, |_, _| false);
        for block in &jobs {
            let begun = self.env.clock.monotonic();
            let read = self.read(*block).map(Arc::new);
            let took = self.env.clock.monotonic().saturating_sub(begun);
            self.read_time.note(took);
            self.fetches.finish((*block, read));
        }
        !jobs.is_empty()
    }

    /// How long the reads of blocks have taken on average.
    pub(crate) fn read_time(&self) -> Duration {
        self.read_time.average()
    }

    /// Waits until there may be something to write, but not longer than this.
    pub fn wait_to_write(&self, most: Duration) {
        self.writes.wait(most);
    }

    /// Waits until there may be something to read, but not longer than this.
    pub fn wait_to_fetch(&self, most: Duration) {
        self.fetches.wait(most);
    }

    /// Reads a block.
    pub(crate) fn read(&self, block: BlockId) -> Result<Block, PrimaryError> {
        let number = self.file_of(block);
        let (path, offset) = self.place_of(block);
        let reader = self.reader(number)?;
        let mut bytes = vec![0; self.block_bytes];
        reader
            .read_exact_at(&mut bytes, offset)
            .map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => damaged(&path, offset, "the file ends here"),
                _ => io_failed("read", &path, &error),
            })?;
        Block::parse(block, bytes, &path, offset)
    }

    /// The file that a block is in, and where.
    pub(crate) fn place_of(&self, block: BlockId) -> (PathBuf, u64) {
        let offset = u64::from(block.0 % self.blocks_per_file) * self.block_bytes as u64;
        (self.path(self.file_of(block)), offset)
    }

    fn reader(&self, number: FileNumber) -> Result<Arc<dyn ReadableFile>, PrimaryError> {
        if let Some(reader) = self.readers.lock().get(number) {
            return Ok(reader);
        }
        let path = self.path(number);
        let opened = self.env.disk.open_direct(&path);
        let reader = opened.map_err(|error| match error.kind() {
            ErrorKind::NotFound => damaged(&path, 0, "found no file, expected blocks"),
            _ => io_failed("open", &path, &error),
        })?;
        self.readers.lock().keep(number, Arc::clone(&reader));
        Ok(reader)
    }

    fn append(&self, appended: &mut Appended, jobs: &[WriteJob]) -> Result<(), PrimaryError> {
        let mut blocks = jobs.iter().filter_map(|job| match job {
            WriteJob::Write(block) => Some(block),
            _ => None,
        });
        let first = blocks.clone().next().expect("there are blocks to write").id;
        let number = self.file_of(first);
        let path = self.path(number);
        if appended
            .file
            .as_ref()
            .is_none_or(|file| file.number != number)
        {
            let file = self.create(&path);
            let file = file.map_err(|error| io_failed("create", &path, &error))?;
            let before = appended.file.replace(AppendedFile {
                number,
                file: Some(file),
                length: 0,
            });
            let before = before.map(|before| (before.number, before.length));
            appended.unsynced.extend(before);
        }
        let target = appended.file.as_mut().expect("it was made above");
        let mut file = match target.file.take() {
            Some(file) => file,
            None => {
                let file = self.open_append(&path, target.length);
                file.map_err(|error| io_failed("cut", &path, &error))?
            }
        };
        let bytes = blocks.clone().map(|block| &block.bytes[..]);
        let bytes = bytes.collect::<Vec<_>>().concat();
        file.append(&bytes)
            .map_err(|error| io_failed("write", &path, &error))?;
        target.file = Some(file);
        target.length += bytes.len() as u64;
        blocks
            .by_ref()
            .for_each(|block| self.writes.finish(block.id));
        Ok(())
    }

    /// Makes everything durable that was written before. Others may write and remove meanwhile: each file is
    /// synced by a handle that nobody appends to. After an error it is not known what ever will be durable.
    pub(crate) fn sync(&self) -> Result<(), PrimaryError> {
        let (complete, current) = self.unsynced()?;
        if let Some((path, mut file)) = current {
            sync_file(&path, &mut *file)?;
        }
        for (number, length) in complete {
            let path = self.path(number);
            match self.open_append(&path, length) {
                Ok(mut file) => sync_file(&path, &mut *file)?,
                // Nothing was left in it, so it was removed.
                Err(_) if !self.appended.lock().is_unsynced(number) => {}
                Err(error) => return Err(io_failed("open", &path, &error)),
            }
            self.appended.lock().forget_unsynced(number);
        }
        let synced = self.env.disk.sync_directory(&self.folder);
        synced.map_err(|error| io_failed("sync", &self.folder, &error))
    }

    /// Files that are complete, with their lengths, and the one that is being appended to: what is appended later
    /// has a handle of its own.
    #[expect(clippy::type_complexity, reason = "it is taken apart at once")]
    fn unsynced(
        &self,
    ) -> Result<
        (
            Vec<(FileNumber, u64)>,
            Option<(PathBuf, Box<dyn WritableFile>)>,
        ),
        PrimaryError,
    > {
        let mut appended = self.appended.lock();
        let complete = appended.unsynced.clone();
        let Some(target) = &mut appended.file else {
            return Ok((complete, None));
        };
        let path = self.path(target.number);
        let file = match target.file.take() {
            Some(file) => file,
            None => {
                let file = self.open_append(&path, target.length);
                file.map_err(|error| io_failed("cut", &path, &error))?
            }
        };
        Ok((complete, Some((path, file))))
    }

    fn remove(&self, number: FileNumber) -> Result<(), PrimaryError> {
        self.readers.lock().forget(number);
        let path = self.path(number);
        match self.env.disk.remove(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(io_failed("remove", &path, &error))
            }
            _ => Ok(()),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        match self.is_direct() {
            true => self.env.disk.create_direct(path),
            false => self.env.disk.create(path),
        }
    }

    fn open_append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WritableFile>> {
        match self.is_direct() {
            true => self.env.disk.open_append_direct(path, length),
            false => self.env.disk.open_append(path, length),
        }
    }

    fn is_direct(&self) -> bool {
        self.block_bytes.is_multiple_of(DIRECT_ALIGNMENT)
    }

    fn path(&self, number: FileNumber) -> PathBuf {
        self.folder.join(format!("blocks-{:010}.data", number.0))
    }
}

fn sync_file(path: &Path, file: &mut dyn WritableFile) -> Result<(), PrimaryError> {
    file.sync().map_err(|error| io_failed("sync", path, &error))
}

/// The number of a file of blocks; `None` for any other file.
fn number_of(path: &Path) -> Option<FileNumber> {
    let name = path.file_name()?.to_str()?;
    let number = name.strip_prefix("blocks-")?.strip_suffix(".data")?;
    number.parse().ok().map(FileNumber)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;
    use std::thread;

    use sim::{Crash, Fault, Faults, SimulatedDisk, environment};

    use super::*;
    use crate::anti_cache::block::BlockBuilder;
    use crate::anti_cache::open_files::OPEN_MAX;
    use crate::schema::TableNumber;

    const BLOCK_BYTES: usize = 512;

    /// Files of one block each.
    fn files(disk: &SimulatedDisk) -> BlockFiles {
        let opened = BlockFiles::open(environment(disk), "/blocks".into(), BLOCK_BYTES, 1);
        opened.expect("nothing fails")
    }

    fn submit(files: &BlockFiles, number: u32) {
        let block = BlockBuilder::new(BlockId(number), TableNumber(0), BLOCK_BYTES).finish(0);
        files.writes.submit(WriteJob::Write(Arc::new(block)));
    }

    #[test]
    fn only_so_many_files_stay_open() {
        let disk = SimulatedDisk::new(1);
        let files = files(&disk);
        let blocks = 2 * OPEN_MAX as u32;
        for number in 0..blocks {
            submit(&files, number);
            assert!(files.write().expect("nothing fails"));
            for read in [number, 0] {
                files.read(BlockId(read)).expect("it was written");
            }
        }
        let open = files.readers.lock().numbers();
        assert_eq!(open.len(), OPEN_MAX);
        assert_eq!(
            open[OPEN_MAX - 2..],
            [FileNumber(blocks - 1), FileNumber(0)]
        );
    }

    /// A file that is gone already, or cannot be removed, keeps no block from being written.
    #[test]
    fn a_failed_removal_holds_nothing_up() {
        let disk = SimulatedDisk::new(1);
        let files = files(&disk);
        submit(&files, 0);
        assert!(files.write().expect("nothing fails"));
        let mut faults = Faults::default();
        faults.changes.insert(disk.changes(), Fault::Error);
        disk.plan(faults);
        for gone in [0, 7] {
            files.writes.submit(WriteJob::Remove(FileNumber(gone)));
        }
        submit(&files, 1);
        for _ in 0..3 {
            assert!(files.write().expect("what cannot be removed stays"));
        }
        assert!(!files.write().expect("nothing fails"));
        files.read(BlockId(0)).expect("it could not be removed");
        files.read(BlockId(1)).expect("it was written");
    }
    /// However long a sync takes: blocks are written and empty files removed meanwhile, and what was written
    /// before is durable then.
    #[test]
    fn blocks_are_written_while_others_are_synced() {
        let disk = SimulatedDisk::new(1);
        let files = Arc::new(files(&disk));
        (0..3).for_each(|number| submit(&files, number));
        while files.write().expect("nothing fails") {}
        let (others, is_first) = (Arc::clone(&files), AtomicBool::new(true));
        disk.watch(Some(Arc::new(move |_| {
            if !is_first.swap(false, Ordering::Relaxed) {
                return;
            }
            // The sync has begun.
            others.writes.submit(WriteJob::Remove(FileNumber(1)));
            submit(&others, 3);
            let (files, (done, is_done)) = (Arc::clone(&others), mpsc::channel());
            let writer = thread::Builder::new().name("writer".into());
            let started = writer.spawn(move || {
                while files.write().expect("nothing fails") {}
                done.send(()).expect("it is waited for");
            });
            started.expect("there are threads");
            let patience = Duration::from_secs(60);
            is_done.recv_timeout(patience).expect("it does not wait");
        })));
        files.sync().expect("nothing fails");
        let found = self::files(&disk.crash(Crash::PowerCut { keep: 0.0 }));
        for (number, is_there) in [(0, true), (1, false), (2, true)] {
            assert_eq!(found.read(BlockId(number)).is_ok(), is_there, "{number}");
        }
    }
}
