//! Random schemas, rows and histories: after each, the replica equals the source.
//!
//! `HEDGEROW_HISTORY_SEED=n` runs that seed alone, `HEDGEROW_HISTORY_RUNS=n` so many.

use anyhow::{Context, Result, bail};
use testbed::history::History;
use testbed::patience::wait_for;

use crate::replica::{DATABASE, Replica};

/// Histories in a usual run.
const RUNS: u64 = 3;
/// Transactions of a history.
const TRANSACTIONS: usize = 60;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn the_replica_equals_the_source_after_any_history() -> Result<()> {
    let seeds = match variable("HEDGEROW_HISTORY_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..variable("HEDGEROW_HISTORY_RUNS").unwrap_or(RUNS),
    };
    for seed in seeds {
        follow(seed).with_context(|| format!("repeat with HEDGEROW_HISTORY_SEED={seed}"))?;
    }
    Ok(())
}

fn follow(seed: u64) -> Result<()> {
    let mut history = History::new(seed);
    let mut replica = Replica::of(&history.beginning().join(";"))?;
    // Transactions of some size come while they are in progress.
    replica.at_source("alter system set logical_decoding_work_mem = '64kB'")?;
    replica.at_source("select pg_reload_conf()")?;
    let mut source = replica.postgres.connect(DATABASE)?;
    for number in 0..TRANSACTIONS {
        let transaction = history.transaction();
        if let Err(error) = source.batch_execute(&transaction) {
            let refused = error.as_db_error().context("the source answers")?;
            eprintln!("seed {seed}: {transaction}: {}", refused.message());
            source.batch_execute("rollback")?;
        }
        match number % 20 {
            9 => replica.catch_up()?,
            19 => replica.kill_and_restart()?,
            _ => {}
        }
    }
    for change in history.end() {
        replica.at_source(&change)?;
    }
    replica.catch_up()?;
    let verdict = wait_for("a verdict on all tables", || {
        let verdict = replica.hedgerow.verify().map(drop);
        match &verdict {
            Err(error) if !error.to_string().contains("DIFFERENT") => bail!("{error}"),
            _ => Ok(Some(verdict)),
        }
    });
    verdict?
}
