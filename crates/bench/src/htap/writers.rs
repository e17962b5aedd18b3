//! Writers at the source: TPC-C's transactions that change rows, on a few connections, at a given pace.
//!
//! Each writer draws from the standard mix and leaves out what changes nothing: Order-Status and
//! Stock-Level, and the order in a hundred that names an unknown item. A transaction is one call of the
//! source's ([`calls`](super::calls)) and one commit. A repeated item of an order is taken out.
//!
//! Pace: a transaction begins when as many changes as the writer has made so far are due, at once if that
//! time is past; nobody waits for hedgerow.
//!
//! Each transaction leaves its time in its writer's row of the stopwatch and gives it back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use contender::tpcc::Scale as Rows;
use contender::tpcc::transactions::{Mix, Transaction};

use super::calls::{Calls, Done};
use super::postgres_source::Database;

/// Connections that write.
pub const WRITERS: usize = 4;

/// What is to be written.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub rows: Rows,
    pub changes_a_second: f64,
    pub database: Database,
    /// Equal ones draw the same.
    pub seed: u64,
}

/// What a transaction has left in the stopwatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The time there: microseconds since 1970.
    pub value: i64,
    /// When hedgerow could have known, which is the same unless the log was held back.
    pub since_us: i64,
}

/// What was written.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// Row changes of all writers.
    pub changes: u64,
    /// From the first transaction to the last.
    pub seconds: f64,
    /// The stamp of each transaction, by writer.
    pub stamps: [Vec<Stamp>; WRITERS],
}

impl Written {
    /// Row changes a second.
    pub fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "row counts are far below 2^52")]
        let changes = self.changes as f64;
        changes / self.seconds
    }

    /// The last stamp of each writer; zero of one that has written nothing.
    pub fn last(&self) -> [i64; WRITERS] {
        self.stamps
            .each_ref()
            .map(|stamps| stamps.last().map_or(0, |stamp| stamp.value))
    }
}

/// Writes while `during` runs, each writer on a connection of its own: `connect` has its number.
pub fn write_while<T>(
    connect: impl Fn(usize) -> Result<Box<dyn Calls>>,
    work: Work,
    during: impl FnOnce() -> Result<T>,
) -> Result<(T, Written)> {
    let stop = AtomicBool::new(false);
    let writers = (0..WRITERS).map(|number| Ok(Writer::new(connect(number)?, work, number)));
    let writers = writers.collect::<Result<Vec<_>>>()?;
    thread::scope(|scope| {
        let started = Instant::now();
        let stop = &stop;
        let threads: Vec<_> = writers
            .into_iter()
            .map(|writer| scope.spawn(move || writer.run(started, stop)))
            .collect();
        let outcome = during();
        stop.store(true, Ordering::Release);
        let mut written = Written::default();
        for (stamps, thread) in written.stamps.iter_mut().zip(threads) {
            let ended = thread.join().map_err(|_| anyhow!("a writer panicked"))?;
            let (changes, its_stamps) = ended.context("a writer")?;
            written.changes += changes;
            *stamps = its_stamps;
        }
        written.seconds = started.elapsed().as_secs_f64();
        Ok((outcome?, written))
    })
}

/// One connection.
struct Writer {
    calls: Box<dyn Calls>,
    mix: Mix,
    /// Items have numbers up to this one.
    items: i32,
    changes_a_second: f64,
}

impl Writer {
    fn new(calls: Box<dyn Calls>, work: Work, number: usize) -> Self {
        Self {
            calls,
            mix: Mix::new(work.rows, work.seed * WRITERS as u64 + number as u64),
            items: work.rows.items,
            #[expect(clippy::cast_precision_loss, reason = "a few")]
            changes_a_second: work.changes_a_second / WRITERS as f64,
        }
    }

    /// Writes until told to stop; the number of changes, and the stamps.
    fn run(mut self, started: Instant, stop: &AtomicBool) -> Result<(u64, Vec<Stamp>)> {
        let (mut changes, mut stamps) = (0_u64, Vec::new());
        while !stop.load(Ordering::Acquire) {
            #[expect(clippy::cast_precision_loss, reason = "row counts are far below 2^52")]
            let due = Duration::from_secs_f64(changes as f64 / self.changes_a_second);
            if let Some(early) = due.checked_sub(started.elapsed()) {
                thread::sleep(early);
            }
            let done = self.write()?;
            if done.changes > 0 {
                changes += done.changes;
                stamps.push(Stamp {
                    value: done.stamp,
                    since_us: done.stamp,
                });
            }
        }
        Ok((changes, stamps))
    }

    fn write(&mut self) -> Result<Done> {
        match self.mix.draw() {
            Transaction::NewOrder(order) if order.lines.iter().any(|l| l.item > self.items) => {
                Ok(Done::default())
            }
            Transaction::NewOrder(order) => self.calls.new_order(order),
            Transaction::Payment(payment) => self.calls.payment(&payment),
            Transaction::Delivery(delivery) => self.calls.delivery(&delivery),
            Transaction::OrderStatus(_) | Transaction::StockLevel(_) => Ok(Done::default()),
        }
    }
}
