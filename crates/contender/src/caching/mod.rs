//! A cache under writes: rows are looked up, or scanned in short ranges, while others are overwritten
//! at a steady rate, so that merges rewrite what the cache holds. The experiments rangehot, zipfian
//! and rangescan.
//!
//! 1. All rows are inserted in the order of their keys, and merges end.
//! 2. Eight readers read until the cache has settled; then they are measured for a while: what the
//!    cache can do when no merge disturbs it.
//! 3. A writer joins them, at a fixed rate, any row being as likely as any other. Each second is
//!    sampled: reads, those that had to go to the disk, merges, bytes on disk.
//! 4. The writer alone, as fast as it can, and the readers alone again: what the cache policy costs
//!    those who do not need it.
//!
//! Every answer is checked: it is a row of that key.

mod arguments;
mod latencies;
mod pattern;
mod readers;
mod report;
mod row;
mod samples;
mod writer;

use std::time::{Duration, Instant};

use anyhow::Result;

pub use arguments::CachingArguments;
pub use pattern::{Pattern, Shape};
pub use report::{CachingReport, Phase, Second};
pub use row::{KEY_STEP, ROW_BYTES, Row, key_of, row_of, version_of};

use crate::disk_use::bytes_on_disk;
use crate::process_use::process_seconds;
use readers::Readers;
use samples::Sampler;

/// Rows that are inserted or overwritten at once.
pub const BATCH_ROWS: usize = 100;

/// Rows of a range that is scanned.
pub const RANGE_ROWS: u64 = 100;

/// A store of rows by number.
pub trait CachedStore: Sync {
    /// Called by each reader before its first read, on its own thread.
    fn begin_reading(&self) -> Result<()> {
        Ok(())
    }

    /// Inserts or overwrites rows.
    fn put(&self, rows: &[Row]) -> Result<()>;

    /// Puts the row's value into `value`, which is empty; whether there is such a row.
    fn get(&self, number: u64, value: &mut Vec<u8>) -> Result<bool>;

    /// How many of the rows from `number` on, [`RANGE_ROWS`] of them, are there, intact.
    fn range(&self, number: u64) -> Result<u64>;

    /// What it has done so far.
    fn progress(&self) -> Progress;

    /// Makes all rows durable, and waits for all merges.
    fn settle(&self) -> Result<()>;

    /// Its settings, in words.
    fn settings(&self) -> String;
}

/// What a store has done since it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Pages or blocks that readers wanted and that were not in the cache.
    pub misses: u64,
    /// Pages or blocks that entered the cache without having been asked for.
    pub warmed: u64,
    /// Those of them that were asked for later; zero where the store does not tell.
    pub warmed_used: u64,
    /// Bytes that merges wrote.
    pub bytes_merged: u64,
    /// Whether a merge is under way.
    pub is_merging: bool,
}

/// Does all that, and reports.
pub fn run(store: &impl CachedStore, arguments: &CachingArguments) -> Result<CachingReport> {
    let pattern = arguments.pattern()?;
    load(store, arguments)?;
    let seconds = Duration::from_secs;
    let read =
        |duration, phase| Readers::run(store, &pattern, arguments, duration, phase, || Ok(()));
    read(seconds(arguments.warm_seconds), 1)?;
    let (quiet, ()) = read(seconds(arguments.quiet_seconds), 2)?;
    let written_time = seconds(arguments.written_seconds);
    let (written, rows_written) =
        Readers::run(store, &pattern, arguments, written_time, 3, || {
            writer::at_rate(store, arguments, written_time)
        })?;
    let recovered = read(seconds(arguments.quiet_seconds), 4)?.0;
    // What merges have left to do is not for the last rows to pay.
    store.settle()?;
    let busy = process_seconds()?;
    let begin = Instant::now();
    let rows_inserted = writer::at_full_speed(store, arguments)?;
    let insert_seconds = begin.elapsed().as_secs_f64();
    store.settle()?;
    Ok(CachingReport {
        settings: store.settings(),
        quiet,
        written,
        rows_written,
        recovered,
        inserts_a_second: rows_inserted as f64 / insert_seconds,
        insert_busy_seconds: process_seconds()? - busy,
        bytes_at_end: bytes_on_disk(&arguments.common.folder)?,
    })
}

fn load(store: &impl CachedStore, arguments: &CachingArguments) -> Result<()> {
    let numbers: Vec<u64> = (0..arguments.rows).collect();
    for some in numbers.chunks(BATCH_ROWS) {
        let rows: Vec<Row> = some.iter().map(|&number| row_of(number, 0)).collect();
        store.put(&rows)?;
    }
    store.settle()
}
