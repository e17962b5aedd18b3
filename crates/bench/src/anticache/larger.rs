//! Data eight times as large as memory.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use env::Env;
use oltp::{AntiCacheOptions, Completion, Outcome, Partition, PartitionPlan};

use crate::Scale;
use crate::primary_threads::beside;
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

/// Calls between two looks at what came from disk.
const CALLS_BETWEEN_POLLS: usize = 64;

/// Calls that are drawn at a time, while the clock stands still for a few hundredths of a second.
const CALLS_DRAWN: usize = 1 << 18;

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
        feed: None,
    };
    let mut partition = Partition::open(&Env::real(), folder.path(), plan)?;
    let files: Vec<_> = partition.block_files().into_iter().collect();
    beside(None, &files, || {
        let partition = &mut partition;
        workload::load(partition, rows, |partition| {
            Ok(partition.poll(&mut Vec::new())?)
        })?;
        for (mix, updates) in MIXES {
            for skew in SKEWS {
                let mut calls = Calls::draw(CALLS_DRAWN, rows, skew, updates);
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
    let mut start = Instant::now();
    while start.elapsed() < duration {
        if calls.left() < CALLS_BETWEEN_POLLS {
            let pause = Instant::now();
            calls.redraw();
            start += pause.elapsed();
        }
        for _ in 0..CALLS_BETWEEN_POLLS {
            let (moved, before) = (moved_rows(partition), Instant::now());
            let call = calls.following(partition);
            let outcome = partition.execute(call, &mut reply);
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
