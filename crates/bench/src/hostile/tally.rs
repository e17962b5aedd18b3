//! What hostile clients have come to, counted as it happens.

use std::sync::atomic::{AtomicU64, Ordering};

/// See the module.
#[derive(Debug, Default)]
pub struct Tally {
    connections: AtomicU64,
    inside: AtomicU64,
    guesses_refused: AtomicU64,
    guesses_let_in: AtomicU64,
}

/// A tally at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Connections that were opened so far.
    pub connections: u64,
    /// Slow clients that are logged in now.
    pub inside: u64,
    /// Guesses that were refused so far.
    pub guesses_refused: u64,
    /// Guesses that were not.
    pub guesses_let_in: u64,
}

impl Tally {
    /// How it stands.
    pub fn counts(&self) -> Counts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            connections: count(&self.connections),
            inside: count(&self.inside),
            guesses_refused: count(&self.guesses_refused),
            guesses_let_in: count(&self.guesses_let_in),
        }
    }

    /// A connection was opened.
    pub fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// A guess was refused.
    pub fn guess_refused(&self) {
        self.guesses_refused.fetch_add(1, Ordering::Relaxed);
    }

    /// A guess was not refused.
    pub fn guess_let_in(&self) {
        self.guesses_let_in.fetch_add(1, Ordering::Relaxed);
    }

    /// A slow client is logged in until what it gets is dropped.
    pub fn come_inside(&self) -> Inside<'_> {
        self.inside.fetch_add(1, Ordering::Relaxed);
        Inside { tally: self }
    }
}

/// A slow client that is logged in.
pub struct Inside<'a> {
    tally: &'a Tally,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.tally.inside.fetch_sub(1, Ordering::Relaxed);
    }
}
