//! Runs a soak and prints what it found. Fails on any anomaly.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Parser;
use testbed::soak::{SoakOptions, run};

/// Transfers and appends to lists under kills, stops, crashes, cut links and dropped slots; every look is checked
#[derive(Debug, Parser)]
struct Arguments {
    /// How long the load runs
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// After so long it rests, and everything is compared
    #[arg(long, default_value_t = 300)]
    round_seconds: u64,
    /// Transactions a second, at most
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Accounts in each of eight tables
    #[arg(long, default_value_t = 10_000)]
    accounts: u32,
    /// SIGKILLs of hedgerow
    #[arg(long, default_value_t = 20)]
    kills: u32,
    /// Crashes of PostgreSQL
    #[arg(long, default_value_t = 4)]
    crashes: u32,
    /// Cuts of the link between them
    #[arg(long, default_value_t = 8)]
    cuts: u32,
    /// Times that the slot is dropped
    #[arg(long, default_value_t = 1)]
    slot_drops: u32,
    /// Times that hedgerow is stopped
    #[arg(long, default_value_t = 0)]
    stops: u32,
    /// For how long it is
    #[arg(long, default_value_t = 10)]
    stop_seconds: u64,
    /// Fewer looks at the replica are a failure
    #[arg(long, default_value_t = 1000)]
    answers_min: u64,
    /// Repeats the disruptions of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// Where memory, disk and lag over time are written, as lines of commas
    #[arg(long)]
    timeline: Option<PathBuf>,
    /// How often they are looked at
    #[arg(long, default_value_t = 5)]
    timeline_seconds: u64,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let options = SoakOptions {
        seconds: arguments.seconds,
        round_seconds: arguments.round_seconds,
        rate: arguments.rate,
        accounts: arguments.accounts,
        kills: arguments.kills,
        crashes: arguments.crashes,
        cuts: arguments.cuts,
        slot_drops: arguments.slot_drops,
        stops: arguments.stops,
        stop_length: Duration::from_secs(arguments.stop_seconds),
        seed: arguments.seed.unwrap_or_else(rand::random),
        timeline: arguments.timeline,
        timeline_pace: Duration::from_secs(arguments.timeline_seconds),
    };
    println!("seed {}", options.seed);
    let report = run(&options, &|line| println!("{line}"))?;
    println!("{report}");
    let anomalies = report.anomalies.len();
    ensure!(anomalies == 0, "{anomalies} anomalies");
    let (answers, wanted) = (report.answers, arguments.answers_min);
    ensure!(answers >= wanted, "{answers} looks, {wanted} wanted");
    Ok(())
}
