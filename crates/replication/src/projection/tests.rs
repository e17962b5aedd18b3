//! Random changes, crashes and projections that come and go; each projection that is ready has its table's
//! rows in its order.

use std::collections::BTreeMap;
use std::thread::JoinHandle;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, RecordBatch};
use env::Env;
use lsm::{KeyRange, ScanRequest, Store, StoreOptions, Work};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tempfile::TempDir;
use types::{
    ChangeBatch, Column, ColumnBuilder, ColumnType, RowsBuilder, TableChange, TableName,
    TableSchema, VersionKind,
};

use super::*;
use crate::apply::{Apply, ApplyOptions};
use crate::catalog::{Catalog, TableEntry, TableState};
use crate::checkpoint::{Checkpoint, Phase};
use crate::source::{Stop, Target, batch_channel};
use crate::status::Status;

const TABLE: TableId = TableId(1);

/// What a row has besides its key: a number that may be NULL, and a text.
type Row = (Option<i32>, String);
type Rows = BTreeMap<i32, Row>;

/// What the source's log says.
#[derive(Clone, Debug)]
enum Change {
    Put(i32, Option<Row>, Row),
    Delete(i32, Row),
    Truncate,
}

/// The orders of the projections; NULL is allowed in the number.
const ORDERS: [&[(usize, bool)]; 4] = [
    &[(1, true)],
    &[(2, false), (1, true)],
    &[(2, false)],
    &[(1, true), (0, false)],
];

fn schema() -> Arc<TableSchema> {
    let mut columns = vec![
        Column::new("id", ColumnType::Int32),
        Column::new("number", ColumnType::Int32),
        Column::new("text", ColumnType::Text),
    ];
    for (number, column) in (1..).zip(&mut columns) {
        column.source_number = number;
        column.nullable = number == 2;
    }
    Arc::new(TableSchema {
        name: TableName {
            schema: "public".into(),
            name: "t".into(),
        },
        columns,
        key: vec![0],
    })
}

fn append(rows: &mut RowsBuilder, id: i32, row: &Row) {
    for (place, column) in rows.columns_mut().iter_mut().enumerate() {
        match (place, column) {
            (0, ColumnBuilder::Int32(cells)) => cells.append_value(id),
            (1, ColumnBuilder::Int32(cells)) => cells.append_option(row.0),
            (2, ColumnBuilder::Text(cells)) => cells.append_value(&row.1),
            _ => unreachable!("the row follows its schema"),
        }
    }
}

/// The versions of a transaction's changes, as sources make them.
fn changes(log: &[Change], position: u64) -> Vec<TableChange> {
    let position = CommitPosition(position);
    let mut made = Vec::new();
    let mut rows = RowsBuilder::new(&schema());
    for change in log {
        match change {
            Change::Put(id, before, now) => {
                if let Some(before) = before.as_ref().filter(|before| *before != now) {
                    append(&mut rows, *id, before);
                    rows.finish_version(position, VersionKind::Delete);
                }
                append(&mut rows, *id, now);
                rows.finish_version(position, VersionKind::Put);
            }
            Change::Delete(id, before) => {
                append(&mut rows, *id, before);
                rows.finish_version(position, VersionKind::Delete);
            }
            Change::Truncate => {
                // What the transaction wrote before it is left out, as sources do.
                rows = RowsBuilder::new(&schema());
                let table = TABLE;
                made.push(TableChange::Truncate { table, position });
            }
        }
    }
    let rows = rows.build();
    made.push(TableChange::Rows { table: TABLE, rows });
    made
}

/// A replica that is fed by hand, and what it should have.
struct Replica {
    folder: TempDir,
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
    running: Option<Running>,
    /// Transactions and the rows after each, by position; a transaction comes in two parts.
    log: Vec<([Vec<Change>; 2], Rows)>,
}

struct Running {
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    apply: Apply,
    stop: Stop,
    /// Transactions that have come in.
    applied: usize,
    next_tree: TableId,
}

fn position_of(transaction: usize) -> u64 {
    10 * (transaction as u64 + 1)
}

impl Replica {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let threads = Arc::default();
        let (running, log) = (None, Vec::new());
        Self {
            folder,
            threads,
            running,
            log,
        }
    }

    /// Starts, and continues after what is durable.
    fn start(&mut self) {
        let env = Env::real();
        let store = Store::open(env.clone(), self.folder.path(), StoreOptions::default());
        let store = store.expect("the store opens");
        let catalog = Arc::new(Catalog::new());
        let loaded = Checkpoint::load(&store).expect("it is read");
        match &loaded {
            Some(checkpoint) => checkpoint.fill_catalog(&store, &catalog),
            None => {
                let schema = schema();
                if store.schema(TABLE).is_none() {
                    let made = store.create_table(TABLE, TableSchema::clone(&schema));
                    made.expect("a new table");
                }
                let (id, state) = (TABLE, TableState::Live);
                catalog.replace(vec![TableEntry { id, schema, state }]);
            }
        }
        let checkpoint = loaded.unwrap_or_else(|| {
            let mut first = Checkpoint::new(Phase::Streaming, serde_json::Value::Null);
            first.record_tables(&store, &catalog);
            first
        });
        let threads = self.threads.clone();
        let (stop, applied) = (Stop::new(), checkpoint.resume as usize);
        let target = Target {
            store: store.clone(),
            catalog: catalog.clone(),
            status: Status::new(env.clock.clone()).register("s", "k"),
            clock: env.clock,
            spawner: Arc::new(move |name, work| {
                let thread = std::thread::Builder::new().name(name.to_owned());
                threads.lock().push(thread.spawn(work).expect("it starts"));
            }),
            stop: stop.clone(),
        };
        let apply = Apply::new(&target, ApplyOptions::default(), checkpoint);
        self.running = Some(Running {
            apply: apply.expect("it begins"),
            next_tree: store.next_table(),
            store,
            catalog,
            stop,
            applied,
        });
    }

    /// Ends as a crash does: what is not durable is gone.
    fn crash(&mut self) {
        let running = self.running.take().expect("it runs");
        running.stop.set();
        running.store.shut_down();
        drop(running);
        for thread in self.threads.lock().drain(..) {
            thread.join().expect("it ends");
        }
    }

    fn running(&mut self) -> &mut Running {
        self.running.as_mut().expect("it runs")
    }

    /// The rows after everything that has come in.
    fn rows(&self) -> Rows {
        let applied = self.running.as_ref().map_or(0, |running| running.applied);
        let before = applied.checked_sub(1);
        before.map_or_else(Rows::new, |last| self.log[last].1.clone())
    }

    /// One more transaction, or those that came in before a crash once more.
    fn follow(&mut self, random: &mut StdRng) {
        let next = self.running().applied;
        if next == self.log.len() {
            let mut rows = self.rows();
            let parts = [0, 1].map(|part| transaction(random, &mut rows, part == 0));
            self.log.push((parts, rows));
        }
        let parts = self.log[next].0.clone();
        // A truncation does not go together with what was cut off before it.
        let cut =
            random.random_bool(0.3) && !parts[1].iter().any(|c| matches!(c, Change::Truncate));
        let position = position_of(next);
        let batches = match cut {
            true => parts.to_vec(),
            false => vec![parts.concat()],
        };
        let last = batches.len() - 1;
        for (place, log) in batches.iter().enumerate() {
            let changes = changes(log, position);
            let committed = (place == last).then_some(CommitPosition(position));
            self.running().take(committed, next + 1, changes);
        }
        self.running().applied += 1;
    }

    fn order(&mut self, order: usize) {
        let of = |&(column, nullable): &(usize, bool)| OrderColumn { column, nullable };
        let running = self.running();
        let position = CommitPosition(position_of(running.applied) - 10);
        let projection = running.next_tree;
        running.next_tree = TableId(projection.0 + 1);
        let change = TableChange::Project {
            table: TABLE,
            projection,
            name: format!("p{order}"),
            order_by: ORDERS[order].iter().map(of).collect(),
            position,
        };
        running.take(Some(position), running.applied, vec![change]);
    }

    /// Compares everything that can be read with what it should be; returns how many projections were.
    fn check(&mut self) -> usize {
        let rows = self.rows();
        let running = self.running();
        running.see_to_rest();
        assert_eq!(running.read(TABLE), in_order(&rows, &[]));
        let mut ready = 0;
        for projection in running.catalog.projections() {
            let is_stopped = matches!(projection.state, ProjectionState::Stopped { .. });
            assert!(!is_stopped, "{projection:?}");
            if let Some(tree) = projection.readable_at(running.store.visible()) {
                let order: Vec<usize> =
                    projection.order_by.iter().map(|each| each.column).collect();
                assert_eq!(
                    running.read(tree),
                    in_order(&rows, &order),
                    "{projection:?}"
                );
                ready += 1;
            }
        }
        ready
    }
}

impl Running {
    fn take(
        &mut self,
        committed: Option<CommitPosition>,
        resume: usize,
        changes: Vec<TableChange>,
    ) {
        let batch = ChangeBatch {
            committed,
            resume: resume as u64,
            transactions: 1,
            changes,
            ..ChangeBatch::default()
        };
        self.apply.apply(batch, &self.stop).expect("it is applied");
    }

    /// What the apply loop does between batches.
    fn see_to_rest(&mut self) {
        let (sender, receiver) = batch_channel();
        let nothing = ChangeBatch {
            committed: Some(CommitPosition(position_of(self.applied) - 10)),
            resume: self.applied as u64,
            ..ChangeBatch::default()
        };
        sender.send(nothing).expect("there is room");
        drop(sender);
        self.apply.run(&receiver, &self.stop).expect("it goes on");
    }

    fn read(&self, tree: TableId) -> Vec<(i32, Row)> {
        let request = ScanRequest {
            projection: vec![0, 1, 2],
            range: KeyRange::all(),
            batch_rows: 100,
        };
        let scan = self.store.pin().scan(tree, request).expect("a scan");
        scan.flat_map(|batch| rows_of(&batch.expect("rows")))
            .collect()
    }
}

fn rows_of(batch: &RecordBatch) -> Vec<(i32, Row)> {
    let [ids, numbers] = [0, 1].map(|place| batch.column(place).as_primitive::<Int32Type>());
    let texts = batch.column(2).as_string::<i32>();
    let number = |row| numbers.is_valid(row).then(|| numbers.value(row));
    (0..batch.num_rows())
        .map(|row| (ids.value(row), (number(row), texts.value(row).to_owned())))
        .collect()
}

fn in_order(rows: &Rows, order: &[usize]) -> Vec<(i32, Row)> {
    let mut rows: Vec<_> = rows.clone().into_iter().collect();
    rows.sort_by_key(|(id, (number, text))| {
        let part = |column: &usize| match column {
            0 => (false, *id, String::new()),
            1 => (number.is_none(), number.unwrap_or(0), String::new()),
            _ => (false, 0, text.clone()),
        };
        (order.iter().map(part).collect::<Vec<_>>(), *id)
    });
    rows
}

/// Changes of few rows, so that one is often changed several times.
fn transaction(random: &mut StdRng, rows: &mut Rows, is_first: bool) -> Vec<Change> {
    let mut log = Vec::new();
    if is_first && random.random_bool(0.02) {
        rows.clear();
        log.push(Change::Truncate);
    }
    for _ in 0..random.random_range(0..12) {
        let id = random.random_range(0..40);
        let before = rows.get(&id).cloned();
        if let Some(before) = before.clone().filter(|_| random.random_bool(0.3)) {
            rows.remove(&id);
            log.push(Change::Delete(id, before));
            continue;
        }
        let number = random.random_range(0..5);
        let text = ["", "a", "ab", "b"][random.random_range(0..4)].to_owned();
        let now = ((number > 0).then_some(number), text);
        rows.insert(id, now.clone());
        log.push(Change::Put(id, before, now));
    }
    log
}

#[test]
fn projections_that_are_ready_have_their_tables_rows_in_their_order() {
    let mut compared = 0;
    for seed in 0..8 {
        let mut random = StdRng::seed_from_u64(seed);
        let mut replica = Replica::new();
        replica.start();
        for _ in 0..300 {
            match random.random_range(0..40) {
                0 => replica.order(random.random_range(0..ORDERS.len())),
                1 => {
                    let name = format!("p{}", random.random_range(0..ORDERS.len()));
                    let running = replica.running();
                    let applied = running.applied;
                    let position = CommitPosition(position_of(applied) - 10);
                    let drop = TableChange::DropProjection { name };
                    running.take(Some(position), applied, vec![drop]);
                }
                2 => {
                    replica.crash();
                    replica.start();
                }
                3..6 => {
                    let store = &replica.running().store;
                    store.flush().expect("it is flushed");
                    while store.work(Work::Merge).expect("it is merged") {}
                }
                6..9 => compared += replica.check(),
                _ => replica.follow(&mut random),
            }
        }
        replica.crash();
    }
    assert!(compared > 100, "only {compared} projections were ready");
}
