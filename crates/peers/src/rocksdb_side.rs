//! RocksDB as a contender: a batch of rows is a write batch.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use contender::record::Record;
use contender::{Arguments, Contender};
use rocksdb::statistics::Ticker;
use rocksdb::{WaitForCompactOptions, WriteBatch, WriteOptions};

use crate::rocksdb_settings::{self, Compression, Memory, Rocksdb};
use crate::row_encoding::{key, value};

/// Inserts the rows of standard input, and prints the report.
pub fn run(arguments: &Arguments, compression: Compression) -> Result<()> {
    arguments.enter()?;
    let memory = Memory::for_writes(arguments.memory_bytes);
    let mut side = RocksdbSide::open(&arguments.folder, compression, memory)?;
    let report = contender::run(&mut side, io::stdin().lock(), arguments.time_max())?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// An open database.
pub struct RocksdbSide {
    /// The database and its counters.
    pub rocksdb: Rocksdb,
    folder: PathBuf,
    settings: String,
    write_options: WriteOptions,
}

impl RocksdbSide {
    /// Opens or makes the database of a folder.
    pub fn open(folder: &Path, compression: Compression, memory: Memory) -> Result<Self> {
        Ok(Self {
            rocksdb: rocksdb_settings::open(folder, compression, memory)?,
            folder: folder.to_owned(),
            settings: rocksdb_settings::in_words(compression, memory),
            write_options: rocksdb_settings::without_log(),
        })
    }
}

impl Contender for RocksdbSide {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn settings(&self) -> String {
        self.settings.clone()
    }

    fn insert(&mut self, records: &[Record]) -> Result<()> {
        let mut batch = WriteBatch::default();
        for record in records {
            batch.put(key(record), value(record));
        }
        Ok(self.rocksdb.db.write_opt(batch, &self.write_options)?)
    }

    fn make_durable(&mut self) -> Result<()> {
        Ok(self.rocksdb.db.flush()?)
    }

    fn settle(&mut self) -> Result<()> {
        let options = WaitForCompactOptions::default();
        Ok(self.rocksdb.db.wait_for_compact(&options)?)
    }

    fn bytes_written(&mut self) -> Result<u64> {
        let written = [Ticker::FlushWriteBytes, Ticker::CompactWriteBytes];
        let count = |ticker| self.rocksdb.options.get_ticker_count(ticker);
        Ok(written.map(count).iter().sum())
    }
}
