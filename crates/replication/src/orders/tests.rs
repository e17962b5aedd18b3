//! Orders through the primary, its log, its feed and the apply loop into real trees, with little memory
//! everywhere: every snapshot is one state of the workload, also after restarts.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int16Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::array_value_to_string;
use env::Env;
use lsm::{KeyRange, ScanRequest, Snapshot, Store, StoreOptions, Work};
use oltp::SnapshotOptions;
use parking_lot::Mutex;
use types::{ColumnType, TableId};

use super::desk::{OrderDesk, OrderOptions, OrderProgress};
use super::positions::{commands_at, is_delivered, totals_at};
use super::primary_lookup;
use super::tables::{ARRIVED, SCHEMA, Table};
use super::workload::Workload;
use crate::apply::ApplyOptions;
use crate::catalog::Catalog;
use crate::orders;
use crate::primary::source::KIND;
use crate::primary::{Clients, Observed, PrimaryOptions, PrimarySource, PrimaryVerification};
use crate::projection::request::Wish;
use crate::replica::{Replica, ReplicaParts};
use crate::source::Stop;
use crate::status::Status;

const SEED: u64 = 5;

/// Less than the rows of some thousand orders take.
const PRIMARY_BYTES: usize = 9 << 20;

/// Long enough for what happens at all.
const PATIENCE: Duration = Duration::from_secs(60);

/// Some snapshots are made while they are placed.
const LOG_BYTES: u64 = 256 << 10;

/// A primary, the desk that calls it, and its replica, in a directory.
struct Running {
    env: Env,
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    clients: Clients,
    observed: Observed,
    progress: Arc<Mutex<OrderProgress>>,
    stop: Stop,
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
        let primary = PrimaryOptions {
            folder: directory.join("primary"),
            memory_bytes: PRIMARY_BYTES,
            snapshots: SnapshotOptions {
                log_bytes: Some(LOG_BYTES),
                ..SnapshotOptions::default()
            },
            tables: Table::of_primary(),
            procedures: orders::calls::procedures(),
            identity: orders::identity(seed),
        };
        let source = PrimarySource::new(env.clone(), primary);
        let (clients, observed) = (source.clients(), source.observed());
        let threads = Arc::<Mutex<Vec<_>>>::default();
        let started = threads.clone();
        let spawner = move |name: &str, work: Box<dyn FnOnce() + Send>| {
            let thread = std::thread::Builder::new().name(name.to_owned());
            started.lock().push(thread.spawn(work).expect("it starts"));
        };
        let parts = ReplicaParts {
            store: store.clone(),
            catalog: catalog.clone(),
            status: Arc::new(Status::new(env.clock.clone())),
            clock: env.clock.clone(),
            disk: env.disk.clone(),
            spool_directory: directory.join("spool"),
            spawner: Arc::new(spawner),
            options: ApplyOptions::default(),
        };
        let replica = Replica::start(parts, "demo", KIND, Box::new(source)).expect("it starts");
        let options = OrderOptions {
            seed,
            rate: None,
            orders: Some(orders),
        };
        let session = clients.session().expect("the primary is there");
        let desk = OrderDesk::new(options, session, env.clock.clone());
        let (progress, stop) = (desk.progress(), Stop::new());
        let desk_stop = stop.clone();
        let taking = std::thread::Builder::new().spawn(move || match desk.run(&desk_stop) {
            Err(error) if !desk_stop.is_set() => tracing::debug!(%error, "the desk has ended"),
            _ => {}
        });
        threads.lock().push(taking.expect("it starts"));
        Self {
            env,
            store,
            catalog,
            clients,
            observed,
            progress,
            stop,
            replica,
            threads,
        }
    }

    /// Stops, without making anything durable, and lets go of the directory.
    fn stop(self) {
        self.stop.set();
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

    fn commands_visible(&self) -> u64 {
        commands_at(Workload::new(SEED), self.store.visible())
    }

    /// Checks counts and sums over all tables in one snapshot.
    fn check(&self) {
        let snapshot = self.store.pin();
        let workload = Workload::new(SEED);
        let totals = totals_at(workload, snapshot.position());
        let count_and_sum = |table: Table, column: &str| {
            let amounts = self.column(&snapshot, table, column);
            let amounts = amounts
                .iter()
                .map(|cells| cells.as_primitive::<Decimal128Type>());
            amounts.fold((0, 0), |(rows, sum), cells| {
                (
                    rows + cells.len() as u64,
                    sum + cells.values().iter().sum::<i128>(),
                )
            })
        };
        let amount = i128::from(totals.amount);
        assert_eq!(
            count_and_sum(Table::Orders, "total"),
            (totals.orders, amount)
        );
        assert_eq!(
            count_and_sum(Table::OrderLines, "amount"),
            (totals.lines, amount)
        );
        assert_eq!(count_and_sum(Table::Customers, "balance").1, amount);
        assert_eq!(count_and_sum(Table::Items, "revenue").1, amount);
    }

    /// The cells of a column, batch by batch.
    fn column(&self, snapshot: &Snapshot, table: Table, column: &str) -> Vec<ArrayRef> {
        let entry = self.catalog.by_name(SCHEMA, table.name());
        let entry = entry.expect("the table is there");
        let columns = &entry.schema.columns;
        let column = columns.iter().position(|of| of.name == column);
        let request = ScanRequest {
            projection: vec![column.expect("a column of the table")],
            range: KeyRange::default(),
            batch_rows: 8_192,
        };
        let batches = snapshot.scan(entry.id, request).expect("it can be read");
        batches
            .map(|batch| batch.expect("the pages are good").column(0).clone())
            .collect()
    }

    /// The order lines that a tree has, in its order, as text.
    fn rows(&self, snapshot: &Snapshot, tree: TableId) -> Vec<Vec<String>> {
        let request = ScanRequest {
            projection: (0..Table::OrderLines.schema().columns.len()).collect(),
            range: KeyRange::default(),
            batch_rows: 8_192,
        };
        let mut rows = Vec::new();
        for batch in snapshot.scan(tree, request).expect("it can be read") {
            let batch = batch.expect("the pages are good");
            let cell = |column, row| array_value_to_string(column, row).expect("it can be shown");
            rows.extend((0..batch.num_rows()).map(|row| {
                let columns = batch.columns().iter();
                columns.map(|column| cell(column, row)).collect()
            }));
        }
        rows
    }

    /// Bytes of all cells, uncompressed.
    fn raw_bytes(&self, snapshot: &Snapshot) -> u64 {
        let mut bytes = 0;
        for table in Table::ALL {
            let schema = table.schema();
            let keys = self.column(snapshot, table, &schema.columns[0].name);
            let rows = keys.iter().map(|cells| cells.len() as u64).sum::<u64>();
            bytes += rows * table.fixed_bytes();
            let texts = schema.columns.iter();
            for text in texts.filter(|column| column.column_type == ColumnType::Text) {
                let cells = self.column(snapshot, table, &text.name);
                let texts = cells
                    .iter()
                    .flat_map(|cells| cells.as_string::<i32>().iter());
                bytes += texts.flatten().map(|text| text.len() as u64).sum::<u64>();
            }
        }
        bytes
    }

    /// Whether `verify` finds every table equal.
    fn assert_equals_primary(&self) {
        let verification = PrimaryVerification {
            store: self.store.clone(),
            catalog: self.catalog.clone(),
            clients: self.clients.clone(),
            tables: Table::of_primary(),
            clock: self.env.clock.clone(),
            patience: PATIENCE,
        };
        let mut verdicts = Vec::new();
        let verified = verification.run(&Stop::new(), &mut |verdict| verdicts.push(verdict));
        verified.expect("they can be compared");
        assert_eq!(verdicts.len(), Table::ALL.len());
        let differs = verdicts.iter().find(|verdict| !verdict.equal);
        assert_eq!(differs, None);
    }
}

#[test]
fn every_snapshot_is_one_state_also_after_restarts() {
    let directory = tempfile::tempdir().expect("a directory");
    let orders = [9_000, 4_000, 1];
    let mut commands = 0;
    for orders in orders {
        let running = Running::start(directory.path(), SEED, orders);
        running.check_to_the_end();
        let visible = running.commands_visible();
        assert!(visible > commands, "it went on from where it was");
        commands = visible;
        running.assert_equals_primary();
        running.stop();
    }
    assert_eq!(commands, 1 + orders.iter().sum::<u64>());
}

#[test]
fn what_the_replica_has_lost_the_primary_tells_again() {
    let directory = tempfile::tempdir().expect("a directory");
    for round in 1..=3 {
        let running = Running::start(directory.path(), SEED, 2_000);
        running.check_to_the_end();
        // All of it is durable at the primary, hardly anything at the replica.
        assert_eq!(running.commands_visible(), 1 + 2_000 * round);
        running.stop();
    }
}

#[test]
fn a_replica_that_was_lost_is_copied_from_its_primary() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = Running::start(directory.path(), SEED, 12_000);
    first.check_to_the_end();
    // Snapshots wait for the replica: without it they are made, and the log before them goes.
    first.store.flush().expect("flushes");
    first.stop();
    let second = Running::start(directory.path(), SEED, 3_000);
    second.check_to_the_end();
    second.stop();
    let entries = std::fs::read_dir(directory.path()).expect("it is there");
    for entry in entries.map(|entry| entry.expect("it can be listed")) {
        let path = entry.path();
        if path.ends_with("primary") {
            let log = path.join("commands-0000000000.log");
            assert!(!log.exists(), "the log reaches back to the beginning");
        } else if path.is_dir() {
            std::fs::remove_dir_all(path).expect("it goes");
        } else {
            std::fs::remove_file(path).expect("it goes");
        }
    }
    let third = Running::start(directory.path(), SEED, 1_000);
    third.check_to_the_end();
    assert_eq!(third.commands_visible(), 1 + 16_000);
    third.assert_equals_primary();
    third.stop();
}

#[test]
fn rows_go_to_disk_and_the_primary_and_its_replica_agree_while_orders_come() {
    let directory = tempfile::tempdir().expect("a directory");
    let running = Running::start(directory.path(), SEED, 15_000);
    let session = running.clients.session().expect("the primary is there");
    let (workload, stop) = (Workload::new(SEED), Stop::new());
    let (mut asked, mut number) = (0, 0);
    while !running.is_over() || asked < 500 {
        assert_eq!(running.replica.failed(), None);
        let position = running.progress.lock().position;
        if let Some(question) = primary_lookup::question(workload, position, number) {
            let answer = primary_lookup::ask(&session, workload, question, &stop);
            assert_eq!(answer, Ok(()));
            asked += 1;
        }
        number += 1;
        if number % 500 == 0 {
            running.assert_equals_primary();
        }
        running.store.work(Work::Flush).expect("flushes");
        running.store.work(Work::Merge).expect("merges");
    }
    let last = running.progress.lock().position;
    let observed = loop {
        let observed = running.observed.latest().statistics;
        if observed.position >= last {
            break observed;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(
        observed
            .tables
            .iter()
            .any(|table| table.rows_evicted > 10_000)
    );
    assert!(observed.anti_cache.returned_rows > 100);
    assert!(observed.memory.held_bytes <= PRIMARY_BYTES);
    running.stop();
}

#[test]
fn a_projection_has_the_rows_of_its_table_in_another_order() {
    let directory = tempfile::tempdir().expect("a directory");
    let running = Running::start(directory.path(), SEED, 8_000);
    let wish = Wish::Create {
        name: "lines_by_status".to_owned(),
        table: Table::OrderLines.schema().name,
        order_by: vec!["status".to_owned(), "amount".to_owned()],
    };
    // Lines are placed before it and after it, and most of them get another status.
    let asked = running.catalog.projection_requests().ask(wish, PATIENCE);
    assert_eq!(asked, Ok(()));
    running.check_to_the_end();
    let tree = || {
        let projection = running.catalog.projection("lines_by_status");
        projection?.readable_at(running.store.visible())
    };
    while tree().is_none() {
        assert_eq!(running.replica.failed(), None);
        std::thread::sleep(Duration::from_millis(1));
    }
    let tree = tree().expect("it is ready");
    let snapshot = running.store.pin();
    let rows = running.rows(&snapshot, tree);
    assert!(rows.is_sorted_by_key(|row| (row[7].clone(), row[6].parse::<f64>().ok())));
    let table = running.catalog.by_name(SCHEMA, "order_lines");
    let mut of_table = running.rows(&snapshot, table.expect("it is there").id);
    let mut of_projection = rows;
    of_table.sort();
    of_projection.sort();
    assert!(of_table.len() > 20_000);
    assert!(of_table == of_projection);
    running.stop();
}

#[test]
fn rows_are_what_the_workload_foretells() {
    let directory = tempfile::tempdir().expect("a directory");
    let running = Running::start(directory.path(), SEED, 6_000);
    running.check_to_the_end();
    let (snapshot, workload) = (running.store.pin(), Workload::new(SEED));
    let totals = totals_at(workload, snapshot.position());
    assert_eq!(running.raw_bytes(&snapshot), totals.raw_bytes);
    assert_eq!(running.progress.lock().totals, totals);
    let read = |table, column| running.column(&snapshot, table, column);
    let orders = read(Table::Orders, "order_id");
    let completed = read(Table::Orders, "completed_at");
    for (orders, completed) in orders.iter().zip(&completed) {
        for (row, &order) in orders
            .as_primitive::<Int64Type>()
            .values()
            .iter()
            .enumerate()
        {
            let order = workload.order(order as u64 - 1);
            assert!(!order.rolled_back, "order {}", order.id);
            let done = workload.completion_step(order.step, order.basket) < 6_000;
            assert_eq!(done, !completed.is_null(row), "order {}", order.id);
        }
    }
    let (orders, numbers) = (
        read(Table::OrderLines, "order_id"),
        read(Table::OrderLines, "line_number"),
    );
    let statuses = read(Table::OrderLines, "status");
    let mut arrived = 0;
    for ((orders, numbers), statuses) in orders.iter().zip(&numbers).zip(&statuses) {
        let lines = orders.as_primitive::<Int64Type>().values().iter();
        let lines = lines.zip(numbers.as_primitive::<Int16Type>().values());
        for ((&order, &number), status) in lines.zip(statuses.as_string::<i32>().iter()) {
            let (step, index) = (order as u64 - 1, number as u64 - 1);
            let expected = is_delivered(workload, step, index, snapshot.position());
            assert_eq!(
                status == Some(ARRIVED),
                expected,
                "line {number} of {order}"
            );
            arrived += u64::from(expected);
        }
    }
    let taken = running.progress.lock().taken;
    assert_eq!((taken.orders, taken.rolled_back), (5_940, 60));
    assert_eq!(taken.deliveries, arrived);
    assert!(arrived > 1_000);
    running.stop();
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
    let failure = second.replica.failed().expect("it has failed");
    assert!(failure.contains("of other data"), "{failure}");
    second.stop();
}

#[test]
fn status_questions_are_about_lines_that_exist() {
    let workload = Workload::new(SEED);
    let questions = (0..500).filter_map(|number| workload.status_question(3_000, number));
    let mut asked = 0;
    for question in questions {
        let order = workload.order(question.step);
        assert!(!order.rolled_back && question.step < 3_000, "{question:?}");
        assert!(
            workload
                .lines(order.basket)
                .any(|line| line == question.line)
        );
        asked += 1;
    }
    assert!(asked > 450, "only those of rolled back orders are left out");
    assert!(
        workload.status_question(0, 1).is_none(),
        "nothing to ask for yet"
    );
}
