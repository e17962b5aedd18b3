//! A cache of rows in front of a store, as Cassandra and others have it beside the cache of pages.
//!
//! A row that is overwritten leaves the cache; a reader who was loading it does not bring the old one
//! back, because the place that he has in the cache goes, too.
//!
//! Ranges are read past it: it does not know which rows are missing in between.

use std::sync::Arc;

use anyhow::Result;
use contender::caching::{CachedStore, Progress, ROW_BYTES, Row};
use quick_cache::sync::{Cache, GuardResult};

/// What a cached row costs beside its bytes: key, hash slot, queue links.
const ROW_OVERHEAD_BYTES: usize = 64;

/// See the module.
pub struct KeyValueCache<'a, S> {
    store: &'a S,
    rows: Cache<u64, Arc<[u8; ROW_BYTES]>>,
}

impl<'a, S: CachedStore> KeyValueCache<'a, S> {
    /// An empty cache of so many bytes in front of a store.
    pub fn new(store: &'a S, bytes: u64) -> Self {
        let rows = bytes as usize / (ROW_BYTES + ROW_OVERHEAD_BYTES);
        Self {
            store,
            rows: Cache::new(rows),
        }
    }
}

impl<S: CachedStore> CachedStore for KeyValueCache<'_, S> {
    fn begin_reading(&self) -> Result<()> {
        self.store.begin_reading()
    }

    fn put(&self, rows: &[Row]) -> Result<()> {
        self.store.put(rows)?;
        for row in rows {
            self.rows.remove(&row.number);
        }
        Ok(())
    }

    fn get(&self, number: u64, value: &mut Vec<u8>) -> Result<bool> {
        let guard = match self.rows.get_value_or_guard(&number, None) {
            GuardResult::Value(row) => {
                value.extend_from_slice(&row[..]);
                return Ok(true);
            }
            GuardResult::Guard(guard) => guard,
            GuardResult::Timeout => unreachable!("there is no time limit"),
        };
        let is_there = self.store.get(number, value)?;
        if let Ok(row) = <[u8; ROW_BYTES]>::try_from(&value[..]) {
            // It fails where the row was overwritten meanwhile.
            let _ = guard.insert(Arc::new(row));
        }
        Ok(is_there)
    }

    fn range(&self, number: u64) -> Result<u64> {
        self.store.range(number)
    }

    fn progress(&self) -> Progress {
        self.store.progress()
    }

    fn settle(&self) -> Result<()> {
        self.store.settle()
    }

    fn settings(&self) -> String {
        let rows = self.rows.capacity();
        format!("{}; and a cache of {rows} rows", self.store.settings())
    }
}
