//! Experiments: each produces figures of `docs/benchmarks.md`, with its rivals in the same run.
//!
//! `cargo run --release -p bench -- EXPERIMENT [--scale quick|full] [--json FILE]`
//!
//! * [`replica`]: a backlog of random updates drained beside a PostgreSQL subscriber.
//! * [`pages`]: the page format beside Rose's figures, a memory copy, Parquet and row blocks.
//! * [`weather`]: readings inserted in random order under a memory limit.
//! * [`trees`]: look-ups and scans of the same readings, beside RocksDB and Parquet.
//! * [`many_trees`]: a thousand trees in one store, a fifth of them written.
//! * [`chart`]: what figures are drawn with.
//! * [`limits`]: memory limits and disk profiles, undone at the end.
//! * [`choice`], [`side_process`]: who takes part, and how a process of theirs is run.
//! * [`background`]: the threads of a store of ours.
//! * [`results`]: the table and the JSON file.

mod background;
mod chart;
mod choice;
mod limits;
mod many_trees;
mod pages;
mod replica;
mod results;
mod side_process;
mod trees;
mod weather;

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
    /// A thousand trees in one store, a fifth of them written, under a memory limit
    ManyTrees(Common),
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
        Experiment::ManyTrees(common) => {
            let results = many_trees::run(common.scale)?;
            print!("{results}");
            common.json.map_or(Ok(()), |path| results.write(&path))
        }
        Experiment::ManyTreesSide { arguments, sizes } => many_trees::run_side(&arguments, &sizes),
        Experiment::Pages(common) => {
            let report = pages::run(common.scale)?;
            print!("{report}");
            common.json.map_or(Ok(()), |path| report.write(&path))
        }
    }
}
