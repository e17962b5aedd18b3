//! The memory that filters of all segments may take together.
//!
//! A filter that finds no room is not loaded: look-ups then read a page of its segment for every
//! key within its bounds. Small filters find room longest, and save as many reads as large ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts bytes of loaded filters against a maximum.
pub struct FilterMemory {
    bytes_max: u64,
    used: AtomicU64,
}

/// Room for one filter, given back when it goes.
pub(super) struct FilterRoom {
    memory: Arc<FilterMemory>,
    bytes: u64,
}

impl FilterMemory {
    /// Nothing used of `bytes_max` bytes.
    pub fn new(bytes_max: u64) -> Arc<Self> {
        Arc::new(Self {
            bytes_max,
            used: AtomicU64::new(0),
        })
    }

    /// Bytes of loaded filters.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Room for a filter of so many bytes, if there is some.
    pub(super) fn take(self: &Arc<Self>, bytes: u64) -> Option<FilterRoom> {
        let grow = |used: u64| {
            used.checked_add(bytes)
                .filter(|&used| used <= self.bytes_max)
        };
        let grown = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow);
        grown.ok().map(|_| FilterRoom {
            memory: Arc::clone(self),
            bytes,
        })
    }
}

impl Drop for FilterRoom {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_up_to_the_maximum_and_given_back() {
        let memory = FilterMemory::new(100);
        let first = memory.take(60);
        assert!(first.is_some() && memory.take(41).is_none() && memory.take(u64::MAX).is_none());
        let second = memory.take(40);
        assert!(second.is_some());
        assert_eq!(memory.used(), 100);
        drop(first);
        assert_eq!(memory.used(), 40);
        assert!(memory.take(60).is_some());
    }
}
