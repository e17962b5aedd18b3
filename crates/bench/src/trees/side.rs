//! Who takes part, and how each is filled and started.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::weather::side::Side as WeatherSide;

/// A side of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// Ours.
    Hedgerow,
    /// Ours with all runs merged into one.
    HedgerowOneRun,
    /// A file, which can be scanned only.
    Parquet,
    /// zstd on all levels.
    RocksdbZstd,
    /// LZ4 on all levels.
    RocksdbLz4,
}

/// A side that this program is itself.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum OwnSide {
    /// Ours.
    Hedgerow,
    /// Ours with all runs merged into one.
    HedgerowOneRun,
    /// A file.
    Parquet,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hedgerow => "hedgerow",
            Self::HedgerowOneRun => "hedgerow-one-run",
            Self::Parquet => "parquet-zstd-3",
            Self::RocksdbZstd => "rocksdb-zstd",
            Self::RocksdbLz4 => "rocksdb-lz4",
        })
    }
}

impl Side {
    /// Whether it is a setting of RocksDB.
    pub fn is_rocksdb(self) -> bool {
        matches!(self, Self::RocksdbZstd | Self::RocksdbLz4)
    }

    /// The name in the results, where ours has none.
    pub fn peer(self) -> Option<String> {
        (self != Self::Hedgerow).then(|| self.to_string())
    }

    /// The contender of `weather` that fills its folder.
    pub fn filled_by(self) -> Option<WeatherSide> {
        match self {
            Self::Hedgerow | Self::HedgerowOneRun => Some(WeatherSide::Hedgerow),
            Self::Parquet => None,
            Self::RocksdbZstd => Some(WeatherSide::RocksdbZstd),
            Self::RocksdbLz4 => Some(WeatherSide::RocksdbLz4),
        }
    }

    /// The program that reads; `peers` is the peers' program.
    pub fn reading_command(self, peers: Option<&Path>) -> Result<Command> {
        let own = |name| -> Result<Command> {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["trees-side", name]);
            Ok(command)
        };
        let peer = |compression| -> Result<Command> {
            let mut command = Command::new(peers.context("the peers are not built")?);
            command.args(["rocksdb-reading", "--compression", compression]);
            Ok(command)
        };
        match self {
            Self::Hedgerow => own("hedgerow"),
            Self::HedgerowOneRun => own("hedgerow-one-run"),
            Self::Parquet => own("parquet"),
            Self::RocksdbZstd => peer("zstd"),
            Self::RocksdbLz4 => peer("lz4"),
        }
    }
}
