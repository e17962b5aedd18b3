//! Samples every second what readers and store have done.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::report::Second;
use super::{CachedStore, Progress};
use crate::disk_use::bytes_on_disk;

const SECOND: Duration = Duration::from_secs(1);

/// Samples one store.
pub struct Sampler<'a, S> {
    /// The store.
    pub store: &'a S,
    /// Its folder.
    pub folder: &'a Path,
    /// Reads so far.
    pub reads: &'a AtomicU64,
}

impl<S: CachedStore> Sampler<'_, S> {
    /// Samples until it is told to stop.
    pub fn run(&self, stop: &AtomicBool) -> io::Result<Vec<Second>> {
        let mut seconds = Vec::new();
        let mut before = self.look();
        let begin = Instant::now();
        let mut ended = begin;
        while !stop.load(Ordering::Relaxed) {
            let next = begin + SECOND * (seconds.len() as u32 + 1);
            thread::sleep(next.saturating_duration_since(Instant::now()));
            let now = self.look();
            let length = ended.elapsed();
            ended += length;
            seconds.push(self.second(length, before, now));
            before = now;
        }
        Ok(seconds)
    }

    fn look(&self) -> (u64, Progress) {
        (self.reads.load(Ordering::Relaxed), self.store.progress())
    }

    fn second(
        &self,
        length: Duration,
        (reads_before, before): (u64, Progress),
        (reads, now): (u64, Progress),
    ) -> Second {
        Second {
            seconds: length.as_secs_f64(),
            reads: reads - reads_before,
            misses: now.misses - before.misses,
            warmed: now.warmed - before.warmed,
            warmed_used: now.warmed_used - before.warmed_used,
            bytes_merged: now.bytes_merged - before.bytes_merged,
            is_merging: now.is_merging,
            // A file may go while it is looked at: then the next second tells.
            bytes_on_disk: bytes_on_disk(self.folder).unwrap_or(0),
        }
    }
}
