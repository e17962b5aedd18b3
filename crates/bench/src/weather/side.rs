//! Who takes part, and how each is started.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::ValueEnum;

/// A side of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// Ours.
    Hedgerow,
    /// zstd on all levels.
    RocksdbZstd,
    /// LZ4 on all levels.
    RocksdbLz4,
    /// LZ4, but zstd on the last level, as its manual recommends.
    RocksdbMixed,
    /// MariaDB's.
    Innodb,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hedgerow => "hedgerow",
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

    /// The program and which of its contenders it is; `peers` is the peers' program.
    pub fn command(self, peers: Option<&Path>) -> Result<Command> {
        let Some(arguments) = self.peer_arguments() else {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("weather-side");
            return Ok(command);
        };
        let program = peers.ok_or_else(|| anyhow::anyhow!("the peers are not built"))?;
        let mut command = Command::new(program);
        command.args(arguments);
        Ok(command)
    }

    fn peer_arguments(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Hedgerow => None,
            Self::RocksdbZstd => Some(&["rocksdb", "--compression", "zstd"]),
            Self::RocksdbLz4 => Some(&["rocksdb", "--compression", "lz4"]),
            Self::RocksdbMixed => Some(&["rocksdb", "--compression", "mixed"]),
            Self::Innodb => Some(&["innodb"]),
        }
    }
}
