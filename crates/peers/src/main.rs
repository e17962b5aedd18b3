//! RocksDB and InnoDB as contenders of the experiments: see the crate `contender`.
//!
//! * `peers rocksdb`: RocksDB with one of three settings of compression.
//! * `peers rocksdb-reading`: the same, which looks keys up and scans.
//! * `peers rocksdb-caching`: the same with settings that keep its cache warm.
//! * `peers innodb`: MariaDB's server with a table of InnoDB.

mod innodb_side;
mod mariadb_server;
mod rocksdb_caching;
mod rocksdb_reading;
mod rocksdb_settings;
mod rocksdb_side;
mod row_columns;
mod row_encoding;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use rocksdb_caching::Caching;
use rocksdb_settings::Compression;

/// Contenders of experiments.
#[derive(Debug, Parser)]
struct Command {
    #[command(subcommand)]
    contender: Contender,
}

#[derive(Debug, Subcommand)]
enum Contender {
    /// RocksDB inserts what it is fed
    Rocksdb {
        #[command(flatten)]
        arguments: contender::Arguments,
        #[arg(long, value_enum)]
        compression: Compression,
    },
    /// RocksDB reads what it has inserted
    RocksdbReading {
        #[command(flatten)]
        arguments: contender::ReadingArguments,
        #[arg(long, value_enum)]
        compression: Compression,
    },
    /// RocksDB is read and written for a while
    RocksdbCaching {
        #[command(flatten)]
        arguments: contender::caching::CachingArguments,
        #[arg(long, value_enum)]
        caching: Caching,
    },
    /// InnoDB inserts what it is fed
    Innodb {
        #[command(flatten)]
        arguments: contender::Arguments,
    },
}

fn main() -> ExitCode {
    match run(&Command::parse().contender) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(contender: &Contender) -> Result<()> {
    match contender {
        Contender::Rocksdb {
            arguments,
            compression,
        } => rocksdb_side::run(arguments, *compression),
        Contender::RocksdbReading {
            arguments,
            compression,
        } => rocksdb_reading::run(arguments, *compression),
        Contender::RocksdbCaching { arguments, caching } => {
            rocksdb_caching::run(arguments, *caching)
        }
        Contender::Innodb { arguments } => innodb_side::run(arguments),
    }
}
