//! A reader of all tables while 200 of them change: every answer is checked.
//!
//! It takes a snapshot, looks up a row of a table of each class, and now and then scans a few
//! rows; then it sleeps for a moment, as it shares the processors with what is measured.
//!
//! What a snapshot has to show follows from its position: that tells how many changes each table
//! has had, and these tell what became of the row.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use arrow_array::RecordBatch;
use lsm::{KeyRange, ScanRequest, Snapshot, Store};
use types::key::SortKey;
use types::{ColumnType, Value};

use super::history::{RowNumber, RowVersion};
use super::shape::{ShapeColumn, ShapedRow};
use super::tables::{CLASSES, Class, Table, batches_at};
use crate::pages::draw::Draw;

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(1);

/// Every so many rounds one has scans, too.
const SCANS_EVERY: u64 = 8;

/// Rows of a short scan.
const SCAN_ROWS: u64 = 50;

/// Rows of a batch of a whole table.
const BATCH_ROWS: usize = 4 << 10;

/// Of so many keys one is asked for that has never been.
const MISSING_EVERY: u32 = 8;

/// How long everything took.
#[derive(Debug, Default)]
pub struct ReadTimes {
    /// Look-ups, by class.
    pub look_ups: [Vec<Duration>; CLASSES.len()],
    /// Short scans.
    pub scans: Vec<Duration>,
}

/// Reads until it is told to stop.
pub fn read(store: &Arc<Store>, tables: &[Table], stop: &AtomicBool) -> Result<ReadTimes> {
    let mut times = ReadTimes::default();
    let mut draw = Draw::new(3);
    let of_class = CLASSES.map(|class| of_class(tables, class));
    let mut round = 0;
    while !stop.load(Ordering::Relaxed) {
        let snapshot = store.pin();
        for (tables, times) in of_class.iter().zip(&mut times.look_ups) {
            let Some(view) = View::draw(&snapshot, tables, &mut draw) else {
                continue;
            };
            let number = view.draw_row(&mut draw);
            times.push(view.look_up(number)?);
        }
        round += 1;
        if u64::is_multiple_of(round, SCANS_EVERY) {
            let tables = &of_class[draw.below(CLASSES.len() as u32) as usize];
            if let Some(view) = View::draw(&snapshot, tables, &mut draw) {
                times.scans.push(view.scan(view.draw_row(&mut draw))?);
            }
        }
        drop(snapshot);
        std::thread::sleep(PAUSE);
    }
    Ok(times)
}

/// Scans all tables from end to end; how many rows there are.
pub fn check_all(store: &Arc<Store>, tables: &[Table]) -> Result<u64> {
    let snapshot = store.pin();
    let mut rows = 0;
    for table in tables {
        rows += View::new(&snapshot, table).check_all()?;
    }
    Ok(rows)
}

fn of_class(tables: &[Table], class: Class) -> Vec<&Table> {
    tables.iter().filter(|table| table.class == class).collect()
}

/// A table as a snapshot has to see it.
struct View<'a> {
    snapshot: &'a Snapshot,
    table: &'a Table,
    /// Changes that the snapshot sees.
    changes: u64,
    columns: Vec<usize>,
}

impl<'a> View<'a> {
    fn new(snapshot: &'a Snapshot, table: &'a Table) -> Self {
        Self {
            snapshot,
            table,
            changes: table.changes(batches_at(snapshot.position())),
            columns: (0..table.shape.columns.len()).collect(),
        }
    }

    /// Of any of some tables.
    fn draw(snapshot: &'a Snapshot, tables: &[&'a Table], draw: &mut Draw) -> Option<Self> {
        let table = tables.get(draw.below(tables.len() as u32) as usize)?;
        Some(Self::new(snapshot, table))
    }

    /// Any row, perhaps one that is deleted or will never be.
    fn draw_row(&self, draw: &mut Draw) -> RowNumber {
        let rows = self.table.history.rows(self.changes);
        match draw.below(MISSING_EVERY) {
            0 => RowNumber(rows + u64::from(draw.below(1_000))),
            _ => RowNumber(draw.bits() % rows),
        }
    }

    fn state(&self, number: RowNumber) -> Option<ShapedRow> {
        let version = self.table.history.state(number, self.changes)?;
        Some(self.table.row(number, version))
    }

    /// Looks a row up; how long that took.
    fn look_up(&self, number: RowNumber) -> Result<Duration> {
        let mut texts = self.key_texts();
        let key = self.key(number, &mut texts);
        let begin = Instant::now();
        let found = self.snapshot.get(self.table.id, &key, &self.columns)?;
        let took = begin.elapsed();
        match (self.state(number), &found) {
            (None, None) => {}
            (Some(row), Some(found)) => self.check_row(row, &found.values().collect::<Vec<_>>())?,
            (expected, found) => {
                let (name, there) = (self.table.shape.name, found.is_some());
                anyhow::bail!("{name}: {number:?} is there: {there}, expected: {expected:?}");
            }
        }
        Ok(took)
    }

    fn key_texts(&self) -> Vec<String> {
        vec![String::new(); self.table.shape.key_columns()]
    }

    fn key<'t>(&self, number: RowNumber, texts: &'t mut [String]) -> Vec<Value<'t>> {
        let row = self.table.row(number, RowVersion(0));
        let columns = self.table.shape.columns.iter().zip(texts);
        columns
            .map(|(column, text)| column.value(row, text))
            .collect()
    }

    fn check_row(&self, row: ShapedRow, found: &[Value<'_>]) -> Result<()> {
        let mut text = String::new();
        for (column, found) in self.table.shape.columns.iter().zip(found) {
            let expected = column.value(row, &mut text);
            let name = self.table.shape.name;
            ensure!(
                expected.order(found).is_eq(),
                "{name}: {row:?} has {found:?}, not {expected:?}, in {column:?}"
            );
        }
        Ok(())
    }

    /// Scans a few rows from a row's key on; how long that took.
    fn scan(&self, number: RowNumber) -> Result<Duration> {
        let end = RowNumber(number.0 + SCAN_ROWS);
        let in_order = self.table.shape.has_rows_in_order();
        let range = KeyRange {
            start: Some(self.sort_key(number)?),
            end: in_order.then(|| self.sort_key(end)).transpose()?,
        };
        let begin = Instant::now();
        let request = self.request(range, SCAN_ROWS as usize);
        let mut batches = Vec::new();
        let mut rows = 0;
        for batch in self.snapshot.scan(self.table.id, request)? {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            batches.push(batch);
            if rows >= SCAN_ROWS {
                break;
            }
        }
        let took = begin.elapsed();
        let found = batches.iter().map(|batch| self.check_batch(batch));
        let found: Vec<_> = found.collect::<Result<Vec<_>>>()?.concat();
        if in_order {
            let rows = (number.0..end.0).map(RowNumber);
            let expected: Vec<_> = rows.filter(|&row| self.state(row).is_some()).collect();
            ensure!(found == expected, "{} rows of {expected:?}", found.len());
        } else if self.state(number).is_some() {
            ensure!(
                found.first() == Some(&number),
                "{number:?} is not the first row"
            );
        }
        Ok(took)
    }

    fn sort_key(&self, number: RowNumber) -> Result<SortKey> {
        let mut texts = self.key_texts();
        let key = self.key(number, &mut texts);
        let columns = self.table.shape.columns.iter();
        let types: Vec<ColumnType> = columns.map(|column| column.column_type()).collect();
        SortKey::of_values(&key, &types[..key.len()]).context("a row has a key")
    }

    fn request(&self, range: KeyRange, batch_rows: usize) -> ScanRequest {
        ScanRequest {
            projection: self.columns.clone(),
            range,
            batch_rows,
        }
    }

    /// Checks every row of a batch; which ones they are.
    fn check_batch(&self, batch: &RecordBatch) -> Result<Vec<RowNumber>> {
        let columns = || self.table.shape.columns.iter().zip(batch.columns());
        let row = |at: usize| {
            let cell = |(column, array): (&ShapeColumn, _)| {
                Value::of_cell(array, column.column_type(), at)
            };
            let cells: Vec<Value<'_>> = columns().map(cell).collect();
            let number = self
                .table
                .shape
                .number(&cells[..self.table.shape.key_columns()]);
            let number = number.context("no row has such a key")?;
            let state = self.state(number);
            let row = state.with_context(|| format!("{number:?} should not be there"))?;
            self.check_row(row, &cells)?;
            Ok(number)
        };
        let name = self.table.shape.name;
        let rows = (0..batch.num_rows()).map(row).collect::<Result<_>>();
        rows.with_context(|| format!("{name}, table {}", self.table.id))
    }

    /// Scans all rows; how many there are.
    fn check_all(&self) -> Result<u64> {
        let request = self.request(KeyRange::all(), BATCH_ROWS);
        let mut found = 0;
        for batch in self.snapshot.scan(self.table.id, request)? {
            found += self.check_batch(&batch?)?.len() as u64;
        }
        let rows = (0..self.table.history.rows(self.changes)).map(RowNumber);
        let expected = rows.filter(|&row| self.state(row).is_some()).count() as u64;
        let name = self.table.shape.name;
        ensure!(found == expected, "{name}: {found} rows, not {expected}");
        Ok(found)
    }
}
