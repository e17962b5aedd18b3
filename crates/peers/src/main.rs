//! RocksDB, InnoDB and memcached as contenders of the experiments: see the crate `contender`.
//!
//! * `peers rocksdb`: RocksDB with one of three settings of compression.
//! * `peers rocksdb-reading`: the same, which looks keys up and scans.
//! * `peers rocksdb-caching`: the same with settings that keep its cache warm.
//! * `peers rocksdb-ycsb`: RocksDB with YCSB's transactions.
//! * `peers innodb`: MariaDB's server with a table of InnoDB.
//! * `peers innodb-ycsb`: the same with YCSB's transactions; `innodb-memcached-ycsb`: behind memcached.
//!
//! Without the feature `rocksdb` only InnoDB and memcached are built.

mod innodb_side;
mod innodb_ycsb;
mod mariadb_server;
mod memcached_client;
mod memcached_server;
mod memcached_ycsb;
mod pipelined_connection;
#[cfg(feature = "rocksdb")]
mod rocksdb_caching;
#[cfg(feature = "rocksdb")]
mod rocksdb_reading;
#[cfg(feature = "rocksdb")]
mod rocksdb_settings;
#[cfg(feature = "rocksdb")]
mod rocksdb_side;
#[cfg(feature = "rocksdb")]
mod rocksdb_ycsb;
#[cfg(feature = "rocksdb")]
mod row_columns;
#[cfg(feature = "rocksdb")]
mod row_encoding;
#[cfg(test)]
mod ycsb_tests;

use std::io::{self, StdinLock, StdoutLock};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use innodb_ycsb::Pipeline;
#[cfg(feature = "rocksdb")]
use rocksdb_caching::Caching;
#[cfg(feature = "rocksdb")]
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
    #[cfg(feature = "rocksdb")]
    Rocksdb {
        #[command(flatten)]
        arguments: contender::Arguments,
        #[arg(long, value_enum)]
        compression: Compression,
    },
    /// RocksDB reads what it has inserted
    #[cfg(feature = "rocksdb")]
    RocksdbReading {
        #[command(flatten)]
        arguments: contender::ReadingArguments,
        #[arg(long, value_enum)]
        compression: Compression,
    },
    /// RocksDB is read and written for a while
    #[cfg(feature = "rocksdb")]
    RocksdbCaching {
        #[command(flatten)]
        arguments: contender::caching::CachingArguments,
        #[arg(long, value_enum)]
        caching: Caching,
    },
    /// RocksDB with YCSB's transactions
    #[cfg(feature = "rocksdb")]
    RocksdbYcsb {
        #[command(flatten)]
        arguments: contender::ycsb::YcsbArguments,
        #[command(flatten)]
        threads: rocksdb_ycsb::Threads,
    },
    /// InnoDB inserts what it is fed
    Innodb {
        #[command(flatten)]
        arguments: contender::Arguments,
    },
    /// InnoDB with YCSB's transactions
    InnodbYcsb {
        #[command(flatten)]
        arguments: contender::ycsb::YcsbArguments,
        #[command(flatten)]
        pipeline: Pipeline,
    },
    /// The same behind memcached
    InnodbMemcachedYcsb {
        #[command(flatten)]
        arguments: contender::ycsb::YcsbArguments,
        #[command(flatten)]
        pipeline: Pipeline,
        /// memcached's share of the memory for caches
        #[arg(long, default_value_t = 0.5)]
        share: f64,
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
        #[cfg(feature = "rocksdb")]
        Contender::Rocksdb {
            arguments,
            compression,
        } => rocksdb_side::run(arguments, *compression),
        #[cfg(feature = "rocksdb")]
        Contender::RocksdbReading {
            arguments,
            compression,
        } => rocksdb_reading::run(arguments, *compression),
        #[cfg(feature = "rocksdb")]
        Contender::RocksdbCaching { arguments, caching } => {
            rocksdb_caching::run(arguments, *caching)
        }
        #[cfg(feature = "rocksdb")]
        Contender::RocksdbYcsb { arguments, threads } => {
            rocksdb_ycsb::serve(arguments, *threads, stdin(), stdout())
        }
        Contender::Innodb { arguments } => innodb_side::run(arguments),
        Contender::InnodbYcsb {
            arguments,
            pipeline,
        } => innodb_ycsb::serve(arguments, *pipeline, stdin(), stdout()),
        Contender::InnodbMemcachedYcsb {
            arguments,
            pipeline,
            share,
        } => memcached_ycsb::serve(arguments, *pipeline, *share, stdin(), stdout()),
    }
}

fn stdin() -> StdinLock<'static> {
    io::stdin().lock()
}

fn stdout() -> StdoutLock<'static> {
    io::stdout().lock()
}
