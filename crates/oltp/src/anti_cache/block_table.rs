//! What is left in each block: rows that were brought back leave holes (Anti-Caching, section 3.4).

use std::collections::BTreeMap;

use super::block_files::FileNumber;
use crate::evicted_entries::BlockId;
use crate::schema::TableNumber;

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    rows: u32,
    live: u32,
    table: TableNumber,
}

/// Counts of all blocks, by file. A file goes when it is full of holes only.
pub(crate) struct BlockTable {
    blocks_per_file: u32,
    files: BTreeMap<FileNumber, Vec<Count>>,
    /// Holes of each table, by its number.
    holes: Vec<u64>,
}

impl BlockTable {
    /// No blocks, of so many tables.
    pub(crate) fn new(blocks_per_file: u32, tables: usize) -> Self {
        Self {
            blocks_per_file,
            files: BTreeMap::new(),
            holes: vec![0; tables],
        }
    }

    /// A block was made, with so many rows of a table. Blocks are made in the order of their numbers.
    pub(crate) fn add(&mut self, block: BlockId, table: TableNumber, rows: u32) {
        let (file, at) = self.place(block);
        let counts = self.files.entry(file).or_default();
        assert!(counts.len() == at, "blocks are numbered without gaps");
        counts.push(Count {
            rows,
            live: rows,
            table,
        });
    }

    /// A block of an earlier process, of which some rows are left. Blocks come in the order of their
    /// numbers.
    pub(crate) fn restore(&mut self, block: BlockId, table: TableNumber, rows: u32, live: u32) {
        let (file, at) = self.place(block);
        let counts = self.files.entry(file).or_default();
        counts.resize(at, Count::default());
        counts.push(Count { rows, live, table });
        self.holes[usize::from(table.0)] += u64::from(rows - live);
    }

    /// Nothing is added any more to the files before this one.
    pub(crate) fn close(&mut self, before: FileNumber) {
        for (_, counts) in self.files.range_mut(..before) {
            counts.resize(self.blocks_per_file as usize, Count::default());
        }
    }

    /// Files in which there are rows, in order.
    pub(crate) fn files(&self) -> Vec<FileNumber> {
        self.files.keys().copied().collect()
    }

    /// A row left its block. Gives the file if nothing is left in it and nothing will be added to it.
    pub(crate) fn take(&mut self, block: BlockId) -> Option<FileNumber> {
        let (file, at) = self.place(block);
        let counts = self
            .files
            .get_mut(&file)
            .expect("a file with rows is there");
        assert!(counts[at].live > 0, "a row leaves its block once");
        counts[at].live -= 1;
        self.holes[usize::from(counts[at].table.0)] += 1;
        let is_full = counts.len() == self.blocks_per_file as usize;
        if !is_full || counts.iter().any(|count| count.live > 0) {
            return None;
        }
        for count in self.files.remove(&file)? {
            self.holes[usize::from(count.table.0)] -= u64::from(count.rows);
        }
        Some(file)
    }

    /// Rows that the block was made with, and those that are still in it.
    pub(crate) fn rows(&self, block: BlockId) -> (u32, u32) {
        let (file, at) = self.place(block);
        let count = self.files.get(&file).and_then(|counts| counts.get(at));
        count.map_or((0, 0), |count| (count.rows, count.live))
    }

    /// Holes in the blocks of each table, by its number.
    pub(crate) fn holes(&self) -> &[u64] {
        &self.holes
    }

    /// Bytes that it holds, within a few.
    pub(crate) fn held_bytes(&self) -> usize {
        let full = self.blocks_per_file as usize * size_of::<Count>();
        self.files.len() * (full + size_of::<(FileNumber, Vec<Count>)>())
    }

    fn place(&self, block: BlockId) -> (FileNumber, usize) {
        (
            FileNumber(block.0 / self.blocks_per_file),
            (block.0 % self.blocks_per_file) as usize,
        )
    }
}
