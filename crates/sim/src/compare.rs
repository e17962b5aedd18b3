//! Compares what a snapshot shows with what the model says.
//!
//! Every function panics at the first difference, naming table, position and row: whole tables
//! would not be readable. An error of the store is handed on; what came before it is compared.

use std::ops::Bound;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::BooleanBuffer;
use lsm::{
    EncodedRows, KeyRange, RowTest, ScanRequest, Sifted, Snapshot, StoreError, ZoneFilter, Zones,
};
use types::{CommitPosition, Value, ValueRange};

use crate::model::{Key, Row, Rows};
use crate::tables::{BatchRows, Table};

/// All columns of the rows in a range.
pub fn all_columns(table: Table, range: KeyRange, batch_rows: usize) -> ScanRequest {
    ScanRequest {
        projection: (0..table.columns()).collect(),
        range,
        batch_rows,
    }
}

/// Rows that are expected one after another.
struct Expected<I> {
    table: Table,
    position: CommitPosition,
    rows: I,
    compared: usize,
}

impl<'a, I: Iterator<Item = (Key, &'a Row)>> Expected<I> {
    fn new(snapshot: &Snapshot, table: Table, rows: I) -> Self {
        Self {
            table,
            position: snapshot.position(),
            rows,
            compared: 0,
        }
    }

    fn compare(&mut self, batch: &RecordBatch) {
        let found = BatchRows::new(self.table, batch);
        for index in 0..found.len() {
            let expected = self.rows.next();
            let same = expected
                .is_some_and(|(key, row)| found.key(index) == key && found.equals(index, row));
            if !same {
                self.differs(Some((found.key(index), found.row(index))), expected);
            }
            self.compared += 1;
        }
    }

    fn finish(mut self) {
        if let Some(expected) = self.rows.next() {
            self.differs(None, Some(expected));
        }
    }

    fn differs(&self, found: Option<(Key, Row)>, expected: Option<(Key, &Row)>) -> ! {
        panic!(
            "{:?} at {}, row {}: found {found:?}, expected {expected:?}",
            self.table, self.position, self.compared
        )
    }
}

/// A scan of all columns against the expected rows.
pub fn scan<'a>(
    snapshot: &Snapshot,
    table: Table,
    request: ScanRequest,
    expected: impl Iterator<Item = (Key, &'a Row)>,
) -> Result<(), StoreError> {
    let batch_rows = request.batch_rows;
    let mut expected = Expected::new(snapshot, table, expected);
    for batch in snapshot.scan(table.id, request)? {
        let batch = batch?;
        let rows = batch.num_rows();
        assert!(rows <= batch_rows, "{rows} rows in a batch");
        expected.compare(&batch);
    }
    expected.finish();
    Ok(())
}

/// Scans of all columns of neighbouring ranges against the expected rows of all.
pub fn scans<'a>(
    snapshot: &Snapshot,
    table: Table,
    ranges: Vec<KeyRange>,
    expected: impl Iterator<Item = (Key, &'a Row)>,
) -> Result<(), StoreError> {
    let mut expected = Expected::new(snapshot, table, expected);
    for range in ranges {
        for batch in snapshot.scan(table.id, all_columns(table, range, 1_000))? {
            expected.compare(&batch?);
        }
    }
    expected.finish();
    Ok(())
}

/// The number of rows of a scan without columns.
pub fn count(
    snapshot: &Snapshot,
    table: Table,
    range: KeyRange,
    expected: usize,
) -> Result<(), StoreError> {
    let request = ScanRequest {
        projection: Vec::new(),
        range,
        batch_rows: 1_000,
    };
    let mut rows = 0;
    for batch in snapshot.scan(table.id, request)? {
        rows += batch?.num_rows();
    }
    let position = snapshot.position();
    assert_eq!(rows, expected, "rows of {table:?} at {position}");
    Ok(())
}

/// From here on numbers are large: one of a hundred, so that most pages have none.
const LARGE: i64 = i64::MAX / 8 * 7;

/// A scan for the rows with large numbers, which leaves out what cannot have any and asks encoded cells, against
/// the model's.
pub fn large_numbers(snapshot: &Snapshot, table: Table, rows: &Rows) -> Result<(), StoreError> {
    let is_large = |row: &Row| row.number.is_some_and(|number| number >= LARGE);
    let wanted = rows.iter().filter(|(_, row)| is_large(row));
    let mut expected = Expected::new(snapshot, table, wanted.map(|(&key, row)| (key, row)));
    let request = all_columns(table, KeyRange::all(), 1_000);
    let column = table.number_column();
    let zones: Arc<dyn ZoneFilter> = Arc::new(LargeIn(column));
    let mut scan = snapshot.scan_wanted(table.id, request, &[column], &zones)?;
    loop {
        let next = scan.next_wanted(&mut LargeIn(column));
        let Some(batch) = next? else { break };
        expected.compare(&batch);
    }
    expected.finish();
    Ok(())
}

/// Wants rows with a large number in this column, the only one that is looked at.
struct LargeIn(usize);

impl ZoneFilter for LargeIn {
    fn may_have_wanted(&self, zones: &Zones) -> Vec<bool> {
        let max = zones.max(self.0).expect("numbers have bounds");
        let max = max.as_primitive::<Int64Type>().iter();
        max.map(|max| max.is_none_or(|max| max >= LARGE)).collect()
    }
}

impl RowTest for LargeIn {
    type Error = StoreError;

    fn sift(&mut self, rows: &EncodedRows<'_>) -> Result<Sifted, StoreError> {
        let large = ValueRange {
            low: Bound::Included(Value::Int(LARGE)),
            high: Bound::Unbounded,
        };
        Ok(Sifted {
            rows: Some(rows.in_range(0, large)?),
            checked: Vec::new(),
        })
    }

    fn check(&mut self, _: &[ArrayRef], _: usize) -> Result<BooleanBuffer, StoreError> {
        panic!("nothing is left to be checked")
    }
}

/// Look-ups of keys, one by one and all together in this order, against the model's rows.
pub fn look_ups(
    snapshot: &Snapshot,
    table: Table,
    rows: &Rows,
    keys: &[Key],
) -> Result<(), StoreError> {
    let position = snapshot.position();
    for &key in keys {
        let found = table.get(snapshot, key)?;
        let expected = rows.get(&key);
        assert_eq!(
            found.as_ref(),
            expected,
            "key {key} of {table:?} at {position}"
        );
    }
    look_up_together(snapshot, table, rows, keys)
}

/// One look-up of all keys in this order, against the model's rows.
pub fn look_up_together(
    snapshot: &Snapshot,
    table: Table,
    rows: &Rows,
    keys: &[Key],
) -> Result<(), StoreError> {
    let columns: Vec<usize> = (0..table.columns()).collect();
    let found = snapshot.multi_get(table.id, &table.key_arrays(keys), &columns)?;
    for (key, found) in keys.iter().zip(&found.found) {
        let position = snapshot.position();
        let is_there = rows.contains_key(key);
        assert_eq!(found, is_there, "key {key} of {table:?} at {position}");
    }
    let there = keys.iter().filter_map(|key| Some((*key, rows.get(key)?)));
    let mut expected = Expected::new(snapshot, table, there);
    found
        .batches
        .iter()
        .for_each(|batch| expected.compare(batch));
    expected.finish();
    Ok(())
}
