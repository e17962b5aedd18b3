//! Random schemas, rows and histories: after each, the replica equals the source.
//!
//! `HEDGEROW_HISTORY_SEED=n` runs that seed alone, `HEDGEROW_HISTORY_RUNS=n` so many.

use anyhow::{Context, Result, bail};
use postgres::Client;
use testbed::history::{CONNECTIONS, History, Step};
use testbed::patience::wait_for;

use crate::replica::{DATABASE, Replica};

/// Histories in a usual run.
const RUNS: u64 = 3;
/// Steps of a history.
const STEPS: usize = 120;

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
    let mut followed = Followed::begin(seed, &history.beginning().join(";"))?;
    for _ in 0..STEPS {
        followed.take(history.step())?;
    }
    for step in history.end() {
        followed.take(step)?;
    }
    println!("seed {seed}: {} comparisons", followed.comparisons);
    Ok(())
}

/// A source with a history, and its replica.
struct Followed {
    seed: u64,
    replica: Replica,
    connections: Vec<Client>,
    comparisons: u64,
}

impl Followed {
    fn begin(seed: u64, setup: &str) -> Result<Self> {
        let replica = Replica::of(setup)?;
        // Transactions of some size come while they are in progress.
        replica.at_source("alter system set logical_decoding_work_mem = '64kB'")?;
        replica.at_source("select pg_reload_conf()")?;
        let connect = |_| -> Result<Client> {
            let mut client = replica.postgres.connect(DATABASE)?;
            client.batch_execute("set lock_timeout = '2s'")?;
            Ok(client)
        };
        Ok(Self {
            seed,
            connections: (0..CONNECTIONS).map(connect).collect::<Result<_>>()?,
            replica,
            comparisons: 0,
        })
    }

    fn take(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Run(connection, sql) => self.run(connection, &sql),
            Step::Restart => self.replica.kill_and_restart(),
            Step::Compare(changes) => self.compare(&changes),
        }
    }

    fn run(&mut self, connection: usize, sql: &str) -> Result<()> {
        let source = &mut self.connections[connection];
        let Err(error) = source.batch_execute(sql) else {
            return Ok(());
        };
        let refused = error.as_db_error().context("the source answers")?;
        let shown: String = sql.chars().take(300).collect();
        eprintln!("seed {}: {shown}: {}", self.seed, refused.message());
        if connection == 0 {
            source.batch_execute("rollback")?;
        }
        Ok(())
    }

    /// Both sides must be equal at the source's position of now; tables that are being copied are waited for.
    fn compare(&mut self, changes: &[String]) -> Result<()> {
        for change in changes {
            self.run(0, change)?;
        }
        self.replica.catch_up()?;
        self.comparisons += 1;
        let verdict = wait_for("a verdict on all tables", || {
            let verdict = self.replica.hedgerow.verify().map(drop);
            match &verdict {
                Err(error) if !error.to_string().contains("DIFFERENT") => bail!("{error}"),
                _ => Ok(Some(verdict)),
            }
        });
        verdict?
    }
}
