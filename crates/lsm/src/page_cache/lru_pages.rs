//! Cached pages of which the one used longest ago goes first.
//!
//! A baseline: what Rose had. One scan of everything drives all other pages out. Two readers that
//! miss a page at a time both load it, and the second one's stays.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use parking_lot::{Mutex, MutexGuard};

use super::{Charged, PageKey, PageKeyHash};

/// A shard bounds the largest page that is kept, so shards are not cut smaller.
const SHARD_BYTES_MIN: u64 = 4 << 20;

/// As LevelDB has them.
const SHARDS_MAX: u64 = 16;

/// See the module. Each shard is such a cache of its own.
pub(super) struct LruPages {
    shard_bytes_max: u64,
    shards: Vec<Mutex<State>>,
}

#[derive(Default)]
struct State {
    pages: HashMap<PageKey, Kept, PageKeyHash>,
    /// The pages by their last use, the oldest first.
    by_use: BTreeMap<u64, PageKey>,
    uses: u64,
    bytes: u64,
}

struct Kept {
    charged: Charged,
    /// Number of its last use.
    used: u64,
}

impl LruPages {
    /// At most so many bytes.
    pub fn new(bytes_max: u64) -> Self {
        let shards = (bytes_max / SHARD_BYTES_MIN).clamp(1, SHARDS_MAX);
        Self {
            shard_bytes_max: bytes_max / shards,
            shards: (0..shards).map(|_| Mutex::default()).collect(),
        }
    }

    fn shard(&self, key: PageKey) -> MutexGuard<'_, State> {
        let hash = PageKeyHash::default().hash_one(key);
        self.shards[hash as usize % self.shards.len()].lock()
    }

    /// The page, which is used by that.
    pub fn get(&self, key: PageKey) -> Option<Charged> {
        let mut state = self.shard(key);
        let charged = state.take(key)?;
        state.put(key, charged.clone());
        Some(charged)
    }

    /// Keeps a page, in the place of others. One that is larger than the cache is not kept.
    pub fn insert(&self, key: PageKey, charged: Charged) {
        if charged.bytes > self.shard_bytes_max {
            return;
        }
        let mut state = self.shard(key);
        state.take(key);
        state.put(key, charged);
        state.shrink(self.shard_bytes_max);
    }

    /// The same for a page that is kept already, and has grown.
    pub fn replace(&self, key: PageKey, charged: Charged) {
        let mut state = self.shard(key);
        if state.take(key).is_some() {
            state.put(key, charged);
            state.shrink(self.shard_bytes_max);
        }
    }

    /// Whether the page is kept. Does not use it.
    pub fn contains(&self, key: PageKey) -> bool {
        self.shard(key).pages.contains_key(&key)
    }

    /// Forgets the page.
    pub fn remove(&self, key: PageKey) {
        self.shard(key).take(key);
    }

    /// Bytes of all pages.
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().bytes).sum()
    }
}

impl State {
    fn put(&mut self, key: PageKey, charged: Charged) {
        let used = self.uses;
        self.uses += 1;
        self.bytes += charged.bytes;
        self.by_use.insert(used, key);
        self.pages.insert(key, Kept { charged, used });
    }

    fn shrink(&mut self, bytes_max: u64) {
        while self.bytes > bytes_max {
            let oldest = self.by_use.first_key_value().map(|(_, &key)| key);
            self.take(oldest.expect("bytes are those of pages"));
        }
    }

    fn take(&mut self, key: PageKey) -> Option<Charged> {
        let Kept { charged, used } = self.pages.remove(&key)?;
        self.by_use.remove(&used);
        self.bytes -= charged.bytes;
        Some(charged)
    }
}
