//! Who takes part, and how each is started.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::peers_program::Needs;

/// A side of the comparison.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Ours.
    Hedgerow,
    /// MariaDB's.
    Innodb,
    /// The same behind memcached, which has a quarter of the memory.
    #[value(name = "innodb-memcached-25")]
    InnodbMemcached25,
    /// Half.
    #[value(name = "innodb-memcached-50")]
    InnodbMemcached50,
    /// Three quarters.
    #[value(name = "innodb-memcached-75")]
    InnodbMemcached75,
    /// RocksDB.
    Rocksdb,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no side is skipped");
        f.write_str(value.get_name())
    }
}

impl Side {
    /// The name in the results, where ours has none.
    pub fn peer(self) -> Option<String> {
        (self != Self::Hedgerow).then(|| self.to_string())
    }

    /// memcached's share of the memory for caches, as an argument.
    pub fn memcached_share(self) -> Option<&'static str> {
        match self {
            Self::InnodbMemcached25 => Some("0.25"),
            Self::InnodbMemcached50 => Some("0.5"),
            Self::InnodbMemcached75 => Some("0.75"),
            _ => None,
        }
    }

    /// What must be built and installed for it.
    pub fn needs(self) -> &'static [Needs] {
        match self {
            Self::Hedgerow => &[],
            Self::Innodb => &[Needs::Mariadb],
            Self::Rocksdb => &[Needs::Rocksdb],
            _ => &[Needs::Mariadb, Needs::Memcached],
        }
    }

    /// The program; `peers` is the peers'.
    pub fn command(self, peers: Option<&Path>) -> Result<Command> {
        if self == Self::Hedgerow {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("anticache-side");
            return Ok(command);
        }
        let mut command = Command::new(peers.context("the peers are not built")?);
        match (self, self.memcached_share()) {
            (_, Some(share)) => command.args(["innodb-memcached-ycsb", "--share", share]),
            (Self::Rocksdb, None) => command.arg("rocksdb-ycsb"),
            (_, None) => command.arg("innodb-ycsb"),
        };
        Ok(command)
    }
}
