//! Which link is next: the stream, or statements for a backlog.
//!
//! 1. At a connect: statements, if [`BACKLOG_BYTES_MIN`] or more are to be read.
//! 2. Following the stream: statements, if it is [`FAR_BEHIND_BYTES`] behind.
//! 3. Never, if the configuration says so; neither soon after a statement was refused, nor before the stream has
//!    passed the end of a stretch in which a large transaction was in progress: the next stretch would have all of it
//!    again.
//!
//! Does not: know whether a transaction is open (see [`super::stream`]).

use std::time::Duration;

use super::config::BacklogReading;

/// A backlog of fewer bytes of log is left to the stream.
const BACKLOG_BYTES_MIN: u64 = 64 << 20;
/// A stream that is so many bytes of log behind is left for statements. That takes new connections, so it is
/// more than a short burst leaves.
const FAR_BEHIND_BYTES: u64 = 4 * BACKLOG_BYTES_MIN;
/// A source that has refused a statement is not asked again so soon.
const REFUSED_INTERVAL: Duration = Duration::from_secs(600);

/// What stands against statements.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkChoice {
    reading: BacklogReading,
    /// They may be used from this place of the log on, and
    from: u64,
    /// from this time on.
    at: Duration,
}

impl LinkChoice {
    /// Nothing but what the configuration says.
    pub fn new(reading: BacklogReading) -> Self {
        Self {
            reading,
            ..Self::default()
        }
    }

    /// Whether statements read what is between `resume` and the log's end.
    pub fn is_for_statements(&self, resume: u64, log_end: u64, now: Duration) -> bool {
        self.may_use_statements(resume, now) && log_end.saturating_sub(resume) >= BACKLOG_BYTES_MIN
    }

    /// Whether a stream that has come to `last` is to be left for statements.
    pub fn leaves_stream(&self, last: u64, log_end: u64, now: Duration) -> bool {
        self.may_use_statements(last, now) && log_end.saturating_sub(last) >= FAR_BEHIND_BYTES
    }

    /// Whether statements that have come to `last` are to be left for the stream before their end.
    pub fn leaves_statements(&self, last: u64) -> bool {
        last < self.from
    }

    /// A stretch that ends at `end` has a part of a transaction that goes on.
    pub fn meet_transaction(&mut self, end: u64) {
        // One further: who has all up to the end begins at the end.
        self.from = end + 1;
    }

    /// The source has refused a statement.
    pub fn meet_refusal(&mut self, now: Duration) {
        self.at = now + REFUSED_INTERVAL;
    }

    fn may_use_statements(&self, position: u64, now: Duration) -> bool {
        let is_allowed = self.reading == BacklogReading::Statements;
        is_allowed && position >= self.from && now >= self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const NOW: Duration = Duration::from_secs(5);

    #[test]
    fn much_log_is_for_statements_and_little_is_not() {
        let choice = LinkChoice::default();
        assert!(choice.is_for_statements(7, 7 + BACKLOG_BYTES_MIN, NOW));
        assert!(!choice.is_for_statements(7, 6 + BACKLOG_BYTES_MIN, NOW));
        assert!(choice.leaves_stream(7, 7 + FAR_BEHIND_BYTES, NOW));
        assert!(!choice.leaves_stream(7, 6 + FAR_BEHIND_BYTES, NOW));
        // The slot was looked at some time ago.
        assert!(!choice.leaves_stream(GIB, 7, NOW));
        assert!(!choice.leaves_statements(0));
    }

    #[test]
    fn whoever_wants_none_gets_no_statements() {
        let choice = LinkChoice::new(BacklogReading::Stream);
        assert!(!choice.is_for_statements(7, 7 + GIB, NOW));
        assert!(!choice.leaves_stream(7, 7 + GIB, NOW));
    }

    /// Everything up to the stretch's end is here: the last position is the one before.
    #[test]
    fn a_transaction_that_goes_on_is_left_to_the_stream_until_that_has_passed_the_stretch() {
        let mut choice = LinkChoice::default();
        choice.meet_transaction(GIB);
        assert!(choice.leaves_statements(GIB - 1));
        assert!(!choice.is_for_statements(GIB, 9 * GIB, NOW));
        assert!(!choice.leaves_stream(GIB, 9 * GIB, NOW));
        assert!(choice.leaves_stream(GIB + 1, 9 * GIB, NOW));
        assert!(!choice.leaves_statements(GIB + 1));
    }

    #[test]
    fn a_source_that_refuses_is_asked_again_later() {
        let mut choice = LinkChoice::default();
        choice.meet_refusal(NOW);
        assert!(!choice.is_for_statements(0, GIB, NOW));
        assert!(choice.is_for_statements(0, GIB, NOW + REFUSED_INTERVAL));
    }
}
