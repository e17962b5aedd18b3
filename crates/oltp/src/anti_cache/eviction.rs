//! Eviction: the coldest rows of a table into one block (Anti-Caching, section 3.2).
//!
//! 1. The table is chosen whose rows go unused for longest: its rows in memory over their uses of late. Uses of the youngest
//!    quarter do not count: orders that are looked at after they came in say nothing of those that came in long ago. (The
//!    paper has each table give by the uses of the whole table: then a small table of hot rows, such as items, gives more than
//!    a large one of cold rows, such as order lines, and gets all of it back.)
//! 2. Rows are taken as its chain has them leave, until the block is full. Pinned rows, and rows that no block
//!    can hold, have their turn after the others.
//! 3. The block is kept in memory and handed to the writer.
//!
//! One block is one slice: what the partition stands still for.

use std::sync::Arc;

use super::AntiCache;
use super::block::BlockBuilder;
use super::block_files::WriteJob;
use super::moves::Moves;
use crate::evicted_entries::BlockId;
use crate::table::Table;

/// The part of the uses before that counts with each block that is evicted.
const KEPT_USES: f64 = 1.0 - 1.0 / 64.0;

/// Rows that a slice passes over at most.
const PASSED_MAX: usize = 1_000;

impl AntiCache {
    /// Evicts a block of rows, unless enough has moved or the writer is behind; `false` when nothing was evicted.
    pub(crate) fn evict(&mut self, tables: &mut [Table], time_us: i64, moves: &mut Moves) -> bool {
        let before = self.statistics.evicted_rows;
        let is_evicted =
            !moves.are_used_up() && !self.is_writer_behind() && self.evict_slice(tables, time_us);
        if is_evicted {
            let rows = self.statistics.evicted_rows - before;
            moves.take(rows, self.options.block_bytes);
        }
        is_evicted
    }

    /// Evicts one block of rows; `false` when there is nothing to evict.
    fn evict_slice(&mut self, tables: &mut [Table], time_us: i64) -> bool {
        let Some(number) = self.choose(tables) else {
            return false;
        };
        let table = &mut tables[number];
        let mut builder =
            BlockBuilder::new(self.next_block, table.number, self.options.block_bytes);
        let mut passed = 0;
        while let Some(id) = table.next_to_leave() {
            let is_kept = table.is_pinned(id);
            let place = if is_kept {
                None
            } else {
                builder.push(table.row(id), &table.layout)
            };
            match place {
                Some(place) => table.evict(id, place, &mut self.scratch),
                None if !is_kept && builder.rows() > 0 => break,
                None if passed == PASSED_MAX => break,
                None => {
                    table.postpone(id);
                    passed += 1;
                }
            }
        }
        let rows = builder.rows();
        if rows == 0 {
            return false;
        }
        self.hand_over(builder, time_us);
        self.statistics.evicted_rows += u64::from(rows);
        self.traffic[number].evicted_rows += u64::from(rows);
        true
    }

    fn hand_over(&mut self, builder: BlockBuilder, time_us: i64) {
        let rows = builder.rows();
        let block = Arc::new(builder.finish(time_us));
        self.blocks.add(block.id, block.table, rows);
        self.next_block = BlockId(
            block
                .id
                .0
                .checked_add(1)
                .expect("2^32 blocks were never written"),
        );
        self.statistics.written_blocks += 1;
        self.traffic(block.table).written_blocks += 1;
        self.buffers.insert(block.id, Arc::clone(&block));
        self.files.writes.submit(WriteJob::Write(block));
    }

    /// The table whose rows that are not young go unused for longest, on average.
    fn choose(&mut self, tables: &mut [Table]) -> Option<usize> {
        let mut chosen = None;
        for (number, table) in tables.iter_mut().enumerate() {
            // What was used long ago counts less and less.
            table.former_uses =
                table.former_uses * KEPT_USES + std::mem::take(&mut table.uses) as f64;
            if table.chain.is_empty() {
                continue;
            }
            let unused = table.rows_in_memory() as f64 / (table.former_uses + 1.0);
            if chosen.is_none_or(|(_, longest)| unused > longest) {
                chosen = Some((number, unused));
            }
        }
        chosen.map(|(number, _)| number)
    }
}
