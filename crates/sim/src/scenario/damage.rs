//! Damage to files at rest. It is reported with the file's name, or harmless; no wrong row is
//! ever returned, nothing that was acknowledged silently missing, nothing panics.

use std::path::{Path, PathBuf};

use lsm::{StoreError, Work};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::model::start_with_tables;
use crate::disk::{Faults, SimulatedDisk};
use crate::environment;
use crate::replica::{Replica, Step};

/// Bytes of each file that are damaged for one seed.
const BYTES_PER_FILE: usize = 12;

/// Blocks of each file that are put in the wrong place for one seed.
const BLOCKS_PER_FILE: usize = 2;

/// A stopped replica whose disk has every kind of file and little else.
fn reference(seed: u64) -> Replica {
    reference_with(seed, |_| ())
}

/// As above; `observe` sees the disk on the way.
fn reference_with(seed: u64, mut observe: impl FnMut(&SimulatedDisk)) -> Replica {
    let mut replica = Replica::new(seed).with_filters();
    start_with_tables(&mut replica);
    let steps = [
        Step::Commit,
        Step::Ingest,
        Step::Ingest,
        Step::Publish,
        Step::Flush,
    ];
    for round in 0..6 {
        for step in steps {
            replica.step(step).expect("nothing fails");
        }
        observe(replica.disk());
        if round == 3 {
            while replica.disk().changes() > 0 {
                let before = replica.disk().changes();
                replica
                    .step(Step::Work(Work::Merge))
                    .expect("nothing fails");
                if replica.disk().changes() == before {
                    break;
                }
            }
        }
    }
    replica.stop();
    replica
}

/// Whether an error names the file.
fn names(error: &StoreError, path: &Path) -> bool {
    let name = path.file_name().expect("a name").to_string_lossy();
    match error {
        StoreError::Corrupt { file, .. } | StoreError::VersionTooNew { file, .. } => {
            file.contains(name.as_ref())
        }
        _ => false,
    }
}

fn is_segment(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "seg")
}

/// Opens the damaged store, scans everything and looks everything up. Returns the errors.
fn open_and_read(replica: &mut Replica) -> Vec<StoreError> {
    replica.tolerate_damage();
    replica.disk().plan(Faults::default());
    let opened = replica.start().err();
    if opened.is_none() {
        let looked_up = replica.look_everything_up();
        looked_up.expect("nothing but damage");
    }
    opened.into_iter().chain(replica.damage()).collect()
}

/// Marks only say how far the log was synced; without one less is known.
fn is_marks(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "synced")
}

/// A segment has bytes that nobody reads: the filter of keys that newer segments have, too. Of so
/// many damaged places in segments one may be like that.
const UNREAD_EVERY: usize = 10;

/// Damages an intact store in one place after another.
struct Trial {
    reference: Replica,
    random: StdRng,
    /// Damaged places in segments that were found.
    found: usize,
    /// And that were not.
    unread: usize,
}

impl Trial {
    fn new(seed: u64, reference: Replica) -> Self {
        Self {
            reference,
            random: StdRng::seed_from_u64(seed),
            found: 0,
            unread: 0,
        }
    }

    fn files(&self) -> Vec<(PathBuf, u64)> {
        self.reference.disk().files()
    }

    /// Damages a copy, opens and reads it: the damage must be found, and named, and what is read
    /// be right in any case.
    fn damage(
        &mut self,
        path: &Path,
        how: impl FnOnce(&SimulatedDisk),
        harmless: bool,
        words: &str,
    ) {
        let at = format!("{}: {words}", path.display());
        let mut damaged = self.reference.fork();
        how(damaged.disk());
        let errors = open_and_read(&mut damaged);
        match (is_segment(path), errors.is_empty()) {
            (true, true) => self.unread += 1,
            (true, false) => self.found += 1,
            (false, unread) => assert!(harmless || !unread, "{at}, was not found"),
        }
        for error in errors {
            let named = names(&error, path) || names(&error, &path.with_extension(""));
            assert!(named, "{at}: {error}");
        }
    }

    /// Another content, if it is another one.
    fn replace(&mut self, path: &Path, bytes: Vec<u8>, harmless: bool, words: &str) {
        if self.reference.disk().bytes(path) != bytes {
            let replace = |disk: &SimulatedDisk| disk.replace(path, bytes);
            self.damage(path, replace, harmless, words);
        }
    }

    fn zero_the_end(&mut self, path: &Path) {
        let mut bytes = self.reference.disk().bytes(path);
        let first = bytes.len().saturating_sub(600);
        let start = self.random.random_range(first..bytes.len());
        bytes[start..].fill(0);
        let words = format!("zeros from {start}");
        self.replace(path, bytes, is_marks(path), &words);
    }

    /// What follows the last record of a log is taken for the torn end of an append.
    fn lengthen(&mut self, path: &Path) {
        let mut bytes = self.reference.disk().bytes(path);
        let more = self.random.random_range(1..600);
        bytes.extend((0..more).map(|_| self.random.random::<u8>()));
        let is_log = path.extension().is_some_and(|ending| ending == "log");
        let words = format!("{more} bytes more");
        self.replace(path, bytes, is_log || is_marks(path), &words);
    }

    /// A block of one file lies in the place of another.
    fn misplace_block(&mut self, path: &Path, from: &Path) {
        const BLOCK_BYTES: usize = 512;
        let disk = self.reference.disk();
        let (source, mut bytes) = (disk.bytes(from), disk.bytes(path));
        let mut block =
            |length: usize| self.random.random_range(0..length.div_ceil(BLOCK_BYTES)) * BLOCK_BYTES;
        let (at, into) = (block(source.len()), block(bytes.len()));
        let length = BLOCK_BYTES.min(source.len() - at).min(bytes.len() - into);
        bytes[into..into + length].copy_from_slice(&source[at..at + length]);
        let words = format!("{at} of {} at {into}", from.display());
        self.replace(path, bytes, false, &words);
    }

    fn finish(self) {
        let Self { found, unread, .. } = self;
        assert!(
            unread * UNREAD_EVERY <= found + unread,
            "{unread} damaged places in segments were not found, {found} were"
        );
    }
}

/// A bit of some bytes of every file flips.
///
/// # Panics
/// When one is not found, or not named.
pub fn bytes(seed: u64) {
    let mut trial = Trial::new(seed, reference(seed));
    for (path, length) in trial.files() {
        for _ in 0..BYTES_PER_FILE {
            let offset = trial.random.random_range(0..length);
            let bit = trial.random.random_range(0..8);
            let flip = |disk: &SimulatedDisk| disk.flip_byte(&path, offset, bit);
            trial.damage(&path, flip, is_marks(&path), &format!("byte {offset}"));
        }
    }
    trial.finish();
}

/// Every file is cut, ends in zeros, goes on with garbage, or is missing.
///
/// # Panics
/// When that is not found, or not named.
pub fn files(seed: u64) {
    let mut trial = Trial::new(seed, reference(seed));
    for (path, length) in trial.files() {
        for cut in [0, trial.random.random_range(0..length), length - 1] {
            let cut_off = |disk: &SimulatedDisk| disk.cut(&path, cut);
            trial.damage(&path, cut_off, is_marks(&path), &format!("cut to {cut}"));
        }
        trial.zero_the_end(&path);
        trial.lengthen(&path);
        let remove = |disk: &SimulatedDisk| {
            let removed = environment(disk).disk.remove(&path);
            removed.expect("the file exists");
        };
        trial.damage(&path, remove, false, "missing");
    }
    trial.finish();
}

/// Intact bytes are found where others belong: blocks of one file in another's place, or in
/// another place of the same file, a file under another's name, or what it was before.
///
/// # Panics
/// When that is not found, or not named.
pub fn misplaced(seed: u64) {
    let mut older = Vec::new();
    let reference = reference_with(seed, |disk| older.push(disk.fork()));
    let mut trial = Trial::new(seed, reference);
    let files: Vec<PathBuf> = trial.files().into_iter().map(|file| file.0).collect();
    for path in files.iter().filter(|path| !is_marks(path)) {
        let other = &files[trial.random.random_range(0..files.len())];
        for _ in 0..BLOCKS_PER_FILE {
            trial.misplace_block(path, other);
            trial.misplace_block(path, path);
        }
        let whole = trial.reference.disk().bytes(other);
        trial.replace(path, whole, false, &format!("is {}", other.display()));
        let was_there = |disk: &&SimulatedDisk| disk.files().iter().any(|file| file.0 == *path);
        for disk in older.iter().filter(was_there) {
            trial.replace(path, disk.bytes(path), false, "as it was before");
        }
    }
    trial.finish();
}
