//! Rows by key over the wire, warm: how many a second and how fast one (S2a, S2b).
//!
//! 1. A PostgreSQL holds a table of accounts; hedgerow copies it. Both run with their defaults but
//!    for memory, which holds all rows.
//! 2. Both are asked by prepared statement (`select … where id = $1`, binary values, random ids):
//!    * *pipelined*: one connection, batches of statements with one Sync each, the next batch on
//!      its way before the answers to the last one are read; rows a second;
//!    * *one by one*: 16 connections, each waits for every answer; the 99th of 100 latencies.
//! 3. The rounds of both take turns; medians count. Every answer has to be the row asked for.
//!
//! The asking process shares the machine's processors with the servers, as an application does.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use tempfile::TempDir;

use crate::Scale;
use crate::accounts::{self, Client, Login};
use crate::quantiles::Quantiles;
use crate::results::Results;

const PEER: &str = "postgresql";
/// Statements in a pipelined batch.
const BATCH: usize = 128;
/// Connections that ask one by one.
const CONNECTIONS: u64 = 16;

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    name: &'static str,
    rows: u64,
    rounds: u64,
    /// How long each kind of asking goes on.
    seconds: f64,
}

impl Plan {
    fn of(scale: Scale) -> Self {
        match scale {
            Scale::Quick => Self {
                name: "quick",
                rows: 100_000,
                rounds: 1,
                seconds: 3.0,
            },
            Scale::Full => Self {
                name: "full",
                rows: 2_000_000,
                rounds: 5,
                seconds: 10.0,
            },
        }
    }
}

/// What one server did in the rounds.
#[derive(Debug, Default)]
struct Measured {
    pipelined: Vec<f64>,
    one_by_one: Vec<f64>,
    ms_p99: Vec<f64>,
}

/// Runs the experiment.
pub fn run(scale: Scale) -> Result<Results> {
    let plan = Plan::of(scale);
    let folder = TempDir::with_prefix("bench-lookup-")?;
    let postgres = accounts::publisher(plan.rows)?;
    let hedgerow = accounts::copied(&postgres, folder.path(), &["--memory", "1GiB"])?;
    let servers = [
        accounts::login_of_postgres(&postgres),
        accounts::login_of_hedgerow(&hedgerow)?,
    ];
    let mut measured = [Measured::default(), Measured::default()];
    // The first round only warms up.
    for round in 0..=plan.rounds {
        for (login, measured) in servers.iter().zip(&mut measured) {
            let pipelined = pipelined(login, plan, round)?;
            let (rate, latencies) = one_by_one(login, plan, round)?;
            if round > 0 {
                measured.pipelined.push(pipelined);
                measured.one_by_one.push(rate);
                measured.ms_p99.push(latencies.ms_p99);
            }
        }
    }
    let [postgres, hedgerow] = measured;
    let mut results = Results::new("lookup", plan.name);
    results.setting("rows", plan.rows);
    results.setting("statements in a batch", BATCH);
    results.setting("connections one by one", CONNECTIONS);
    note(&mut results, &hedgerow, None);
    note(&mut results, &postgres, Some(PEER));
    Ok(results)
}

fn note(results: &mut Results, measured: &Measured, peer: Option<&str>) {
    results.median_figure("S2a", &measured.pipelined, "rows/s", peer);
    results.median_figure("S2b", &measured.ms_p99, "ms", peer);
    let rate = "one by one on 16 connections";
    results.median_figure(rate, &measured.one_by_one, "rows/s", peer);
}

/// Rows a second on one connection with batches ahead.
fn pipelined(login: &Login, plan: Plan, round: u64) -> Result<f64> {
    let mut client = Client::connect(login)?;
    let mut id = accounts::ids(plan.rows, round);
    let mut batch = || -> Vec<i64> { (0..BATCH).map(|_| id()).collect() };
    let start = Instant::now();
    let mut asked = batch();
    client.ask(&asked)?;
    let mut rows = 0;
    while start.elapsed().as_secs_f64() < plan.seconds {
        let next = batch();
        client.ask(&next)?;
        client.take(&asked)?;
        rows += asked.len();
        asked = next;
    }
    client.take(&asked)?;
    rows += asked.len();
    #[expect(clippy::cast_precision_loss, reason = "row counts are far below 2^52")]
    let rate = rows as f64 / start.elapsed().as_secs_f64();
    Ok(rate)
}

/// Rows a second and latencies of connections that wait for every answer.
fn one_by_one(login: &Login, plan: Plan, round: u64) -> Result<(f64, Quantiles)> {
    let ask = |connection: u64| -> Result<Vec<Duration>> {
        let mut client = Client::connect(login)?;
        let mut id = accounts::ids(plan.rows, round * CONNECTIONS + connection);
        let mut latencies = Vec::new();
        let start = Instant::now();
        while start.elapsed().as_secs_f64() < plan.seconds {
            let asked = [id()];
            let began = Instant::now();
            client.ask(&asked)?;
            client.take(&asked)?;
            latencies.push(began.elapsed());
        }
        Ok(latencies)
    };
    let latencies = thread::scope(|scope| -> Result<Vec<Duration>> {
        let threads: Vec<_> = (0..CONNECTIONS)
            .map(|connection| scope.spawn(move || ask(connection)))
            .collect();
        let mut all = Vec::new();
        for thread in threads {
            let latencies = thread.join();
            all.extend(latencies.map_err(|_| anyhow!("an asking thread panicked"))??);
        }
        Ok(all)
    })?;
    #[expect(clippy::cast_precision_loss, reason = "row counts are far below 2^52")]
    let rate = latencies.len() as f64 / plan.seconds;
    Ok((rate, Quantiles::of(latencies)))
}
