//! How fast the writer may go while a flush is under way: so that the room beside it lasts.
//!
//! ```text
//! written │██████████░░░░░░░░░░│ of the frozen bytes, in so many seconds: so many are left
//!    open │████████░░░░░░▒▒▒▒▒▒│ of the room beside them: the rest is to last for those, ▒ for surprises
//! ```
//!
//! 1. A flush takes as long as its share that is written says, and as long as the flushes before it said for the
//!    share that is not.
//! 2. The room that is left is divided by the time that is left and [`SPARE_SHARE`] of the flush. Bytes may come
//!    [`HASTE`] times as fast; a batch that came faster waits. Who always goes as fast as it may leaves room in proportion to
//!    the root of the time that is left: it is let run in the beginning, and held more and more.
//! 3. Waits of less than [`WAIT_MIN`] are owed, not waited for one by one.
//! 4. While a writer waits, merges rest for half of the time (`merge_turns`): what it leaves of the processors is the
//!    flush's.
//!
//! So a writer that is faster than flushes is slowed down a little all the time instead of stopped at the end, however
//! large its batches are, and one that is slower does not notice (the spring of bLSM: Sears and Ramakrishnan, SIGMOD
//! 2012, section 4, with a rate in place of a distance). A flush that stands still for a while lets less and less
//! come, never nothing.
//!
//! Does not: stop the writer where there is no more room. `memory_budget` does.

use std::time::Duration;

/// The flush may take longer than it seems by this share.
const SPARE_SHARE: f64 = 1.0 / 7.0;

/// How much faster bytes may come than the room lasts. With 1, a writer that is no faster than its flushes is held as
/// well, and merges take what it leaves of the processors: weather rows went in at 3.48 instead of 3.79 million a second
/// (3.91 if nothing was held; medians of three, decision 0013).
const HASTE: f64 = 2.0;

/// What writing all frozen rows is of a flush; the rest is to sync and commit.
const WRITING_SHARE: f64 = 0.9;

/// A shorter wait is put off: waking up takes a tenth of it.
const WAIT_MIN: Duration = Duration::from_micros(500);

/// A batch is not held for longer, however little room is left: where there is none it waits for the flush to end.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Nothing is learned from a flush of less than this part of the budget: it takes as long for a few rows as for none.
const LEARNED_PART: usize = 24;

/// A flush under way.
#[derive(Debug)]
struct Flush {
    begun: Duration,
    /// When the first byte was about to be written; `None` before.
    writing_begun: Option<Duration>,
    frozen_bytes: usize,
    written_bytes: usize,
}

/// Paces the writer.
#[derive(Debug)]
pub(crate) struct WriterPace {
    bytes_max: usize,
    flush: Option<Flush>,
    /// What flushes took, seconds a byte; zero before the first one.
    seconds_per_byte: f64,
    /// Open bytes when the writer asked last.
    open_bytes: usize,
    /// When the writer asked last.
    asked: Duration,
    /// When the batches that it had brought by then should have taken their time.
    due: Duration,
}

impl WriterPace {
    /// That of a budget of so many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            flush: None,
            seconds_per_byte: 0.0,
            open_bytes: 0,
            asked: Duration::ZERO,
            due: Duration::ZERO,
        }
    }

    /// A flush of so many bytes begins; so many are open beside them.
    pub fn begin_flush(&mut self, now: Duration, frozen_bytes: usize, open_bytes: usize) {
        self.flush = Some(Flush {
            begun: now,
            writing_begun: None,
            frozen_bytes,
            written_bytes: 0,
        });
        self.open_bytes = open_bytes;
        self.asked = now;
        self.due = now;
    }

    /// The flush under way is about to write: what came before is not what flushes of as many bytes take.
    pub fn begin_writing(&mut self, now: Duration) {
        if let Some(flush) = &mut self.flush {
            flush.writing_begun = Some(now);
        }
    }

    /// The flush under way has written so many of its bytes.
    pub fn note_written(&mut self, bytes: usize) {
        if let Some(flush) = &mut self.flush {
            flush.written_bytes = bytes;
        }
    }

    /// The flush is over.
    pub fn end_flush(&mut self, now: Duration, succeeded: bool) {
        let Some(flush) = self.flush.take() else {
            return;
        };
        let is_large = flush.frozen_bytes > self.bytes_max / LEARNED_PART;
        if let Some(begun) = flush.writing_begun
            && succeeded
            && is_large
        {
            let seconds = now.saturating_sub(begun).as_secs_f64();
            let seconds_per_byte = seconds / flush.frozen_bytes as f64;
            self.seconds_per_byte = match self.seconds_per_byte {
                0.0 => seconds_per_byte,
                before => (before + seconds_per_byte) / 2.0,
            };
        }
    }

    /// Whether a flush is under way.
    pub fn has_flush(&self) -> bool {
        self.flush.is_some()
    }

    /// Whether the writer waits while a flush writes. What a flush does before may be a merge, which must not rest then.
    pub fn holds(&self, now: Duration) -> bool {
        let flush = self.flush.as_ref();
        flush.is_some_and(|flush| flush.writing_begun.is_some()) && self.due > now
    }

    /// How long the writer should wait before its next batch, if the flush does not end before; so many bytes are
    /// open by now.
    pub fn wait(&mut self, now: Duration, open_bytes: usize) -> Duration {
        let Some(seconds_per_byte) = self.seconds_per_open_byte(now, open_bytes) else {
            return Duration::ZERO;
        };
        let bytes = open_bytes.saturating_sub(self.open_bytes);
        let time = Duration::try_from_secs_f64(bytes as f64 * seconds_per_byte);
        let begun = self.due.max(self.asked);
        self.due = begun + time.map_or(WAIT_MAX, |time| time.min(WAIT_MAX));
        self.open_bytes = open_bytes;
        self.asked = now;
        let wait = self.due.saturating_sub(now);
        match wait < WAIT_MIN {
            true => Duration::ZERO,
            false => wait,
        }
    }

    /// What a byte of what comes should take while the flush goes on.
    fn seconds_per_open_byte(&self, now: Duration, open_bytes: usize) -> Option<f64> {
        let flush = self.flush.as_ref()?;
        let share = flush.written_bytes as f64 / flush.frozen_bytes.max(1) as f64;
        let unwritten = 1.0 - WRITING_SHARE * share.min(1.0);
        let expected = self.seconds_per_byte * flush.frozen_bytes as f64;
        let elapsed = now.saturating_sub(flush.begun).as_secs_f64();
        let whole = unwritten * expected + elapsed;
        let room = self.bytes_max.saturating_sub(flush.frozen_bytes);
        let room_left = room.saturating_sub(open_bytes).max(1);
        Some(whole * (unwritten + SPARE_SHARE) / (room_left as f64 * HASTE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 1_200_000;
    const BATCH: usize = 2_000;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Plays flushes of what is open at a third of the budget, and of a writer whose batches take `batch` each. Flushes
    /// take `flush` for a third of the budget, and stand still for `stall` in their middle. Returns the longest time between
    /// two batches.
    fn play(batch: Duration, flush: Duration, stall: Duration) -> Duration {
        let mut pace = WriterPace::new(MAX);
        let mut now = ms(1);
        let (mut open, mut frozen, mut begun) = (0, 0, now);
        let (mut last, mut longest) = (now, Duration::ZERO);
        // The first flush has no experience.
        for count in 0..6_000 {
            loop {
                if frozen == 0 && open > MAX / 3 {
                    (frozen, open, begun) = (open, 0, now);
                    pace.begin_flush(now, frozen, open);
                    pace.begin_writing(now);
                }
                let takes = flush.mul_f64(frozen as f64 / (MAX / 3) as f64);
                let elapsed = now - begun;
                let moving = match elapsed {
                    elapsed if elapsed > takes / 2 + stall => elapsed - stall,
                    elapsed => elapsed.min(takes / 2),
                };
                let share = moving.as_secs_f64() / takes.as_secs_f64().max(1e-9);
                pace.note_written((frozen as f64 * share.min(1.0)) as usize);
                if frozen > 0 && share >= 1.0 {
                    pace.note_written(frozen);
                    pace.end_flush(now, true);
                    frozen = 0;
                    continue;
                }
                let wait = pace.wait(now, open);
                if wait.is_zero() && open + frozen <= MAX {
                    break;
                }
                now += ms(1);
            }
            if count > 1_500 {
                longest = longest.max(now - last);
            }
            now += batch;
            last = now;
            open += BATCH;
        }
        longest
    }

    #[test]
    fn a_writer_that_is_slower_than_flushes_never_waits() {
        // 200 batches a flush: 400 ms in which a flush of 200 ms is done.
        let longest = play(ms(2), ms(200), ms(0));
        assert_eq!(longest, Duration::ZERO);
    }

    #[test]
    fn a_writer_that_is_faster_than_flushes_is_slowed_down_evenly() {
        // Flushes take ten times as long as the batches that they flush.
        let longest = play(ms(1), ms(2_000), ms(0));
        assert!(longest < ms(80), "batches take 10 ms, one {longest:?}");
    }

    #[test]
    fn a_flush_that_stands_still_slows_the_writer_down_before_the_room_is_used_up() {
        let longest = play(ms(1), ms(1_000), ms(400));
        assert!(longest < ms(80), "batches take 7 ms, one {longest:?}");
    }

    #[test]
    fn the_writer_is_held_only_while_a_flush_writes() {
        let mut pace = WriterPace::new(MAX);
        pace.begin_flush(ms(0), MAX / 3, 0);
        assert!(!pace.wait(ms(50), MAX / 2).is_zero());
        assert!(!pace.holds(ms(50)), "what comes before may be a merge");
        pace.begin_writing(ms(60));
        assert!(pace.holds(ms(60)));
        assert!(!pace.holds(ms(150)), "it has waited");
        pace.end_flush(ms(61), true);
        assert!(!pace.holds(ms(61)));
    }

    #[test]
    fn what_a_flush_of_a_few_bytes_takes_is_forgotten() {
        let mut pace = WriterPace::new(MAX);
        pace.begin_flush(ms(0), 10, 0);
        pace.begin_writing(ms(0));
        pace.note_written(10);
        pace.end_flush(ms(1_000), true);
        pace.begin_flush(ms(1_000), MAX / 3, 0);
        assert_eq!(pace.wait(ms(1_000), BATCH), Duration::ZERO);
    }

    #[test]
    fn what_is_owed_is_waited_for_in_one_piece_and_only_once() {
        let mut pace = WriterPace::new(MAX);
        pace.begin_flush(ms(0), MAX / 3, 0);
        pace.begin_writing(ms(0));
        pace.note_written(MAX / 3);
        pace.end_flush(ms(700), true);
        pace.begin_flush(ms(700), MAX / 3, 0);
        // 800 ms for 800,000 bytes, and twice as fast: half a microsecond each.
        assert_eq!(pace.wait(ms(700), 800), Duration::ZERO);
        let wait = pace.wait(ms(700), 2_000);
        assert!(ms(1) <= wait && wait < ms(2), "{wait:?}");
        assert!(pace.wait(ms(701), 2_000) < wait);
        assert_eq!(pace.wait(ms(702), 2_000), Duration::ZERO);
        pace.end_flush(ms(702), true);
        assert_eq!(pace.wait(ms(702), MAX), Duration::ZERO);
    }
}
