//! RocksDB with YCSB's transactions, as its wiki sets it up for look-ups by key in little memory.
//!
//! * "Setup Options and Basic Tuning", "Block Cache", "RocksDB Bloom Filter": levels as
//!   [`crate::rocksdb_settings`] has them; a fifth of the memory for three write buffers, most of the rest
//!   for the block cache, indexes and filters included; blocks of 4 KiB, its default, because a look-up
//!   wants one row of them; filters not for the last level, because all keys that are asked for exist;
//!   direct reads and merges. No compression: the texts are random.
//! * "Merge Operator": an update does not read the row but adds what has changed to it, which look-ups and
//!   compactions fold in ([`fold`]). A row that is updated again and again in a write buffer is folded
//!   there.
//! * "WAL Performance": a client's transactions go to the log one by one; then one sync makes all of them
//!   durable, before they are acknowledged. Clients that sync at the same time share it.
//! * The newest rows, which are the hottest, are read once after loading, so that they are in the block cache.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use clap::Args;
use contender::ycsb::row::{DATA_BYTES, ROW_BYTES, TEXT_BYTES, TEXTS, write_row, write_text};
use contender::ycsb::{self, Checks, Client, Counts, Transaction, Update, YcsbArguments, YcsbSide};
use rocksdb::statistics::Ticker;
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, MergeOperands, Options, WaitForCompactOptions,
    WriteBatch,
};

use crate::rocksdb_settings::{self, FILTER_BITS, Memory};

const BLOCK_BYTES: usize = 4 << 10;

/// What is taken besides write buffers and block cache: compactions and the threads.
const OWN_BYTES: u64 = 48 << 20;

/// Updates of a row after each other in a write buffer that are kept as such.
const SUCCESSIVE_MERGES: usize = 4;

/// Bytes of an update: its column and its text.
const UPDATE_BYTES: usize = 1 + TEXT_BYTES;

/// Rows that are loaded by one write.
const CHUNK_ROWS: u64 = 1_000;

/// Those that run transactions.
#[derive(Clone, Copy, Debug, Args)]
pub struct Threads {
    /// Threads
    #[arg(long, default_value_t = 16)]
    pub threads: usize,
    /// Transactions of each that share a sync
    #[arg(long, default_value_t = 64)]
    pub depth: usize,
}

/// Loads, and does the tasks of `input`.
pub fn serve(
    arguments: &YcsbArguments,
    threads: Threads,
    input: impl BufRead,
    output: impl Write,
) -> Result<()> {
    ensure!(
        threads.threads > 0 && threads.depth > 0,
        "there must be something to do"
    );
    arguments.common.enter()?;
    let memory = memory(arguments.common.memory_bytes);
    let (db, options) = open(&arguments.common.folder, memory)?;
    let db = Arc::new(db);
    load(&db, arguments.rows)?;
    let client = || RocksdbClient {
        db: Arc::clone(&db),
    };
    let mut side = RocksdbYcsb {
        clients: (0..threads.threads).map(|_| client()).collect(),
        options,
        threads,
        memory,
    };
    let cached = arguments.rows.min(memory.cache / DATA_BYTES as u64);
    for key in arguments.rows - cached..arguments.rows {
        side.clients[0].read(key)?;
    }
    ycsb::serve(&mut side, arguments, input, output)
}

fn memory(limit: u64) -> Memory {
    let write_buffer = limit / 16;
    Memory {
        write_buffer,
        cache: limit
            .saturating_sub(3 * write_buffer + OWN_BYTES)
            .max(8 << 20),
        cached_indexes: true,
    }
}

fn open(folder: &Path, memory: Memory) -> Result<(DB, Options)> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_use_direct_reads(true);
    options.set_use_direct_io_for_flush_and_compaction(true);
    options.enable_statistics();
    rocksdb_settings::set_levels(&mut options, memory);
    options.set_compression_type(DBCompressionType::None);
    options.set_optimize_filters_for_hits(true);
    options.set_merge_operator("update of a text", fold, combine);
    options.set_max_successive_merges(SUCCESSIVE_MERGES);
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_size(BLOCK_BYTES);
    blocks.set_bloom_filter(FILTER_BITS, false);
    blocks.set_block_cache(&Cache::new_lru_cache(memory.cache as usize));
    blocks.set_cache_index_and_filter_blocks(memory.cached_indexes);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(memory.cached_indexes);
    options.set_block_based_table_factory(&blocks);
    Ok((DB::open(&options, folder)?, options))
}

fn load(db: &DB, rows: u64) -> Result<()> {
    let mut texts = [0; ROW_BYTES];
    let write_options = rocksdb_settings::without_log();
    let mut from = 0;
    while from < rows {
        let to = rows.min(from + CHUNK_ROWS);
        let mut batch = WriteBatch::default();
        for key in from..to {
            write_row(key, &mut texts);
            batch.put(key.to_be_bytes(), texts);
        }
        db.write_opt(batch, &write_options)?;
        from = to;
    }
    db.flush()?;
    Ok(db.wait_for_compact(&WaitForCompactOptions::default())?)
}

/// A row with its updates, the oldest first.
fn fold(_: &[u8], row: Option<&[u8]>, updates: &MergeOperands) -> Option<Vec<u8>> {
    let mut row = row?.to_vec();
    let (texts, _) = row.as_chunks_mut::<TEXT_BYTES>();
    for update in updates.iter().flat_map(|some| some.chunks(UPDATE_BYTES)) {
        let (column, text) = update.split_first()?;
        texts.get_mut(usize::from(*column))?.copy_from_slice(text);
    }
    Some(row)
}

/// Updates of which each column's last one is left.
fn combine(_: &[u8], first: Option<&[u8]>, updates: &MergeOperands) -> Option<Vec<u8>> {
    let mut last = [None; TEXTS];
    let all = first.into_iter().chain(updates.iter());
    for update in all.flat_map(|some| some.chunks(UPDATE_BYTES)) {
        *last.get_mut(usize::from(*update.first()?))? = Some(update);
    }
    Some(last.into_iter().flatten().flatten().copied().collect())
}

/// A thread of ours.
struct RocksdbClient {
    db: Arc<DB>,
}

impl RocksdbClient {
    fn update(&self, key: u64, update: Update) -> Result<()> {
        let mut bytes = [0; UPDATE_BYTES];
        let (column, texts) = bytes.split_at_mut(1);
        column[0] = update.column as u8;
        let text = texts.first_chunk_mut().expect("it has room for a text");
        write_text(key, update.column, update.version, text);
        Ok(self.db.merge(key.to_be_bytes(), bytes)?)
    }
}

impl Client for RocksdbClient {
    fn run(&mut self, transactions: &[Transaction], checks: &mut Checks) -> Result<u64> {
        let mut has_updated = false;
        for transaction in transactions {
            let key = transaction.key;
            if let Some(update) = transaction.update {
                self.update(key, update)?;
                has_updated = true;
                continue;
            }
            let row = self.db.get_pinned(key.to_be_bytes())?;
            checks.row_of_bytes(key, &row.context("a row is missing")?)?;
        }
        if has_updated {
            self.db.flush_wal(true)?;
        }
        Ok(transactions.len() as u64)
    }

    fn finish(&mut self, _: &mut Checks) -> Result<u64> {
        Ok(0)
    }

    fn read(&mut self, key: u64) -> Result<Vec<u8>> {
        let row = self.db.get(key.to_be_bytes())?;
        row.context("a row is missing")
    }
}

struct RocksdbYcsb {
    clients: Vec<RocksdbClient>,
    /// Has the counters.
    options: Options,
    threads: Threads,
    memory: Memory,
}

impl YcsbSide for RocksdbYcsb {
    type Client = RocksdbClient;

    fn clients(&mut self) -> &mut [RocksdbClient] {
        &mut self.clients
    }

    fn batch(&self) -> usize {
        self.threads.depth
    }

    fn counts(&mut self) -> Result<Counts> {
        Ok(Counts {
            disk_reads: self.options.get_ticker_count(Ticker::BlockCacheDataMiss),
            cache_hits: 0,
        })
    }

    fn settings(&self) -> String {
        let Threads { threads, depth } = self.threads;
        format!(
            "RocksDB, 3 write buffers of {} MiB, block cache {} MiB with indexes and filters, blocks of 4 \
             KiB, no compression, direct I/O, updates are merges, log synced with each {depth} transactions \
             of one of {threads} threads",
            self.memory.write_buffer >> 20,
            self.memory.cache >> 20
        )
    }
}
