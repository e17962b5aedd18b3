//! Uneviction: rows of a block that has arrived go back into their table (Anti-Caching, section 3.4).
//!
//! *Tuple-merge* takes only the rows that somebody waits for and leaves holes in the block;
//! *block-merge* takes all, those that nobody waits for at the old end of the chain. A block with too
//! many holes is taken whole under either (the paper's lazy compaction), and a file in which nothing is
//! left is removed.
//!
//! *Adaptive* merging is tuple-merge until a block is read again after a few others. That one is taken whole, as what is
//! wanted next: rows that went to disk together are used one after the other, such as the lines of orders that are delivered.

use super::block::Block;
use super::{AntiCache, Pin};
use crate::evicted_entries::{BlockId, BlockPlace};
use crate::eviction_chain::ChainPlace;
use crate::options::MergeStrategy;
use crate::pointer::{EvictedId, Target, TupleId};
use crate::table::Table;
use crate::transaction::Want;

/// Blocks that count as read a short time ago.
const READ_LAST: usize = 64;

impl AntiCache {
    /// Brings the wanted rows of a block back, and pins them. Rows that were moved, changed or
    /// deleted meanwhile are left out: the transaction will find out.
    pub(crate) fn merge_wanted(
        &mut self,
        table: &mut Table,
        block: &Block,
        wants: impl Iterator<Item = Want>,
        pins: &mut Vec<Pin>,
    ) {
        let place = self.place_of_wanted(block.id);
        for want in wants {
            let row = block.row(want.place.at, &table.layout);
            let id = match table.evicted_at(row, want.place) {
                Some(id) => self.bring_back(table, id, block, want.place, place),
                None => match table.find_primary(row) {
                    Some(Target::Memory(id)) => id,
                    _ => continue,
                },
            };
            pins.push(self.pins.pin(table, id));
        }
    }

    /// Brings back what nobody waits for, if the strategy or the block's holes ask for it.
    pub(crate) fn merge_rest(&mut self, table: &mut Table, block: &Block) {
        self.statistics.read_blocks += 1;
        self.traffic(block.table).read_blocks += 1;
        let (rows, live) = self.blocks.rows(block.id);
        let holes = f64::from(rows - live) / f64::from(rows.max(1));
        let is_wanted =
            self.options.merge == MergeStrategy::Adaptive && self.is_read_again(block.id);
        let takes_all = self.options.merge == MergeStrategy::Block || is_wanted;
        if live == 0 || !(takes_all || holes > self.options.holes_max) {
            return;
        }
        let place_in_chain = match is_wanted {
            true => ChainPlace::Youngest,
            false => ChainPlace::Oldest,
        };
        for place in block.places() {
            let row = block.row(place.at, &table.layout);
            if let Some(id) = table.evicted_at(row, place) {
                self.bring_back(table, id, block, place, place_in_chain);
            }
        }
    }

    /// Whether a block is one of those that were read last. It is from now on.
    fn is_read_again(&mut self, block: BlockId) -> bool {
        let is_again = self.read_last.contains(&block);
        if !is_again {
            self.read_last.truncate(READ_LAST - 1);
            self.read_last.push_front(block);
        }
        is_again
    }

    /// Where a row comes in that is wanted: one that has left only lately should not have, and one that was away for long
    /// is on probation. Lately is since no more has left than there is room for.
    pub(super) fn place_of_wanted(&self, block: BlockId) -> ChainPlace {
        let since = (self.next_block.0 - block.0) as usize;
        match since.saturating_mul(self.options.block_bytes) <= self.options.memory_bytes {
            true => ChainPlace::Youngest,
            false => ChainPlace::Probation,
        }
    }

    /// Brings a row back.
    pub(super) fn bring_back(
        &mut self,
        table: &mut Table,
        id: EvictedId,
        block: &Block,
        place: BlockPlace,
        place_in_chain: ChainPlace,
    ) -> TupleId {
        let row = block.row(place.at, &table.layout);
        // A copy, because the table computes keys while it takes the row.
        self.scratch.copy(row);
        let tuple = table.unevict(id, self.scratch.bytes(), place_in_chain);
        self.leave(place.block);
        self.statistics.returned_rows += 1;
        self.traffic(block.table).returned_rows += 1;
        tuple
    }
}
