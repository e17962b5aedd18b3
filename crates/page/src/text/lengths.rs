//! What the lengths of cells cost, to compare codecs before one of them encodes.

use crate::bit_packing::{self, bits};

/// Bytes of the ends of cells of these lengths: each costs the bits of what it is longer than
/// the shortest. A bound, since ends may have exceptions.
pub(super) fn packed_bytes(lengths: impl Iterator<Item = usize>) -> usize {
    let (mut count, mut shortest, mut longest) = (0, usize::MAX, 0);
    for length in lengths {
        count += 1;
        shortest = shortest.min(length);
        longest = longest.max(length);
    }
    bit_packing::packed_bytes(count, bits(longest.saturating_sub(shortest) as u64))
}
