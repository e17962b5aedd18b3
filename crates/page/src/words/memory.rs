//! What a column remembers of its last page: pages of a column are mostly alike.
//!
//! The codec that won holds for the next pages, which then cost no competition, as long as it is
//! about as good on them as it was. Every sixteenth page all codecs compete again.

use super::WordCodec;

/// Pages for which the last choice holds before all codecs compete again.
const PAGES_ALIKE: u32 = 15;

/// The last choice of a column.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    last: Option<Last>,
    /// Pages since all codecs competed.
    pages: u32,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    codec: WordCodec,
    cost: usize,
    rows: usize,
}

/// A codec, and what it may cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) codec: WordCodec,
    pub(super) cost_max: usize,
}

impl Memory {
    /// The last choice and what so many rows may cost if it is as good as it was: an eighth more
    /// than they did then. `None` if it is time to look at all codecs.
    pub(super) fn bound(&self, rows: usize) -> Option<Bound> {
        let last = self.last.filter(|_| self.pages < PAGES_ALIKE)?;
        Some(Bound {
            codec: last.codec,
            cost_max: last.cost * rows / last.rows * 9 / 8,
        })
    }

    /// Notes who won when all codecs competed.
    pub(super) fn competed(&mut self, codec: WordCodec, cost: usize, rows: usize) {
        self.last = Some(Last { codec, cost, rows });
        self.pages = 0;
    }

    /// Notes what the last choice cost another time.
    pub(super) fn repeated(&mut self, cost: usize, rows: usize) {
        if let Some(last) = &mut self.last {
            (last.cost, last.rows) = (cost, rows);
        }
        self.pages += 1;
    }
}
