//! Says how many orders are due.

use std::time::Duration;

use env::Clock;

/// Orders that are due at once when there is no rate.
const UNPACED: u64 = 2_000;

/// See the module.
pub(super) struct Pace {
    rate: Option<f64>,
    since: Duration,
    /// Orders that are due and were not taken yet; parts of one among them.
    due: f64,
}

impl Pace {
    /// Of so many orders a second; `None`: as many as possible.
    pub(super) fn new(rate: Option<f64>, clock: &dyn Clock) -> Self {
        // One order is due at once, so that there is something to see.
        Self {
            rate,
            since: clock.monotonic(),
            due: 1.0,
        }
    }

    /// Orders that are due now.
    pub(super) fn due(&mut self, clock: &dyn Clock) -> u64 {
        let Some(rate) = self.rate else {
            return UNPACED;
        };
        let now = clock.monotonic();
        self.due += rate * (now - self.since).as_secs_f64();
        // What could not be done within a second is given up, not made up for in a burst.
        self.due = self.due.min(rate.max(1.0));
        self.since = now;
        self.due as u64
    }

    /// So many of them were taken.
    pub(super) fn took(&mut self, orders: u64) {
        self.due -= orders as f64;
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    /// A clock that a test sets.
    struct HandClock(Mutex<Duration>);

    impl Clock for HandClock {
        fn monotonic(&self) -> Duration {
            *self.0.lock()
        }

        fn thread_work(&self) -> Duration {
            self.monotonic()
        }

        fn wall_us(&self) -> i64 {
            0
        }
    }

    #[test]
    fn pace_follows_the_clock_and_gives_up_what_is_late() {
        let clock = HandClock(Mutex::new(Duration::ZERO));
        let mut pace = Pace::new(Some(100.0), &clock);
        assert_eq!(pace.due(&clock), 1);
        pace.took(1);
        assert_eq!(pace.due(&clock), 0);
        *clock.0.lock() = Duration::from_millis(255);
        assert_eq!(pace.due(&clock), 25);
        pace.took(25);
        *clock.0.lock() = Duration::from_secs(60);
        assert_eq!(pace.due(&clock), 100, "a second's worth at most");
        assert_eq!(Pace::new(None, &clock).due(&clock), UNPACED);
    }
}
