//! A clock that stands still until it is moved.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use env::Clock;

/// Simulated time, in microseconds since the simulation's start.
#[derive(Default)]
pub struct SimulatedClock {
    now_us: AtomicU64,
}

/// The wall clock at the simulation's start: 2026-01-01 00:00 UTC.
const WALL_START_US: i64 = 1_767_225_600_000_000;

impl SimulatedClock {
    /// A clock at the simulation's start.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        self.now_us.fetch_add(by, Ordering::Relaxed);
    }
}

impl Clock for SimulatedClock {
    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.now_us.load(Ordering::Relaxed))
    }

    /// As if one thread did all that takes time.
    fn thread_work(&self) -> Duration {
        self.monotonic()
    }

    fn wall_us(&self) -> i64 {
        let since = i64::try_from(self.now_us.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        WALL_START_US.saturating_add(since)
    }
}
