//! The source through the real apply loop into real trees: every snapshot is one state of the
//! workload, also after restarts.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use env::Env;
use lsm::{KeyRange, ScanRequest, Snapshot, Store, StoreOptions, Work};
use parking_lot::Mutex;
use types::TableSchema;

use crate::apply::ApplyOptions;
use crate::catalog::Catalog;
use crate::orders::source::{KIND, OrderOptions, OrderProgress, OrderSource};
use crate::orders::stream::{commands_at, totals_after};
use crate::orders::tables::{SCHEMA, Table};
use crate::orders::workload::{CUSTOMERS, ITEMS, Workload};
use crate::replica::{Replica, ReplicaParts};
use crate::status::Status;

const SEED: u64 = 5;

/// A replica of the workload in a directory.
struct Running {
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    progress: Arc<Mutex<OrderProgress>>,
    replica: Replica,
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Running {
    fn start(directory: &Path, seed: u64, orders: u64) -> Self {
        let env = Env::real();
        // Little memory, so that there are flushes and merges.
        let options = StoreOptions {
            memory_bytes: 4 << 20,
            ..StoreOptions::default()
        };
        let store = Store::open(env.clone(), directory, options).expect("the store opens");
        let catalog = Arc::new(Catalog::new());
        let options = OrderOptions {
            seed,
            rate: None,
            orders: Some(orders),
        };
        let source = OrderSource::new(options, env.clock.clone());
        let progress = source.progress();
        let threads = Arc::<Mutex<Vec<_>>>::default();
        let started = threads.clone();
        let parts = ReplicaParts {
            store: store.clone(),
            catalog: catalog.clone(),
            status: Arc::new(Status::new(env.clock.clone())),
            clock: env.clock,
            disk: env.disk,
            spool_directory: directory.join("spool"),
            spawner: Arc::new(move |name, work| {
                let thread = std::thread::Builder::new()
                    .name(name.to_owned())
                    .spawn(work);
                started.lock().push(thread.expect("it starts"));
            }),
            options: ApplyOptions::default(),
        };
        let replica = Replica::start(parts, "demo", KIND, Box::new(source)).expect("it starts");
        Self {
            store,
            catalog,
            progress,
            replica,
            threads,
        }
    }

    /// Stops, without making anything durable, and lets go of the directory.
    fn stop(self) {
        self.replica.shut_down();
        let threads = std::mem::take(&mut *self.threads.lock());
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("it ends well"));
    }

    /// Works in the background and checks snapshots until all orders are visible.
    fn check_to_the_end(&self) {
        while !self.is_over() {
            assert_eq!(self.replica.failed(), None);
            self.store.work(Work::Flush).expect("flushes");
            self.store.work(Work::Merge).expect("merges");
            if self.store.visible().0 > 0 {
                self.check();
            } else {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.check();
    }

    fn is_over(&self) -> bool {
        let progress = self.progress.lock();
        progress.finished && self.store.visible() >= progress.position
    }

    /// Checks counts and sums over all tables in one snapshot.
    fn check(&self) {
        let snapshot = self.store.pin();
        let totals = totals_after(Workload::new(SEED), commands_at(snapshot.position()));
        let read = |table, column| self.count_and_sum(&snapshot, table, column);
        let amount = i128::from(totals.amount);
        assert_eq!(read(Table::Orders, "total"), (totals.orders, amount));
        assert_eq!(read(Table::OrderLines, "amount"), (totals.lines, amount));
        assert_eq!(
            read(Table::Customers, "balance"),
            (u64::from(CUSTOMERS), amount)
        );
        assert_eq!(read(Table::Items, "revenue"), (u64::from(ITEMS), amount));
    }

    fn count_and_sum(&self, snapshot: &Snapshot, table: Table, column: &str) -> (u64, i128) {
        let entry = self
            .catalog
            .by_name(SCHEMA, table.name())
            .expect("the table is there");
        let request = ScanRequest {
            projection: vec![column_index(&entry.schema, column)],
            range: KeyRange::default(),
            batch_rows: 8_192,
        };
        let mut read = (0, 0);
        for batch in snapshot
            .scan(entry.id, request)
            .expect("the table can be read")
        {
            let batch = batch.expect("the pages are good");
            let amounts = batch.column(0).as_primitive::<Decimal128Type>();
            read.0 += batch.num_rows() as u64;
            read.1 += amounts.values().iter().sum::<i128>();
        }
        read
    }
}

fn column_index(schema: &TableSchema, name: &str) -> usize {
    schema
        .columns
        .iter()
        .position(|column| column.name == name)
        .expect("a column of the table")
}

#[test]
fn every_snapshot_is_one_state_also_after_restarts() {
    let directory = tempfile::tempdir().expect("a directory");
    let orders = [9_000, 4_000, 1];
    let mut commands = 0;
    for orders in orders {
        let running = Running::start(directory.path(), SEED, orders);
        running.check_to_the_end();
        let visible = commands_at(running.store.visible());
        assert!(visible > commands, "it went on from the durable state");
        // What is applied from here on is not durable and will be told again.
        running.store.flush().expect("flushes");
        commands = commands_at(running.store.durable().position);
        assert_eq!(commands, visible);
        running.stop();
    }
    assert_eq!(commands, 1 + orders.iter().sum::<u64>());
}

#[test]
fn what_was_not_durable_is_told_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = Running::start(directory.path(), SEED, 3_000);
    first.check_to_the_end();
    let durable = commands_at(first.store.durable().position);
    first.stop();
    let second = Running::start(directory.path(), SEED, 2_000);
    second.check_to_the_end();
    let load = u64::from(durable == 0);
    assert_eq!(commands_at(second.store.visible()), durable + load + 2_000);
    second.stop();
}

#[test]
fn a_directory_of_another_seed_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = Running::start(directory.path(), SEED, 10);
    first.check_to_the_end();
    first.store.flush().expect("flushes");
    first.stop();
    let second = Running::start(directory.path(), SEED + 1, 10);
    while second.replica.failed().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(
        second
            .replica
            .failed()
            .is_some_and(|failure| failure.contains("seed 6"))
    );
    second.stop();
}
