//! RocksDB under the settings that it has for keeping its cache warm.
//!
//! * `lru`, `flush-warmed`, `everything-warmed`: `prepopulate_block_cache` off, for flushes, for flushes
//!   and compactions, each with an LRU cache; `clock`: off, with a HyperClockCache, its default since
//!   10.7; `row-cache`: half of the cache for rows, which a compaction empties, too, as their keys
//!   have the file's number.
//! * Otherwise as `rocksdb_settings` has it for writes, but blocks of 4 KiB and no compression: the rows
//!   are random. Indexes and filters are in memory beside the cache, as ours are.

use anyhow::Result;
use clap::ValueEnum;
use contender::caching::{
    self, CachedStore, CachingArguments, Progress, RANGE_ROWS, Row, key_of, version_of,
};
use rocksdb::statistics::Ticker;
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, Options, WaitForCompactOptions, WriteBatch,
    WriteOptions, properties,
};

use crate::rocksdb_settings::{self, FILTER_BITS, Memory};

const BLOCK_BYTES: usize = 4 << 10;

/// What keeps the cache warm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Caching {
    /// Nothing; an LRU.
    Lru,
    /// Flushes; an LRU.
    FlushWarmed,
    /// Flushes and compactions; an LRU.
    EverythingWarmed,
    /// Nothing; a HyperClockCache.
    Clock,
    /// Nothing; half for rows, both LRUs.
    RowCache,
}

impl Caching {
    fn prepopulated(self) -> &'static str {
        match self {
            Self::FlushWarmed => "kFlushOnly",
            Self::EverythingWarmed => "kFlushAndCompaction",
            Self::Lru | Self::Clock | Self::RowCache => "kDisable",
        }
    }

    fn block_cache(self, bytes: usize) -> Cache {
        match self {
            Self::Clock => Cache::new_hyper_clock_cache(bytes, BLOCK_BYTES),
            Self::RowCache => Cache::new_lru_cache(bytes / 2),
            _ => Cache::new_lru_cache(bytes),
        }
    }
}

/// Runs, and prints the report.
pub fn run(arguments: &CachingArguments, caching: Caching) -> Result<()> {
    arguments.common.enter()?;
    let store = RocksdbCaching::open(arguments, caching)?;
    let report = caching::run(&store, arguments)?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

struct RocksdbCaching {
    db: DB,
    /// Has the counters.
    options: Options,
    write_options: WriteOptions,
    settings: String,
}

impl RocksdbCaching {
    fn open(arguments: &CachingArguments, caching: Caching) -> Result<Self> {
        let memory = Memory {
            write_buffer: arguments.c0_bytes,
            cache: arguments.cache_bytes,
            cached_indexes: false,
        };
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_use_direct_reads(true);
        options.set_use_direct_io_for_flush_and_compaction(true);
        options.enable_statistics();
        rocksdb_settings::set_levels(&mut options, memory);
        options.set_compression_type(DBCompressionType::None);
        let cache = caching.block_cache(memory.cache as usize);
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_size(BLOCK_BYTES);
        blocks.set_bloom_filter(FILTER_BITS, false);
        blocks.set_block_cache(&cache);
        options.set_block_based_table_factory(&blocks);
        let prepopulated = caching.prepopulated();
        let mut options = options.get_options_from_string(format!(
            "block_based_table_factory={{prepopulate_block_cache={prepopulated};}}"
        ))?;
        if caching == Caching::RowCache {
            options.set_row_cache(&Cache::new_lru_cache(memory.cache as usize / 2));
        }
        let settings = format!(
            "{caching:?}, prepopulate_block_cache {prepopulated}, cache {} KiB, blocks of 4 KiB, write \
             buffers of {} KiB, no compression, no log, direct I/O, dynamic levels",
            memory.cache >> 10,
            memory.write_buffer >> 10
        );
        Ok(Self {
            db: DB::open(&options, &arguments.common.folder)?,
            options,
            write_options: rocksdb_settings::without_log(),
            settings,
        })
    }

    fn property(&self, name: &properties::PropName) -> u64 {
        let value = self.db.property_int_value(name);
        value.ok().flatten().unwrap_or(0)
    }
}

fn key(number: u64) -> [u8; 8] {
    key_of(number).to_be_bytes()
}

impl CachedStore for RocksdbCaching {
    fn put(&self, rows: &[Row]) -> Result<()> {
        let mut batch = WriteBatch::default();
        for row in rows {
            batch.put(row.key.to_be_bytes(), row.value);
        }
        Ok(self.db.write_opt(batch, &self.write_options)?)
    }

    fn get(&self, number: u64, value: &mut Vec<u8>) -> Result<bool> {
        let found = self.db.get_pinned(key(number))?;
        if let Some(found) = &found {
            value.extend_from_slice(found);
        }
        Ok(found.is_some())
    }

    fn range(&self, number: u64) -> Result<u64> {
        let mut rows = self.db.raw_iterator();
        rows.seek(key(number));
        let mut intact = 0;
        for next in number..number + RANGE_ROWS {
            let Some(value) = rows.value() else {
                break;
            };
            intact += u64::from(version_of(next, value).is_some());
            rows.next();
        }
        rows.status()?;
        Ok(intact)
    }

    fn progress(&self) -> Progress {
        let count = |ticker| self.options.get_ticker_count(ticker);
        Progress {
            misses: count(Ticker::BlockCacheDataMiss),
            warmed: count(Ticker::BlockCacheDataAdd)
                .saturating_sub(count(Ticker::BlockCacheDataMiss)),
            warmed_used: 0,
            bytes_merged: count(Ticker::CompactWriteBytes),
            is_merging: self.property(properties::NUM_RUNNING_COMPACTIONS) > 0,
        }
    }

    fn settle(&self) -> Result<()> {
        self.db.flush()?;
        let options = WaitForCompactOptions::default();
        Ok(self.db.wait_for_compact(&options)?)
    }

    fn settings(&self) -> String {
        let indexes = self.property(properties::ESTIMATE_TABLE_READERS_MEM);
        format!(
            "{}; filters and indexes take {} KiB",
            self.settings,
            indexes >> 10
        )
    }
}
