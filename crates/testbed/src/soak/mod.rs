//! The soak: a bank under load, a reader that checks every answer, and a hand that kills.
//!
//! 1. A PostgreSQL with default durability gets a pgbench database; `hedgerow serve` copies it.
//! 2. pgbench changes it with four clients for the given time ([`load`]).
//! 3. A reader repeats the four sums ([`reader`]): they must be equal in every answer, and the
//!    position must never go back, across all restarts.
//! 4. Meanwhile hedgerow is killed with SIGKILL and PostgreSQL is made to crash, at seeded
//!    moments spread over the run ([`disruptions`]). Nobody helps either of them.
//! 5. At the end hedgerow catches up, `verify` compares all tables, and the bytes on disk are
//!    compared with PostgreSQL's.

mod disruptions;
mod load;
mod reader;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tempfile::TempDir;

use crate::bank::Sums;
use crate::patience::{PATIENCE, wait_at_most, wait_for};
use crate::tpch::tables::table_and_key_bytes;
use crate::{Hedgerow, HedgerowOptions, PostgresOptions, PostgresServer};

/// What kind of soak.
#[derive(Clone, Copy, Debug)]
pub struct SoakOptions {
    /// How long the load runs.
    pub seconds: u64,
    /// How often hedgerow is killed.
    pub kills: u32,
    /// How often PostgreSQL crashes.
    pub restarts: u32,
    /// pgbench's scale: 100,000 accounts each.
    pub scale: u32,
    /// With fewer answers the run does not count.
    pub answers_min: u64,
    /// Decides the moments of all kills and crashes.
    pub seed: u64,
}

/// What a soak found.
#[derive(Debug, Default)]
pub struct SoakReport {
    /// Answers whose sums were equal.
    pub answers: u64,
    /// SIGKILLs survived.
    pub kills: u32,
    /// Crashes of PostgreSQL survived.
    pub restarts: u32,
    /// Transactions that pgbench counted as committed.
    pub transactions: u64,
    /// Everything that should not have happened.
    pub anomalies: Vec<String>,
    /// The output of `hedgerow verify`.
    pub verify: String,
    /// Bytes in the data directory after merges.
    pub hedgerow_bytes: u64,
    /// Bytes of PostgreSQL's tables and primary keys.
    pub postgres_bytes: u64,
    /// From the last change to everything visible.
    pub catch_up: Duration,
}

impl fmt::Display for SoakReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "answers       {} (four equal sums in each)",
            self.answers
        )?;
        writeln!(f, "transactions  {}", self.transactions)?;
        writeln!(f, "kills         {}", self.kills)?;
        writeln!(f, "restarts      {}", self.restarts)?;
        writeln!(
            f,
            "caught up     {:.1} s after the load",
            self.catch_up.as_secs_f64()
        )?;
        writeln!(f, "anomalies     {}", self.anomalies.len())?;
        for anomaly in &self.anomalies {
            writeln!(f, "  {anomaly}")?;
        }
        #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
        let ratio = self.hedgerow_bytes as f64 / self.postgres_bytes as f64;
        writeln!(
            f,
            "on disk       {} bytes, PostgreSQL's tables and keys {} bytes: ratio {ratio:.4}",
            self.hedgerow_bytes, self.postgres_bytes
        )?;
        write!(f, "verify\n{}", self.verify)
    }
}

/// Runs a soak. An anomaly is part of the report; an error means that the run could not be
/// carried to its end.
pub fn run(options: SoakOptions, say: &(dyn Fn(&str) + Sync)) -> Result<SoakReport> {
    let folder = TempDir::with_prefix("testbed-soak-")?;
    say("starting PostgreSQL and loading pgbench");
    let mut postgres = PostgresServer::start(PostgresOptions {
        fsync: true,
        ..PostgresOptions::default()
    })?;
    let scale = options.scale.to_string();
    postgres.run_client_program("pgbench", &["-i", "-q", "-s", &scale, "postgres"])?;
    say("copying");
    let started = Instant::now();
    let mut hedgerow = Hedgerow::start_ready(HedgerowOptions::new(
        postgres.url("postgres"),
        &folder.path().join("data"),
    )?)?;
    say(&format!(
        "copied in {:.1} s; load and kills",
        started.elapsed().as_secs_f64()
    ));
    let report = disturbed_load(options, &mut postgres, &mut hedgerow, say)?;
    finish(report, &mut postgres, &hedgerow, say)
}

/// Load, reader and disruptions side by side, until the load's time is up.
fn disturbed_load(
    options: SoakOptions,
    postgres: &mut PostgresServer,
    hedgerow: &mut Hedgerow,
    say: &(dyn Fn(&str) + Sync),
) -> Result<SoakReport> {
    let deadline = Instant::now() + Duration::from_secs(options.seconds);
    let over = Arc::new(AtomicBool::new(false));
    let endpoint = reader::Endpoint::of(hedgerow)?;
    let pgbench = load::Pgbench::of(postgres);
    thread::scope(|scope| {
        let reading = scope.spawn(|| reader::read_until(&over, &endpoint));
        let loading = scope.spawn(|| pgbench.run_until(deadline));
        let plan = disruptions::plan(
            options,
            Duration::from_secs(options.seconds),
            &mut StdRng::seed_from_u64(options.seed),
        );
        let disrupted = disruptions::carry_out(&plan, postgres, hedgerow, say);
        let transactions = join(loading, "load")?;
        // The reader sees the end of the load, too.
        let settled = hedgerow.wait_ready_at_most(PATIENCE);
        over.store(true, Ordering::SeqCst);
        let readings = join(reading, "reader")?;
        let mut report = disrupted?;
        settled?;
        report.answers = readings.answers;
        report.anomalies.extend(readings.anomalies);
        report.transactions = transactions?;
        Ok(report)
    })
}

fn join<T>(handle: thread::ScopedJoinHandle<'_, T>, name: &str) -> Result<T> {
    handle
        .join()
        .map_err(|_| anyhow::anyhow!("the {name} thread panicked"))
}

/// Waits for the last change, compares, measures.
fn finish(
    mut report: SoakReport,
    postgres: &mut PostgresServer,
    hedgerow: &Hedgerow,
    say: &(dyn Fn(&str) + Sync),
) -> Result<SoakReport> {
    say("waiting for the last change");
    let expected = Sums::ask(&mut postgres.connect("postgres")?)?;
    expected.ensure_equal().context("PostgreSQL itself")?;
    let started = Instant::now();
    wait_for("hedgerow to catch up", || {
        let sums = Sums::ask(&mut hedgerow.connect()?)?;
        ensure!(
            sums == expected,
            "sums {:?}, PostgreSQL's {:?}",
            sums.0,
            expected.0
        );
        Ok(Some(()))
    })?;
    report.catch_up = started.elapsed();
    say("verify");
    report.verify = hedgerow.verify()?;
    say("waiting for merges to settle");
    report.hedgerow_bytes = settled_bytes(hedgerow)?;
    report.postgres_bytes = table_and_key_bytes(&mut postgres.connect("postgres")?)?;
    Ok(report)
}

/// Bytes on disk once they have stayed the same for a while.
pub fn settled_bytes(hedgerow: &Hedgerow) -> Result<u64> {
    const STILL: Duration = Duration::from_secs(5);
    const LIMIT: Duration = Duration::from_secs(300);
    let mut last = (hedgerow.bytes_on_disk()?, Instant::now());
    wait_at_most(LIMIT, "the data directory to keep its size", || {
        let bytes = hedgerow.bytes_on_disk()?;
        if bytes != last.0 {
            last = (bytes, Instant::now());
        }
        Ok((last.1.elapsed() > STILL).then_some(bytes))
    })
}
