//! What a contender of these experiments saw.

use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CachingReport {
    /// In words.
    pub settings: String,
    /// Reading before anything is overwritten.
    pub quiet: Phase,
    /// Reading while rows are overwritten.
    pub written: Phase,
    /// Rows that were: fewer than planned where the store did not take them as fast.
    pub rows_written: u64,
    /// Reading right after.
    pub recovered: Phase,
    /// Rows overwritten a second, nobody reading.
    pub inserts_a_second: f64,
    /// Seconds of processors for that and the merges that it caused.
    pub insert_busy_seconds: f64,
    /// On disk, when all is settled.
    pub bytes_at_end: u64,
}

/// A stretch of time in which the same things went on.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Phase {
    /// What each second saw.
    pub seconds: Vec<Second>,
    /// Microseconds that 99 of 100 reads took at most.
    pub micros_p99: f64,
    /// Seconds of processors of the whole process.
    pub busy_seconds: f64,
}

/// What a second saw.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct Second {
    /// How long it was.
    pub seconds: f64,
    /// Reads.
    pub reads: u64,
    /// Pages or blocks that had to be read for them.
    pub misses: u64,
    /// Pages or blocks that entered the cache unasked.
    pub warmed: u64,
    /// Those that turned out to be wanted.
    pub warmed_used: u64,
    /// Bytes that merges wrote.
    pub bytes_merged: u64,
    /// Whether a merge was under way at its end.
    pub is_merging: bool,
    /// Bytes on disk at its end.
    pub bytes_on_disk: u64,
}

impl Second {
    /// Both together; the disk is that of the later one.
    pub fn with(self, later: Self) -> Self {
        Self {
            seconds: self.seconds + later.seconds,
            reads: self.reads + later.reads,
            misses: self.misses + later.misses,
            warmed: self.warmed + later.warmed,
            warmed_used: self.warmed_used + later.warmed_used,
            bytes_merged: self.bytes_merged + later.bytes_merged,
            is_merging: self.is_merging || later.is_merging,
            bytes_on_disk: later.bytes_on_disk,
        }
    }

    /// Reads that needed no disk, of all; less than zero where one read needs many pages.
    pub fn hit_ratio(&self) -> f64 {
        1.0 - self.misses as f64 / self.reads.max(1) as f64
    }
}

impl Phase {
    /// All seconds together.
    pub fn total(&self) -> Second {
        let seconds = self.seconds.iter().copied();
        seconds.fold(Second::default(), Second::with)
    }

    /// Reads a second.
    pub fn rate(&self) -> f64 {
        let total = self.total();
        total.reads as f64 / total.seconds
    }

    /// The lowest hit ratio of so many neighbouring seconds.
    pub fn worst_hit_ratio(&self, seconds: usize) -> f64 {
        let windows = self.seconds.windows(seconds.min(self.seconds.len()).max(1));
        let ratios = windows.map(|window| {
            let all = window.iter().copied();
            all.fold(Second::default(), Second::with).hit_ratio()
        });
        ratios.fold(f64::INFINITY, f64::min)
    }

    /// The most bytes on disk.
    pub fn bytes_on_disk_max(&self) -> u64 {
        let bytes = self.seconds.iter().map(|second| second.bytes_on_disk);
        bytes.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_window_is_the_one_with_the_most_misses() {
        let second = |misses| Second {
            seconds: 1.0,
            reads: 100,
            misses,
            ..Second::default()
        };
        let phase = Phase {
            seconds: [0, 10, 50, 30, 0].map(second).into(),
            ..Phase::default()
        };
        assert!((phase.worst_hit_ratio(2) - 0.6).abs() < 1e-9);
        assert!((phase.worst_hit_ratio(9) - 0.82).abs() < 1e-9);
        assert!((phase.rate() - 100.0).abs() < 1e-9);
    }
}
