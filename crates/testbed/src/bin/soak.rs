//! Runs a soak and prints what it found. Fails on any anomaly.

use anyhow::{Result, ensure};
use clap::Parser;
use testbed::soak::{SoakOptions, run};

/// Kills and crashes under load, with every answer checked.
#[derive(Debug, Parser)]
struct Arguments {
    /// How long the load runs
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// SIGKILLs of hedgerow
    #[arg(long, default_value_t = 20)]
    kills: u32,
    /// Crashes of PostgreSQL
    #[arg(long, default_value_t = 2)]
    restarts: u32,
    /// pgbench's scale
    #[arg(long, default_value_t = 20)]
    scale: u32,
    /// Fewer answers are a failure
    #[arg(long, default_value_t = 1000)]
    answers_min: u64,
    /// Repeats the disruptions of an earlier run
    #[arg(long)]
    seed: Option<u64>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let options = SoakOptions {
        seconds: arguments.seconds,
        kills: arguments.kills,
        restarts: arguments.restarts,
        scale: arguments.scale,
        answers_min: arguments.answers_min,
        seed: arguments.seed.unwrap_or_else(rand::random),
    };
    println!("seed {}", options.seed);
    let report = run(options, &|line| println!("{line}"))?;
    println!("{report}");
    ensure!(
        report.anomalies.is_empty(),
        "{} anomalies",
        report.anomalies.len()
    );
    ensure!(
        report.answers >= options.answers_min,
        "{} answers, {} wanted",
        report.answers,
        options.answers_min
    );
    Ok(())
}
