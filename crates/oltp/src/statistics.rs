//! What a partition counts.

/// Counts since the partition was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AntiCacheStatistics {
    /// Rows that went to disk.
    pub evicted_rows: u64,
    /// Rows that came back.
    pub returned_rows: u64,
    /// Blocks that were made.
    pub written_blocks: u64,
    /// Blocks that were read for waiting transactions.
    pub read_blocks: u64,
    /// Transactions that met evicted data and ran again.
    pub restarts: u64,
    /// Rows that a transaction fetched inside the partition, after too many restarts.
    pub blocking_fetches: u64,
}

/// A table, now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStatistics {
    /// Its name.
    pub name: String,
    /// Rows in memory.
    pub rows_in_memory: usize,
    /// Rows on disk.
    pub rows_evicted: usize,
    /// Bytes of its rows in memory, as allocated.
    pub row_bytes: usize,
    /// Bytes of its indexes.
    pub index_bytes: usize,
}

/// Where the memory of a partition is, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// In use by rows, texts, indexes, evicted entries, blocks to be written and bookkeeping: what the
    /// budget is held against.
    pub live_bytes: usize,
    /// The same with the room for rows that was allocated and is not in use.
    pub held_bytes: usize,
}
