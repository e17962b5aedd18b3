//! The evicted table: where each evicted row is on disk (Anti-Caching, section 3.1).
//!
//! An entry takes 8 bytes. All indexes of the table lead to the same entry, so a row that moves from
//! one block to another needs one change.

use crate::pointer::EvictedId;
use crate::slot_arena::SlotArena;

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

/// See the module.
pub(crate) struct EvictedEntries {
    slots: SlotArena,
}

const ENTRY_BYTES: usize = 8;

impl EvictedEntries {
    pub(crate) fn new() -> Self {
        Self {
            slots: SlotArena::new(ENTRY_BYTES),
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
        let slot = self.slots.get_mut(id.0);
        slot[..4].copy_from_slice(&place.block.0.to_le_bytes());
        slot[4..].copy_from_slice(&place.at.to_le_bytes());
    }

    /// Where a row is. The row must not have come back.
    pub(crate) fn get(&self, id: EvictedId) -> BlockPlace {
        let slot = self.slots.get(id.0);
        let number = |at: usize| u32::from_le_bytes(slot[at..at + 4].try_into().expect("4 bytes"));
        BlockPlace {
            block: BlockId(number(0)),
            at: number(4),
        }
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
