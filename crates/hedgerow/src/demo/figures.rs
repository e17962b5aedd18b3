//! What the demonstration shows, at one moment.

use std::time::Duration;

use types::CommitPosition;

/// Everything that the display and the summary tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    /// Since the start.
    pub(super) elapsed: Duration,
    /// Orders tried in this run, and how many there are to be.
    pub(super) tried: u64,
    pub(super) goal: Option<u64>,
    /// Orders, and rows of all tables, that are held.
    pub(super) orders_held: u64,
    pub(super) rows_held: u64,
    /// Orders rolled back in this run.
    pub(super) rolled_back: u64,
    /// Orders and row changes a second, of late.
    pub(super) orders_rate: f64,
    pub(super) changes_rate: f64,
    /// How those rates went.
    pub(super) orders_history: Vec<f64>,
    pub(super) changes_history: Vec<f64>,
    pub(super) lookups: Lookups,
    pub(super) audit: Audit,
    /// From the commit at the source until readers saw it: half and 99 % of the latest took at
    /// most this long.
    pub(super) freshness: Option<[Duration; 2]>,
    pub(super) visible: CommitPosition,
    pub(super) durable: CommitPosition,
    pub(super) size: Sizes,
    pub(super) components: Vec<Component>,
    pub(super) merges: Merges,
    pub(super) primary: Primary,
}

/// Order statuses looked up through SQL, each compared with what it must be.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookups {
    pub(super) right: u64,
    pub(super) wrong: u64,
    pub(super) rate: f64,
    pub(super) history: Vec<f64>,
    /// Half and 99 % of the latest took at most this long.
    pub(super) latency: Option<[Duration; 2]>,
}

/// The sums over all tables, asked for in one statement again and again.
#[derive(Clone, Debug, Default)]
pub(super) struct Audit {
    pub(super) agreed: u64,
    /// What the first disagreement was.
    pub(super) failure: Option<String>,
    /// The amount that all sums were last, in cents, and how long asking took.
    pub(super) amount: i64,
    pub(super) latency: Duration,
}

/// Bytes of the rows held.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// Uncompressed: values and texts alone.
    pub(super) raw: u64,
    /// Of all segment files.
    pub(super) disk: u64,
    /// Of C0, and what it may have.
    pub(super) memory: u64,
    pub(super) memory_max: u64,
}

impl Sizes {
    /// How many times smaller the rows are on disk; `None` while much of them is in memory,
    /// as that would flatter.
    pub(super) fn ratio(&self) -> Option<f64> {
        let mostly_on_disk = self.disk > 0 && self.memory <= self.raw / 20;
        mostly_on_disk.then(|| self.raw as f64 / self.disk as f64)
    }
}

/// The primary that takes the orders, and what customers have asked it.
#[derive(Clone, Debug, Default)]
pub(super) struct Primary {
    pub(super) rows_in_memory: usize,
    pub(super) rows_evicted: usize,
    /// Rows that came back from disk.
    pub(super) rows_returned: u64,
    /// Bytes in use, and what it may have.
    pub(super) memory: u64,
    pub(super) memory_max: u64,
    /// Whether it takes no more orders for want of memory.
    pub(super) is_full: bool,
    pub(super) right: u64,
    pub(super) wrong: u64,
    /// Half and 99 % of the latest answers took at most this long.
    pub(super) latency: Option<[Duration; 2]>,
}

/// One level of all trees together.
#[derive(Clone, Debug, Default)]
pub(super) struct Component {
    pub(super) name: String,
    pub(super) runs: usize,
    pub(super) bytes: u64,
}

/// Background work since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Merges {
    pub(super) running: u64,
    pub(super) done: u64,
    pub(super) bytes_flushed: u64,
    pub(super) bytes_merged: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_told_only_when_it_is_true() {
        let size = |disk, memory| Sizes {
            raw: 1_000,
            disk,
            memory,
            memory_max: 64,
        };
        assert_eq!(size(0, 0).ratio(), None);
        assert_eq!(size(10, 500).ratio(), None);
        assert_eq!(size(100, 10).ratio(), Some(10.0));
    }
}
