//! The stream of the workload against a model that remembers everything.

mod replica;

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use types::{ChangeBatch, TableChange, TableId, VersionKind, VersionRows};

use super::stream::{OrderStream, commands_at, is_delivered, position_after, totals_after};
use super::tables::{ARRIVED, Table};
use super::workload::{CUSTOMERS, DELIVERY_STEPS, ITEMS, Workload};

const SEED: u64 = 42;

fn table_id(table: Table) -> TableId {
    TableId(table as u32)
}

fn stream_from(command: u64) -> OrderStream {
    OrderStream::new(Workload::new(SEED), command, table_id)
}

/// The rows of a batch that belong to `table`.
fn rows_of(batch: &ChangeBatch, table: Table) -> Option<&VersionRows> {
    batch.changes.iter().find_map(|change| match change {
        TableChange::Rows { table: id, rows } if *id == table_id(table) => Some(rows),
        _ => None,
    })
}

/// A cell as an integer; NULL as -1.
fn cell(array: &ArrayRef, row: usize) -> i128 {
    use arrow_schema::DataType;
    if array.is_null(row) {
        return -1;
    }
    match array.data_type() {
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value(row),
        DataType::Timestamp(..) => array
            .as_primitive::<TimestampMicrosecondType>()
            .value(row)
            .into(),
        other => panic!("{other} is not a number"),
    }
}

/// What a replica that applied everything would hold: per table, key to batch and row.
#[derive(Default)]
struct Held {
    batches: Vec<ChangeBatch>,
    rows: BTreeMap<(Table, Vec<i128>), (usize, usize)>,
}

impl Held {
    fn apply(&mut self, batch: ChangeBatch) {
        for table in Table::ALL {
            let Some(rows) = rows_of(&batch, table) else {
                continue;
            };
            let key_columns = table.schema().key;
            for row in 0..rows.len() {
                let key = key_columns
                    .iter()
                    .map(|&column| cell(&rows.columns[column], row));
                let key = (table, key.collect());
                match VersionKind::from_u8(rows.kinds[row]) {
                    Some(VersionKind::Put) => self.rows.insert(key, (self.batches.len(), row)),
                    Some(VersionKind::Delete) => self.rows.remove(&key),
                    other => panic!("the workload has no {other:?}"),
                };
            }
        }
        self.batches.push(batch);
    }

    /// Calls `each` with every row of a table, as the function of column names.
    fn for_each(&self, table: Table, mut each: impl FnMut(&dyn Fn(&str) -> (ArrayRef, usize))) {
        let schema = table.schema();
        for (key, &(batch, row)) in &self.rows {
            if key.0 != table {
                continue;
            }
            let rows = rows_of(&self.batches[batch], table).expect("the row came from there");
            each(&|name| {
                let index = schema.columns.iter().position(|c| c.name == name);
                (
                    rows.columns[index.expect("a column of the table")].clone(),
                    row,
                )
            });
        }
    }

    fn sum(&self, table: Table, column: &str) -> i128 {
        let mut sum = 0;
        self.for_each(table, |columns| {
            let (array, row) = columns(column);
            sum += cell(&array, row);
        });
        sum
    }

    fn count(&self, table: Table) -> u64 {
        self.rows.keys().filter(|(of, _)| *of == table).count() as u64
    }

    /// Bytes of all cells, uncompressed.
    fn raw_bytes(&self) -> u64 {
        let mut bytes = 0;
        for table in Table::ALL {
            bytes += self.count(table) * table.fixed_bytes();
            for column in table.schema().columns {
                if column.column_type == types::ColumnType::Text {
                    self.for_each(table, |columns| {
                        let (array, row) = columns(&column.name);
                        bytes += array.as_string::<i32>().value(row).len() as u64;
                    });
                }
            }
        }
        bytes
    }
}

fn assert_same(a: &ChangeBatch, b: &ChangeBatch) {
    assert_eq!(
        (a.committed, a.resume, a.transactions),
        (b.committed, b.resume, b.transactions)
    );
    for table in Table::ALL {
        let (Some(a), Some(b)) = (rows_of(a, table), rows_of(b, table)) else {
            assert!(rows_of(a, table).is_none() && rows_of(b, table).is_none());
            continue;
        };
        assert_eq!(a.positions, b.positions, "{table:?}");
        assert_eq!(a.kinds, b.kinds, "{table:?}");
        assert_eq!(a.columns, b.columns, "{table:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_stream_however_it_is_cut() {
    let mut whole = stream_from(0);
    let mut parts = stream_from(0);
    let whole = whole.next_batch(3_000, 7);
    let mut held = (Held::default(), Held::default());
    for size in [1, 2, 997, 2_000] {
        held.0.apply(parts.next_batch(size, 7));
    }
    held.1.apply(whole);
    assert!(held.0.rows.keys().eq(held.1.rows.keys()));
    assert_eq!(
        held.0.sum(Table::Orders, "total"),
        held.1.sum(Table::Orders, "total")
    );
    let other = OrderStream::new(Workload::new(SEED + 1), 0, table_id).next_batch(100, 7);
    let same = stream_from(0).next_batch(100, 7);
    let lines = |batch| {
        rows_of(batch, Table::OrderLines)
            .expect("orders have lines")
            .columns[0]
            .clone()
    };
    assert!(*lines(&other) != *lines(&same));
}

#[test]
fn a_resumed_stream_equals_an_uninterrupted_one() {
    let mut uninterrupted = stream_from(0);
    let stops = [1, 302, 700, 34_000, DELIVERY_STEPS + 3_000];
    for stop in stops {
        uninterrupted.next_batch(stop - uninterrupted.next_command(), 7);
        let mut resumed = stream_from(stop);
        assert_eq!(resumed.next_command(), stop);
        assert_same(
            &resumed.next_batch(300, 7),
            &uninterrupted.next_batch(300, 7),
        );
        assert_eq!(resumed.totals(), uninterrupted.totals());
    }
}

#[test]
fn positions_ascend_and_end_at_the_committed_one() {
    let mut stream = stream_from(0);
    let mut before = 0;
    for _ in 0..5 {
        let batch = stream.next_batch(100, 7);
        let committed = batch.committed.expect("batches end with a command");
        assert_eq!(commands_at(committed), batch.resume);
        assert_eq!(position_after(batch.resume), committed);
        for table in Table::ALL {
            let Some(rows) = rows_of(&batch, table) else {
                continue;
            };
            assert!(rows.positions.is_sorted(), "{table:?} is in log order");
            assert!(
                rows.positions
                    .iter()
                    .all(|&p| p > before && p <= committed.0)
            );
        }
        before = committed.0;
    }
}

#[test]
fn all_sums_are_equal_after_every_batch_and_as_foretold() {
    let workload = Workload::new(SEED);
    let mut stream = stream_from(0);
    let mut held = Held::default();
    for commands in [1, 1, 250, 1_750, 6_000] {
        held.apply(stream.next_batch(commands, 7));
        let totals = totals_after(workload, stream.next_command());
        assert_eq!(stream.totals(), totals);
        let amount = i128::from(totals.amount);
        assert_eq!(held.sum(Table::OrderLines, "amount"), amount);
        assert_eq!(held.sum(Table::Orders, "total"), amount);
        assert_eq!(held.sum(Table::Customers, "balance"), amount);
        assert_eq!(held.sum(Table::Items, "revenue"), amount);
        assert_eq!(held.count(Table::Orders), totals.orders);
        assert_eq!(held.count(Table::OrderLines), totals.lines);
        assert_eq!(held.count(Table::Customers), u64::from(CUSTOMERS));
        assert_eq!(held.count(Table::Items), u64::from(ITEMS));
        assert_eq!(held.rows.len() as u64, totals.rows());
        assert_eq!(held.raw_bytes(), totals.raw_bytes);
    }
}

#[test]
fn orders_that_are_rolled_back_leave_no_row_but_a_tombstone() {
    let workload = Workload::new(SEED);
    let mut stream = stream_from(0);
    let batch = stream.next_batch(2_001, 7);
    let rows = rows_of(&batch, Table::Orders).expect("orders were placed");
    let deletes = rows
        .kinds
        .iter()
        .filter(|&&k| k == VersionKind::Delete as u8)
        .count();
    assert_eq!(deletes, 20, "one in a hundred");
    assert_eq!(stream.yielded().rolled_back, 20);
    assert_eq!(stream.yielded().orders, 1_980);
    let mut held = Held::default();
    held.apply(batch);
    for step in (0..2_000).filter(|&step| workload.is_rolled_back(step)) {
        let id = i128::from(workload.order(step).id);
        assert!(!held.rows.contains_key(&(Table::Orders, vec![id])));
        assert!(
            !held
                .rows
                .keys()
                .any(|(t, key)| *t == Table::OrderLines && key[1] == id)
        );
    }
}

#[test]
fn lines_and_orders_are_delivered_when_foretold() {
    let workload = Workload::new(SEED);
    let mut stream = stream_from(0);
    let mut held = Held::default();
    held.apply(stream.next_batch(12_000, 7));
    let position = position_after(12_000);
    let (mut arrived, mut waiting) = (0, 0);
    held.for_each(Table::OrderLines, |columns| {
        let number = |name| {
            let (array, row) = columns(name);
            cell(&array, row)
        };
        let step = number("order_id") as u64 - 1;
        let index = number("line_number") as u64 - 1;
        let (status, row) = columns("status");
        let is_arrived = status.as_string::<i32>().value(row) == ARRIVED;
        assert_eq!(
            is_arrived,
            is_delivered(workload, step, index, position),
            "step {step}"
        );
        assert_eq!(is_arrived, number("delivered_at") != -1);
        *(if is_arrived {
            &mut arrived
        } else {
            &mut waiting
        }) += 1;
    });
    assert!(
        arrived > 1_000 && waiting > 1_000,
        "{arrived} arrived, {waiting} waiting"
    );
    assert_eq!(stream.yielded().deliveries, arrived);
    held.for_each(Table::Orders, |columns| {
        let (id, row) = columns("order_id");
        let order = workload.order(cell(&id, row) as u64 - 1);
        let done = workload.completion_step(order.step, order.basket) < 11_999;
        let (completed, row) = columns("completed_at");
        assert_eq!(done, !completed.is_null(row), "order {}", order.id);
    });
}

#[test]
fn status_questions_are_about_lines_that_exist() {
    let workload = Workload::new(SEED);
    let mut stream = stream_from(0);
    let mut held = Held::default();
    held.apply(stream.next_batch(3_001, 7));
    let questions = (0..500).filter_map(|number| workload.status_question(3_000, number));
    let mut asked = 0;
    for question in questions {
        let id = question.step as i128 + 1;
        let key = vec![question.line.item.into(), id, question.line.number.into()];
        assert!(
            held.rows.contains_key(&(Table::OrderLines, key)),
            "{question:?}"
        );
        asked += 1;
    }
    assert!(asked > 450, "only those of rolled back orders are left out");
    assert!(
        workload.status_question(0, 1).is_none(),
        "nothing to ask for yet"
    );
}

#[test]
fn batches_fit_their_schemas() {
    let batch = stream_from(0).next_batch(200, 7);
    for table in Table::ALL {
        let rows = rows_of(&batch, table)
            .expect("all tables are written")
            .clone();
        let schema = table.schema().arrow_schema().into();
        RecordBatch::try_new(schema, rows.columns).expect("columns have the schema's types");
    }
}
