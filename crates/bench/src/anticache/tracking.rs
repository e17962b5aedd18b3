//! What it costs to know which rows are cold.

use std::time::Instant;

use anyhow::{Result, bail};
use env::Env;
use oltp::{AntiCacheOptions, Outcome, Partition, PartitionPlan, Sampling};

use crate::Scale;
use crate::results::{Results, median};
use crate::ycsb::workload::{self, Calls};

/// Skew of the reads.
const SKEW: f64 = 1.0;

/// Runs of each; they take turns.
const RUNS: usize = 5;

/// More than the rows take.
const MEMORY_BYTES: usize = 64 << 30;

/// Notes the figures.
pub fn run(scale: Scale, results: &mut Results) -> Result<()> {
    let (rows, calls) = match scale {
        Scale::Quick => (200_000, 1_000_000),
        Scale::Full => (2_000_000, 10_000_000),
    };
    let folder = tempfile::tempdir()?;
    let plan = PartitionPlan {
        tables: workload::tables(),
        procedures: workload::procedures(),
        anti_cache: Some(AntiCacheOptions::new(MEMORY_BYTES)),
        has_log: false,
        feed: None,
    };
    let mut partition = Partition::open(&Env::real(), folder.path(), plan)?;
    workload::load(&mut partition, rows, |_| Ok(()))?;
    let alphas = [0.0, 0.01, 1.0];
    let mut samples = vec![Vec::new(); alphas.len()];
    for _ in 0..RUNS {
        for (alpha, samples) in alphas.iter().zip(&mut samples) {
            partition.set_sampling(Sampling::Transactions(*alpha));
            samples.push(rate(
                &mut partition,
                Calls::draw(calls, rows, SKEW, 0.0),
                calls,
            )?);
        }
    }
    for (alpha, samples) in alphas.iter().zip(&samples) {
        results.median_figure(&format!("reads, alpha {alpha}"), samples, "1/s", None);
    }
    let untracked = median(&samples[0]);
    for (id, samples) in ["A3a", "A3b"].iter().zip(&samples[1..]) {
        results.figure(id, (1.0 - median(samples) / untracked) * 100.0, "%", None);
    }
    Ok(())
}

fn rate(partition: &mut Partition, mut calls: Calls, count: usize) -> Result<f64> {
    let mut reply = Vec::new();
    let start = Instant::now();
    for _ in 0..count {
        let call = calls.following(partition);
        let outcome = partition.execute(call, &mut reply);
        if !matches!(outcome, Outcome::Committed(_)) {
            bail!("a read ended with {outcome:?}");
        }
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}
