//! Damage to files at rest. It is reported with the file's name, or harmless; no wrong row is
//! ever returned, nothing that was acknowledged silently missing, nothing panics.

use std::path::{Path, PathBuf};

use lsm::{StoreError, Work};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::model::started;
use crate::disk::{Faults, SimulatedDisk};
use crate::environment;
use crate::replica::{Replica, Step};

/// Bytes of each file that are damaged for one seed.
const BYTES_PER_FILE: usize = 40;

/// Blocks of each file that are put in the wrong place for one seed.
const BLOCKS_PER_FILE: usize = 4;

/// A stopped replica whose disk has every kind of file and little else.
fn reference(seed: u64) -> Replica {
    reference_with(seed, |_| ())
}

/// As above; `observe` sees the disk on the way.
fn reference_with(seed: u64, mut observe: impl FnMut(&SimulatedDisk)) -> Replica {
    let mut replica = started(seed);
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

/// Opens the damaged store and scans everything. Returns the errors.
fn open_and_scan(replica: &mut Replica) -> Vec<StoreError> {
    replica.tolerate_damage();
    replica.disk().plan(Faults::default());
    let opened = replica.start().err();
    opened.into_iter().chain(replica.damage()).collect()
}

/// Marks only say how far the log was synced; without one less is known.
fn is_marks(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "synced")
}

/// Opens and reads what was damaged: the damage must be found, and named.
fn expect_found(mut damaged: Replica, path: &Path, harmless: bool, at: &str) {
    let errors = open_and_scan(&mut damaged);
    assert!(harmless || !errors.is_empty(), "{at} was not found");
    for error in errors {
        let named = names(&error, path) || names(&error, &path.with_extension(""));
        assert!(named, "{at}: {error}");
    }
}

/// A bit of some bytes of every file flips.
///
/// # Panics
/// When one is not found, or not named.
pub fn bytes(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let reference = reference(seed);
    for (path, length) in reference.disk().files() {
        for _ in 0..BYTES_PER_FILE {
            let offset = random.random_range(0..length);
            let damaged = reference.fork();
            let bit = random.random_range(0..8);
            damaged.disk().flip_byte(&path, offset, bit);
            let at = format!("byte {offset} of {}", path.display());
            expect_found(damaged, &path, is_marks(&path), &at);
        }
    }
}

/// Every file is cut, ends in zeros, goes on with garbage, or is missing.
///
/// # Panics
/// When that is not found, or not named.
pub fn files(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let reference = reference(seed);
    for (path, length) in reference.disk().files() {
        for cut in [0, random.random_range(0..length), length - 1] {
            let damaged = reference.fork();
            damaged.disk().cut(&path, cut);
            let at = format!("{} cut to {cut}", path.display());
            expect_found(damaged, &path, is_marks(&path), &at);
        }
        zero_the_end(&reference, &path, &mut random);
        lengthen(&reference, &path, &mut random);
        let damaged = reference.fork();
        let disk = environment(damaged.disk()).disk;
        disk.remove(&path).expect("the file exists");
        let at = format!("{} missing", path.display());
        expect_found(damaged, &path, false, &at);
    }
}

fn zero_the_end(reference: &Replica, path: &Path, random: &mut StdRng) {
    let mut bytes = reference.disk().bytes(path);
    let start = random.random_range(bytes.len().saturating_sub(600)..bytes.len());
    if bytes[start..].iter().all(|&byte| byte == 0) {
        return;
    }
    bytes[start..].fill(0);
    let damaged = reference.fork();
    damaged.disk().replace(path, bytes);
    let at = format!("zeros from {start} in {}", path.display());
    expect_found(damaged, path, is_marks(path), &at);
}

/// What follows the last record of a log is taken for the torn end of an append.
fn lengthen(reference: &Replica, path: &Path, random: &mut StdRng) {
    let mut bytes = reference.disk().bytes(path);
    let more = random.random_range(1..600);
    bytes.extend((0..more).map(|_| random.random::<u8>()));
    let damaged = reference.fork();
    damaged.disk().replace(path, bytes);
    let is_log = path.extension().is_some_and(|ending| ending == "log");
    let at = format!("{more} bytes at the end of {}", path.display());
    expect_found(damaged, path, is_log || is_marks(path), &at);
}

/// Intact bytes are found where others belong: blocks of one file in another's place, or in
/// another place of the same file, a file under another's name, or what it was before.
///
/// # Panics
/// When that is not found, or not named.
pub fn misplaced(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut older = Vec::new();
    let reference = reference_with(seed, |disk| older.push(disk.fork()));
    let files: Vec<PathBuf> = reference
        .disk()
        .files()
        .into_iter()
        .map(|file| file.0)
        .collect();
    for path in files.iter().filter(|path| !is_marks(path)) {
        let other = &files[random.random_range(0..files.len())];
        for _ in 0..BLOCKS_PER_FILE {
            misplace_block(&reference, path, other, &mut random);
            misplace_block(&reference, path, path, &mut random);
        }
        let whole = reference.disk().bytes(other);
        let at = format!("{} in place of {}", other.display(), path.display());
        put_in_place(&reference, path, whole, &at);
        let was_there = |disk: &&SimulatedDisk| disk.files().iter().any(|file| file.0 == *path);
        for disk in older.iter().filter(was_there) {
            let at = format!("an older {}", path.display());
            put_in_place(&reference, path, disk.bytes(path), &at);
        }
    }
}

fn put_in_place(reference: &Replica, path: &Path, bytes: Vec<u8>, at: &str) {
    if reference.disk().bytes(path) != bytes {
        let damaged = reference.fork();
        damaged.disk().replace(path, bytes);
        expect_found(damaged, path, false, at);
    }
}

fn misplace_block(reference: &Replica, path: &Path, from: &Path, random: &mut StdRng) {
    const BLOCK_BYTES: usize = 512;
    let (source, mut bytes) = (reference.disk().bytes(from), reference.disk().bytes(path));
    let mut block =
        |length: usize| random.random_range(0..length.div_ceil(BLOCK_BYTES)) * BLOCK_BYTES;
    let (at, into) = (block(source.len()), block(bytes.len()));
    let length = BLOCK_BYTES.min(source.len() - at).min(bytes.len() - into);
    bytes[into..into + length].copy_from_slice(&source[at..at + length]);
    let at = format!("{} at {at} in {} at {into}", from.display(), path.display());
    put_in_place(reference, path, bytes, &at);
}
