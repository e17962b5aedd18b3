//! How long to leave the replication stream alone between two reads.
//!
//! PostgreSQL hands every change to its socket by itself. While the receiver's window is open,
//! each change travels alone, and that takes the sender most of its time (72 % of a walsender's
//! samples are below `send` while pg_recvlogical reads: `perf record -g -p PID`). While the window
//! is closed, changes gather in the sender's buffer and leave together when it opens. So a backlog
//! is read in whole windows. `bench -- replica --scale full` drained 140,617 changes a second by
//! pg_recvlogical, 130,891 by us before, and 250,890 this way, the applying included (8655104; a long
//! backlog comes by statement since then, see [`super::backlog`]).
//!
//! ```text
//! read ──── nap ────┐read ──── nap ────┐read        the window opens with each read,
//!   ▔▔\_____________│▔▔\_____________│▔▔\_____     takes what has gathered, and is closed
//! ```
//!
//! 1. The socket's receive buffer is bounded to [`WINDOW_BYTES`], where the server is near: far
//!    away, a small window would be a limit by itself.
//! 2. A read that fills the window shows that the sender had more: the next nap is a little
//!    shorter. One that does not shows that the sender ran out and sends changes one by one
//!    again: the next nap is a good deal longer.
//! 3. A short read is no backlog: a fixed nap, short enough for freshness.

use std::time::Duration;

/// The bound of the socket's receive buffer.
pub const WINDOW_BYTES: usize = 128 << 10;

/// A read of so many bytes has found the window full.
const FULL_BYTES: usize = WINDOW_BYTES / 8 * 7;

/// A read of fewer bytes is no backlog.
const SHORT_BYTES: usize = 16 << 10;

/// After a short read. Naps in a backlog begin with it, too.
const NAP: Duration = Duration::from_millis(1);

/// Below, waking up costs more than it brings.
const NAP_MIN: Duration = Duration::from_micros(250);

/// Above, even changes sent one by one fill the window (140,000 a second of 150 bytes).
const NAP_MAX: Duration = Duration::from_millis(8);

/// Chooses naps from the sizes of reads.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    windowed: bool,
    nap: Duration,
}

impl Pace {
    /// A stream whose window is bounded, or not.
    pub fn new(windowed: bool) -> Self {
        Self { windowed, nap: NAP }
    }

    /// How long after a read of so many bytes the next one should be.
    pub fn nap_after(&mut self, bytes: usize) -> Duration {
        if bytes < SHORT_BYTES {
            self.nap = NAP;
        } else if !self.windowed {
            return Duration::ZERO;
        } else if bytes < FULL_BYTES {
            self.nap = (self.nap * 3 / 2).min(NAP_MAX);
        } else {
            self.nap = (self.nap * 49 / 50).max(NAP_MIN);
        }
        self.nap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender as measured: bytes a second while the window is open, and while it is closed.
    #[derive(Clone, Copy)]
    struct Sender {
        open: f64,
        closed: f64,
        /// Gathered behind a closed window.
        gathered: f64,
    }

    impl Sender {
        /// What a read finds that comes `nap` after the last one.
        fn after(&mut self, nap: Duration) -> usize {
            let window = WINDOW_BYTES as f64;
            let mut left = nap.as_secs_f64();
            let together = self.gathered.min(window);
            self.gathered -= together;
            let alone = (left * self.open).min(window - together);
            left -= alone / self.open;
            self.gathered += left * self.closed;
            (together + alone) as usize
        }
    }

    /// Bytes a second once the pace has settled.
    fn rate(mut sender: Sender) -> f64 {
        let (mut pace, mut bytes) = (Pace::new(true), WINDOW_BYTES / 4);
        let (mut sum, mut time) = (0, Duration::ZERO);
        for read in 0..2_000 {
            let nap = pace.nap_after(bytes);
            bytes = sender.after(nap);
            if read >= 1_000 {
                sum += bytes;
                time += nap;
            }
        }
        sum as f64 / time.as_secs_f64()
    }

    #[test]
    fn a_backlog_arrives_about_as_fast_as_it_can_gather() {
        for (open, closed) in [(20e6, 60e6), (20e6, 30e6), (18e6, 25e6), (80e6, 400e6)] {
            let rate = rate(Sender {
                open,
                closed,
                gathered: 0.0,
            });
            assert!(rate > 0.9 * closed, "{rate} of {closed}");
        }
    }

    #[test]
    fn a_trickle_is_read_at_once_or_soon() {
        let mut pace = Pace::new(true);
        for bytes in [100, SHORT_BYTES - 1, 1] {
            assert_eq!(pace.nap_after(bytes), NAP);
        }
        assert!((0..1000).all(|_| pace.nap_after(FULL_BYTES - 1) <= NAP_MAX));
        assert_eq!(pace.nap_after(10), NAP);
    }

    #[test]
    fn a_wide_window_is_never_waited_for() {
        let mut pace = Pace::new(false);
        assert_eq!(pace.nap_after(SHORT_BYTES), Duration::ZERO);
        assert_eq!(pace.nap_after(1 << 20), Duration::ZERO);
        assert_eq!(pace.nap_after(1), NAP);
    }
}
