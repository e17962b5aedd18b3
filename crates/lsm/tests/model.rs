//! The store against a model: random transactions, flushes, merges, snapshots and crashes, with
//! every scan compared with a map that never forgets.
//!
//! A step may publish a transaction in one piece or in two, with a flush or a crash in between.
//! After a crash the store must be exactly at its durable position; the transactions after it
//! are replayed, as a source would.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use env::Env;
use lsm::{HistoryHold, KeyRange, ScanRequest, Snapshot, Store, StoreOptions, Work};
use proptest::prelude::*;
use tempfile::TempDir;
use types::{
    Column, ColumnBuilder, ColumnType, CommitPosition, RowsBuilder, SortKeys, SourceType, TableId,
    TableName, TableSchema, VersionKind,
};

const TABLE: TableId = TableId(7);
const KEYS: u16 = 300;

/// Which key columns the table has: one test run for each form of sort keys.
#[derive(Clone, Copy, Debug)]
enum KeyShape {
    Int64,
    Int64Int32,
    Text,
}

impl KeyShape {
    fn columns(self) -> usize {
        match self {
            Self::Int64 | Self::Text => 1,
            Self::Int64Int32 => 2,
        }
    }

    fn types(self) -> Vec<ColumnType> {
        match self {
            Self::Int64 => vec![ColumnType::Int64],
            Self::Int64Int32 => vec![ColumnType::Int64, ColumnType::Int32],
            Self::Text => vec![ColumnType::Text],
        }
    }

    fn schema(self) -> TableSchema {
        let value_types = [ColumnType::Int64, ColumnType::Text];
        let types = self.types().into_iter().chain(value_types);
        TableSchema {
            name: TableName {
                schema: "public".to_owned(),
                name: "t".to_owned(),
            },
            columns: types
                .enumerate()
                .map(|(number, column_type)| column(number, column_type))
                .collect(),
            key: (0..self.columns()).collect(),
        }
    }

    fn append(self, key: u16, columns: &mut [ColumnBuilder]) {
        match (self, columns) {
            (Self::Int64, [ColumnBuilder::Int64(cells), ..]) => cells.append_value(i64::from(key)),
            (Self::Int64Int32, [ColumnBuilder::Int64(major), ColumnBuilder::Int32(minor), ..]) => {
                major.append_value(i64::from(key / 10));
                minor.append_value(i32::from(key % 10));
            }
            (Self::Text, [ColumnBuilder::Text(cells), ..]) => {
                cells.append_value(format!("{key:05}"))
            }
            _ => panic!("the columns of the test's schema"),
        }
    }

    fn arrays(self, key: u16) -> Vec<ArrayRef> {
        match self {
            Self::Int64 => vec![Arc::new(Int64Array::from(vec![i64::from(key)]))],
            Self::Int64Int32 => vec![
                Arc::new(Int64Array::from(vec![i64::from(key / 10)])),
                Arc::new(Int32Array::from(vec![i32::from(key % 10)])),
            ],
            Self::Text => vec![Arc::new(StringArray::from(vec![format!("{key:05}")]))],
        }
    }

    fn key(self, batch: &RecordBatch, row: usize) -> u16 {
        let key = match self {
            Self::Int64 => batch.column(0).as_primitive::<Int64Type>().value(row),
            Self::Int64Int32 => {
                let major = batch.column(0).as_primitive::<Int64Type>().value(row);
                major * 10 + i64::from(batch.column(1).as_primitive::<Int32Type>().value(row))
            }
            Self::Text => batch
                .column(0)
                .as_string::<i32>()
                .value(row)
                .parse()
                .expect("keys are numbers"),
        };
        u16::try_from(key).expect("keys are small")
    }

    fn range(self, keys: &Range<u16>) -> KeyRange {
        let bound = |key| Some(SortKeys::compute(&self.arrays(key), &self.types()).key(0));
        KeyRange {
            start: bound(keys.start),
            end: bound(keys.end),
        }
    }
}

fn column(number: usize, column_type: ColumnType) -> Column {
    Column {
        name: format!("c{number}"),
        column_type,
        nullable: true,
        hidden: false,
        source_number: number as i16,
        source_type: SourceType {
            oid: 0,
            modifier: -1,
            name: String::new(),
        },
    }
}

/// One write of one row.
#[derive(Clone, Copy, Debug)]
enum Write {
    Put {
        key: u16,
        seed: u8,
    },
    Delete {
        key: u16,
    },
    /// Changes the number and leaves the text unchanged, or the other way round.
    Patch {
        key: u16,
        seed: u8,
        number: bool,
    },
}

#[derive(Clone, Copy, Debug)]
enum Between {
    Nothing,
    Flush,
    Crash,
    FlushAndCrash,
}

#[derive(Clone, Debug)]
enum Step {
    Transaction {
        truncate: bool,
        writes: Vec<Write>,
        between: Option<Between>,
    },
    Load {
        keys: Range<u16>,
    },
    Flush,
    Merge,
    Pin,
    Unpin,
    Hold,
    Release,
    PinAt {
        back: u8,
    },
    Scan {
        snapshot: usize,
        keys: Range<u16>,
        batch_rows: usize,
    },
    Crash,
}

type Row = (Option<i64>, Option<String>);
type Table = BTreeMap<u16, Row>;

/// A committed transaction, as a source would send it again.
#[derive(Clone, Debug)]
struct Committed {
    position: u64,
    truncate: bool,
    writes: Vec<Write>,
}

struct Harness {
    shape: KeyShape,
    directory: TempDir,
    store: Option<Arc<Store>>,
    log: Vec<Committed>,
    /// The table after each committed transaction.
    states: BTreeMap<u64, Table>,
    pins: Vec<Snapshot>,
    hold: Option<HistoryHold>,
    position: u64,
}

fn options() -> StoreOptions {
    StoreOptions {
        memory_bytes: 1 << 20,
        cache_bytes: 1 << 20,
        page_bytes: 4 << 10,
        segment_bytes: 5 << 10,
        runs_max: 3,
    }
}

fn text(seed: u8) -> Option<String> {
    (!seed.is_multiple_of(5)).then(|| format!("text {seed} {}", "x".repeat(usize::from(seed) % 40)))
}

fn number(seed: u8) -> Option<i64> {
    (!seed.is_multiple_of(7)).then(|| i64::from(seed) * 1_000_003)
}

impl Harness {
    fn new(shape: KeyShape) -> Self {
        let directory = TempDir::new().expect("a folder for the test");
        let mut harness = Self {
            shape,
            directory,
            store: None,
            log: Vec::new(),
            states: BTreeMap::from([(0, Table::new())]),
            pins: Vec::new(),
            hold: None,
            position: 0,
        };
        harness.open();
        harness
            .store()
            .create_table(TABLE, shape.schema())
            .expect("a new table");
        harness
    }

    fn open(&mut self) {
        let store = Store::open(Env::real(), self.directory.path(), options());
        self.store = Some(store.expect("the store opens"));
    }

    fn store(&self) -> &Arc<Store> {
        self.store.as_ref().expect("the store is open")
    }

    fn ingest(&self, position: u64, writes: &[Write]) {
        let mut rows = RowsBuilder::new(&self.shape.schema());
        for &write in writes {
            self.append(position, write, &mut rows);
        }
        self.store()
            .ingest(TABLE, rows.build())
            .expect("ingest works");
    }

    fn append(&self, position: u64, write: Write, rows: &mut RowsBuilder) {
        let key_columns = self.shape.columns();
        let (key, cells, kind) = match write {
            Write::Put { key, seed } => (key, (number(seed), text(seed)), VersionKind::Put),
            Write::Delete { key } => (key, (None, None), VersionKind::Delete),
            Write::Patch {
                key,
                seed,
                number: true,
            } => (key, (number(seed), None), VersionKind::Patch),
            Write::Patch {
                key,
                seed,
                number: false,
            } => (key, (None, text(seed)), VersionKind::Patch),
        };
        self.shape.append(key, rows.columns_mut());
        let [ColumnBuilder::Int64(numbers), ColumnBuilder::Text(texts)] =
            &mut rows.columns_mut()[key_columns..]
        else {
            panic!("the columns of the test's schema")
        };
        numbers.append_option(cells.0);
        texts.append_option(cells.1);
        match write {
            Write::Patch { number, .. } => {
                let unchanged = if number { key_columns + 1 } else { key_columns };
                rows.finish_patch(CommitPosition(position), &[1 << unchanged]);
            }
            _ => rows.finish_version(CommitPosition(position), kind),
        }
    }

    fn publish(&self, position: u64) {
        self.store()
            .publish(CommitPosition(position), position.to_string().into_bytes());
    }

    /// Sources patch only rows that exist.
    fn possible(&self, truncate: bool, writes: &[Write]) -> Vec<Write> {
        let mut table = if truncate {
            Table::new()
        } else {
            self.latest().clone()
        };
        let mut possible = Vec::new();
        for &write in writes {
            let write = match write {
                Write::Patch { key, seed, .. } if !table.contains_key(&key) => {
                    Write::Put { key, seed }
                }
                write => write,
            };
            apply(&mut table, write);
            possible.push(write);
        }
        possible
    }

    fn latest(&self) -> &Table {
        self.states
            .values()
            .next_back()
            .expect("there is a first state")
    }

    fn transaction(&mut self, truncate: bool, writes: &[Write], between: Option<Between>) {
        self.position += 2;
        let position = self.position;
        let writes = self.possible(truncate, writes);
        if let Some(between) = between {
            self.send(position, truncate, &writes[..writes.len() / 2]);
            match between {
                Between::Nothing => {}
                Between::Flush => self.store().flush().expect("the flush works"),
                Between::Crash => self.crash(),
                Between::FlushAndCrash => {
                    self.store().flush().expect("the flush works");
                    self.crash();
                }
            }
            match between {
                Between::Crash | Between::FlushAndCrash => self.send(position, truncate, &writes),
                _ => self.send(position, false, &writes[writes.len() / 2..]),
            }
        } else {
            self.send(position, truncate, &writes);
        }
        self.publish(position);
        let mut table = if truncate {
            Table::new()
        } else {
            self.latest().clone()
        };
        writes.iter().for_each(|&write| apply(&mut table, write));
        self.states.insert(position, table);
        self.log.push(Committed {
            position,
            truncate,
            writes,
        });
    }

    fn send(&self, position: u64, truncate: bool, writes: &[Write]) {
        if truncate {
            self.store()
                .truncate(TABLE, CommitPosition(position))
                .expect("truncation works");
        }
        self.ingest(position, writes);
    }

    /// Loses everything that is not durable, checks what is, and replays the rest.
    fn crash(&mut self) {
        self.pins.clear();
        self.hold = None;
        let durable = self.store().durable();
        let last = Arc::into_inner(self.store.take().expect("the store is open"));
        drop(last.expect("nobody else holds the store"));
        self.open();
        let visible = self.store().visible();
        assert_eq!(
            visible, durable.position,
            "recovery restores the durable position"
        );
        assert_eq!(self.store().metadata(), durable.metadata);
        let snapshot = self.store().pin();
        self.check(&snapshot, 0..KEYS, 1000);
        drop(snapshot);
        let replayed = self
            .log
            .iter()
            .filter(|committed| committed.position > visible.0);
        for committed in replayed {
            self.send(committed.position, committed.truncate, &committed.writes);
            self.publish(committed.position);
        }
    }

    /// Compares a scan with the model.
    fn check(&self, snapshot: &Snapshot, keys: Range<u16>, batch_rows: usize) {
        let projection: Vec<usize> = (0..self.shape.columns() + 2).collect();
        let range = self.shape.range(&keys);
        let request = ScanRequest {
            projection,
            range,
            batch_rows,
        };
        let mut found: Vec<(u16, Row)> = Vec::new();
        for batch in snapshot
            .scan(TABLE, request)
            .expect("the table can be read")
        {
            let batch = batch.expect("pages are sound");
            assert!(batch.num_rows() > 0 && batch.num_rows() <= batch_rows);
            for row in 0..batch.num_rows() {
                found.push((self.shape.key(&batch, row), self.row(&batch, row)));
            }
        }
        let position = snapshot.position().0;
        let (_, table) = self
            .states
            .range(..=position)
            .next_back()
            .expect("there is a first state");
        let expected: Vec<(u16, Row)> = table
            .range(keys)
            .map(|(&key, row)| (key, row.clone()))
            .collect();
        assert_eq!(found, expected, "the table at {position}");
    }

    fn row(&self, batch: &RecordBatch, row: usize) -> Row {
        let numbers = batch
            .column(self.shape.columns())
            .as_primitive::<Int64Type>();
        let texts = batch.column(self.shape.columns() + 1).as_string::<i32>();
        (
            numbers.is_valid(row).then(|| numbers.value(row)),
            texts.is_valid(row).then(|| texts.value(row).to_owned()),
        )
    }

    /// Counts rows through the ranges of a split, without any column.
    fn check_split(&self, snapshot: &Snapshot, parts: usize) {
        let ranges = snapshot.split(TABLE, parts).expect("the table can be read");
        assert!(!ranges.is_empty() && ranges.len() <= parts);
        let mut rows = 0;
        for range in ranges {
            let request = ScanRequest {
                projection: Vec::new(),
                range,
                batch_rows: 100,
            };
            for batch in snapshot
                .scan(TABLE, request)
                .expect("the table can be read")
            {
                rows += batch.expect("pages are sound").num_rows();
            }
        }
        let position = snapshot.position().0;
        let (_, table) = self
            .states
            .range(..=position)
            .next_back()
            .expect("there is a first state");
        assert_eq!(rows, table.len(), "rows at {position}");
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Transaction {
                truncate,
                writes,
                between,
            } => {
                self.transaction(*truncate, writes, *between);
            }
            Step::Load { keys } => {
                let puts = keys.clone().map(|key| Write::Put {
                    key,
                    seed: key as u8,
                });
                self.transaction(false, &puts.collect::<Vec<_>>(), None);
            }
            Step::Flush => self.store().flush().expect("the flush works"),
            Step::Merge => {
                self.store().work(Work::Merge).expect("the merge works");
            }
            Step::Pin => self.pins.push(self.store().pin()),
            Step::Unpin => {
                self.pins.pop();
            }
            Step::Hold => self.hold = Some(self.store().hold_history()),
            Step::Release => self.hold = None,
            Step::PinAt { back } => self.pin_at(u64::from(*back)),
            Step::Scan {
                snapshot,
                keys,
                batch_rows,
            } => {
                let snapshots = self.pins.len() + 1;
                match self.pins.get(snapshot % snapshots) {
                    Some(pinned) => self.check(pinned, keys.clone(), *batch_rows),
                    None => self.check(&self.store().pin(), keys.clone(), *batch_rows),
                }
            }
            Step::Crash => self.crash(),
        }
    }

    fn pin_at(&mut self, back: u64) {
        let position = self.position.saturating_sub(back);
        let Some(hold) = &self.hold else { return };
        let pinned = self.store().pin_at(hold, CommitPosition(position));
        assert_eq!(pinned.is_some(), position >= hold.position().0);
        self.pins.extend(pinned);
    }

    fn check_all(&self) {
        let latest = self.store().pin();
        for snapshot in self.pins.iter().chain([&latest]) {
            self.check(snapshot, 0..KEYS, 64);
            self.check_split(snapshot, 3);
        }
    }
}

fn apply(table: &mut Table, write: Write) {
    match write {
        Write::Put { key, seed } => {
            table.insert(key, (number(seed), text(seed)));
        }
        Write::Delete { key } => {
            table.remove(&key);
        }
        Write::Patch {
            key,
            seed,
            number: changes_number,
        } => {
            let row = table.get_mut(&key).expect("sources patch rows that exist");
            if changes_number {
                row.0 = number(seed);
            } else {
                row.1 = text(seed);
            }
        }
    }
}

fn any_write() -> impl Strategy<Value = Write> {
    // Half of the writes go to few keys, so that versions pile up.
    let key = prop_oneof![0..KEYS, 0..12_u16];
    (key, any::<u8>(), 0..10_u8).prop_map(|(key, seed, kind)| match kind {
        0..5 => Write::Put { key, seed },
        5..7 => Write::Delete { key },
        _ => Write::Patch {
            key,
            seed,
            number: kind % 2 == 0,
        },
    })
}

fn any_keys() -> impl Strategy<Value = Range<u16>> {
    (0..KEYS, 0..KEYS).prop_map(|(a, b)| a.min(b)..a.max(b) + 1)
}

fn any_step() -> impl Strategy<Value = Step> {
    let between = prop_oneof![
        6 => Just(None),
        1 => Just(Some(Between::Nothing)),
        1 => Just(Some(Between::Flush)),
        1 => Just(Some(Between::Crash)),
        1 => Just(Some(Between::FlushAndCrash)),
    ];
    let writes = prop::collection::vec(any_write(), 1..25);
    prop_oneof![
        12 => (prop::bool::weighted(0.05), writes, between)
            .prop_map(|(truncate, writes, between)| Step::Transaction { truncate, writes, between }),
        2 => any_keys().prop_map(|keys| Step::Load { keys }),
        4 => Just(Step::Flush),
        5 => Just(Step::Merge),
        2 => Just(Step::Pin),
        1 => Just(Step::Unpin),
        1 => Just(Step::Hold),
        1 => Just(Step::Release),
        1 => (0..12_u8).prop_map(|back| Step::PinAt { back }),
        5 => (0..4_usize, any_keys(), 1..200_usize)
            .prop_map(|(snapshot, keys, batch_rows)| Step::Scan { snapshot, keys, batch_rows }),
        1 => Just(Step::Crash),
    ]
}

fn compare_with_model(shape: KeyShape, steps: &[Step]) {
    let mut harness = Harness::new(shape);
    for step in steps {
        harness.run(step);
    }
    harness.check_all();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn integer_keys(steps in prop::collection::vec(any_step(), 1..80)) {
        compare_with_model(KeyShape::Int64, &steps);
    }

    #[test]
    fn two_column_keys(steps in prop::collection::vec(any_step(), 1..80)) {
        compare_with_model(KeyShape::Int64Int32, &steps);
    }

    #[test]
    fn text_keys(steps in prop::collection::vec(any_step(), 1..80)) {
        compare_with_model(KeyShape::Text, &steps);
    }
}
