//! InnoDB behind memcached: whole rows are cached, as the bytes of their texts.
//!
//! 1. A read asks memcached. What is not there comes from InnoDB and is put into memcached.
//! 2. An update changes InnoDB and then deletes the row from memcached; it has ended when both are done.
//!
//! Commands of the transactions that are under way go to either server at once. The memory limit is for
//! both: memcached has a share of what the buffer pool alone would have. After loading memcached has the
//! newest rows, as many as fit (Anti-Caching, section 4.2, preloads it, too).

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use contender::ycsb::row::{ROW_BYTES, write_row};
use contender::ycsb::{self, Checks, Client, Counts, Transaction, YcsbArguments, YcsbSide};

use crate::innodb_ycsb::{InnodbClient, InnodbStore, Pipeline, buffer_pool_bytes};
use crate::memcached_client::{Found, MemcachedClient, Permission};
use crate::memcached_server::{CHUNK_BYTES, MemcachedServer};

/// What memcached takes besides its items: its hash table, threads and connections.
const OWN_BYTES: u64 = 16 << 20;

/// Rows that are put into memcached at once.
const CHUNK_ROWS: u64 = 100;

/// Loads, and does the tasks of `input`. memcached has `share` of the caches' memory.
pub fn serve(
    arguments: &YcsbArguments,
    pipeline: Pipeline,
    share: f64,
    input: impl BufRead,
    output: impl Write,
) -> Result<()> {
    ensure!(
        share > 0.0 && share < 1.0,
        "the share is not between 0 and 1"
    );
    let memory_bytes = arguments.common.memory_bytes;
    let both = buffer_pool_bytes(memory_bytes, pipeline.connections, OWN_BYTES);
    let item_bytes = (both as f64 * share) as u64;
    let store = InnodbStore::load(arguments, pipeline, OWN_BYTES + item_bytes)?;
    let folder = &arguments.common.folder;
    let server = MemcachedServer::start(folder, item_bytes)?;
    let preloaded = preload(&mut server.connect()?, arguments.rows, item_bytes)?;
    let hits = Arc::new(AtomicU64::new(0));
    let client = |_| -> Result<LookAsideClient> {
        Ok(LookAsideClient {
            innodb: store.client()?,
            memcached: server.connect()?,
            hits: Arc::clone(&hits),
            value: Vec::new(),
            missing: Vec::new(),
        })
    };
    let clients: Result<Vec<_>> = (0..pipeline.connections).map(client).collect();
    let settings = format!(
        "memcached, {} MiB for rows, the newest {preloaded} preloaded; {}",
        item_bytes >> 20,
        store.in_words()
    );
    let mut side = LookAside {
        clients: clients?,
        store,
        hits,
        batch: pipeline.depth,
        settings,
    };
    ycsb::serve(&mut side, arguments, input, output)
}

/// Puts the newest rows into memcached, the very newest last; how many.
fn preload(memcached: &mut MemcachedClient, rows: u64, item_bytes: u64) -> Result<u64> {
    let count = rows.min(item_bytes / CHUNK_BYTES as u64);
    let mut texts = [0; ROW_BYTES];
    for key in rows - count..rows {
        write_row(key, &mut texts);
        memcached.put(key, &texts);
        if key % CHUNK_ROWS == 0 {
            memcached.settle()?;
        }
    }
    memcached.settle()?;
    Ok(count)
}

/// A connection to either.
struct LookAsideClient {
    innodb: InnodbClient,
    memcached: MemcachedClient,
    hits: Arc<AtomicU64>,
    value: Vec<u8>,
    /// What goes to InnoDB.
    missing: Vec<(Transaction, Option<Permission>)>,
}

impl LookAsideClient {
    /// Asks memcached for all rows that are read. What it does not have, and all updates, begin in InnoDB.
    fn look(&mut self, transactions: &[Transaction], checks: &mut Checks) -> Result<()> {
        self.missing.clear();
        let reads = || transactions.iter().filter(|one| one.update.is_none());
        reads().for_each(|read| self.memcached.get(read.key));
        self.memcached.flush()?;
        for transaction in transactions {
            let mut permission = None;
            if transaction.update.is_none() {
                match self.memcached.found(&mut self.value)? {
                    Found::Value => {
                        checks.row_of_bytes(transaction.key, &self.value)?;
                        continue;
                    }
                    Found::Nothing(permitted) => permission = permitted,
                }
            }
            self.missing.push((*transaction, permission));
            self.innodb.begin(transaction);
        }
        let updates = transactions.len() - reads().count();
        let found = transactions.len() - self.missing.len();
        debug_assert!(self.missing.len() >= updates);
        self.hits.fetch_add(found as u64, Ordering::Relaxed);
        self.innodb.flush()
    }

    /// Ends what has begun in InnoDB, and tells memcached.
    fn end_missing(&mut self, checks: &mut Checks) -> Result<()> {
        let mut has_updated = false;
        for (transaction, permission) in self.missing.drain(..) {
            let key = transaction.key;
            if transaction.update.is_some() {
                self.innodb.end_update()?;
                self.memcached.delete(key);
                has_updated = true;
                continue;
            }
            let texts = self.innodb.end_read()?;
            checks.row_of_bytes(key, texts)?;
            if let Some(permission) = permission {
                self.memcached.put_permitted(key, texts, permission);
            }
        }
        match has_updated {
            true => self.memcached.settle(),
            false => self.memcached.flush(),
        }
    }
}

impl Client for LookAsideClient {
    fn run(&mut self, transactions: &[Transaction], checks: &mut Checks) -> Result<u64> {
        self.look(transactions, checks)?;
        self.end_missing(checks)?;
        Ok(transactions.len() as u64)
    }

    fn finish(&mut self, _: &mut Checks) -> Result<u64> {
        Ok(0)
    }

    fn read(&mut self, key: u64) -> Result<Vec<u8>> {
        self.memcached.get(key);
        self.memcached.flush()?;
        if let Found::Nothing(permission) = self.memcached.found(&mut self.value)? {
            self.value = self.innodb.read(key)?;
            if let Some(permission) = permission {
                self.memcached.put_permitted(key, &self.value, permission);
                self.memcached.settle()?;
            }
        }
        Ok(self.value.clone())
    }
}

struct LookAside {
    clients: Vec<LookAsideClient>,
    store: InnodbStore,
    hits: Arc<AtomicU64>,
    batch: usize,
    settings: String,
}

impl YcsbSide for LookAside {
    type Client = LookAsideClient;

    fn clients(&mut self) -> &mut [LookAsideClient] {
        &mut self.clients
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn counts(&mut self) -> Result<Counts> {
        Ok(Counts {
            disk_reads: self.store.disk_reads()?,
            cache_hits: self.hits.load(Ordering::Relaxed),
        })
    }

    fn settings(&self) -> String {
        self.settings.clone()
    }
}
