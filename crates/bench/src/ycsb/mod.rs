//! YCSB in memory, in process, on one core: reads alone, and reads with as many updates that a command
//! log makes durable.
//!
//! [`workload`] is the table and its transactions.
//!
//! Calls are drawn before the clock runs. Every read copies its row into the reply. With the log a
//! call counts when it is durable: the clock stops after the last sync. Each figure is the median of
//! three runs that take turns.

pub mod workload;

use std::path::Path;
use std::thread;
use std::time::Instant;

use anyhow::{Result, bail};
use env::Env;
use oltp::{Outcome, Partition, PartitionPlan};

use crate::Scale;
use crate::primary_threads::beside;
use crate::results::Results;
use workload::Calls;

/// Skews of the reads.
const SKEWS: [f64; 3] = [0.0, 1.0, 1.25];

/// Runs of which the median is taken.
const RUNS: usize = 3;

/// Calls between two looks at what other threads have done.
const CALLS_BETWEEN_POLLS: usize = 64;

/// Commits that may wait for the log.
const UNACKNOWLEDGED_MAX: u64 = 1 << 20;

/// The experiment.
pub fn run(scale: Scale) -> Result<Results> {
    let (rows, calls, name) = match scale {
        Scale::Quick => (200_000, 2_000_000, "quick"),
        Scale::Full => (2_000_000, 20_000_000, "full"),
    };
    let mut results = Results::new("ycsb", name);
    results.setting("rows", rows);
    results.setting("row's texts, bytes", workload::ROW_BYTES);
    results.setting("calls a run", calls);
    results.setting("log", "one file, a sync (fdatasync) a group");
    let folder = tempfile::tempdir()?;
    let mut in_memory = open(folder.path(), rows, false)?;
    let mut logged = open(&folder.path().join("logged"), rows, true)?;
    let mut samples = vec![Vec::new(); SKEWS.len() + 1];
    for _ in 0..RUNS {
        for (skew, samples) in SKEWS.iter().zip(&mut samples) {
            samples.push(read(
                &mut in_memory,
                Calls::draw(calls, rows, *skew, 0.0),
                calls,
            )?);
        }
        let mixed = Calls::draw(calls, rows, 1.0, 0.5);
        samples[SKEWS.len()].push(read_and_update(&mut logged, mixed, calls)?);
    }
    for (skew, samples) in SKEWS.iter().zip(&samples) {
        results.median_figure(&format!("reads, skew {skew}"), samples, "1/s", None);
    }
    results.median_figure("A1a", &samples[1], "1/s", None);
    results.median_figure("A1b", &samples[SKEWS.len()], "1/s", None);
    let memory = in_memory.memory();
    results.figure(
        "memory a row",
        memory.held_bytes as f64 / rows as f64,
        "bytes",
        None,
    );
    Ok(results)
}

fn open(folder: &Path, rows: u64, has_log: bool) -> Result<Partition> {
    let plan = PartitionPlan {
        tables: workload::tables(),
        procedures: workload::procedures(),
        anti_cache: None,
        has_log,
        feed: None,
    };
    let mut partition = Partition::open(&Env::real(), folder, plan)?;
    beside(partition.log_writer(), &[], || {
        workload::load(&mut partition, rows, keep_pace)?;
        await_durable(&mut partition)
    })?;
    Ok(partition)
}

/// Calls a second.
fn read(partition: &mut Partition, mut calls: Calls, count: usize) -> Result<f64> {
    let mut reply = Vec::new();
    let (start, mut bytes) = (Instant::now(), 0);
    for _ in 0..count {
        let call = calls.following(partition);
        let outcome = partition.execute(call, &mut reply);
        if !matches!(outcome, Outcome::Committed(_)) {
            bail!("a read ended with {outcome:?}");
        }
        bytes += reply.len();
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    anyhow::ensure!(bytes == count * workload::ROW_BYTES, "every row is there");
    Ok(rate)
}

/// Calls a second, until all of them are durable.
fn read_and_update(partition: &mut Partition, mut calls: Calls, count: usize) -> Result<f64> {
    beside(partition.log_writer(), &[], || {
        let mut reply = Vec::new();
        let start = Instant::now();
        for number in 0..count {
            let call = calls.following(partition);
            let outcome = partition.execute(call, &mut reply);
            if !matches!(outcome, Outcome::Committed(_)) {
                bail!("a call ended with {outcome:?}");
            }
            if number % CALLS_BETWEEN_POLLS == 0 {
                keep_pace(partition)?;
            }
        }
        await_durable(partition)?;
        Ok(count as f64 / start.elapsed().as_secs_f64())
    })
}

/// Hands the log on; waits when too much is not durable yet.
fn keep_pace(partition: &mut Partition) -> Result<()> {
    if partition.log_writer().is_none() {
        return Ok(());
    }
    partition.poll(&mut Vec::new())?;
    while partition.position().0 - partition.durable().0 > UNACKNOWLEDGED_MAX {
        thread::yield_now();
        partition.poll(&mut Vec::new())?;
    }
    Ok(())
}

fn await_durable(partition: &mut Partition) -> Result<()> {
    while partition.log_writer().is_some() && partition.durable() < partition.position() {
        partition.poll(&mut Vec::new())?;
        thread::yield_now();
    }
    Ok(())
}
