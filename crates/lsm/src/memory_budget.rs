//! The memory that C0 of all trees may use together.
//!
//! Counted are the runs that are part of a tree, open or frozen; what a scan still holds of
//! older tree versions is the scan's.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::signal::Signal;

/// Counts bytes of memory runs against a maximum.
pub(crate) struct MemoryBudget {
    max: usize,
    open: AtomicUsize,
    frozen: AtomicUsize,
    /// Told when memory is freed.
    pub freed: Signal,
}

impl MemoryBudget {
    /// Nothing used of `max` bytes.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            open: AtomicUsize::new(0),
            frozen: AtomicUsize::new(0),
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

    /// Whether there is no more room.
    pub fn is_exceeded(&self) -> bool {
        self.used() > self.max
    }

    /// Whether open runs should be flushed to make room: at half of the budget, so that the
    /// other half takes what arrives during the flush.
    pub fn wants_flush(&self) -> bool {
        self.open.load(Ordering::Relaxed) > self.max / 2 || self.frozen.load(Ordering::Relaxed) > 0
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
