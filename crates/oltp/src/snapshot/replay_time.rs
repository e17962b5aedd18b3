//! How long the log since the last snapshot would take to replay.
//!
//! 1. One run of a call in [`RUNS_OF_SAMPLE`] is timed. If it is logged, it stands for all of them. The thread's work is
//!    what counts: queries that want the same processors don't make replay longer.
//! 2. Replay waits for each evicted row that a call needs, one after another; the threads that read blocks say how long
//!    that takes.
//! 3. A snapshot that begins sets the estimate back; after a start it is what replay has taken.

use std::time::Duration;

use env::Clock;

/// One run in so many is timed: two looks at the clock are two system calls.
const RUNS_OF_SAMPLE: u32 = 64;

/// See the module.
#[derive(Debug)]
pub(crate) struct ReplayTime {
    runs_until_sample: u32,
    /// The thread's work when the run began that is timed.
    started: Option<Duration>,
    runs: Duration,
    reads: u64,
}

impl Default for ReplayTime {
    fn default() -> Self {
        Self {
            runs_until_sample: RUNS_OF_SAMPLE,
            started: None,
            runs: Duration::ZERO,
            reads: 0,
        }
    }
}

impl ReplayTime {
    /// A call begins to run.
    #[inline]
    pub(crate) fn begin_run(&mut self, clock: &dyn Clock) {
        self.runs_until_sample -= 1;
        self.started = None;
        if self.runs_until_sample == 0 {
            self.runs_until_sample = RUNS_OF_SAMPLE;
            self.started = Some(clock.thread_work());
        }
    }

    /// It was logged.
    #[inline]
    pub(crate) fn log_run(&mut self, clock: &dyn Clock) {
        if let Some(started) = self.started.take() {
            let took = clock.thread_work().saturating_sub(started);
            self.runs += took * RUNS_OF_SAMPLE;
        }
    }

    /// So many evicted rows had been fetched for a call that was logged.
    pub(crate) fn add_reads(&mut self, rows: usize) {
        self.reads += rows as u64;
    }

    /// Replay has taken so long.
    pub(crate) fn add_replay(&mut self, took: Duration) {
        self.runs += took;
    }

    /// A snapshot begins: the log before it will not be replayed.
    pub(crate) fn set_back(&mut self) {
        (self.runs, self.reads) = (Duration::ZERO, 0);
    }

    /// The estimate, when a read takes so long.
    pub(crate) fn estimate(&self, of_read: Duration) -> Duration {
        let reads = u32::try_from(self.reads).unwrap_or(u32::MAX);
        self.runs.saturating_add(of_read.saturating_mul(reads))
    }
}

#[cfg(test)]
mod tests {
    use sim::clock::SimulatedClock;

    use super::*;

    /// Whatever calls take, runs that are not logged count for nothing.
    #[test]
    fn logged_runs_and_their_reads_count() {
        let (clock, mut time) = (SimulatedClock::new(), ReplayTime::default());
        let us = Duration::from_micros;
        for number in 0..10 * RUNS_OF_SAMPLE {
            time.begin_run(&clock);
            clock.advance(us(5));
            if number < 5 * RUNS_OF_SAMPLE {
                time.log_run(&clock);
            }
        }
        assert_eq!(time.estimate(us(100)), us(5) * 5 * RUNS_OF_SAMPLE);
        time.add_reads(7);
        time.add_replay(us(1));
        assert_eq!(time.estimate(us(100)), us(5) * 5 * RUNS_OF_SAMPLE + us(701));
        time.set_back();
        assert_eq!(time.estimate(us(100)), Duration::ZERO);
    }
}
