//! The store against a model: random transactions, flushes, merges, snapshots and crashes, with
//! every scan and look-up compared with a map that never forgets.
//!
//! A step may publish a transaction in one piece or in two, with a flush or a crash in between.
//! After a crash the store must be exactly at its durable position; the transactions after it
//! are replayed, as a source would.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::BooleanBuffer;
use lsm::{
    EncodedRows, FilteredScan, Form, FragmentCells, HistoryHold, KeyRange, RowTest, ScanRequest,
    Sifted, Snapshot, Store, StoreError, StoreOptions, Work, ZoneFilter, Zones,
};
use proptest::prelude::*;
use types::{
    ColumnType, CommitPosition, SortKeys, TableId, TableSchema, Value, ValueRange, VersionKind,
};

use crate::folder::Folder;
use crate::lookups::rows_of_keys;
use crate::rows::{Cell, Version, numbers_and_texts, table_schema, version_rows};

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
    fn columns(self) -> &'static [(&'static str, ColumnType)] {
        match self {
            Self::Int64 => &[("id", ColumnType::Int64)],
            Self::Int64Int32 => &[("major", ColumnType::Int64), ("minor", ColumnType::Int32)],
            Self::Text => &[("id", ColumnType::Text)],
        }
    }

    fn types(self) -> Vec<ColumnType> {
        let columns = self.columns().iter();
        columns.map(|&(_, column_type)| column_type).collect()
    }

    fn schema(self) -> TableSchema {
        let values = [("number", ColumnType::Int64), ("text", ColumnType::Text)];
        TableSchema {
            key: (0..self.columns().len()).collect(),
            ..table_schema(&[self.columns(), &values].concat())
        }
    }

    fn cells(self, key: u16) -> Vec<Cell> {
        match self {
            Self::Int64 => vec![Cell::Number(i64::from(key))],
            Self::Int64Int32 => [key / 10, key % 10]
                .map(|part| Cell::Number(i64::from(part)))
                .to_vec(),
            Self::Text => vec![Cell::Text(format!("{key:05}"))],
        }
    }

    fn arrays(self, key: u16) -> Vec<ArrayRef> {
        let version = Version::new(0, VersionKind::Put, self.cells(key));
        version_rows(&table_schema(self.columns()), [version]).columns
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
    /// Looks keys up; those from `KEYS` on are never there.
    LookUp {
        snapshot: usize,
        keys: Vec<u16>,
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
    folder: Folder,
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
        filter_bytes: 1 << 10,
        page_bytes: 4 << 10,
        segment_bytes: 5 << 10,
        runs_max: 3,
        ..StoreOptions::default()
    }
}

/// Wants rows with certain numbers and no odd text, as far as encoded cells tell: texts are left to be
/// checked where pages do not have distinct ones.
struct EvenTextsBesideNumbersIn<'a>(&'a Range<i64>);

impl RowTest for EvenTextsBesideNumbersIn<'_> {
    type Error = StoreError;

    fn sift(&mut self, rows: &EncodedRows<'_>) -> Result<Sifted, StoreError> {
        let numbers = ValueRange {
            low: Bound::Included(Value::Int(self.0.start)),
            high: Bound::Excluded(Value::Int(self.0.end)),
        };
        let numbers = rows.in_range(0, numbers)?;
        let decoded = rows.with_cells(0, |cells| {
            let cells = cells.as_primitive::<Int64Type>();
            let is_wanted = |row| cells.is_valid(row) && self.0.contains(&cells.value(row));
            BooleanBuffer::collect_bool(cells.len(), is_wanted)
        })?;
        assert_eq!(decoded, numbers, "encoded cells answer as decoded ones do");
        let texts = rows.with_text(1, &mut |cells| -> Result<_, StoreError> {
            Ok(with_even_text(cells))
        })?;
        Ok(Sifted {
            checked: if texts.is_some() { vec![] } else { vec![1] },
            rows: Some(texts.map_or(numbers.clone(), |texts| &numbers & &texts)),
        })
    }

    fn check(&mut self, columns: &[ArrayRef], _: usize) -> Result<BooleanBuffer, StoreError> {
        Ok(with_even_text(&columns[0]))
    }
}

/// Wants rows with certain numbers, which it looks at row by row, and remembers them.
struct NumbersLookedAt<'a> {
    wanted: &'a Range<i64>,
    found: Vec<i64>,
}

impl RowTest for NumbersLookedAt<'_> {
    type Error = StoreError;

    fn sift(&mut self, _: &EncodedRows<'_>) -> Result<Sifted, StoreError> {
        Ok(Sifted {
            rows: None,
            checked: vec![0],
        })
    }

    fn check(&mut self, columns: &[ArrayRef], rows: usize) -> Result<BooleanBuffer, StoreError> {
        let column = columns[0].as_primitive::<Int64Type>();
        let is_wanted = |row| column.is_valid(row) && self.wanted.contains(&column.value(row));
        let rows_wanted = (0..rows).filter(|&row| is_wanted(row));
        self.found = rows_wanted.map(|row| column.value(row)).collect();
        Ok(BooleanBuffer::collect_bool(rows, is_wanted))
    }
}

fn cells_of_numbers(cells: &FragmentCells) -> Vec<Option<i64>> {
    match cells {
        FragmentCells::Integers(numbers) => numbers.iter().copied().map(Some).collect(),
        FragmentCells::Array(array) => array.as_primitive::<Int64Type>().iter().collect(),
        FragmentCells::Codes { .. } => panic!("numbers have no codes"),
    }
}

fn cells_of_texts(cells: &FragmentCells) -> Vec<Option<String>> {
    let text = |array: &ArrayRef, row: usize| {
        let array = array.as_string::<i32>();
        array.is_valid(row).then(|| array.value(row).to_owned())
    };
    match cells {
        FragmentCells::Codes { cells, codes } => {
            codes.iter().map(|&code| text(cells, code.into())).collect()
        }
        FragmentCells::Array(array) => (0..array.len()).map(|row| text(array, row)).collect(),
        FragmentCells::Integers(_) => panic!("texts are no numbers"),
    }
}

fn with_even_text(texts: &ArrayRef) -> BooleanBuffer {
    let texts = texts.as_string::<i32>();
    texts.iter().map(has_even_text).collect()
}

/// NULL has no odd number of bytes.
fn has_even_text(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.len().is_multiple_of(2))
}

/// What a scan reads.
struct Read<'a> {
    snapshot: &'a Snapshot,
    keys: &'a Range<u16>,
    batch_rows: usize,
}

/// Wants rows whose number, which is in this column, is in a range.
struct NumbersIn(usize, Range<i64>);

impl ZoneFilter for NumbersIn {
    fn may_have_wanted(&self, zones: &Zones) -> Vec<bool> {
        let Self(column, wanted) = self;
        let (Some(min), Some(max)) = (zones.min(*column), zones.max(*column)) else {
            return Vec::new();
        };
        let bounds = min.as_primitive::<Int64Type>().iter();
        let bounds = bounds.zip(max.as_primitive::<Int64Type>());
        let may_be = |(min, max): (Option<i64>, Option<i64>)| {
            let (Some(min), Some(max)) = (min, max) else {
                return true;
            };
            min < wanted.end && max >= wanted.start
        };
        bounds.map(may_be).collect()
    }
}

/// The numbers of these seeds.
fn number_range(seeds: Range<i64>) -> Range<i64> {
    seeds.start * 1_000_003..seeds.end * 1_000_003
}

fn text(seed: u8) -> Option<String> {
    (!seed.is_multiple_of(5)).then(|| format!("text {seed} {}", "x".repeat(usize::from(seed) % 40)))
}

fn number(seed: u8) -> Option<i64> {
    (!seed.is_multiple_of(7)).then(|| i64::from(seed) * 1_000_003)
}

impl Harness {
    fn new(shape: KeyShape) -> Self {
        let folder = Folder::new(options());
        let store = folder.open();
        let harness = Self {
            shape,
            folder,
            store: Some(store),
            log: Vec::new(),
            states: BTreeMap::from([(0, Table::new())]),
            pins: Vec::new(),
            hold: None,
            position: 0,
        };
        harness
            .store()
            .create_table(TABLE, shape.schema())
            .expect("a new table");
        harness
    }

    fn store(&self) -> &Arc<Store> {
        self.store.as_ref().expect("the store is open")
    }

    fn ingest(&self, position: u64, writes: &[Write]) {
        let versions = writes.iter().map(|&write| self.version(position, write));
        let rows = version_rows(&self.shape.schema(), versions);
        self.store().ingest(TABLE, rows).expect("ingest works");
    }

    fn version(&self, position: u64, write: Write) -> Version {
        let number = |seed| number(seed).map_or(Cell::Null, Cell::Number);
        let text = |seed| text(seed).map_or(Cell::Null, Cell::Text);
        let (key, kind, values) = match write {
            Write::Put { key, seed } => (key, VersionKind::Put, [number(seed), text(seed)]),
            Write::Delete { key } => (key, VersionKind::Delete, [Cell::Null, Cell::Null]),
            Write::Patch {
                key,
                seed,
                number: true,
            } => (key, VersionKind::Patch, [number(seed), Cell::Unchanged]),
            Write::Patch {
                key,
                seed,
                number: false,
            } => (key, VersionKind::Patch, [Cell::Unchanged, text(seed)]),
        };
        let mut cells = self.shape.cells(key);
        cells.extend(values);
        Version::new(position, kind, cells)
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
        self.store = Some(self.folder.open());
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

    /// A snapshot's position, and the table that it has to show.
    fn expected(&self, snapshot: &Snapshot) -> (u64, &Table) {
        let position = snapshot.position().0;
        let (_, table) = self
            .states
            .range(..=position)
            .next_back()
            .expect("there is a first state");
        (position, table)
    }

    /// Compares a scan with the model.
    fn check(&self, snapshot: &Snapshot, keys: Range<u16>, batch_rows: usize) {
        let projection: Vec<usize> = (0..self.shape.schema().columns.len()).collect();
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
            let keys = (0..batch.num_rows()).map(|row| self.shape.key(&batch, row));
            let values = &batch.columns()[self.shape.columns().len()..];
            found.extend(keys.zip(numbers_and_texts(values)));
        }
        let (position, table) = self.expected(snapshot);
        let expected: Vec<(u16, Row)> = table
            .range(keys.clone())
            .map(|(&key, row)| (key, row.clone()))
            .collect();
        assert_eq!(found, expected, "the table at {position}");
        let read = Read {
            snapshot,
            keys: &keys,
            batch_rows,
        };
        for wanted in [number_range(0..60), number_range(250..300)] {
            let is_wanted = |row: &Row| row.0.is_some_and(|number| wanted.contains(&number));
            let expected = expected.iter().filter(|(_, row)| is_wanted(row)).cloned();
            let expected: Vec<(u16, Row)> = expected.collect();
            let found = self.rows_with_numbers_in(&wanted, &read);
            assert_eq!(found, expected, "numbers in {wanted:?} at {position}");
            let is_even = |row: &Row| has_even_text(row.1.as_deref());
            let expected: Vec<(u16, Row)> = expected
                .into_iter()
                .filter(|(_, row)| is_even(row))
                .collect();
            let mut rows: Vec<Row> = expected.iter().map(|(_, row)| row.clone()).collect();
            rows.sort();
            let found = self.rows_of_fragments(&wanted, &read);
            assert_eq!(
                found, rows,
                "fragments of numbers in {wanted:?} at {position}"
            );
            // Rows sort by their numbers first.
            let numbers: Vec<Option<i64>> = rows.iter().map(|row| row.0).collect();
            let found = self.numbers_of_fragments(&wanted, &read);
            assert_eq!(found, numbers, "numbers in {wanted:?} at {position}");
            let found = self.sifted_rows(&wanted, &read);
            assert_eq!(
                found, expected,
                "sifted numbers in {wanted:?} at {position}"
            );
        }
    }

    /// A scan of these columns for rows with certain numbers, which looks at `looked_at` first.
    fn scan_for(
        &self,
        wanted: &Range<i64>,
        read: &Read<'_>,
        projection: Vec<usize>,
        looked_at: &[usize],
    ) -> FilteredScan {
        let number = self.shape.columns().len();
        let request = ScanRequest {
            projection,
            range: self.shape.range(read.keys),
            batch_rows: read.batch_rows,
        };
        let zone_filter: Arc<dyn ZoneFilter> = Arc::new(NumbersIn(number, wanted.clone()));
        let scan = read
            .snapshot
            .scan_wanted(TABLE, request, looked_at, &zone_filter);
        scan.expect("the table can be read")
    }

    /// The rows with certain numbers and no odd text, by a scan that sifts out all others.
    fn sifted_rows(&self, wanted: &Range<i64>, read: &Read<'_>) -> Vec<(u16, Row)> {
        let number = self.shape.columns().len();
        let columns = (0..number + 2).collect();
        let mut scan = self.scan_for(wanted, read, columns, &[number, number + 1]);
        let mut found = Vec::new();
        loop {
            let next = scan.next_wanted(&mut EvenTextsBesideNumbersIn(wanted));
            let Some(batch) = next.expect("pages are sound") else {
                return found;
            };
            let rows = numbers_and_texts(&batch.columns()[number..]);
            found.extend(
                (0..batch.num_rows())
                    .map(|row| self.shape.key(&batch, row))
                    .zip(rows),
            );
        }
    }

    /// The rows with certain numbers, by a scan that looks at numbers first. The numbers are
    /// projected themselves if small ones are wanted.
    fn rows_with_numbers_in(&self, wanted: &Range<i64>, read: &Read<'_>) -> Vec<(u16, Row)> {
        let number = self.shape.columns().len();
        let with_number = wanted.start == 0;
        let is_projected = |&column: &usize| column != number || with_number;
        let projection = (0..self.shape.schema().columns.len()).filter(is_projected);
        let mut scan = self.scan_for(wanted, read, projection.collect(), &[number]);
        let mut found = Vec::new();
        loop {
            let mut numbers = NumbersLookedAt {
                wanted,
                found: Vec::new(),
            };
            let batch = scan.next_wanted(&mut numbers);
            let Some(batch) = batch.expect("pages are sound") else {
                return found;
            };
            let texts = batch.columns().last().expect("a text").as_string::<i32>();
            for (row, &expected) in numbers.found.iter().enumerate() {
                let text = texts.is_valid(row).then(|| texts.value(row).to_owned());
                found.push((self.shape.key(&batch, row), (Some(expected), text)));
                if with_number {
                    let projected = batch.column(number).as_primitive::<Int64Type>();
                    assert_eq!(projected.value(row), expected);
                }
            }
        }
    }

    /// The same rows, sorted, from fragments in which numbers come as such and texts as codes where pages
    /// have them so.
    fn rows_of_fragments(&self, wanted: &Range<i64>, read: &Read<'_>) -> Vec<Row> {
        let number = self.shape.columns().len();
        let columns = vec![number, number + 1];
        let mut scan = self.scan_for(wanted, read, columns.clone(), &columns);
        let mut found = Vec::new();
        loop {
            let next = scan.next_fragments(
                &mut EvenTextsBesideNumbersIn(wanted),
                &[Form::Integers, Form::Codes],
            );
            let Some(fragments) = next.expect("pages are sound") else {
                found.sort();
                return found;
            };
            for fragment in fragments {
                let [numbers, texts] = fragment.columns.as_slice() else {
                    panic!("two columns were asked for")
                };
                let rows = cells_of_numbers(numbers)
                    .into_iter()
                    .zip(cells_of_texts(texts));
                let before = found.len();
                found.extend(rows);
                assert_eq!(found.len() - before, fragment.rows);
            }
        }
    }

    /// Their numbers alone, sorted: from fragments that may have the rows of several pages.
    fn numbers_of_fragments(&self, wanted: &Range<i64>, read: &Read<'_>) -> Vec<Option<i64>> {
        let number = self.shape.columns().len();
        // A key that is a text is no number: then no fragments come together.
        let mut scan = self.scan_for(wanted, read, vec![0, number], &[number, number + 1]);
        let mut found = Vec::new();
        loop {
            let next =
                scan.next_fragments(&mut EvenTextsBesideNumbersIn(wanted), &[Form::Integers; 2]);
            let Some(fragments) = next.expect("pages are sound") else {
                found.sort();
                return found;
            };
            for fragment in fragments {
                if let FragmentCells::Integers(keys) = &fragment.columns[0] {
                    assert_eq!(keys.len(), fragment.rows);
                }
                let numbers = cells_of_numbers(&fragment.columns[1]);
                assert_eq!(numbers.len(), fragment.rows);
                found.extend(numbers);
            }
        }
    }

    /// Compares look-ups with the model.
    fn check_keys(&self, snapshot: &Snapshot, keys: &[u16]) {
        let cells: Vec<_> = keys.iter().map(|&key| self.shape.cells(key)).collect();
        let found = rows_of_keys(snapshot, TABLE, &self.shape.schema(), &cells);
        let (position, table) = self.expected(snapshot);
        let expected: Vec<Option<Row>> = keys.iter().map(|key| table.get(key).cloned()).collect();
        assert_eq!(found, expected, "the rows of {keys:?} at {position}");
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
        let (position, table) = self.expected(snapshot);
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
            Step::LookUp { snapshot, keys } => {
                let snapshots = self.pins.len() + 1;
                match self.pins.get(snapshot % snapshots) {
                    Some(pinned) => self.check_keys(pinned, keys),
                    None => self.check_keys(&self.store().pin(), keys),
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
            // In no order, each key once: 7 has no divisor in common with their number.
            let keys = KEYS + 10;
            let scrambled = (0..keys).map(|index| index * 7 % keys);
            self.check_keys(snapshot, &scrambled.collect::<Vec<_>>());
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

fn any_key() -> impl Strategy<Value = u16> {
    prop_oneof![0..KEYS + 10, 0..12_u16]
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
        5 => (0..4_usize, prop::collection::vec(any_key(), 1..30))
            .prop_map(|(snapshot, keys)| Step::LookUp { snapshot, keys }),
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
