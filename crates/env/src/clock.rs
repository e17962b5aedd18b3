//! Time: monotonic for durations, a thread's own for work, wall clock for display only.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// A source of time.
pub trait Clock: Send + Sync {
    /// Time since an arbitrary fixed moment; never goes back.
    fn monotonic(&self) -> Duration;

    /// Time that processors have worked for the calling thread: not that in which it has waited, or others were
    /// let before it. To ask is a system call.
    fn thread_work(&self) -> Duration;

    /// Microseconds since 1970-01-01 UTC. For display; orders nothing.
    fn wall_us(&self) -> i64;
}

/// The operating system's clocks.
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    /// A clock whose monotonic time starts now.
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Default for RealClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for RealClock {
    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn thread_work(&self) -> Duration {
        let worked = clock_gettime(ClockId::ThreadCPUTime);
        Duration::try_from(worked).expect("work is never negative")
    }

    fn wall_us(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
        }
    }
}
