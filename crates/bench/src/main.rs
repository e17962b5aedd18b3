//! Experiments: each produces figures of `docs/benchmarks.md`, with its rivals in the same run.
//!
//! `cargo run --release -p bench -- EXPERIMENT [--scale quick|full] [--json FILE]`
//!
//! * [`replica`]: a backlog of random updates drained beside a PostgreSQL subscriber.
//! * [`pages`]: the page format beside Rose's figures, a memory copy, Parquet and row blocks.
//! * [`weather`]: readings inserted in random order under a memory limit.
//! * [`trees`]: look-ups and scans of the same readings, beside RocksDB and Parquet.
//! * [`many_trees`]: a thousand trees in one store, a fifth of them written.
//! * [`caching`]: what merges leave of a cache, beside other cache policies and RocksDB.
//! * [`lookup`]: rows by key over the wire, beside PostgreSQL.
//! * [`hostile`]: honest clients beside slow, half-open and guessing ones.
//! * [`htap`]: CH-benCHmark's queries while orders are entered at the source.
//! * [`projections`]: queries with and without another order of a table, and what keeping it costs.
//! * [`tpch`]: the 22 queries of TPC-H, beside PostgreSQL, DuckDB and DataFusion on Parquet.
//! * [`ycsb`]: the primary in memory, one row a transaction.
//! * [`tpcc`]: the primary with TPC-C, in memory and growing beyond it.
//! * [`anticache`]: the primary with data larger than memory, beside InnoDB, memcached and RocksDB, and
//!   what tracking costs.
//! * [`timeline`]: memory, disk and lag of the soak over time, drawn.
//! * [`accounts`]: a table that is asked by key, its copy, and who asks.
//! * [`chart`]: what figures are drawn with.
//! * [`limits`]: memory limits and disk profiles, undone at the end.
//! * [`choice`], [`side_process`], [`peers_program`]: who takes part, and how a process of theirs is built and run.
//! * [`run_log`]: what need not be run again.
//! * [`background`]: the threads of a store of ours; [`primary_threads`]: those of the primary.
//! * [`direct_file`], [`reads_ahead`]: files read past the page cache.
//! * [`quantiles`]: how long most of many things took; [`processor_time`], [`resident_memory`]: what processes use.
//! * [`results`]: the table and the JSON file.

mod accounts;
mod anticache;
mod background;
mod caching;
mod chart;
mod choice;
mod direct_file;
mod hostile;
mod htap;
mod limits;
mod lookup;
mod many_trees;
mod pages;
mod peers_program;
mod primary_threads;
mod processor_time;
mod projections;
mod quantiles;
mod reads_ahead;
mod replica;
mod resident_memory;
mod results;
mod run_log;
mod side_process;
mod timeline;
mod tpcc;
mod tpch;
mod trees;
mod weather;
mod ycsb;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand, ValueEnum};

use choice::Choice;

/// Experiments.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Debug, Subcommand)]
enum Experiment {
    /// A backlog of random updates, drained under a memory limit
    Replica(Common),
    /// Backlogs of narrow rows, of wide ones and of one transaction, beside what the source can deliver
    Ceiling {
        #[command(flatten)]
        common: Common,
        /// Only this one of `narrow`, `wide` and `one-transaction`; may be repeated
        #[arg(long = "load", value_name = "LOAD", value_parser = replica::CEILING_LOADS)]
        loads: Vec<String>,
    },
    /// Rows by key over the wire, pipelined and one by one
    Lookup(Common),
    /// Honest clients beside a thousand slow, a thousand half-open and a hundred guessing ones
    Hostile(Common),
    /// The 22 queries of TPC-H, after merges, from disk, and with a tenth of the rows changed
    Tpch {
        #[command(flatten)]
        common: Common,
        /// Another scale factor than 0.1 (quick) or 1 (full): 10 takes about 50 GB of disk and an hour
        #[arg(long)]
        scale_factor: Option<f64>,
    },
    /// Queries back to back while the source changes 20,000 rows a second: rate and freshness
    Htap {
        #[command(flatten)]
        common: Common,
        /// Where orders are entered
        #[arg(long, value_enum, default_value_t = htap::SourceKind::Postgres)]
        source: htap::SourceKind,
    },
    /// Queries with and without another order of a table, and what keeping it takes from applying
    Projections(Common),
    /// Size and speed of pages on one core, beside Parquet and row blocks
    Pages(Common),
    /// Weather readings inserted in random order, under a memory limit
    Weather {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        choice: Choice<weather::Side>,
    },
    /// A contender of `weather`: inserts what it is fed
    #[command(hide = true)]
    WeatherSide {
        #[arg(value_enum, default_value_t = weather::OwnSide::Hedgerow)]
        side: weather::OwnSide,
        #[command(flatten)]
        arguments: contender::Arguments,
    },
    /// Look-ups and scans with a cache of an eighth of the data
    Trees {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        choice: Choice<trees::Side>,
    },
    /// A contender of `trees`: reads what it has
    #[command(hide = true)]
    TreesSide {
        #[arg(value_enum)]
        side: trees::OwnSide,
        #[command(flatten)]
        arguments: contender::ReadingArguments,
    },
    /// Look-ups in one hot range of keys, while merges rewrite what is cached
    #[command(name = "rangehot")]
    RangeHot(Caching),
    /// The same for Zipf distributions, and a hot range that moves
    Zipfian(Caching),
    /// The same for scans of short ranges
    #[command(name = "rangescan")]
    RangeScan(Caching),
    /// A contender of these three
    #[command(hide = true)]
    CachingSide {
        #[arg(value_enum)]
        side: caching::Side,
        #[command(flatten)]
        arguments: contender::caching::CachingArguments,
    },
    /// A thousand trees in one store, a fifth of them written, under a memory limit
    ManyTrees(Common),
    /// The primary in memory: reads, and reads with updates that a log makes durable
    Ycsb(Common),
    /// TPC-C on the primary: rate, latencies, and data that grows beyond memory
    Tpcc(Common),
    /// The primary with data larger than memory, and what tracking costs
    Anticache {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        choice: Choice<anticache::Side>,
        #[command(flatten)]
        grid: anticache::GridChoice,
        /// Keeps finished cells in this file, and does not run them again for the same commit
        #[arg(long)]
        runs: Option<PathBuf>,
    },
    /// Draws what slices of the soak have written (`cargo xtask soak --timeline FILE`), and tells drift
    Timeline {
        /// The slices' files, in order
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Where to draw
        #[arg(long)]
        svg: PathBuf,
    },
    /// A contender of `anticache`: the primary
    #[command(hide = true)]
    AnticacheSide {
        #[command(flatten)]
        arguments: contender::ycsb::YcsbArguments,
    },
    /// The process of `many-trees` that has the store
    #[command(hide = true)]
    ManyTreesSide {
        #[command(flatten)]
        arguments: contender::Arguments,
        #[command(flatten)]
        sizes: many_trees::Sizes,
    },
}

/// What all experiments take.
#[derive(Debug, Args)]
struct Common {
    /// `quick` shows that it works, `full` is the evidence
    #[arg(long, value_enum, default_value_t = Scale::Quick)]
    scale: Scale,
    /// Where to write the results
    #[arg(long)]
    json: Option<PathBuf>,
}

/// What the experiments with cache policies take.
#[derive(Debug, Args)]
struct Caching {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    choice: Choice<caching::Side>,
    /// How often, each time with other chances
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Keeps finished runs in this file, and does not run them again for the same commit
    #[arg(long)]
    runs: Option<PathBuf>,
}

/// How large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scale {
    /// A minute or two.
    Quick,
    /// As long as it takes.
    Full,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match limits::undo::on_interrupt().and_then(|()| run(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    match arguments.experiment {
        Experiment::Replica(common) => {
            let results = replica::run(common.scale)?;
            print!("{results}");
            common.json.map_or(Ok(()), |path| results.write(&path))
        }
        Experiment::Ceiling { common, loads } => {
            let results = replica::run_ceilings(common.scale, &loads)?;
            print!("{results}");
            common.json.map_or(Ok(()), |path| results.write(&path))
        }
        Experiment::Lookup(common) => {
            let results = lookup::run(common.scale)?;
            print!("{results}");
            common.json.map_or(Ok(()), |path| results.write(&path))
        }
        Experiment::Hostile(common) => {
            let results = hostile::run(common.scale)?;
            print!("{results}");
            common.json.map_or(Ok(()), |path| results.write(&path))
        }
        Experiment::Tpch {
            common,
            scale_factor,
        } => {
            let results = tpch::run(common.scale, scale_factor)?;
            print!("{results}");
            common.json.map_or(Ok(()), |path| results.write(&path))
        }
        Experiment::Htap { common, source } => {
            let results = htap::run(common.scale, source)?;
            print!("{results}");
            common.json.map_or(Ok(()), |path| results.write(&path))
        }
        Experiment::Projections(common) => {
            let results = projections::run(common.scale)?;
            print!("{results}");
            common.json.map_or(Ok(()), |path| results.write(&path))
        }
        Experiment::Weather { common, choice } => {
            let outcome = weather::run(common.scale, &choice)?;
            print!("{outcome}");
            common.json.map_or(Ok(()), |path| outcome.write(&path))
        }
        Experiment::WeatherSide { side, arguments } => weather::run_side(side, &arguments),
        Experiment::Trees { common, choice } => {
            let outcome = trees::run(common.scale, &choice)?;
            print!("{outcome}");
            common.json.map_or(Ok(()), |path| outcome.write(&path))
        }
        Experiment::TreesSide { side, arguments } => trees::run_side(side, &arguments),
        Experiment::RangeHot(caching) => run_caching(caching::Experiment::RangeHot, caching),
        Experiment::Zipfian(caching) => run_caching(caching::Experiment::Zipfian, caching),
        Experiment::RangeScan(caching) => run_caching(caching::Experiment::RangeScan, caching),
        Experiment::CachingSide { side, arguments } => caching::run_side(side, &arguments),
        Experiment::ManyTrees(common) => {
            let results = many_trees::run(common.scale)?;
            print!("{results}");
            common.json.map_or(Ok(()), |path| results.write(&path))
        }
        Experiment::Ycsb(common) => {
            let results = ycsb::run(common.scale)?;
            print!("{results}");
            common.json.map_or(Ok(()), |path| results.write(&path))
        }
        Experiment::Tpcc(common) => {
            let results = tpcc::run(common.scale)?;
            print!("{results}");
            common.json.map_or(Ok(()), |path| results.write(&path))
        }
        Experiment::Anticache {
            common,
            choice,
            grid,
            runs,
        } => {
            let plan = anticache::Plan {
                scale: common.scale,
                grid: &grid,
                json: common.json.as_deref(),
                runs: runs.as_deref(),
            };
            let outcome = anticache::run(plan, &choice)?;
            print!("{outcome}");
            common.json.map_or(Ok(()), |path| outcome.write(&path))
        }
        Experiment::Timeline { files, svg } => timeline::run(&files, &svg),
        Experiment::AnticacheSide { arguments } => anticache::run_side(&arguments),
        Experiment::ManyTreesSide { arguments, sizes } => many_trees::run_side(&arguments, &sizes),
        Experiment::Pages(common) => {
            let report = pages::run(common.scale)?;
            print!("{report}");
            common.json.map_or(Ok(()), |path| report.write(&path))
        }
    }
}

fn run_caching(experiment: caching::Experiment, caching: Caching) -> Result<()> {
    let Caching {
        common,
        choice,
        seeds,
        runs,
    } = caching;
    let plan = caching::Plan {
        experiment,
        scale: common.scale,
        seeds,
        json: common.json.as_deref(),
        runs: runs.as_deref(),
    };
    print!("{}", caching::run(plan, &choice)?);
    Ok(())
}
