//! The memory that C0 of all trees may use together.
//!
//! Counted are the runs that are part of a tree, open or frozen; what a scan still holds of
//! older tree versions is the scan's.
//!
//! A flush freezes a third of the budget and gives it back in one piece at its end. The other two
//! thirds take what arrives in the meantime, twice as much as usual: a disk may stand still for 300
//! ms when a file is synced. Where that is not enough the writer goes in step with the flush, so
//! that it is slowed down a little for long instead of stopped at the end (the spring of bLSM:
//! Sears and Ramakrishnan, SIGMOD 2012, section 4):
//!
//! ```text
//! written │██████████░░░░░░░░░░│ of the frozen bytes
//!    open │███████████████▒▒░░░│ of the room beside them: the writer is ahead by ▒
//! ```
//!
//! A batch then waits the longer the further the writer is ahead, and the less room is left: nearly
//! not at all in the beginning, and as long as it takes at the end.
//!
//! A baseline has two halves instead, and the writer stops where both are full.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::policy::MergePolicy;
use crate::signal::Signal;

/// By how much of the room the writer may be ahead when a flush begins. It loses its lead on the
/// way: a lead at the end would be waited for in one piece.
const WRITER_LEAD: f64 = 0.25;

/// What writing all frozen rows is of a flush; the rest is to sync and commit.
const WRITING_SHARE: f64 = 0.9;

/// How long a batch waits where the writer is ahead by as much as there is room left.
const WAIT: Duration = Duration::from_millis(1);

/// How long at most, before it looks again.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Open runs are flushed when they are this part of the budget.
const FLUSHED_PART: usize = 3;

/// The same where the writer is not slowed down before there is no more room.
const FLUSHED_PART_UNPACED: usize = 2;

/// Counts bytes of memory runs against a maximum.
pub(crate) struct MemoryBudget {
    max: usize,
    is_paced: bool,
    open: AtomicUsize,
    frozen: AtomicUsize,
    /// Of the frozen bytes, those that the flush under way has written.
    written: AtomicUsize,
    /// Told when memory is freed.
    pub freed: Signal,
}

impl MemoryBudget {
    /// Nothing used of `max` bytes.
    pub fn new(max: usize, policy: MergePolicy) -> Self {
        Self {
            max,
            is_paced: !policy.has_double_buffer(),
            open: AtomicUsize::new(0),
            frozen: AtomicUsize::new(0),
            written: AtomicUsize::new(0),
            freed: Signal::default(),
        }
    }

    /// Bytes in open and frozen runs.
    pub fn used(&self) -> usize {
        self.open.load(Ordering::Relaxed) + self.frozen.load(Ordering::Relaxed)
    }

    /// The maximum.
    pub fn max(&self) -> usize {
        self.max
    }

    /// Open runs of so many bytes are a full C0.
    pub fn full_c0(&self) -> usize {
        let part = match self.is_paced {
            true => FLUSHED_PART,
            false => FLUSHED_PART_UNPACED,
        };
        self.max / part
    }

    /// Whether there is no more room.
    pub fn is_exceeded(&self) -> bool {
        self.used() > self.max
    }

    /// How long the next batch should wait at most for the flush to get on; zero if the writer is
    /// not ahead of it.
    pub fn wait_max(&self) -> Duration {
        if !self.is_paced {
            return Duration::ZERO;
        }
        let frozen = self.frozen.load(Ordering::Relaxed);
        let room = self.max.saturating_sub(frozen).max(1);
        let open = self.open.load(Ordering::Relaxed) as f64 / room as f64;
        let written = match frozen {
            0 => 1.0,
            _ => WRITING_SHARE * self.written.load(Ordering::Relaxed) as f64 / frozen as f64,
        };
        let ahead = open - (written + WRITER_LEAD * (1.0 - written));
        if ahead <= 0.0 {
            return Duration::ZERO;
        }
        let left = (1.0 - open).max(f64::EPSILON);
        Duration::try_from_secs_f64(WAIT.as_secs_f64() * ahead / left)
            .map_or(WAIT_MAX, |wait| wait.min(WAIT_MAX))
    }

    /// The flush under way has written so many of the frozen bytes.
    pub fn note_written(&self, bytes: usize) {
        self.written.store(bytes, Ordering::Relaxed);
        self.freed.notify();
    }

    /// Whether open runs should be flushed to make room.
    pub fn wants_flush(&self) -> bool {
        self.open.load(Ordering::Relaxed) > self.full_c0()
            || self.frozen.load(Ordering::Relaxed) > 0
    }

    /// Counts open runs about to become part of a tree. Counting them first keeps the count from
    /// going below zero when a flush takes them at once.
    pub fn open(&self, bytes: usize) {
        self.open.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Open runs left their tree.
    pub fn close(&self, bytes: usize) {
        self.open.fetch_sub(bytes, Ordering::Relaxed);
        self.freed.notify();
    }

    /// Open runs were frozen.
    pub fn freeze(&self, bytes: usize) {
        self.frozen.fetch_add(bytes, Ordering::Relaxed);
        self.open.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Frozen runs left their tree.
    pub fn free(&self, bytes: usize) {
        self.written.store(0, Ordering::Relaxed);
        self.frozen.fetch_sub(bytes, Ordering::Relaxed);
        self.freed.notify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_waits_the_longer_the_further_it_is_ahead_of_a_flush() {
        let budget = MemoryBudget::new(1_000, MergePolicy::SizeTiered);
        budget.open(500);
        assert!(budget.wait_max().is_zero(), "no flush is going on");
        budget.freeze(500);
        budget.open(125);
        assert!(budget.wait_max().is_zero(), "the lead is a quarter of 500");
        budget.open(5);
        let little = budget.wait_max();
        budget.open(95);
        let much = budget.wait_max();
        assert!(
            Duration::ZERO < little && little < much,
            "{little:?} {much:?}"
        );
        budget.note_written(300);
        assert!(budget.wait_max().is_zero(), "the flush has got on");
        assert!(!budget.is_exceeded());
        budget.open(276);
        assert!(budget.is_exceeded());
        budget.free(500);
        assert!(!budget.is_exceeded() && budget.wait_max().is_zero());
    }

    #[test]
    fn of_two_halves_one_is_filled_while_the_other_one_is_merged() {
        let budget = MemoryBudget::new(1_000, MergePolicy::Rose);
        budget.open(500);
        assert!(!budget.wants_flush());
        budget.open(1);
        assert!(budget.wants_flush());
        budget.freeze(501);
        budget.open(499);
        assert!(budget.wait_max().is_zero() && !budget.is_exceeded());
        budget.open(1);
        assert!(budget.wait_max().is_zero() && budget.is_exceeded());
    }
}
