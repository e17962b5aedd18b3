//! Data eight times as large as memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use env::Env;
use oltp::{AntiCacheOptions, BlockFiles, Completion, Outcome, Partition, PartitionPlan};

use crate::Scale;
use crate::results::Results;
use crate::ycsb::workload::{self, Calls};

/// Data by memory.
const TIMES: usize = 8;

const SKEWS: [f64; 5] = [0.5, 0.75, 1.0, 1.25, 1.5];

/// The paper's mixes: their names, and the share of updates.
const MIXES: [(&str, f64); 3] = [
    ("read-only", 0.0),
    ("read-heavy", 0.1),
    ("write-heavy", 0.5),
];

/// Threads that read blocks.
const FETCHERS: usize = 2;

/// Calls between two looks at what came from disk.
const CALLS_BETWEEN_POLLS: usize = 64;

/// What a row takes in memory, with its index entry.
const ROW_BYTES_IN_MEMORY: usize = workload::ROW_BYTES + 24 + 43 + 34;

/// What one run shows.
struct Measured {
    rate: f64,
    /// Calls that needed evicted data, of all.
    misses: f64,
    /// Milliseconds that a step took in which rows were evicted or came back, p99.9.
    stall_ms: f64,
    /// The most memory that was in use, of the budget.
    memory: f64,
}

/// Notes the figures.
pub fn run(scale: Scale, results: &mut Results) -> Result<()> {
    let (rows, warm_up, measured) = match scale {
        Scale::Quick => (
            200_000,
            Duration::from_millis(300),
            Duration::from_millis(700),
        ),
        Scale::Full => (4_000_000, Duration::from_secs(20), Duration::from_secs(20)),
    };
    let memory_bytes = rows as usize * ROW_BYTES_IN_MEMORY / TIMES;
    let options = AntiCacheOptions::new(memory_bytes);
    results.setting("rows, larger than memory", rows);
    results.setting("memory_bytes", memory_bytes);
    results.setting("block_bytes", options.block_bytes);
    results.setting("alpha, larger than memory", "0.01");
    results.setting("page cache", "not limited");
    let folder = tempfile::tempdir()?;
    let plan = PartitionPlan {
        tables: workload::tables(),
        procedures: workload::procedures(),
        anti_cache: Some(options),
        has_log: false,
    };
    let mut partition = Partition::open(&Env::real(), folder.path(), plan)?;
    with_disk_threads(&mut partition, |partition| {
        workload::load(partition, rows, |partition| {
            Ok(partition.poll(&mut Vec::new())?)
        })?;
        for (mix, updates) in MIXES {
            for skew in SKEWS {
                let mut calls = Calls::draw(4_000_000, rows, skew, updates);
                measure(partition, &mut calls, warm_up, memory_bytes)?;
                let found = measure(partition, &mut calls, measured, memory_bytes)?;
                note(results, &format!("{mix}, skew {skew}"), &found);
            }
        }
        Ok(())
    })
}

fn note(results: &mut Results, name: &str, found: &Measured) {
    results.figure(&format!("{name}: rate"), found.rate, "1/s", None);
    results.figure(&format!("{name}: misses"), found.misses * 100.0, "%", None);
    results.figure(&format!("{name}: stall p99.9"), found.stall_ms, "ms", None);
    results.figure(&format!("{name}: memory"), found.memory * 100.0, "%", None);
}

fn measure(
    partition: &mut Partition,
    calls: &mut Calls,
    duration: Duration,
    memory_bytes: usize,
) -> Result<Measured> {
    let (mut reply, mut completed) = (Vec::new(), Vec::new());
    let (mut ended, mut missed, mut memory_max) = (0_u64, 0_u64, 0);
    let mut stalls = Vec::new();
    let start = Instant::now();
    while start.elapsed() < duration {
        for _ in 0..CALLS_BETWEEN_POLLS {
            let (moved, before) = (moved_rows(partition), Instant::now());
            let outcome = partition.execute(calls.following(), &mut reply);
            note_stall(partition, moved, before, &mut stalls);
            match outcome {
                Outcome::Committed(_) => ended += 1,
                Outcome::Waiting(_) => missed += 1,
                Outcome::Refused(_) => break,
                Outcome::Stopped(stop) => bail!(stop),
            }
        }
        let (moved, before) = (moved_rows(partition), Instant::now());
        partition.poll(&mut completed)?;
        note_stall(partition, moved, before, &mut stalls);
        ended += check_ends(&mut completed)?;
        memory_max = memory_max.max(partition.memory().live_bytes);
    }
    let seconds = start.elapsed().as_secs_f64();
    stalls.sort_unstable();
    let stall = stalls
        .get(stalls.len() * 999 / 1_000)
        .copied()
        .unwrap_or_default();
    Ok(Measured {
        rate: ended as f64 / seconds,
        misses: missed as f64 / ended.max(1) as f64,
        stall_ms: stall.as_secs_f64() * 1e3,
        memory: memory_max as f64 / memory_bytes as f64,
    })
}

/// Calls that have waited and ended.
fn check_ends(completed: &mut Vec<Completion>) -> Result<u64> {
    let mut ended = 0;
    for completion in completed.drain(..) {
        match completion.outcome {
            Outcome::Committed(_) => ended += 1,
            other => bail!("a call that waited ended with {other:?}"),
        }
    }
    Ok(ended)
}

/// Rows that went to disk or came back.
fn moved_rows(partition: &Partition) -> u64 {
    let statistics = partition.anti_cache_statistics();
    statistics.evicted_rows + statistics.returned_rows
}

fn note_stall(partition: &Partition, moved: u64, before: Instant, stalls: &mut Vec<Duration>) {
    if moved_rows(partition) != moved {
        stalls.push(before.elapsed());
    }
}

/// Runs `work` while other threads read and write the partition's blocks.
fn with_disk_threads(
    partition: &mut Partition,
    work: impl FnOnce(&mut Partition) -> Result<()>,
) -> Result<()> {
    const PATIENCE: Duration = Duration::from_millis(10);
    let files = partition.block_files().context("the partition evicts")?;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    for number in 0..=FETCHERS {
        let (files, is_over) = (Arc::clone(&files), Arc::clone(&is_over));
        let thread = thread::Builder::new().name(format!("blocks-{number}"));
        threads.push(thread.spawn(move || -> Result<()> {
            while !is_over.load(Ordering::Relaxed) {
                let is_idle = !step(&files, number == 0)?;
                match (is_idle, number) {
                    (false, _) => {}
                    (true, 0) => files.wait_to_write(PATIENCE),
                    (true, _) => files.wait_to_fetch(PATIENCE),
                }
            }
            Ok(())
        })?);
    }
    let result = work(partition);
    is_over.store(true, Ordering::Relaxed);
    for thread in threads {
        thread
            .join()
            .expect("threads of blocks do not panic")
            .context("a block was not written")?;
    }
    result
}

fn step(files: &BlockFiles, writes: bool) -> Result<bool> {
    if writes {
        Ok(files.write()?)
    } else {
        Ok(files.fetch())
    }
}
