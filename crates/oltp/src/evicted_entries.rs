//! The evicted table: where each evicted row is on disk (Anti-Caching, section 3.1).
//!
//! An entry takes 8 bytes: flags u8, place in the block u24, block u32. All indexes of the table lead to the same entry, so a row that moves from
//! one block to another needs one change.

use crate::generation::Generation;
use crate::pointer::EvictedId;
use crate::slot_arena::{SlotArena, Visit};

/// Numbers a block of a partition. Never comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// Where a row is: the block, and the byte in it at which the row starts. As blocks do not come again,
/// equal places hold the same row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BlockPlace {
    pub(crate) block: BlockId,
    pub(crate) at: u32,
}

/// The slot is in use.
const LIVE: u8 = 1;

/// See the module.
pub(crate) struct EvictedEntries {
    slots: SlotArena,
    generation: Generation,
}

const ENTRY_BYTES: usize = 8;
const PLACE_AT: usize = 1;
const BLOCK_AT: usize = 4;

impl EvictedEntries {
    /// None; memory comes in chunks of about so many bytes.
    pub(crate) fn new(chunk_bytes: usize) -> Self {
        Self {
            slots: SlotArena::new(ENTRY_BYTES, chunk_bytes),
            generation: Generation::default(),
        }
    }

    /// Adds an entry.
    pub(crate) fn insert(&mut self, place: BlockPlace) -> EvictedId {
        let id = EvictedId(self.slots.allocate());
        self.set(id, place);
        id
    }

    /// Has an entry lead elsewhere.
    pub(crate) fn set(&mut self, id: EvictedId, place: BlockPlace) {
        debug_assert!(place.at < 1 << 24, "blocks are smaller");
        let slot = self.slots.get_mut(id.0);
        slot[0] = self.generation.stamped(LIVE);
        slot[PLACE_AT..BLOCK_AT].copy_from_slice(&place.at.to_le_bytes()[..3]);
        slot[BLOCK_AT..].copy_from_slice(&place.block.0.to_le_bytes());
    }

    /// Where a row is. The row must not have come back.
    pub(crate) fn get(&self, id: EvictedId) -> BlockPlace {
        let slot = self.slots.get(id.0);
        let block = slot[BLOCK_AT..].try_into().expect("four bytes");
        BlockPlace {
            block: BlockId(u32::from_le_bytes(block)),
            at: u32::from_le_bytes([slot[1], slot[2], slot[3], 0]),
        }
    }

    /// From now on all entries that there are are older ones.
    pub(crate) fn begin_generation(&mut self) {
        self.generation.begin();
    }

    /// Makes an entry one of now; `true` when it was an older one.
    pub(crate) fn renew(&mut self, id: EvictedId) -> bool {
        self.generation.renew(&mut self.slots.get_mut(id.0)[0])
    }

    /// Goes on to the next entry; see [`SlotArena::next_used`].
    pub(crate) fn next(&self, from: u32, looks_max: u32) -> Visit {
        self.slots.next_used(from, looks_max)
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, id: EvictedId) {
        self.slots.release(id.0);
    }

    /// Evicted rows.
    pub(crate) fn len(&self) -> usize {
        self.slots.live()
    }

    /// Bytes of the entries.
    pub(crate) fn live_bytes(&self) -> usize {
        self.slots.live_bytes()
    }

    /// Bytes that were allocated.
    pub(crate) fn held_bytes(&self) -> usize {
        self.slots.held_bytes()
    }
}
