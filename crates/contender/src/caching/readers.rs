//! Readers, each as fast as it can, while something else goes on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::latencies::Latencies;
use super::row::{ROW_BYTES, version_of};
use super::{CachedStore, CachingArguments, Pattern, Phase, RANGE_ROWS, Sampler};
use crate::process_use::process_seconds;

/// Reads that a reader does before it counts them where all can see.
const COUNTED_READS: u64 = 16;

/// The readers of one phase.
pub struct Readers<'a, S> {
    store: &'a S,
    pattern: &'a Pattern,
    arguments: &'a CachingArguments,
    duration: Duration,
    /// Each phase has chances of its own: in those of another one, readers would ask again for what they
    /// asked for before, in the same order, and whoever has kept the first of it would be right.
    phase: u64,
    begin: Instant,
    reads: AtomicU64,
    stop: AtomicBool,
}

impl<'a, S: CachedStore> Readers<'a, S> {
    /// Reads for so long, `meanwhile` being done beside it by this thread. Phases have different numbers.
    pub fn run<T>(
        store: &'a S,
        pattern: &'a Pattern,
        arguments: &'a CachingArguments,
        duration: Duration,
        phase: u64,
        meanwhile: impl FnOnce() -> Result<T>,
    ) -> Result<(Phase, T)> {
        let readers = Self {
            store,
            pattern,
            arguments,
            duration,
            phase,
            begin: Instant::now(),
            reads: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        };
        readers.read(meanwhile)
    }

    fn read<T>(&self, meanwhile: impl FnOnce() -> Result<T>) -> Result<(Phase, T)> {
        let busy = process_seconds()?;
        let sampler = Sampler {
            store: self.store,
            folder: &self.arguments.common.folder,
            reads: &self.reads,
        };
        thread::scope(|scope| {
            let seeds = 0..self.arguments.readers;
            let readers = seeds.map(|reader| scope.spawn(move || self.read_one(reader)));
            let readers: Vec<_> = readers.collect();
            let sampling = scope.spawn(|| sampler.run(&self.stop));
            let done = meanwhile();
            thread::sleep(self.duration.saturating_sub(self.begin.elapsed()));
            self.stop.store(true, Ordering::Relaxed);
            let mut latencies = Latencies::default();
            for reader in readers {
                latencies.merge(&reader.join().expect("a reader does not panic")?);
            }
            let seconds = sampling.join().expect("sampling does not panic")?;
            let phase = Phase {
                seconds,
                micros_p99: latencies.micros(0.99),
                busy_seconds: process_seconds()? - busy,
            };
            Ok((phase, done?))
        })
    }

    fn read_one(&self, reader: u64) -> Result<Latencies> {
        let seed = self.arguments.seed << 16 | self.phase << 8 | reader;
        let mut random = SmallRng::seed_from_u64(seed);
        self.store.begin_reading()?;
        let mut latencies = Latencies::default();
        let mut value = Vec::with_capacity(ROW_BYTES);
        let mut reads = 0_u64;
        let mut progress = 0.0;
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.pattern.choose(&mut random, progress);
            let before = Instant::now();
            self.read_row(number, &mut value)?;
            latencies.add(before.elapsed());
            reads += 1;
            if reads.is_multiple_of(COUNTED_READS) {
                self.reads.fetch_add(COUNTED_READS, Ordering::Relaxed);
                let elapsed = self.begin.elapsed().as_secs_f64();
                progress = (elapsed / self.duration.as_secs_f64()).min(1.0);
            }
        }
        Ok(latencies)
    }

    fn read_row(&self, number: u64, value: &mut Vec<u8>) -> Result<()> {
        if self.arguments.ranges {
            let start = number.min(self.arguments.rows.saturating_sub(RANGE_ROWS));
            let found = self.store.range(start)?;
            let expected = RANGE_ROWS.min(self.arguments.rows);
            ensure!(found == expected, "{found} rows from {start} on");
        } else {
            value.clear();
            let is_there = self.store.get(number, value)?;
            let is_intact = is_there && version_of(number, value).is_some();
            ensure!(is_intact, "row {number} is not there");
        }
        Ok(())
    }
}
