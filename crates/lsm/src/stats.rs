//! What a store tells of itself.
use types::TableId;
#[derive(Clone, Debug, Default)]
pub struct ComponentStats { /// "C0", "C1", …
    pub name: String, pub runs: usize, pub segments: usize, pub versions: u64, pub bytes: u64 }
#[derive(Clone, Debug)]
pub struct TableStats { pub table: TableId, pub components: Vec<ComponentStats>, /// versions in all components: an upper bound of rows
    pub versions: u64, pub bytes_on_disk: u64, pub bytes_in_memory: u64 }
#[derive(Clone, Debug, Default)]
pub struct StoreStats { pub memory_bytes: u64, pub memory_bytes_max: u64, pub cache_bytes: u64, pub cache_hits: u64, pub cache_misses: u64,
    pub merges_running: u64, pub merges_done: u64, pub bytes_flushed: u64, pub bytes_merged: u64, pub snapshots: u64, pub oldest_snapshot: u64 }
