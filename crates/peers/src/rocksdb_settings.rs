//! RocksDB as its own guides set it up for many writes in little memory.
//!
//! From "Setup Options and Basic Tuning" and the "RocksDB Tuning Guide" of its wiki:
//!
//! * levels with dynamic sizes; the first one as large as what level 0 gathers (four flushes), a
//!   tenth of that a file; merges begin with the files that overlap least;
//! * as many background jobs as processors (two), a merge of level 0 cut in two;
//! * blocks of 16 KiB, Bloom filters of 10 bits a key, indexes and filters in the block cache,
//!   those of level 0 pinned, so that memory stays within the limit however many rows there are;
//! * half of the memory for three write buffers, a sixth for the block cache, the rest for merges,
//!   whose reads and writes go past the page cache, and for what lies between the allocations;
//! * no write-ahead log: like ours, it relies on its source to send again what was not flushed.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, CompactionPri, DB, DBCompressionType,
    DEFAULT_COLUMN_FAMILY_NAME, Options, WriteOptions,
};

/// Bits of a Bloom filter for each key.
pub const FILTER_BITS: f64 = 10.0;

/// How many write buffers there may be; one fills, the others are flushed.
const WRITE_BUFFERS: i32 = 3;

/// Flushes that level 0 gathers before they are merged.
const LEVEL0_FILES: u64 = 4;

/// How blocks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compression {
    /// zstd on all levels: the fewest bytes.
    Zstd,
    /// LZ4 on all levels: the least work.
    Lz4,
    /// LZ4, but zstd on the last level, which has nine rows of ten: what the wiki recommends.
    Mixed,
}

impl Compression {
    fn upper(self) -> DBCompressionType {
        match self {
            Self::Zstd => DBCompressionType::Zstd,
            Self::Lz4 | Self::Mixed => DBCompressionType::Lz4,
        }
    }

    fn bottom(self) -> DBCompressionType {
        match self {
            Self::Lz4 => DBCompressionType::Lz4,
            Self::Zstd | Self::Mixed => DBCompressionType::Zstd,
        }
    }
}

/// How memory is split, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Of one write buffer.
    pub write_buffer: u64,
    /// Of the block cache.
    pub cache: u64,
    /// Whether indexes and filters are in the cache and may leave it.
    pub cached_indexes: bool,
}

impl Memory {
    /// For insertion.
    pub fn for_writes(limit: u64) -> Self {
        Self {
            write_buffer: limit / 6,
            cache: limit / 6,
            cached_indexes: true,
        }
    }

    /// For look-ups, with all of the cache for blocks: indexes and filters stay in memory beside
    /// it, as the defaults have it.
    pub fn for_reads(limit: u64, cache: u64) -> Self {
        Self {
            write_buffer: limit / 6,
            cache,
            cached_indexes: false,
        }
    }
}

/// An open database, and the options that its counters belong to.
pub struct Rocksdb {
    /// The database.
    pub db: DB,
    /// What it was opened with; has the counters.
    pub options: Options,
}

/// Opens or makes the database of a folder.
pub fn open(folder: &Path, compression: Compression, memory: Memory) -> Result<Rocksdb> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_use_direct_reads(true);
    options.set_use_direct_io_for_flush_and_compaction(true);
    options.enable_statistics();
    set_levels(&mut options, memory);
    options.set_compression_type(compression.upper());
    options.set_bottommost_compression_type(compression.bottom());
    options.set_block_based_table_factory(&blocks(memory));
    // Named, because batched look-ups want its handle.
    let family = ColumnFamilyDescriptor::new(DEFAULT_COLUMN_FAMILY_NAME, options.clone());
    let db = DB::open_cf_descriptors(&options, folder, [family])?;
    Ok(Rocksdb { db, options })
}

/// Levels, write buffers and background jobs.
pub fn set_levels(options: &mut Options, memory: Memory) {
    let first_level = LEVEL0_FILES * memory.write_buffer;
    options.set_write_buffer_size(memory.write_buffer as usize);
    options.set_max_write_buffer_number(WRITE_BUFFERS);
    options.set_level_zero_file_num_compaction_trigger(LEVEL0_FILES as i32);
    options.set_max_bytes_for_level_base(first_level);
    options.set_target_file_size_base(first_level / 10);
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_compaction_pri(CompactionPri::MinOverlappingRatio);
    options.set_max_background_jobs(2);
    options.set_max_subcompactions(2);
}

fn blocks(memory: Memory) -> BlockBasedOptions {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_size(16 << 10);
    blocks.set_bloom_filter(FILTER_BITS, false);
    blocks.set_block_cache(&Cache::new_lru_cache(memory.cache as usize));
    blocks.set_cache_index_and_filter_blocks(memory.cached_indexes);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(memory.cached_indexes);
    blocks
}

/// Writes go to memory only.
pub fn without_log() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.disable_wal(true);
    options
}

/// The settings in words.
pub fn in_words(compression: Compression, memory: Memory) -> String {
    format!(
        "{:?}, {:?} on the last level; {WRITE_BUFFERS} write buffers of {} MiB, block cache {} \
         MiB with{} indexes and filters; Bloom filters of {FILTER_BITS} bits, blocks of 16 KiB, \
         direct I/O, no log, dynamic levels, 2 background jobs",
        compression.upper(),
        compression.bottom(),
        memory.write_buffer >> 20,
        memory.cache >> 20,
        if memory.cached_indexes { "" } else { "out" }
    )
}
