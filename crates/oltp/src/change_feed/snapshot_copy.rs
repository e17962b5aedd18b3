//! A copy of a snapshot for a replica that has nothing: every row comes.
//!
//! 1. The data file is read chunk by chunk. Rows go out at once, places of evicted rows are collected.
//! 2. When there are many places, or no more chunks, they are put in the order of the disk, and each
//!    block that they name is read once. What the partition has in memory is not touched.
//!
//! Runs in the replica's thread. The files stay: no other snapshot is made before the replica has
//! confirmed this one. After an error the copy goes on where it was.

use std::path::Path;

use env::Env;
use types::CommitPosition;

use super::changed_rows::{ChangeKind, begin_change};
use super::committed_changes::{Chunk, begin_transaction, set_changes};
use crate::anti_cache::BlockFiles;
use crate::error::{PrimaryError, damaged};
use crate::evicted_entries::BlockPlace;
use crate::row_layout::RowLayout;
use crate::schema::TableNumber;
use crate::snapshot::{ChunkKind, DataReader, SnapshotRecord, append_row};

/// Places that are in memory at most, beside those of one chunk: a megabyte.
const PLACES_MAX: usize = 64 << 10;

/// See the module.
pub(super) struct SnapshotCopy {
    position: CommitPosition,
    time_us: i64,
    data: DataReader,
    /// Without evicted rows there are none.
    blocks: Option<BlockFiles>,
    places: Vec<(BlockPlace, TableNumber)>,
    /// Whether the rows at the places come next, from the last one on.
    reads_blocks: bool,
    rows: Vec<u8>,
    count: u32,
    is_begun: bool,
}

/// Some of the rows.
pub(super) struct CopiedRows {
    pub(super) chunk: Chunk,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

impl SnapshotCopy {
    /// A copy that has not begun.
    pub(super) fn open(
        env: &Env,
        folder: &Path,
        snapshot: &SnapshotRecord,
    ) -> Result<Self, PrimaryError> {
        let geometry = snapshot.geometry;
        let blocks = if snapshot.block_files.is_empty() {
            None
        } else {
            let folder = folder.join("blocks");
            let (bytes, per_file) = (geometry.block_bytes as usize, geometry.blocks_per_file);
            Some(BlockFiles::open(env.clone(), folder, bytes, per_file)?)
        };
        Ok(Self {
            position: snapshot.position,
            time_us: snapshot.time_us,
            data: DataReader::open(&*env.disk, folder, snapshot)?,
            blocks,
            places: Vec::new(),
            reads_blocks: false,
            rows: Vec::new(),
            count: 0,
            is_begun: false,
        })
    }

    /// Where the changes that follow begin.
    pub(super) fn position(&self) -> CommitPosition {
        self.position
    }

    /// The next rows, about so many bytes.
    pub(super) fn next(
        &mut self,
        bytes_max: usize,
        layouts: &[RowLayout],
    ) -> Result<CopiedRows, PrimaryError> {
        if self.rows.is_empty() {
            begin_transaction(&mut self.rows, self.position, self.time_us);
        }
        while self.rows.len() < bytes_max && !self.is_done() {
            let (bytes, count) = (self.rows.len(), self.count);
            let step = match self.reads_blocks {
                true => self.copy_block(layouts),
                false => self.copy_chunk(layouts),
            };
            if let Err(error) = step {
                self.rows.truncate(bytes);
                self.count = count;
                return Err(error);
            }
        }
        let mut bytes = std::mem::take(&mut self.rows);
        set_changes(&mut bytes, std::mem::take(&mut self.count));
        Ok(CopiedRows {
            chunk: Chunk {
                bytes,
                last: self.position,
            },
            is_first: !std::mem::replace(&mut self.is_begun, true),
            is_last: self.is_done(),
        })
    }

    fn is_done(&self) -> bool {
        self.data.is_at_end() && self.places.is_empty()
    }

    fn copy_chunk(&mut self, layouts: &[RowLayout]) -> Result<(), PrimaryError> {
        if let Some(chunk) = self.data.chunk()? {
            let table = chunk.header.table;
            if chunk.header.kind == ChunkKind::Evicted {
                let places = chunk.places().map(|place| (place, table));
                self.places.extend(places);
            } else {
                let layout = layouts.get(usize::from(table.0));
                for row in chunk.rows() {
                    let row = row.and_then(|row| layout?.split(row));
                    let row = row.ok_or_else(|| {
                        let detail = "found other bytes, expected a row of its table";
                        self.data.error(&chunk, detail.into())
                    })?;
                    begin_change(&mut self.rows, table, ChangeKind::Comes);
                    append_row(row, &layouts[usize::from(table.0)], &mut self.rows);
                    self.count += 1;
                }
            }
            self.data.pass(&chunk);
        }
        if self.places.len() >= PLACES_MAX || self.data.is_at_end() {
            self.places.sort_unstable();
            self.reads_blocks = !self.places.is_empty();
        }
        Ok(())
    }

    /// Copies the rows of the last block among the places.
    fn copy_block(&mut self, layouts: &[RowLayout]) -> Result<(), PrimaryError> {
        let (last, table) = *self.places.last().expect("there are places");
        let files = self.blocks.as_ref();
        let files = files.expect("a snapshot with evicted rows names files");
        let block = files.read(last.block)?;
        let of_block = self.places.iter().rev();
        let of_block = of_block.take_while(|(place, _)| place.block == last.block);
        let count = of_block.count();
        let layout = layouts.get(usize::from(table.0));
        for (place, _) in &self.places[self.places.len() - count..] {
            let row = layout.and_then(|layout| block.find_row(place.at, layout));
            let row = row.filter(|_| block.table == table).ok_or_else(|| {
                let (path, offset) = files.place_of(block.id);
                let detail = "found other bytes, expected a row of its table";
                damaged(&path, offset + u64::from(place.at), detail)
            })?;
            begin_change(&mut self.rows, table, ChangeKind::Comes);
            append_row(row, &layouts[usize::from(table.0)], &mut self.rows);
        }
        self.count += count as u32;
        self.places.truncate(self.places.len() - count);
        self.reads_blocks = !self.places.is_empty();
        Ok(())
    }
}
