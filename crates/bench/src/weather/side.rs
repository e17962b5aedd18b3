//! Who takes part, and how each is started.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;

/// A side of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// Ours.
    Hedgerow,
    /// Our engine, merging as Rose did when it was published.
    Rose,
    /// Our engine with stepped merge.
    SteppedMerge,
    /// zstd on all levels.
    RocksdbZstd,
    /// LZ4 on all levels.
    RocksdbLz4,
    /// LZ4, but zstd on the last level, as its manual recommends.
    RocksdbMixed,
    /// MariaDB's.
    Innodb,
}

/// A side that this program is itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OwnSide {
    /// Ours.
    Hedgerow,
    /// As published.
    Rose,
    /// Stepped merge.
    SteppedMerge,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hedgerow => "hedgerow",
            Self::Rose => "rose",
            Self::SteppedMerge => "stepped-merge",
            Self::RocksdbZstd => "rocksdb-zstd",
            Self::RocksdbLz4 => "rocksdb-lz4",
            Self::RocksdbMixed => "rocksdb-mixed",
            Self::Innodb => "innodb",
        })
    }
}

impl Side {
    /// Whether it is a setting of RocksDB.
    pub fn is_rocksdb(self) -> bool {
        matches!(
            self,
            Self::RocksdbZstd | Self::RocksdbLz4 | Self::RocksdbMixed
        )
    }

    /// The name in the results, where ours has none.
    pub fn peer(self) -> Option<String> {
        (self != Self::Hedgerow).then(|| self.to_string())
    }

    /// Whether it is our engine, under whatever policy.
    pub fn is_our_engine(self) -> bool {
        matches!(self, Self::Hedgerow | Self::Rose | Self::SteppedMerge)
    }

    /// The program and which of its contenders it is; `peers` is the peers' program.
    pub fn command(self, peers: Option<&Path>) -> Result<Command> {
        let own = |name| -> Result<Command> {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["weather-side", name]);
            Ok(command)
        };
        let peer = |arguments: &[&str]| -> Result<Command> {
            let mut command = Command::new(peers.context("the peers are not built")?);
            command.args(arguments);
            Ok(command)
        };
        match self {
            Self::Hedgerow => own("hedgerow"),
            Self::Rose => own("rose"),
            Self::SteppedMerge => own("stepped-merge"),
            Self::RocksdbZstd => peer(&["rocksdb", "--compression", "zstd"]),
            Self::RocksdbLz4 => peer(&["rocksdb", "--compression", "lz4"]),
            Self::RocksdbMixed => peer(&["rocksdb", "--compression", "mixed"]),
            Self::Innodb => peer(&["innodb"]),
        }
    }
}
