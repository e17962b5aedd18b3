//! Look-ups and scans of a store that has its rows.
//!
//! 1. Keys are looked up that exist, and keys that do not, by one thread and by two, one at a time
//!    and a hundred at once: [`LookUps`]. A sample is as many as fit into a given time; the first
//!    sample fills the cache and does not count, five do. Every answer is checked.
//! 2. All rows are scanned, one column of them and all: [`Scans`]. Five times, in turns.
//! 3. Rows are overwritten. As soon as they are visible, all rows are scanned again, five times.
//!
//! The cache has an eighth of the bytes that the store's own files take: [`cache_bytes`].

use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::arguments::ReadingArguments;
use crate::cells::Cells;
use crate::disk_use::bytes_on_disk;
use crate::insertion::{BATCH_ROWS, Contender};
use crate::process_use::{bytes_read, thread_seconds};
use crate::reading_report::{LookUps, Present, ReadingReport, Scans};
use crate::record::{COLUMNS, Column, RECORD_BYTES, Record, SCANNED_COLUMN};

/// Samples of which the median counts.
const SAMPLES: usize = 5;

/// Keys that are looked up at once.
const BATCH_KEYS: usize = 100;

/// The cache has this share of the data.
const CACHE_SHARE: u64 = 8;

/// Which columns a scan reads.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum Wanted {
    /// The one of [`SCANNED_COLUMN`].
    OneColumn,
    /// Every one.
    AllColumns,
}

impl Wanted {
    /// The columns.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::OneColumn => &COLUMNS[SCANNED_COLUMN..=SCANNED_COLUMN],
            Self::AllColumns => &COLUMNS,
        }
    }

    /// Bytes of a row's cells, uncompressed.
    pub fn row_bytes(self) -> usize {
        self.columns().iter().map(|column| column.bytes).sum()
    }
}

/// What can be scanned.
pub trait Scan {
    /// Reads the wanted columns of all rows into columns, as a query needs them, and adds up their
    /// cells.
    fn scan(&self, wanted: Wanted) -> Result<Cells>;
}

/// A store that keys can be looked up in.
pub trait LookUp: Scan + Sync {
    /// The row of a record's key, if there is one.
    fn get(&self, key: &Record) -> Result<Cells>;

    /// The rows of several records' keys.
    fn multi_get(&self, keys: &[Record]) -> Result<Cells>;

    /// How often something was not in the cache and had to be read, so far.
    fn reads(&self) -> u64;
}

/// The size of the cache for what is in a folder.
pub fn cache_bytes(folder: &Path) -> Result<u64> {
    Ok(bytes_on_disk(folder)? / CACHE_SHARE)
}

/// Looks up the keys that come first in `input`, scans, and overwrites with what comes then.
pub fn run(
    store: &mut (impl Contender + LookUp),
    arguments: &ReadingArguments,
    mut input: impl Read,
) -> Result<ReadingReport> {
    let bytes_on_disk = bytes_on_disk(store.folder())?;
    let mut look_ups = Vec::new();
    for present in [Present::Existing, Present::Missing] {
        let keys = read_records(&mut input, arguments.keys)?;
        if !keys.is_empty() {
            look_ups.extend(look_up(store, &keys, present, arguments.sample_time())?);
        }
    }
    let settings = store.settings();
    let scans = scan(store)?;
    let fresh_scans = if arguments.overwrite {
        overwrite(store, input)?;
        scan(store)?
    } else {
        Vec::new()
    };
    Ok(ReadingReport {
        settings,
        bytes_on_disk,
        look_ups,
        scans,
        fresh_scans,
    })
}

/// All kinds of look-ups of these keys.
fn look_up(
    store: &impl LookUp,
    keys: &[Record],
    present: Present,
    sample_time: Duration,
) -> Result<Vec<LookUps>> {
    let mut all = Vec::new();
    for batch_keys in [1, BATCH_KEYS] {
        for threads in [1, 2] {
            let mut look_ups = LookUps {
                present,
                batch_keys,
                threads,
                rates: Vec::new(),
                reads_a_key: Vec::new(),
            };
            let sampler = KeySampler {
                store,
                keys,
                next: AtomicUsize::new(0),
                present,
                batch_keys,
            };
            for sample in 0..=SAMPLES {
                let reads = store.reads();
                let begin = Instant::now();
                let keys = sampler.run(threads, begin + sample_time)?;
                let seconds = begin.elapsed().as_secs_f64();
                if sample > 0 {
                    look_ups.rates.push(keys as f64 / seconds);
                    let reads = store.reads() - reads;
                    look_ups.reads_a_key.push(reads as f64 / keys as f64);
                }
            }
            all.push(look_ups);
        }
    }
    Ok(all)
}

/// Takes one sample of look-ups after the other, from wherever the last one came to.
struct KeySampler<'a, S> {
    store: &'a S,
    keys: &'a [Record],
    next: AtomicUsize,
    present: Present,
    batch_keys: usize,
}

impl<S: LookUp> KeySampler<'_, S> {
    /// Looks keys up until it is time; how many.
    fn run(&self, threads: usize, end: Instant) -> Result<usize> {
        thread::scope(|scope| {
            let until = || self.until(end);
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(until)).collect();
            let keys = threads
                .into_iter()
                .map(|thread| thread.join().expect("look-ups do not panic"));
            keys.sum()
        })
    }

    fn until(&self, end: Instant) -> Result<usize> {
        let chunks = self.keys.len().div_ceil(BATCH_KEYS);
        let mut keys = 0;
        while Instant::now() < end {
            let chunk = self.next.fetch_add(1, Ordering::Relaxed) % chunks;
            let from = chunk * BATCH_KEYS;
            let chunk = &self.keys[from..self.keys.len().min(from + BATCH_KEYS)];
            self.check(chunk, self.look_up(chunk)?)?;
            keys += chunk.len();
        }
        Ok(keys)
    }

    fn look_up(&self, keys: &[Record]) -> Result<Cells> {
        if self.batch_keys > 1 {
            return self.store.multi_get(keys);
        }
        let mut found = Cells::default();
        for key in keys {
            found += self.store.get(key)?;
        }
        Ok(found)
    }

    fn check(&self, keys: &[Record], found: Cells) -> Result<()> {
        let mut expected = Cells::default();
        if self.present == Present::Existing {
            let rows = keys.iter().map(Cells::looked_up);
            rows.for_each(|row| expected += row);
        }
        ensure!(
            found == expected,
            "found {found:?} of {:?} keys, expected {expected:?}",
            self.present
        );
        Ok(())
    }
}

/// Scans of either kind, in turns.
pub fn scan(store: &impl Scan) -> Result<Vec<Scans>> {
    let mut all = [Wanted::OneColumn, Wanted::AllColumns].map(Scans::none);
    for _ in 0..SAMPLES {
        for scans in &mut all {
            let (bytes, busy) = (bytes_read()?, thread_seconds()?);
            let begin = Instant::now();
            scans.cells = store.scan(scans.wanted)?;
            scans.seconds.push(begin.elapsed().as_secs_f64());
            scans.busy_seconds.push(thread_seconds()? - busy);
            scans.bytes_read.push(bytes_read()? - bytes);
        }
    }
    Ok(all.into())
}

/// Inserts all rows that are left. Merges go on or not, as the store sees fit.
fn overwrite(store: &mut impl Contender, mut input: impl Read) -> Result<()> {
    loop {
        let records = read_records(&mut input, BATCH_ROWS)?;
        if records.is_empty() {
            return Ok(());
        }
        store.insert(&records)?;
    }
}

/// The next at most `rows_max` records.
fn read_records(input: &mut impl Read, rows_max: usize) -> Result<Vec<Record>> {
    let mut bytes = Vec::new();
    let most = (rows_max * RECORD_BYTES) as u64;
    input.by_ref().take(most).read_to_end(&mut bytes)?;
    let (records, rest) = bytes.as_chunks();
    ensure!(rest.is_empty(), "the input ends inside a record");
    Ok(records.to_vec())
}

#[cfg(test)]
mod tests;
