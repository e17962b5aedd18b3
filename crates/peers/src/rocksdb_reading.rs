//! RocksDB as a reader of what it has inserted.
//!
//! From "Iterator", "MultiGet Performance" and "Block Cache" of its wiki:
//!
//! * compacted to one level first, so that an iterator has nothing to merge, and a look-up asks
//!   one file;
//! * scans read ahead 2 MiB, and leave the block cache to look-ups;
//! * many keys are looked up with the batched interface, into slices that are not copied.
//!
//! Values become columns ([`crate::row_columns`]), as ours and Parquet's are.

use std::io;
use std::path::Path;

use anyhow::Result;
use contender::record::Record;
use contender::{Cells, Contender, LookUp, ReadingArguments, Scan, Wanted, reading};
use rocksdb::statistics::Ticker;
use rocksdb::{DEFAULT_COLUMN_FAMILY_NAME, ReadOptions, properties};

use crate::rocksdb_settings::{Compression, Memory};
use crate::rocksdb_side::RocksdbSide;
use crate::row_columns::RowColumns;
use crate::row_encoding::{Key, key};

/// What an iterator reads ahead, bytes.
const READ_AHEAD_BYTES: usize = 2 << 20;

/// Reads what it is told to, and prints the report.
pub fn run(arguments: &ReadingArguments, compression: Compression) -> Result<()> {
    arguments.common.enter()?;
    let mut reader = Reader::open(arguments, compression)?;
    let report = reading::run(&mut reader, arguments, io::stdin().lock())?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

struct Reader(RocksdbSide);

impl Reader {
    fn open(arguments: &ReadingArguments, compression: Compression) -> Result<Self> {
        let folder = &arguments.common.folder;
        let limit = arguments.common.memory_bytes;
        let side = RocksdbSide::open(folder, compression, Memory::for_writes(limit))?;
        side.rocksdb.db.compact_range::<&[u8], &[u8]>(None, None);
        drop(side);
        let memory = Memory::for_reads(limit, reading::cache_bytes(folder)?);
        RocksdbSide::open(folder, compression, memory).map(Self)
    }

    fn property(&self, name: &properties::PropName) -> Result<u64> {
        let value = self.0.rocksdb.db.property_int_value(name)?;
        Ok(value.unwrap_or(0))
    }
}

impl Scan for Reader {
    fn scan(&self, wanted: Wanted) -> Result<Cells> {
        let mut options = ReadOptions::default();
        options.set_readahead_size(READ_AHEAD_BYTES);
        options.fill_cache(false);
        let mut rows = self.0.rocksdb.db.raw_iterator_opt(options);
        let mut columns = RowColumns::new(wanted);
        rows.seek_to_first();
        while let Some((key, value)) = rows.item() {
            columns.push(key, value);
            rows.next();
        }
        rows.status()?;
        Ok(columns.finish())
    }
}

/// What a look-up finds, the key being known.
fn found(record: &Record, value: &[u8]) -> Cells {
    let mut row = *record;
    let (_, cells) = row.split_at_mut(record.len() - value.len());
    cells.copy_from_slice(value);
    Cells::looked_up(&row)
}

impl LookUp for Reader {
    fn get(&self, record: &Record) -> Result<Cells> {
        let value = self.0.rocksdb.db.get_pinned(key(record))?;
        Ok(value.map_or(Cells::default(), |value| found(record, &value)))
    }

    fn multi_get(&self, records: &[Record]) -> Result<Cells> {
        let keys: Vec<Key> = records.iter().map(key).collect();
        let db = &self.0.rocksdb.db;
        let family = db.cf_handle(DEFAULT_COLUMN_FAMILY_NAME);
        let family = family.expect("every database has it");
        let mut cells = Cells::default();
        let values = db.batched_multi_get_cf(family, &keys, false);
        for (record, value) in records.iter().zip(values) {
            if let Some(value) = value? {
                cells += found(record, &value);
            }
        }
        Ok(cells)
    }

    fn reads(&self) -> u64 {
        let options = &self.0.rocksdb.options;
        options.get_ticker_count(Ticker::BlockCacheDataMiss)
    }
}

impl Contender for Reader {
    fn folder(&self) -> &Path {
        self.0.folder()
    }

    fn settings(&self) -> String {
        let indexes = self.property(properties::ESTIMATE_TABLE_READERS_MEM);
        format!(
            "{}; compacted to one level, statistics on, scans read ahead {} MiB past the cache; \
             filters and indexes take {} MiB",
            self.0.settings(),
            READ_AHEAD_BYTES >> 20,
            indexes.unwrap_or(0) >> 20
        )
    }

    fn insert(&mut self, records: &[Record]) -> Result<()> {
        self.0.insert(records)
    }

    fn make_durable(&mut self) -> Result<()> {
        self.0.make_durable()
    }

    fn settle(&mut self) -> Result<()> {
        self.0.settle()
    }

    fn bytes_written(&mut self) -> Result<u64> {
        self.0.bytes_written()
    }
}
