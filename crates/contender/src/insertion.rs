//! Insertion of all rows of an input, watched.
//!
//! 1. Rows are read in batches and handed to the store, one batch at a time. The time of each
//!    batch and the end of each window of [`WINDOW_ROWS`] rows are noted, and what the host took from the
//!    processors meanwhile.
//! 2. When there are no more rows, or the time is up, everything is made durable: that is when
//!    the clock stops.
//! 3. Merges end; then what is on disk counts as live data.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::disk_use::{Sampler, bytes_on_disk};
use crate::record::{RECORD_BYTES, Record};
use crate::report::{BatchTimes, Report};
use crate::stolen_time;

/// Rows of a batch, which becomes visible at once.
pub const BATCH_ROWS: usize = 1_000;

/// Rows of a window, of which the slowest counts.
pub const WINDOW_ROWS: usize = 100_000;

/// A store under comparison.
pub trait Contender {
    /// Rows that are inserted at once. Only a contender that takes [`BATCH_ROWS`] has batch times.
    fn batch_rows(&self) -> usize {
        BATCH_ROWS
    }

    /// Where the rows lie.
    fn folder(&self) -> &Path;

    /// The settings that matter, in words.
    fn settings(&self) -> String;

    /// Inserts rows; they are visible when it returns.
    fn insert(&mut self, records: &[Record]) -> Result<()>;

    /// Inserts rows, the first ones only if the time ends meanwhile; how many. Who takes long for
    /// its batches looks at the clock.
    fn insert_until(&mut self, records: &[Record], _end: Option<Instant>) -> Result<usize> {
        self.insert(records)?;
        Ok(records.len())
    }

    /// Returns when all rows are durable.
    fn make_durable(&mut self) -> Result<()>;

    /// Returns when no merge is going on or due.
    fn settle(&mut self) -> Result<()>;

    /// Bytes written so far: by flushes, merges and whatever else puts rows on the disk.
    fn bytes_written(&mut self) -> Result<u64>;
}

/// Inserts what `input` has, for `time_max` at most.
pub fn run(
    contender: &mut impl Contender,
    input: impl Read,
    time_max: Option<Duration>,
) -> Result<Report> {
    let sampler = Sampler::start(contender.folder())?;
    let mut watch = Watch::start(contender.batch_rows())?;
    insert_all(contender, input, time_max, &mut watch, &sampler)?;
    ensure!(watch.rows > 0, "there was nothing to insert");
    let insert_seconds = watch.started.elapsed().as_secs_f64();
    contender.make_durable()?;
    let seconds = watch.started.elapsed().as_secs_f64();
    let settling = Instant::now();
    contender.settle()?;
    let settle_seconds = settling.elapsed().as_secs_f64();
    Ok(Report {
        settings: contender.settings(),
        rows: watch.rows,
        batch_times: watch.batch_times(),
        undisturbed_batch_times: watch.undisturbed_batch_times(),
        window_ends: watch.window_ends,
        window_stolen: watch.window_stolen,
        insert_seconds,
        seconds,
        bytes_at_end: bytes_on_disk(contender.folder())?,
        space: sampler.stop(),
        bytes_written: contender.bytes_written()?,
        settle_seconds,
    })
}

fn insert_all(
    contender: &mut impl Contender,
    mut input: impl Read,
    time_max: Option<Duration>,
    watch: &mut Watch,
    sampler: &Sampler,
) -> Result<()> {
    let batch_bytes = contender.batch_rows() * RECORD_BYTES;
    let mut batch = Vec::with_capacity(batch_bytes);
    let end = time_max.map(|most| watch.started + most);
    while end.is_none_or(|end| Instant::now() < end) {
        batch.clear();
        let mut next = input.by_ref().take(batch_bytes as u64);
        next.read_to_end(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        let (records, rest) = batch.as_chunks();
        ensure!(rest.is_empty(), "the input ends inside a record");
        let begin = Instant::now();
        let inserted = contender.insert_until(records, end)?;
        watch.note(inserted, begin.elapsed())?;
        sampler.note_rows(watch.rows);
    }
    Ok(())
}

/// What was seen so far.
#[derive(Debug)]
struct Watch {
    started: Instant,
    batch_rows: usize,
    rows: usize,
    batch_micros: Vec<u32>,
    window_ends: Vec<f64>,
    window_stolen: Vec<f64>,
    /// What had been taken from the processors when the window began, seconds.
    stolen: f64,
}

impl Watch {
    fn start(batch_rows: usize) -> Result<Self> {
        Ok(Self {
            started: Instant::now(),
            batch_rows,
            rows: 0,
            batch_micros: Vec::new(),
            window_ends: Vec::new(),
            window_stolen: Vec::new(),
            stolen: stolen_time::seconds()?,
        })
    }

    fn note(&mut self, rows: usize, took: Duration) -> Result<()> {
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.batch_micros.push(micros);
        self.rows += rows;
        if self.rows.is_multiple_of(WINDOW_ROWS) {
            self.window_ends.push(self.started.elapsed().as_secs_f64());
            let stolen = stolen_time::seconds()?;
            self.window_stolen.push(stolen - self.stolen);
            self.stolen = stolen;
        }
        Ok(())
    }

    fn batch_times(&self) -> Option<BatchTimes> {
        (self.batch_rows == BATCH_ROWS).then(|| BatchTimes::of(&self.batch_micros))
    }

    /// Of the batches of windows during which nothing was taken from the processors.
    fn undisturbed_batch_times(&self) -> Option<BatchTimes> {
        let windows = self.batch_micros.chunks(WINDOW_ROWS / BATCH_ROWS);
        let windows = windows.zip(&self.window_stolen);
        let undisturbed = windows.filter(|(_, stolen)| **stolen == 0.0);
        let micros: Vec<u32> = undisturbed
            .flat_map(|(micros, _)| micros)
            .copied()
            .collect();
        (self.batch_rows == BATCH_ROWS && !micros.is_empty()).then(|| BatchTimes::of(&micros))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    struct Counter {
        folder: PathBuf,
        batches: Vec<usize>,
        calls: Vec<&'static str>,
    }

    impl Contender for Counter {
        fn folder(&self) -> &Path {
            &self.folder
        }

        fn settings(&self) -> String {
            "none".to_owned()
        }

        fn insert(&mut self, records: &[Record]) -> Result<()> {
            self.batches.push(records.len());
            Ok(())
        }

        fn make_durable(&mut self) -> Result<()> {
            self.calls.push("durable");
            Ok(())
        }

        fn settle(&mut self) -> Result<()> {
            self.calls.push("settle");
            Ok(())
        }

        fn bytes_written(&mut self) -> Result<u64> {
            Ok(7)
        }
    }

    fn run_over(rows: usize, time_max: Option<Duration>) -> (Counter, Result<Report>) {
        let folder = tempfile::tempdir().unwrap();
        let mut counter = Counter {
            folder: folder.path().to_owned(),
            batches: Vec::new(),
            calls: Vec::new(),
        };
        let input = vec![0; rows * RECORD_BYTES];
        let report = run(&mut counter, &input[..], time_max);
        (counter, report)
    }

    #[test]
    fn rows_come_in_batches_and_windows_and_the_clock_stops_before_merges_end() {
        let (counter, report) = run_over(2 * WINDOW_ROWS + 10, None);
        let report = report.unwrap();
        assert_eq!(report.rows, 2 * WINDOW_ROWS + 10);
        assert_eq!(report.window_ends.len(), 2);
        assert_eq!(counter.batches.len(), 2 * WINDOW_ROWS / BATCH_ROWS + 1);
        assert_eq!(counter.batches.last(), Some(&10));
        assert_eq!(counter.calls, ["durable", "settle"]);
        assert!(report.batch_times.is_some());
        assert_eq!(report.bytes_written, 7);
    }

    #[test]
    fn nothing_is_read_when_the_time_is_up() {
        let (counter, report) = run_over(BATCH_ROWS, Some(Duration::ZERO));
        assert!(report.is_err(), "a report over no rows has no rates");
        assert!(counter.batches.is_empty());
    }
}
