//! Kills a process with a primary again and again, and prints what was found. Fails when anything is missing.

use std::io::stdout;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use testbed::kill_primary::load::{self, LoadOptions};
use testbed::kill_primary::{KillOptions, run};

/// SIGKILLs of a primary under load: nothing acknowledged is lost, nothing is half there
#[derive(Debug, Parser)]
struct Arguments {
    /// Kills
    #[arg(long, default_value_t = 500)]
    kills: u32,
    /// Accounts, of about 350 bytes each
    #[arg(long, default_value_t = 200_000)]
    accounts: u64,
    /// Megabytes of the primary's memory
    #[arg(long, default_value_t = 16)]
    memory_mb: usize,
    /// Seconds that one process in 50 lives; the others live for less than one
    #[arg(long, default_value_t = 20)]
    long_life_seconds: u64,
    /// Repeats the moments of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    #[command(subcommand)]
    load: Option<Load>,
}

/// What the process does that is killed.
#[derive(Debug, Subcommand)]
enum Load {
    /// Be the process that is killed
    #[command(hide = true)]
    Load {
        folder: PathBuf,
        memory_bytes: usize,
        accounts: u64,
        /// 0: only those that begin by themselves.
        snapshot_every_ms: u64,
        seed: u64,
    },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(Load::Load {
        folder,
        memory_bytes,
        accounts,
        snapshot_every_ms,
        seed,
    }) = arguments.load
    {
        let options = LoadOptions {
            memory_bytes,
            accounts,
            snapshot_every: (snapshot_every_ms > 0)
                .then(|| Duration::from_millis(snapshot_every_ms)),
            seed,
        };
        return load::run(&folder, options, stdout().lock());
    }
    let options = KillOptions {
        kills: arguments.kills,
        accounts: arguments.accounts,
        memory_bytes: arguments.memory_mb << 20,
        long_life_one_in: 50,
        long_life: Duration::from_secs(arguments.long_life_seconds),
        short_life: Duration::from_secs(1),
        rows_read_one_in: 50,
        seed: arguments.seed.unwrap_or_else(rand::random),
    };
    println!("seed {}", options.seed);
    let program = std::env::current_exe().context("where this program is")?;
    let report = run(&program, &options, &|line| println!("{line}"))?;
    println!("{report}");
    Ok(())
}
