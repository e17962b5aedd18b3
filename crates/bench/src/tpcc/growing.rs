//! Data that grows beyond memory: orders, their lines and payments pile up, and the cold ones go to disk.
//!
//! As in the paper, customers, stock and all indexes stay in memory. So that these leave room for hot rows when the data
//! is four times as large as the memory, the memory is ten times what one warehouse takes in the beginning.

use std::time::Instant;

use anyhow::Result;
use contender::tpcc::Scale as Size;
use contender::tpcc::transactions::Mix;
use oltp::statistics::TableStatistics;
use oltp::{AntiCacheOptions, Call, MergeStrategy, Outcome, Partition};

use super::database::{self, Drawn};
use crate::Scale;
use crate::primary_threads::beside;
use crate::results::Results;

/// Data by memory at the end.
const TIMES: f64 = 4.0;

/// Transactions of a window, whose rate is one sample.
const WINDOW: usize = 20_000;

/// Progress is shown once in so many windows.
const WINDOWS_SHOWN: usize = 10;

/// Calls between two looks at what came from disk.
const CALLS_BETWEEN_POLLS: usize = 16;

/// What the windows show, in order.
#[derive(Default)]
struct Windows {
    rates: Vec<f64>,
    /// The most that was allocated, by the budget.
    memory: f64,
    /// Data by memory, at the end.
    times: f64,
}

/// Notes the figures.
pub fn run(scale: Scale, results: &mut Results) -> Result<()> {
    let size = Size::standard(1);
    let room = match scale {
        Scale::Quick => 2,
        Scale::Full => 10,
    };
    let loaded = Loaded::measure(&size)?;
    let memory_bytes = loaded.bytes * room;
    results.setting("memory_bytes, growing", memory_bytes);
    let folder = tempfile::tempdir()?;
    let options = AntiCacheOptions {
        merge: MergeStrategy::Adaptive,
        ..AntiCacheOptions::new(memory_bytes)
    };
    let mut partition = database::open(folder.path(), Some(options))?;
    let files: Vec<_> = partition.block_files().into_iter().collect();
    beside(partition.log_writer(), &files, || {
        database::fill(&mut partition, &size)?;
        let windows = grow(&mut partition, &size, &loaded, memory_bytes)?;
        note(&partition, &windows, memory_bytes, results);
        database::check(&mut partition, &size)
    })
}

/// The loaded database when there is no bound.
struct Loaded {
    /// What it takes.
    bytes: usize,
    /// What a row of each table takes, without indexes.
    row_bytes: Vec<f64>,
}

impl Loaded {
    fn measure(size: &Size) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut partition = database::open(folder.path(), None)?;
        beside(partition.log_writer(), &[], || {
            database::fill(&mut partition, size)
        })?;
        let tables = partition.table_statistics();
        let row_bytes = |table: &TableStatistics| {
            table.row_bytes_in_use as f64 / table.rows_in_memory.max(1) as f64
        };
        Ok(Self {
            bytes: partition.memory().live_bytes,
            row_bytes: tables.iter().map(row_bytes).collect(),
        })
    }

    /// What all rows would take in memory, with all indexes.
    fn data_bytes(&self, partition: &Partition) -> f64 {
        let tables = partition.table_statistics();
        let evicted = tables.iter().zip(&self.row_bytes);
        let evicted = evicted.map(|(table, bytes)| table.rows_evicted as f64 * bytes);
        evicted.sum::<f64>() + partition.memory().live_bytes as f64
    }
}

fn grow(
    partition: &mut Partition,
    size: &Size,
    loaded: &Loaded,
    memory_bytes: usize,
) -> Result<Windows> {
    let mut windows = Windows::default();
    let mut mix = Mix::new(*size, 1);
    loop {
        let drawn = Drawn::draw(&mut mix, WINDOW);
        let start = Instant::now();
        let is_full = run_window(partition, &drawn, memory_bytes, &mut windows)?;
        let rate = WINDOW as f64 / start.elapsed().as_secs_f64();
        windows.times = loaded.data_bytes(partition) / memory_bytes as f64;
        if windows.rates.len() % WINDOWS_SHOWN == 0 {
            eprintln!("growing: {:.2} x memory, {rate:.0} a second", windows.times);
        }
        if is_full {
            return Ok(windows);
        }
        windows.rates.push(rate);
        if windows.times >= TIMES {
            return Ok(windows);
        }
    }
}

/// Whether the memory is full for good.
fn run_window(
    partition: &mut Partition,
    drawn: &Drawn,
    memory_bytes: usize,
    windows: &mut Windows,
) -> Result<bool> {
    let mut reply = Vec::new();
    for (number, call) in drawn.iter().enumerate() {
        let mut refusals = 0;
        while let Outcome::Refused(_) = execute(partition, call, &mut reply)? {
            refusals += 1;
            if refusals > database::REFUSALS_MAX {
                return Ok(true);
            }
            database::poll(partition)?;
        }
        if number % CALLS_BETWEEN_POLLS == 0 {
            database::keep_pace(partition)?;
            let used = partition.memory().held_bytes as f64 / memory_bytes as f64;
            windows.memory = windows.memory.max(used);
        }
    }
    while partition.waiting() > 0 {
        database::poll(partition)?;
    }
    database::await_durable(partition)?;
    Ok(false)
}

fn execute(partition: &mut Partition, call: Call<'_>, reply: &mut Vec<u8>) -> Result<Outcome> {
    let outcome = partition.execute(call, reply);
    database::has_ended(&outcome)?;
    Ok(outcome)
}

fn note(partition: &Partition, windows: &Windows, memory_bytes: usize, results: &mut Results) {
    let rates = &windows.rates;
    let first = rates.first().copied().unwrap_or_default();
    let last = rates.last().copied().unwrap_or_default();
    let lowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    results.figure("growing: data by memory", windows.times, "x", None);
    results.figure(
        "growing: memory by budget",
        windows.memory * 100.0,
        "%",
        None,
    );
    results.figure("growing: first rate", first, "1/s", None);
    results.figure(
        "growing: last by first rate",
        last / first * 100.0,
        "%",
        None,
    );
    results.figure(
        "growing: lowest by first rate",
        lowest / first * 100.0,
        "%",
        None,
    );
    let tables = partition.table_statistics();
    let indexes: usize = tables.iter().map(|table| table.index_bytes).sum();
    results.figure(
        "growing: indexes by budget",
        indexes as f64 / memory_bytes as f64 * 100.0,
        "%",
        None,
    );
    let statistics = partition.anti_cache_statistics();
    results.figure(
        "growing: rows evicted",
        statistics.evicted_rows as f64,
        "",
        None,
    );
    results.figure(
        "growing: rows moved in memory",
        statistics.moved_rows as f64,
        "",
        None,
    );
    results.figure("growing: restarts", statistics.restarts as f64, "", None);
    results.series("growing: rate of a window", rates.clone(), "1/s", None);
}
