//! What the lengths of cells cost, to compare codecs before one of them encodes.

use crate::bit_packing::{bits, packed_bytes};

/// The lengths of some cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    cells: usize,
    shortest: usize,
    longest: usize,
    /// All lengths together.
    pub(super) sum: usize,
}

impl Lengths {
    pub(super) fn of(lengths: impl Iterator<Item = usize>) -> Self {
        let none = Self {
            cells: 0,
            shortest: usize::MAX,
            longest: 0,
            sum: 0,
        };
        lengths.fold(none, |all, length| Self {
            cells: all.cells + 1,
            shortest: all.shortest.min(length),
            longest: all.longest.max(length),
            sum: all.sum + length,
        })
    }

    /// Bytes of the ends of the cells: each costs the bits of what it is longer than the
    /// shortest. Exceptions can make it less.
    pub(super) fn packed_bytes(&self) -> usize {
        packed_bytes(
            self.cells,
            bits(self.longest.saturating_sub(self.shortest) as u64),
        )
    }
}
