//! Runs a task on all clients, and counts what ends when.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::transaction::Draw;
use super::{Checks, Client, Counts, Task, TaskReport, YcsbSide};
use crate::process_use::process_seconds;

/// Runs it.
pub fn run(side: &mut impl YcsbSide, rows: u64, task: &Task) -> Result<TaskReport> {
    drop(side.marks());
    let (before, busy) = (side.counts()?, process_seconds()?);
    let batch = side.batch();
    let tallies = run_clients(side.clients(), batch, rows, task)?;
    let after = side.counts()?;
    let total = |window: usize| -> f64 { tallies.iter().map(|tally| tally.ended[window]).sum() };
    Ok(TaskReport {
        rates: (0..task.windows)
            .map(|window| total(window) / task.window_seconds)
            .collect(),
        transactions: tallies.iter().map(|tally| tally.transactions).sum(),
        counts: Counts {
            disk_reads: after.disk_reads - before.disk_reads,
            cache_hits: after.cache_hits - before.cache_hits,
        },
        busy_seconds: process_seconds()? - busy,
        marks: side.marks(),
    })
}

fn run_clients<C: Client>(
    clients: &mut [C],
    batch: usize,
    rows: u64,
    task: &Task,
) -> Result<Vec<Tally>> {
    let begin = Instant::now();
    let count = clients.len() as u32;
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, client) in (0..).zip(clients) {
            threads.push(scope.spawn(move || {
                let draw = Draw::new(rows, task.skew, task.updates, task.seed, number, count);
                run_client(client, draw, batch, Tally::new(begin, task))
            }));
        }
        let ended = threads.into_iter().map(|thread| {
            let ended = thread.join();
            ended.expect("clients return errors and do not panic")
        });
        ended.collect()
    })
}

fn run_client(
    client: &mut impl Client,
    mut draw: Draw,
    batch: usize,
    mut tally: Tally,
) -> Result<Tally> {
    let (mut transactions, mut checks) = (Vec::new(), Checks::default());
    let mut reads = 0;
    let (mut drawn, mut from) = (0, Instant::now());
    while from < tally.end() {
        draw.fill(batch, &mut transactions);
        drawn += transactions.len() as u64;
        reads += transactions
            .iter()
            .filter(|one| one.update.is_none())
            .count();
        let ended = client.run(&transactions, &mut checks)?;
        let to = Instant::now();
        tally.add(from, to, ended);
        from = to;
    }
    tally.add(from, Instant::now(), client.finish(&mut checks)?);
    ensure!(
        tally.transactions == drawn,
        "{} of {drawn} have ended",
        tally.transactions
    );
    ensure!(
        checks.rows() == reads as u64,
        "{} of {reads} rows came",
        checks.rows()
    );
    Ok(tally)
}

/// What of one client's transactions ended in which window.
#[derive(Debug)]
struct Tally {
    /// When the first window begins.
    begin: Instant,
    window: Duration,
    ended: Vec<f64>,
    transactions: u64,
}

impl Tally {
    fn new(start: Instant, task: &Task) -> Self {
        Self {
            begin: start + Duration::from_secs_f64(task.warm_seconds),
            window: Duration::from_secs_f64(task.window_seconds),
            ended: vec![0.0; task.windows],
            transactions: 0,
        }
    }

    fn end(&self) -> Instant {
        self.begin + self.window * self.ended.len() as u32
    }

    /// So many have ended between these moments, at an even pace as far as is known.
    fn add(&mut self, from: Instant, to: Instant, ended: u64) {
        self.transactions += ended;
        let length = (to - from).as_secs_f64();
        let mut window_from = self.begin;
        for window in &mut self.ended {
            let window_to = window_from + self.window;
            let shared = to
                .min(window_to)
                .saturating_duration_since(from.max(window_from));
            if length > 0.0 {
                *window += ended as f64 * shared.as_secs_f64() / length;
            }
            window_from = window_to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_counts_in_the_windows_that_it_ran_in() {
        let start = Instant::now();
        let task = Task {
            updates: 0.0,
            skew: 1.0,
            warm_seconds: 1.0,
            windows: 2,
            window_seconds: 2.0,
            seed: 1,
        };
        let mut tally = Tally::new(start, &task);
        let at = |seconds| start + Duration::from_secs_f64(seconds);
        tally.add(at(0.0), at(1.0), 1_000);
        tally.add(at(0.5), at(1.5), 10);
        tally.add(at(1.5), at(4.5), 30);
        tally.add(at(4.5), at(5.5), 10);
        tally.add(at(5.5), at(9.0), 1_000);
        let close = |found: f64, expected: f64| (found - expected).abs() < 1e-6;
        assert!(close(tally.ended[0], 5.0 + 15.0), "{:?}", tally.ended);
        assert!(close(tally.ended[1], 15.0 + 5.0), "{:?}", tally.ended);
        assert_eq!(tally.transactions, 2_050);
    }
}
