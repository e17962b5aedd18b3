//! Who takes part, and how each is started.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A side of the comparison.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Ours.
    Hedgerow,
    /// Our trees; the page used longest ago leaves the cache, dead or alive.
    PlainLsm,
    /// The same, and dead pages leave at once.
    DeadPagesErased,
    /// The same, and each page that merges write enters the cache.
    EverythingWarmed,
    /// The same for those that share keys with a cached page.
    OverlappingWarmed,
    /// Dead pages leave at once, and scans do not drive out what is used again and again.
    ScanResistant,
    /// The same as plain, but with leveled merges, as bLSM has them.
    PlainLeveled,
    /// Leveled merges with LSbM's compaction buffer.
    Lsbm,
    /// Leveled merges with our warming.
    LeveledWarmed,
    /// Stepped merge instead of our merges, else as plain.
    SteppedMerge,
    /// More than half of the cache is for rows, the rest as plain.
    KeyValueCache,
    /// RocksDB, which warms nothing; its cache is an LRU.
    RocksdbLru,
    /// The same, and it warms what it flushes.
    RocksdbFlushWarmed,
    /// The same, and it warms all that it writes.
    RocksdbEverythingWarmed,
    /// Its own default: a HyperClockCache, and nothing is warmed.
    RocksdbClock,
    /// With a row cache beside.
    RocksdbRowCache,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no side is skipped");
        f.write_str(value.get_name())
    }
}

impl Side {
    /// Those that are no peers.
    pub fn own() -> Vec<Self> {
        let is_own = |side: &Self| !side.is_rocksdb();
        Self::value_variants()
            .iter()
            .copied()
            .filter(is_own)
            .collect()
    }

    /// Whether it is a setting of RocksDB.
    pub fn is_rocksdb(self) -> bool {
        self.rocksdb_caching().is_some()
    }

    /// Whether it is our trees with a policy that ours may not do worse than.
    pub fn is_fixed_policy(self) -> bool {
        matches!(
            self,
            Self::PlainLsm
                | Self::DeadPagesErased
                | Self::EverythingWarmed
                | Self::OverlappingWarmed
                | Self::ScanResistant
        )
    }

    /// The name in the results, where ours has none.
    pub fn peer(self) -> Option<String> {
        (self != Self::Hedgerow).then(|| self.to_string())
    }

    /// The name of RocksDB's setting.
    fn rocksdb_caching(self) -> Option<&'static str> {
        match self {
            Self::RocksdbLru => Some("lru"),
            Self::RocksdbFlushWarmed => Some("flush-warmed"),
            Self::RocksdbEverythingWarmed => Some("everything-warmed"),
            Self::RocksdbClock => Some("clock"),
            Self::RocksdbRowCache => Some("row-cache"),
            _ => None,
        }
    }

    /// The program; `peers` is the peers'.
    pub fn command(self, peers: Option<&Path>) -> Result<Command> {
        if let Some(caching) = self.rocksdb_caching() {
            let mut command = Command::new(peers.context("the peers are not built")?);
            command.args(["rocksdb-caching", "--caching", caching]);
            return Ok(command);
        }
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["caching-side", &self.to_string()]);
        Ok(command)
    }
}
