//! A partition's tables from a snapshot.
//!
//! 1. The data file is read chunk by chunk: rows go into their tables, places of evicted rows are
//!    collected.
//! 2. Each block that is named is read once, in the order of the disk. Its rows get their index entries
//!    and stay where they are. When blocks are now of another size, or rows are no longer evicted, they
//!    go into memory like new ones, and to other blocks as memory fills.
//! 3. Numbers of rows and digests must be those of the manifest.
//!
//! The order of last use is not kept: rows are as old as their place in the snapshot says.

use std::path::Path;

use env::Env;

use super::chunk::ChunkKind;
use super::data_path;
use super::data_reader::{DataChunk, DataReader};
use super::making::schema_hash;
use super::manifest::{FILE_NAME, SnapshotRecord};
use crate::anti_cache::{Block, BlockFiles};
use crate::error::{PrimaryError, damaged};
use crate::evicted_entries::BlockPlace;
use crate::partition::Partition;
use crate::row_layout::RowBuffer;
use crate::schema::TableNumber;

/// A place with its table, in the order of the disk.
type Place = (BlockPlace, TableNumber);

impl Partition {
    /// Fills an empty partition with what a snapshot says.
    pub(crate) fn load(
        &mut self,
        env: &Env,
        folder: &Path,
        snapshot: &SnapshotRecord,
    ) -> Result<(), PrimaryError> {
        self.check_tables(folder, snapshot)?;
        let mut places = self.load_data(env, folder, snapshot)?;
        places.sort_unstable();
        self.load_evicted(env, folder, snapshot, &places)?;
        self.check_digests(folder, snapshot, &places)?;
        self.position = snapshot.position;
        self.next_number = snapshot.last_number;
        self.time_us = snapshot.time_us.max(self.time_us);
        Ok(())
    }

    /// Tables may have been added since the snapshot, behind those that there were.
    fn check_tables(&self, folder: &Path, snapshot: &SnapshotRecord) -> Result<(), PrimaryError> {
        let hashes = self
            .tables
            .iter()
            .map(|table| schema_hash(&table.definition));
        let stored = snapshot.tables.iter().map(|table| table.schema);
        let has_all = self.tables.len() >= snapshot.tables.len();
        if has_all && stored.eq(hashes.take(snapshot.tables.len())) {
            return Ok(());
        }
        Err(PrimaryError::OtherTables {
            file: folder.join(FILE_NAME).display().to_string(),
        })
    }

    fn load_data(
        &mut self,
        env: &Env,
        folder: &Path,
        snapshot: &SnapshotRecord,
    ) -> Result<Vec<Place>, PrimaryError> {
        let mut data = DataReader::open(&*env.disk, folder, snapshot)?;
        let mut places = Vec::new();
        while let Some(chunk) = data.chunk()? {
            data.pass(&chunk);
            self.load_chunk(&chunk, &mut places)
                .map_err(|detail| data.error(&chunk, detail))?;
            self.make_room();
            self.write_blocks()?;
        }
        Ok(places)
    }

    /// Takes a chunk whose checksum is right. An error says what is wrong with it nevertheless.
    fn load_chunk(&mut self, chunk: &DataChunk, places: &mut Vec<Place>) -> Result<(), String> {
        let header = &chunk.header;
        let tables = self.tables.len();
        let table = self.tables.get_mut(usize::from(header.table.0));
        let table = table
            .ok_or_else(|| format!("found table {}, expected one of {tables}", header.table.0))?;
        let mut count = 0;
        match header.kind {
            ChunkKind::Rows => {
                for row in chunk.rows() {
                    let row = row.and_then(|row| table.layout.split(row));
                    let row = row.ok_or("found other bytes, expected a row of its table")?;
                    table.insert(row).map_err(|problem| problem.to_string())?;
                    count += 1;
                }
            }
            ChunkKind::Evicted => {
                for place in chunk.places() {
                    places.push((place, header.table));
                    count += 1;
                }
            }
        }
        if count == header.count {
            return Ok(());
        }
        Err(format!("found {count} entries, expected {}", header.count))
    }

    fn load_evicted(
        &mut self,
        env: &Env,
        folder: &Path,
        snapshot: &SnapshotRecord,
        places: &[Place],
    ) -> Result<(), PrimaryError> {
        if places.is_empty() {
            return Ok(());
        }
        let geometry = snapshot.geometry;
        let files = BlockFiles::open(
            env.clone(),
            folder.join("blocks"),
            geometry.block_bytes as usize,
            geometry.blocks_per_file,
        )?;
        let stays = self.anti_cache.as_ref().map(|own| own.geometry()) == Some(geometry);
        for of_block in places.chunk_by(|a, b| a.0.block == b.0.block) {
            let block = files.read(of_block[0].0.block)?;
            self.load_block(&files, &block, of_block, stays)?;
            if let Some(anti_cache) = self.anti_cache.as_mut().filter(|_| stays) {
                let live = of_block.len() as u32;
                anti_cache.restore(block.id, block.table, block.rows(), live);
            }
            self.make_room();
            self.write_blocks()?;
        }
        if let Some(anti_cache) = self.anti_cache.as_mut() {
            anti_cache.close_restored();
        }
        Ok(())
    }

    /// Takes the rows of a block that are still in it.
    fn load_block(
        &mut self,
        files: &BlockFiles,
        block: &Block,
        places: &[Place],
        stays: bool,
    ) -> Result<(), PrimaryError> {
        let mut copy = RowBuffer::default();
        for (place, number) in places {
            let error = |detail: String| {
                let (path, offset) = files.place_of(block.id);
                damaged(&path, offset + u64::from(place.at), detail)
            };
            let (found, expected) = (block.table.0, number.0);
            let table = self.tables.get_mut(usize::from(expected));
            let table = table.filter(|_| found == expected);
            let table = table.ok_or_else(|| {
                error(format!(
                    "found a block of table {found}, expected one of {expected}"
                ))
            })?;
            let row = block.find_row(place.at, &table.layout);
            let row = row.ok_or_else(|| error("found other bytes, expected a row".into()))?;
            let taken = if stays {
                copy.copy(row);
                table.insert_evicted(&mut copy, *place)
            } else {
                table.insert(row).map(drop)
            };
            taken.map_err(|problem| error(problem.to_string()))?;
        }
        Ok(())
    }

    fn check_digests(
        &self,
        folder: &Path,
        snapshot: &SnapshotRecord,
        places: &[Place],
    ) -> Result<(), PrimaryError> {
        let path = data_path(folder, snapshot.number);
        for (table, expected) in self.tables.iter().zip(&snapshot.tables) {
            let of_table = places.iter().filter(|place| place.1 == table.number);
            let evicted = of_table.count() as u64;
            let all = (table.rows_in_memory() + table.evicted.len()) as u64;
            let name = &table.definition.name;
            if (all, evicted) != (expected.rows + expected.evicted, expected.evicted) {
                let (rows, expected_rows) = (all - evicted, expected.rows);
                let detail = format!(
                    "found {rows} rows and {evicted} evicted ones of table {name}, expected \
                     {expected_rows} and {}",
                    expected.evicted
                );
                return Err(damaged(&path, snapshot.data_bytes, detail));
            }
            let digest = table.digest();
            if digest != expected.digest {
                let (found, expected) = (digest.0, expected.digest.0);
                let detail =
                    format!("found digest {found:016x} of table {name}, expected {expected:016x}");
                return Err(damaged(&path, snapshot.data_bytes, detail));
            }
        }
        Ok(())
    }
}
