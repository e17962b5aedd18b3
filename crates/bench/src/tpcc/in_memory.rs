//! Everything in memory: transactions a second, and how long they take until they are durable.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use contender::tpcc::Scale as Size;
use contender::tpcc::transactions::Mix;
use oltp::{Outcome, Partition};
use tpcc::calls::NAMES;
use types::CommitPosition;

use super::database::{self, Drawn};
use crate::Scale;
use crate::primary_threads::beside;
use crate::quantiles::Quantiles;
use crate::results::Results;

/// Runs of which the median is taken.
const RUNS: usize = 3;

/// Calls between two looks at what is durable.
const CALLS_BETWEEN_POLLS: usize = 16;

/// What one run shows.
struct Measured {
    rate: f64,
    /// From a call to the moment at which it was seen to be durable.
    latencies: Quantiles,
    /// Counts and time inside the partition, by procedure.
    inside: [(u32, Duration); NAMES.len()],
}

/// Notes the figures.
pub fn run(scale: Scale, results: &mut Results) -> Result<()> {
    let (size, count) = match scale {
        Scale::Quick => (Size::standard(1), 100_000),
        Scale::Full => (Size::standard(4), 1_000_000),
    };
    results.setting("warehouses", size.warehouses);
    results.setting("transactions a run", count);
    let folder = tempfile::tempdir()?;
    let mut partition = database::open(folder.path(), None)?;
    beside(partition.log_writer(), &[], || {
        database::fill(&mut partition, &size)?;
        let loaded = partition.memory().live_bytes;
        results.figure(
            "memory a warehouse",
            loaded as f64 / f64::from(size.warehouses) / 1e6,
            "MB",
            None,
        );
        let mut mix = Mix::new(size, 1);
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            runs.push(measure(&mut partition, &Drawn::draw(&mut mix, count))?);
        }
        database::check(&mut partition, &size)?;
        note(&runs, results);
        Ok(())
    })
}

fn note(runs: &[Measured], results: &mut Results) {
    let all = |figure: fn(&Measured) -> f64| runs.iter().map(figure).collect::<Vec<f64>>();
    results.median_figure("A2", &all(|run| run.rate), "1/s", None);
    results.median_figure(
        "durable after, p50",
        &all(|run| run.latencies.ms_p50),
        "ms",
        None,
    );
    results.median_figure(
        "durable after, p99",
        &all(|run| run.latencies.ms_p99),
        "ms",
        None,
    );
    let last = &all(|run| run.latencies.ms_max);
    results.median_figure("durable after, max", last, "ms", None);
    for (number, name) in NAMES.iter().enumerate() {
        let micros = runs.iter().map(|run| {
            let (count, time) = run.inside[number];
            time.as_secs_f64() * 1e6 / f64::from(count.max(1))
        });
        let micros: Vec<f64> = micros.collect();
        results.median_figure(&format!("{name}, mean"), &micros, "us", None);
    }
}

fn measure(partition: &mut Partition, drawn: &Drawn) -> Result<Measured> {
    let mut inside = [(0, Duration::ZERO); NAMES.len()];
    let mut waiting: VecDeque<(CommitPosition, Instant)> = VecDeque::new();
    let (mut latencies, mut reply, mut count) = (Vec::new(), Vec::new(), 0);
    let start = Instant::now();
    let mut before = start;
    for (number, call) in drawn.iter().enumerate() {
        let outcome = partition.execute(call, &mut reply);
        let after = Instant::now();
        ensure!(
            database::has_ended(&outcome)?,
            "a call ended with {outcome:?}"
        );
        let (calls, time) = &mut inside[usize::from(call.procedure.0)];
        *calls += 1;
        *time += after - before;
        if let Outcome::Committed(position) = outcome {
            waiting.push_back((position, before));
        }
        before = after;
        count += 1;
        if number % CALLS_BETWEEN_POLLS == 0 {
            database::keep_pace(partition)?;
            acknowledge(partition, &mut waiting, &mut latencies);
            before = Instant::now();
        }
    }
    database::await_durable(partition)?;
    acknowledge(partition, &mut waiting, &mut latencies);
    Ok(Measured {
        rate: f64::from(count) / start.elapsed().as_secs_f64(),
        latencies: Quantiles::of(latencies),
        inside,
    })
}

/// Notes the time of calls that have become durable.
fn acknowledge(
    partition: &Partition,
    waiting: &mut VecDeque<(CommitPosition, Instant)>,
    latencies: &mut Vec<Duration>,
) {
    let durable = partition.durable();
    while let Some((_, since)) = waiting.pop_front_if(|(position, _)| *position <= durable) {
        latencies.push(since.elapsed());
    }
}
