//! The anti-cache: cold rows go to disk and come back when they are asked for (Anti-Caching,
//! sections 3.1 to 3.4).
//!
//! * [`block`]: rows in a block; [`block_files`]: blocks on disk, and who reads and writes them;
//!   [`open_files`]: those that are being read.
//! * [`block_table`]: the holes in blocks.
//! * [`eviction`]: from memory to a block, a slice at a time.
//! * [`defragmentation`]: what lies between rows in memory is given back.
//! * [`uneviction`]: from a block to memory, when it has arrived.
//! * [`moves`]: how much of it at a time.
//! * [`pins`]: what was fetched stays until it was used.
//!
//! A block is in memory until it was written, and is read from there. Everything here runs in the
//! partition's thread but [`BlockFiles::write`] and [`BlockFiles::fetch`].

mod block;
mod block_files;
mod block_table;
mod defragmentation;
mod eviction;
mod moves;
mod open_files;
mod pins;
mod uneviction;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::evicted_entries::BlockId;
use crate::options::AntiCacheOptions;
use crate::pointer::EvictedId;
use crate::pointer::TupleId;
use crate::row_layout::RowBuffer;
use crate::schema::TableNumber;
use crate::snapshot::BlockGeometry;
use crate::statistics::{AntiCacheStatistics, TableTraffic};
use crate::stop::Stop;
use crate::table::Table;
use crate::transaction::FetchNow;
pub(crate) use block::Block;
pub use block_files::BlockFiles;
use block_files::WriteJob;
pub(crate) use block_files::{Fetched, FileNumber};
use block_table::BlockTable;
use defragmentation::Defragmentation;
pub(crate) use moves::Moves;
pub(crate) use pins::{Pin, Pins};

/// The partition's side of the anti-cache.
pub(crate) struct AntiCache {
    pub(crate) options: AntiCacheOptions,
    pub(crate) files: Arc<BlockFiles>,
    pub(crate) pins: Pins,
    pub(crate) statistics: AntiCacheStatistics,
    /// The same of each table, by its number.
    traffic: Vec<TableTraffic>,
    next_block: BlockId,
    blocks: BlockTable,
    /// Blocks that were not written yet.
    buffers: HashMap<BlockId, Arc<Block>>,
    /// Files without rows that blocks are still being read from.
    emptied: Vec<FileNumber>,
    /// Bytes that the call which waits for the disk may still fetch.
    left_bytes: usize,
    pub(crate) defragmentation: Defragmentation,
    /// Blocks that were read last, the last one first.
    read_last: VecDeque<BlockId>,
    scratch: RowBuffer,
}

impl AntiCache {
    /// Nothing evicted yet.
    pub(crate) fn new(options: AntiCacheOptions, files: Arc<BlockFiles>, tables: usize) -> Self {
        Self {
            blocks: BlockTable::new(options.blocks_per_file, tables),
            options,
            pins: Pins::default(),
            statistics: AntiCacheStatistics::default(),
            traffic: vec![TableTraffic::default(); tables],
            next_block: files.first_block(),
            files,
            buffers: HashMap::new(),
            emptied: Vec::new(),
            left_bytes: 0,
            defragmentation: Defragmentation::default(),
            read_last: VecDeque::new(),
            scratch: RowBuffer::default(),
        }
    }

    /// Lets go of what was written meanwhile.
    pub(crate) fn drop_written(&mut self) {
        for block in self.files.writes.take_done() {
            self.buffers.remove(&block);
        }
    }

    /// The block that will be made next.
    pub(crate) fn next_block(&self) -> BlockId {
        self.next_block
    }

    /// Whether all blocks before this one were written.
    pub(crate) fn has_written(&self, before: BlockId) -> bool {
        self.buffers.keys().all(|block| *block >= before)
    }

    /// How blocks lie in their files.
    pub(crate) fn geometry(&self) -> BlockGeometry {
        BlockGeometry {
            block_bytes: self.options.block_bytes as u32,
            blocks_per_file: self.options.blocks_per_file,
        }
    }

    /// Files in which there are evicted rows, in order.
    pub(crate) fn files_in_use(&self) -> Vec<FileNumber> {
        self.blocks.files()
    }

    /// Takes a block of an earlier process, of which some rows are left.
    pub(crate) fn restore(&mut self, block: BlockId, table: TableNumber, rows: u32, live: u32) {
        self.blocks.restore(block, table, rows, live);
    }

    /// All blocks of earlier processes were taken.
    pub(crate) fn close_restored(&mut self) {
        self.blocks.close(self.files.first_file);
    }

    /// Removes files in which nothing is left, unless a snapshot needs them or a block of theirs is
    /// being read.
    pub(crate) fn remove_emptied(
        &mut self,
        is_needed: impl Fn(FileNumber) -> bool,
        is_being_read: impl Fn(BlockId) -> bool,
    ) {
        let per_file = self.options.blocks_per_file;
        let (buffers, files) = (&self.buffers, &self.files);
        self.emptied.retain(|file| {
            let mut blocks = (file.0 * per_file..(file.0 + 1) * per_file).map(BlockId);
            let is_used = is_needed(*file)
                || blocks.any(|block| buffers.contains_key(&block) || is_being_read(block));
            if !is_used {
                files.writes.submit(WriteJob::Remove(*file));
            }
            is_used
        });
    }

    /// A block that was not written yet.
    pub(crate) fn buffer(&self, block: BlockId) -> Option<Arc<Block>> {
        self.buffers.get(&block).cloned()
    }

    /// Whether so many blocks wait to be written that no more should be made.
    pub(crate) fn is_writer_behind(&self) -> bool {
        self.buffers.len() >= self.options.buffers_max
    }

    /// Holes in the blocks on disk.
    pub(crate) fn holes(&self) -> u64 {
        self.blocks.holes().iter().sum()
    }

    /// Holes of a table, and what went to disk and came back of it.
    pub(crate) fn of_table(&self, table: TableNumber) -> (u64, TableTraffic) {
        let number = usize::from(table.0);
        (self.blocks.holes()[number], self.traffic[number])
    }

    fn traffic(&mut self, table: TableNumber) -> &mut TableTraffic {
        &mut self.traffic[usize::from(table.0)]
    }

    /// The memory that everything but blocks to be written may use: these have theirs set aside.
    pub(crate) fn room_bytes(&self) -> usize {
        let aside = self.options.buffers_max * self.buffer_bytes();
        self.options.memory_bytes.saturating_sub(aside)
    }

    /// What a row of the block takes on average.
    pub(crate) fn row_bytes(&self, block: BlockId) -> usize {
        self.options.block_bytes / self.blocks.rows(block).0.max(1) as usize
    }

    /// Bytes beside the tables and the blocks to be written.
    pub(crate) fn bookkeeping_bytes(&self) -> usize {
        self.blocks.held_bytes() + self.pins.held_bytes()
    }

    /// Bytes beside the tables.
    pub(crate) fn held_bytes(&self) -> usize {
        self.buffers.len() * self.buffer_bytes() + self.bookkeeping_bytes()
    }

    fn buffer_bytes(&self) -> usize {
        self.options.block_bytes + size_of::<(BlockId, Arc<Block>)>()
    }

    /// Has a call that will wait for the disk fetch what one may, less so many bytes.
    pub(crate) fn allow_fetches(&mut self, fetched_bytes: usize) {
        let most = self.options.fetched_bytes_max;
        self.left_bytes = most.saturating_sub(fetched_bytes);
    }

    /// Has a call that will wait for the disk fetch whatever it needs: it has committed before.
    pub(crate) fn allow_all_fetches(&mut self) {
        self.left_bytes = usize::MAX;
    }

    /// Notes that a row has left its block.
    fn leave(&mut self, block: BlockId) {
        self.emptied.extend(self.blocks.take(block));
    }
}

impl FetchNow for AntiCache {
    fn fetch_now(&mut self, table: &mut Table, id: EvictedId) -> Result<TupleId, Stop> {
        let place = table.evicted.get(id);
        let row_bytes = self.row_bytes(place.block);
        if row_bytes > self.left_bytes {
            let most = self.options.fetched_bytes_max;
            let bytes = most - self.left_bytes + row_bytes;
            return Err(Stop::TooMuchEvicted { bytes, most });
        }
        self.left_bytes -= row_bytes;
        let block = match self.buffer(place.block) {
            Some(block) => block,
            None => {
                let read = self.files.read(place.block);
                Arc::new(read.map_err(|error| Stop::Unreadable(error.to_string()))?)
            }
        };
        self.statistics.blocking_fetches += 1;
        let place_in_chain = self.place_of_wanted(place.block);
        Ok(self.bring_back(table, id, &block, place, place_in_chain))
    }
}
