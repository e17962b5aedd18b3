//! Writers at the source: TPC-C's transactions that change rows, on a few connections, at a given pace.
//!
//! Each writer draws from the standard mix and leaves out what changes nothing: Order-Status and
//! Stock-Level, and the order in a hundred that names an unknown item. A transaction is one call of a
//! function (`transactions.sql`) and one commit. A repeated item of an order is taken out.
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
use contender::tpcc::transactions::{Delivery, Line, Mix, NewOrder, Payment, Transaction, Who};
use postgres::types::ToSql;
use postgres::{Client, Statement};

use super::source::{Database, Source};

/// Connections that write.
pub const WRITERS: usize = 4;

/// What is to be written.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub database: Database,
    pub rows: Rows,
    pub changes_a_second: f64,
    /// Equal ones draw the same.
    pub seed: u64,
}

/// What was written.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// Row changes of all writers.
    pub changes: u64,
    /// From the first transaction to the last.
    pub seconds: f64,
    /// When each transaction was about to commit, by writer: microseconds since 1970.
    pub stamps: [Vec<i64>; WRITERS],
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
            .map(|stamps| stamps.last().copied().unwrap_or_default())
    }
}

/// Writes while `during` runs.
pub fn write_while<T>(
    source: &Source,
    work: Work,
    during: impl FnOnce() -> Result<T>,
) -> Result<(T, Written)> {
    let stop = AtomicBool::new(false);
    let writers = (0..WRITERS).map(|number| Writer::new(source, work, number));
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
    client: Client,
    number: i32,
    mix: Mix,
    changes_a_second: f64,
    new_order: Statement,
    payment: Statement,
    delivery: Statement,
}

impl Writer {
    fn new(source: &Source, work: Work, number: usize) -> Result<Self> {
        let mut client = source.connect_to(work.database)?;
        // The plans do not depend on who orders what.
        client.batch_execute("set plan_cache_mode = force_generic_plan")?;
        let mut prepare = |call| client.prepare(&format!("select changes, stamped from {call}"));
        Ok(Self {
            new_order: prepare("new_order($1, $2, $3, $4, $5, $6, $7)")?,
            payment: prepare("payment($1, $2, $3, $4, $5, $6, $7, $8::bigint * 0.01)")?,
            delivery: prepare("delivery($1, $2, $3)")?,
            client,
            number: i32::try_from(number)?,
            mix: Mix::new(work.rows, work.seed * WRITERS as u64 + number as u64),
            #[expect(clippy::cast_precision_loss, reason = "a few")]
            changes_a_second: work.changes_a_second / WRITERS as f64,
        })
    }

    /// Writes until told to stop; the number of changes, and the stamps.
    fn run(mut self, started: Instant, stop: &AtomicBool) -> Result<(u64, Vec<i64>)> {
        let (mut changes, mut stamps) = (0_u64, Vec::new());
        while !stop.load(Ordering::Acquire) {
            #[expect(clippy::cast_precision_loss, reason = "row counts are far below 2^52")]
            let due = Duration::from_secs_f64(changes as f64 / self.changes_a_second);
            if let Some(early) = due.checked_sub(started.elapsed()) {
                thread::sleep(early);
            }
            let (changed, stamp) = self.write()?;
            if changed > 0 {
                changes += changed;
                stamps.push(stamp);
            }
        }
        Ok((changes, stamps))
    }

    fn write(&mut self) -> Result<(u64, i64)> {
        match self.mix.draw() {
            Transaction::NewOrder(order) => self.new_order(order),
            Transaction::Payment(payment) => self.payment(&payment),
            Transaction::Delivery(delivery) => self.delivery(&delivery),
            Transaction::OrderStatus(_) | Transaction::StockLevel(_) => Ok((0, 0)),
        }
    }

    fn new_order(&mut self, order: NewOrder) -> Result<(u64, i64)> {
        let NewOrder {
            warehouse,
            district,
            customer,
            mut lines,
        } = order;
        lines.sort_unstable_by_key(|line| (line.supply_warehouse, line.item));
        lines.dedup_by_key(|line| (line.supply_warehouse, line.item));
        let column = |of: fn(&Line) -> i32| lines.iter().map(of).collect::<Vec<_>>();
        let parameters: [&(dyn ToSql + Sync); 7] = [
            &self.number,
            &i32::from(warehouse),
            &i32::from(district),
            &customer,
            &column(|line| line.item),
            &column(|line| line.supply_warehouse.into()),
            &column(|line| line.quantity.into()),
        ];
        call(&mut self.client, &self.new_order, &parameters)
    }

    fn payment(&mut self, payment: &Payment) -> Result<(u64, i64)> {
        let (id, name) = match &payment.customer {
            Who::Id(id) => (Some(*id), None),
            Who::Last(name) => (None, Some(name)),
        };
        let parameters: [&(dyn ToSql + Sync); 8] = [
            &self.number,
            &i32::from(payment.warehouse),
            &i32::from(payment.district),
            &i32::from(payment.customer_warehouse),
            &i32::from(payment.customer_district),
            &id,
            &name,
            &payment.amount,
        ];
        call(&mut self.client, &self.payment, &parameters)
    }

    fn delivery(&mut self, delivery: &Delivery) -> Result<(u64, i64)> {
        let parameters: [&(dyn ToSql + Sync); 3] = [
            &self.number,
            &i32::from(delivery.warehouse),
            &i32::from(delivery.carrier),
        ];
        call(&mut self.client, &self.delivery, &parameters)
    }
}

/// Rows changed, and the stamp.
fn call(
    client: &mut Client,
    statement: &Statement,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<(u64, i64)> {
    let row = client.query_one(statement, parameters)?;
    Ok((u64::try_from(row.get::<_, i32>(0))?, row.get(1)))
}
