//! The memory that C0 of all trees may use together.
//!
//! Counted are the runs that are part of a tree, open or frozen; what a scan still holds of
//! older tree versions is the scan's.
//!
//! A flush freezes a third of the budget and gives it back in one piece at its end. The other two
//! thirds take what arrives in the meantime, twice as much as usual: a disk may stand still for 300
//! ms when a file is synced. Where that is not enough, [`WriterPace`] slows the writer down before there is no more
//! room, where it stops.
//!
//! A baseline has two halves instead, and the writer stops where both are full.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::policy::MergePolicy;
use crate::signal::Signal;
use crate::writer_pace::WriterPace;

/// Open runs are flushed when they are this part of the budget.
const FLUSHED_PART: usize = 3;

/// The same where the writer is not slowed down before there is no more room.
const FLUSHED_PART_UNPACED: usize = 2;

/// Counts bytes of memory runs against a maximum.
pub(crate) struct MemoryBudget {
    max: usize,
    open: AtomicUsize,
    frozen: AtomicUsize,
    /// `None`: the writer is not slowed down.
    pace: Option<Mutex<WriterPace>>,
    /// Told when memory is freed, and when a flush ends.
    pub freed: Signal,
}

impl MemoryBudget {
    /// Nothing used of `max` bytes.
    pub fn new(max: usize, policy: MergePolicy) -> Self {
        Self {
            max,
            open: AtomicUsize::new(0),
            frozen: AtomicUsize::new(0),
            pace: (!policy.has_double_buffer()).then(|| Mutex::new(WriterPace::new(max))),
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
        let part = match self.pace {
            Some(_) => FLUSHED_PART,
            None => FLUSHED_PART_UNPACED,
        };
        self.max / part
    }

    /// Whether there is no more room.
    pub fn is_exceeded(&self) -> bool {
        self.used() > self.max
    }

    fn pace(&self) -> Option<MutexGuard<'_, WriterPace>> {
        self.pace.as_ref().map(Mutex::lock)
    }

    /// A flush of what is frozen begins.
    pub fn begin_flush(&self, now: Duration) {
        let frozen = self.frozen.load(Ordering::Relaxed);
        let open = self.open.load(Ordering::Relaxed);
        if let Some(mut pace) = self.pace() {
            pace.begin_flush(now, frozen, open);
        }
    }

    /// The flush under way is about to write its first byte.
    pub fn begin_writing(&self, now: Duration) {
        if let Some(mut pace) = self.pace() {
            pace.begin_writing(now);
        }
    }

    /// The flush under way has written so many of the frozen bytes.
    pub fn note_written(&self, bytes: usize) {
        if let Some(mut pace) = self.pace() {
            pace.note_written(bytes);
        }
    }

    /// The flush is over.
    pub fn end_flush(&self, now: Duration, succeeded: bool) {
        if let Some(mut pace) = self.pace() {
            pace.end_flush(now, succeeded);
        }
        self.freed.notify();
    }

    /// How long the next batch should wait, unless the flush ends before.
    pub fn wait(&self, now: Duration) -> Duration {
        let open = self.open.load(Ordering::Relaxed);
        self.pace()
            .map_or(Duration::ZERO, |mut pace| pace.wait(now, open))
    }

    /// Whether the writer waits while a flush writes.
    pub fn holds_writer(&self, now: Duration) -> bool {
        self.pace().is_some_and(|pace| pace.holds(now))
    }

    /// Whether there is a flush whose pace the writer has to keep.
    pub fn is_flushing(&self) -> bool {
        self.pace().is_some_and(|pace| pace.has_flush())
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
        self.frozen.fetch_sub(bytes, Ordering::Relaxed);
        self.freed.notify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_keeps_the_pace_of_a_flush_and_stops_where_there_is_no_more_room() {
        let budget = MemoryBudget::new(1_000, MergePolicy::SizeTiered);
        let seconds = Duration::from_secs;
        budget.open(500);
        assert!(budget.wait(seconds(1)).is_zero(), "no flush is going on");
        budget.freeze(500);
        budget.begin_flush(seconds(1));
        budget.open(400);
        budget.note_written(100);
        let later = Duration::from_millis(1_020);
        assert!(!budget.wait(later).is_zero() && budget.is_flushing());
        assert!(!budget.is_exceeded());
        budget.open(101);
        assert!(budget.is_exceeded());
        budget.free(500);
        budget.end_flush(seconds(3), true);
        assert!(!budget.is_exceeded() && !budget.is_flushing());
        assert!(budget.wait(seconds(3)).is_zero());
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
        assert!(!budget.is_flushing() && !budget.is_exceeded());
        budget.open(1);
        assert!(budget.wait(Duration::ZERO).is_zero() && budget.is_exceeded());
    }
}
