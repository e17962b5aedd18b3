//! Random schemas, rows and histories: after each, the replica equals the source, and at any time it shows what
//! the log says of the position that it names.
//!
//! `HEDGEROW_HISTORY_SEED=n` runs that seed alone and prints its steps, `HEDGEROW_HISTORY_RUNS=n` so many from
//! there.

use anyhow::{Context, Result, bail};
use postgres::Client;
use postgres::error::SqlState;
use testbed::history::{CONNECTIONS, History, Step};
use testbed::log_reading::{LogReading, Sample};
use testbed::patience::wait_for;

use crate::replica::{DATABASE, Replica, fill_log};

/// Histories in a usual run.
const RUNS: u64 = 3;
/// Steps of a history, at least.
const STEPS: usize = 120;
/// Snapshots of a history that are held against the log, at least.
const SAMPLES: u64 = 20;
/// One is taken after so many transactions.
const TRANSACTIONS_A_SAMPLE: u64 = 3;
/// Log that makes a backlog, MiB.
const BACKLOG_MIB: u32 = 70;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn the_replica_equals_the_source_after_any_history() -> Result<()> {
    let first = variable("HEDGEROW_HISTORY_SEED");
    let runs = variable("HEDGEROW_HISTORY_RUNS").unwrap_or(first.map_or(RUNS, |_| 1));
    let first = first.unwrap_or(0);
    for seed in first..first + runs {
        follow(seed).with_context(|| format!("repeat with HEDGEROW_HISTORY_SEED={seed}"))?;
    }
    Ok(())
}

fn follow(seed: u64) -> Result<()> {
    let mut history = History::new(seed);
    let beginning = history.beginning().join("; ");
    say(|| brief(&beginning));
    let mut followed = Followed::begin(seed, &beginning)?;
    let run = followed.run_all(&mut history);
    run.with_context(|| followed.replica.hedgerow.log_tail())?;
    let samples = followed.reading.judged;
    println!(
        "seed {seed}: {} comparisons, {samples} snapshots held against the log",
        followed.comparisons
    );
    Ok(())
}

/// Prints a step, where one seed is looked at.
fn say(step: impl FnOnce() -> String) {
    if variable("HEDGEROW_HISTORY_SEED").is_some() {
        println!("  {}", step());
    }
}

/// The beginning of a statement.
fn brief(sql: &str) -> String {
    sql.chars().take(300).collect()
}

/// A source with a history, and its replica.
struct Followed {
    seed: u64,
    replica: Replica,
    connections: Vec<Client>,
    reading: LogReading,
    transactions: u64,
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
            // No other connection goes on meanwhile: only copies let go of a lock.
            client.batch_execute("set lock_timeout = '200ms'")?;
            Ok(client)
        };
        Ok(Self {
            seed,
            connections: (0..CONNECTIONS).map(connect).collect::<Result<_>>()?,
            reading: LogReading::of(replica.postgres.connect(DATABASE)?)?,
            replica,
            transactions: 0,
            comparisons: 0,
        })
    }

    fn run_all(&mut self, history: &mut History) -> Result<()> {
        self.reading.begin(&history.tables())?;
        let mut steps = 0;
        while steps < STEPS || self.reading.judged < SAMPLES {
            let step = history.step();
            self.take(step, &history.tables())?;
            steps += 1;
        }
        for step in history.end() {
            self.take(step, &history.tables())?;
        }
        Ok(())
    }

    fn take(&mut self, step: Step, tables: &[String]) -> Result<()> {
        match step {
            Step::Run(connection, sql) => {
                self.run(connection, &sql)?;
                self.sample(tables)
            }
            Step::Alter(sql) => {
                self.reading.suspend()?;
                self.alter(&sql)
            }
            Step::Restart => {
                say(|| "the replica is killed and started again".to_owned());
                self.replica.hedgerow.kill()?;
                if self.seed.is_multiple_of(2) {
                    // What it has to read once more comes by statement.
                    self.replica.at_source(&fill_log(BACKLOG_MIB))?;
                }
                self.replica.hedgerow.start_again()?;
                self.replica.hedgerow.wait_ready()
            }
            Step::Compare(changes) => self.compare(&changes, tables),
        }
    }

    /// Takes down what the replica shows now, wherever in the log it is; now and then.
    fn sample(&mut self, tables: &[String]) -> Result<()> {
        self.transactions += 1;
        if self.reading.is_begun() && self.transactions.is_multiple_of(TRANSACTIONS_A_SAMPLE) {
            let sample = Sample::of(&mut self.replica.connect()?, tables)?;
            sample
                .into_iter()
                .for_each(|sample| self.reading.add(sample));
        }
        Ok(())
    }

    /// Changes a table or type. What comes later counts on it, and a copy lets go of its lock.
    fn alter(&mut self, sql: &str) -> Result<()> {
        wait_for("a lock on a table that is being copied", || {
            let refused = self.ask(0, sql)?;
            Ok((refused != Some(SqlState::LOCK_NOT_AVAILABLE)).then_some(()))
        })
    }

    fn run(&mut self, connection: usize, sql: &str) -> Result<()> {
        self.ask(connection, sql).map(drop)
    }

    /// Runs a statement, and gives what the source refused it with.
    fn ask(&mut self, connection: usize, sql: &str) -> Result<Option<SqlState>> {
        say(|| format!("{connection}: {}", brief(sql)));
        let source = &mut self.connections[connection];
        let Err(error) = source.batch_execute(sql) else {
            return Ok(None);
        };
        let refused = error.as_db_error().context("the source answers")?;
        eprintln!("seed {}: {}: {}", self.seed, brief(sql), refused.message());
        if connection == 0 {
            source.batch_execute("rollback")?;
        }
        Ok(Some(refused.code().clone()))
    }

    /// Both sides must be equal at the source's position of now; tables that are being copied are waited for.
    fn compare(&mut self, changes: &[String], tables: &[String]) -> Result<()> {
        for change in changes {
            self.run(0, change)?;
        }
        say(|| "comparison".to_owned());
        self.replica.catch_up()?;
        self.reading.judge()?;
        self.comparisons += 1;
        let verdict = wait_for("a verdict on all tables", || {
            let verdict = self.replica.hedgerow.verify().map(drop);
            match &verdict {
                Err(error) if !error.to_string().contains("DIFFERENT") => bail!("{error}"),
                _ => Ok(Some(verdict)),
            }
        });
        verdict??;
        if self.reading.is_begun() {
            return Ok(());
        }
        self.reading.begin(tables)
    }
}
