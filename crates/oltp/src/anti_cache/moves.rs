//! How much may move between two calls, to disk and within memory: what the partition stands still for.

/// A move of a small row counts as one, each 256 bytes as one more: 108 rows of 1 KB, 400 of an order's lines, take a
/// third of a millisecond.
const MOVES_MAX: u64 = 512;
const BYTES_AS_ONE: usize = 256;

/// What is left of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moves {
    left: u64,
}

impl Moves {
    /// Those of a step.
    pub(crate) fn of_step() -> Self {
        Self { left: MOVES_MAX }
    }

    /// So many rows with so many bytes together have moved.
    pub(crate) fn take(&mut self, rows: u64, bytes: usize) {
        let taken = rows + (bytes / BYTES_AS_ONE) as u64;
        self.left = self.left.saturating_sub(taken);
    }

    /// Whether the rest is for the next step.
    pub(crate) fn are_used_up(self) -> bool {
        self.left == 0
    }
}
