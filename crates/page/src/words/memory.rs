//! What a column remembers of its last page: pages of a column are mostly alike.
//!
//! The codec that won holds for the next pages, which then cost no competition, as long as it is
//! about as good on them as it was. Every sixteenth page all codecs compete again.

use super::WordCodec;

/// Pages for which the last choice holds before all codecs compete again.
const PAGES_ALIKE: u32 = 15;

/// A codec that encoded, and what it cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encoded {
    pub(super) codec: WordCodec,
    /// Where the codec is one over other words: that of those.
    pub(super) stream: Option<WordCodec>,
    pub(super) cost: usize,
}

/// The last choice of a column.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    last: Option<Last>,
    /// Pages since all codecs competed.
    pages: u32,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    encoded: Encoded,
    rows: usize,
}

impl Memory {
    /// The last choice, with what so many rows may cost if it is as good as when it was made: an
    /// eighth more than they did then. `None` if it is time to look at all codecs.
    pub(super) fn bound(&self, rows: usize) -> Option<Encoded> {
        let last = self.last.filter(|_| self.pages < PAGES_ALIKE)?;
        let cost = last.encoded.cost * rows / last.rows * 9 / 8;
        Some(Encoded {
            cost,
            ..last.encoded
        })
    }

    /// Notes who won when all codecs competed.
    pub(super) fn competed(&mut self, encoded: Encoded, rows: usize) {
        self.last = Some(Last { encoded, rows });
        self.pages = 0;
    }

    /// Notes that the last choice held for another page.
    pub(super) fn repeated(&mut self) {
        self.pages += 1;
    }
}
