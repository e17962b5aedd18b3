//! The writer: any row is as likely to be overwritten as any other.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::row::{Row, row_of};
use super::{BATCH_ROWS, CachedStore, CachingArguments};

/// Overwrites rows for so long, at the rate that it is told or as fast as the store takes them; how
/// many.
pub fn at_rate(
    store: &impl CachedStore,
    arguments: &CachingArguments,
    duration: Duration,
) -> Result<u64> {
    let mut rows = Rows::new(arguments, 1);
    let begin = Instant::now();
    let batch_time =
        Duration::from_secs_f64(BATCH_ROWS as f64 / arguments.rows_a_second.max(1) as f64);
    let mut next = begin;
    let mut written = 0;
    while arguments.rows_a_second > 0 && begin.elapsed() < duration {
        thread::sleep(next.saturating_duration_since(Instant::now()));
        store.put(&rows.batch())?;
        written += BATCH_ROWS as u64;
        next += batch_time;
    }
    Ok(written)
}

/// Overwrites rows as fast as the store takes them; how many.
pub fn at_full_speed(store: &impl CachedStore, arguments: &CachingArguments) -> Result<u64> {
    let mut rows = Rows::new(arguments, 2);
    let batches = arguments.rows_at_full_speed / BATCH_ROWS as u64;
    for _ in 0..batches {
        store.put(&rows.batch())?;
    }
    Ok(batches * BATCH_ROWS as u64)
}

/// Rows to overwrite.
struct Rows {
    random: SmallRng,
    rows: u64,
    version: u64,
}

impl Rows {
    fn new(arguments: &CachingArguments, writer: u64) -> Self {
        Self {
            random: SmallRng::seed_from_u64(arguments.seed << 8 | (0x80 + writer)),
            rows: arguments.rows,
            version: writer << 32,
        }
    }

    fn batch(&mut self) -> Vec<Row> {
        self.version += 1;
        let rows = (0..BATCH_ROWS).map(|_| {
            let number = self.random.random_range(0..self.rows);
            row_of(number, self.version)
        });
        rows.collect()
    }
}
