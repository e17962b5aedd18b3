//! What a contender is asked to do, and what it tells.

use serde::{Deserialize, Serialize};

/// A mix and a skew, for a while.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Task {
    /// The share of updates.
    pub updates: f64,
    /// Skew of the keys.
    pub skew: f64,
    /// Seconds that do not count.
    pub warm_seconds: f64,
    /// Windows after that; the rate of each is a sample.
    pub windows: usize,
    /// Seconds of each.
    pub window_seconds: f64,
    /// What chance begins with.
    pub seed: u64,
}

/// What a contender is, once it has its rows and has answered rightly.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Loaded {
    /// In words.
    pub settings: String,
    /// Of its files, logs and all.
    pub bytes_on_disk: u64,
}

/// What a store has counted since it was opened.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Counts {
    /// Pages or blocks that were read from the disk.
    pub disk_reads: u64,
    /// Rows that a cache in front of the store had, where there is one.
    pub cache_hits: u64,
}

/// What came out of a task.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct TaskReport {
    /// Transactions a second in each window.
    pub rates: Vec<f64>,
    /// Transactions, warm-up included.
    pub transactions: u64,
    /// What was counted during them.
    pub counts: Counts,
    /// Seconds of processors of the contender's own process for them.
    pub busy_seconds: f64,
    /// What only this contender can tell.
    pub marks: Vec<(String, f64)>,
}

impl TaskReport {
    /// Reads from the disk for each transaction.
    pub fn disk_reads_a_transaction(&self) -> f64 {
        self.counts.disk_reads as f64 / self.transactions.max(1) as f64
    }
}
