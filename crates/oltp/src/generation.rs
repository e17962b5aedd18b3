//! Whether a row or an evicted entry is older than the snapshot that is being made.
//!
//! One bit of its flags. A snapshot begins by turning the bit that stands for *now* round: all that
//! there is then is older. What is made or copied later gets the bit of now. When the snapshot has
//! visited everything, nothing older is left, and the next one may begin. So a snapshot begins without
//! a look at any row, and between snapshots the test for an older row never says yes.

/// The bit among the flags.
const BIT: u8 = 4;

/// The bit of now; see the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Generation(u8);

impl Generation {
    /// Everything that there is becomes older.
    pub(crate) fn begin(&mut self) {
        self.0 ^= BIT;
    }

    /// Flags of something made now.
    #[inline]
    pub(crate) fn stamped(self, flags: u8) -> u8 {
        (flags & !BIT) | self.0
    }

    /// Whether these are flags of something older.
    #[inline]
    pub(crate) fn is_older(self, flags: u8) -> bool {
        flags & BIT != self.0
    }

    /// Makes something one of now; `true` when it was older.
    #[inline]
    pub(crate) fn renew(self, flags: &mut u8) -> bool {
        let was_older = self.is_older(*flags);
        *flags = self.stamped(*flags);
        was_older
    }
}
