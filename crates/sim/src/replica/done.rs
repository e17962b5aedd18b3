//! What was done, to see that a scenario is worth its time.

use std::ops::AddAssign;

/// What the stores of a replica did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Merges that were committed.
    pub merges: u64,
    /// Bytes that flushes wrote.
    pub bytes_flushed: u64,
    /// Bytes that merges wrote.
    pub bytes_merged: u64,
    /// Processes that started.
    pub starts: u64,
    /// Row changes and truncations that were ingested.
    pub changes: u64,
    /// Steps that were taken.
    pub steps: u64,
    /// Rows that were compared when whole tables were.
    pub rows: u64,
}

impl AddAssign for Done {
    fn add_assign(&mut self, other: Self) {
        self.merges += other.merges;
        self.bytes_flushed += other.bytes_flushed;
        self.bytes_merged += other.bytes_merged;
        self.starts += other.starts;
        self.changes += other.changes;
        self.steps += other.steps;
        self.rows += other.rows;
    }
}
