//! Rows of a multiset that go: which of the equal rows each deletion takes away.
//!
//! A multiset's tree has hidden key columns last: a hash of the row in two halves, then two numbers that tell
//! equal rows apart. The log says of a row that goes only what it was, so its deletion comes with the hash and
//! without the numbers:
//!
//! 1. find, with one look at the tree, the rows that are there under the hashes of all deletions;
//! 2. go through the batch in order: a put is there from its place on, a deletion takes any row with its hash,
//!    the youngest of the batch first.
//!
//! It does not matter which: they are equal.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, UInt64Array};
use lsm::{KeyRange, ScanRequest, Snapshot, Store, StoreError};
use types::key::SortKey;
use types::{ColumnType, CommitPosition, TableId, VersionKind, VersionRows};

/// Hidden columns of a multiset.
const HIDDEN: usize = 4;
/// Rows that a scan gives at a time.
const BATCH_ROWS: usize = 4096;
/// More hashes than this may be looked for in one scan of everything …
const RANGES_MAX: usize = 1024;
/// … and are if the table does not have so many pages on disk for each of them.
const PAGES_PER_RANGE: u64 = 4;

type Hash = [u64; 2];
/// What tells equal rows apart.
type Number = [u64; 2];

/// Rows that are there under one hash.
#[derive(Default)]
struct Equal {
    /// As many as are needed.
    numbers: Vec<Number>,
    /// Deletions of such rows.
    deletions: usize,
}

impl Equal {
    /// Takes a row of the tree in; whether more are needed.
    fn find(&mut self, number: Number) -> bool {
        if self.numbers.len() < self.deletions {
            self.numbers.push(number);
        }
        self.numbers.len() < self.deletions
    }
}

/// What becomes of a batch.
pub struct Resolved {
    /// The versions, with whole keys; those before the failure if there is one.
    pub rows: VersionRows,
    /// The position of a deletion whose row is not there.
    pub missing: Option<CommitPosition>,
}

/// Gives the deletions among `rows` whole keys. Everything before them has been ingested.
pub fn resolve(
    store: &Arc<Store>,
    table: TableId,
    rows: &VersionRows,
) -> Result<Resolved, StoreError> {
    let keys = HiddenKeys::of(&rows.columns);
    let is_delete = |row: usize| rows.kinds[row] == VersionKind::Delete as u8;
    let mut there: HashMap<Hash, Equal> = HashMap::new();
    for row in (0..rows.len()).filter(|&row| is_delete(row)) {
        there.entry(keys.hash(row)).or_default().deletions += 1;
    }
    let newest = rows.positions.iter().copied().max().unwrap_or_default();
    let position = CommitPosition(newest).max(store.visible());
    find(&store.pin_ingested(position), store, table, &mut there)?;
    let (mut numbers, mut missing) = (Vec::with_capacity(rows.len()), None);
    for row in 0..rows.len() {
        let equal = there.get_mut(&keys.hash(row));
        if !is_delete(row) {
            let number = keys.number(row);
            equal
                .into_iter()
                .for_each(|equal| equal.numbers.push(number));
            numbers.push(number);
        } else if let Some(number) = equal.and_then(|equal| equal.numbers.pop()) {
            numbers.push(number);
        } else {
            missing = Some(CommitPosition(rows.positions[row]));
            break;
        }
    }
    let before = missing.map_or(rows.len(), |missing| {
        rows.positions
            .partition_point(|&position| position < missing.0)
    });
    Ok(Resolved {
        rows: with_numbers(rows, &numbers[..before]),
        missing,
    })
}

/// The first rows, as many as there are numbers, with these.
fn with_numbers(rows: &VersionRows, numbers: &[Number]) -> VersionRows {
    let mut rows = rows.slice(0..numbers.len());
    let first = rows.columns.len() - 2;
    for (half, column) in rows.columns[first..].iter_mut().enumerate() {
        let cells = numbers.iter().map(|number| number[half]);
        *column = Arc::new(UInt64Array::from_iter_values(cells));
    }
    rows
}

/// Adds the numbers of the rows that a snapshot sees under these hashes.
fn find(
    snapshot: &Snapshot,
    store: &Store,
    table: TableId,
    there: &mut HashMap<Hash, Equal>,
) -> Result<(), StoreError> {
    let schema = store.schema(table).ok_or(StoreError::NoSuchTable(table))?;
    let first = schema.columns.len() - HIDDEN;
    let request = |range| ScanRequest {
        projection: (first..schema.columns.len()).collect(),
        range,
        batch_rows: BATCH_ROWS,
    };
    let pages = snapshot.extent(table, &KeyRange::all())?.pages;
    if there.len() > RANGES_MAX && pages < there.len() as u64 * PAGES_PER_RANGE {
        for batch in snapshot.scan(table, request(KeyRange::all()))? {
            let batch = batch?;
            let keys = HiddenKeys::of(batch.columns());
            for row in 0..batch.num_rows() {
                if let Some(equal) = there.get_mut(&keys.hash(row)) {
                    equal.find(keys.number(row));
                }
            }
        }
        return Ok(());
    }
    for (hash, equal) in there {
        for batch in snapshot.scan(table, request(range_of(*hash)))? {
            let batch = batch?;
            let keys = HiddenKeys::of(batch.columns());
            if !(0..batch.num_rows()).all(|row| equal.find(keys.number(row))) {
                break;
            }
        }
    }
    Ok(())
}

/// The keys that begin with a hash.
fn range_of(hash: Hash) -> KeyRange {
    let columns = hash.map(|half| -> ArrayRef { Arc::new(UInt64Array::from(vec![half])) });
    let (start, end) = SortKey::prefix_range(&columns, &[ColumnType::UInt64; HIDDEN]);
    KeyRange {
        start: Some(start),
        end,
    }
}

/// The last columns of rows of a multiset.
struct HiddenKeys<'a> {
    columns: [&'a UInt64Array; HIDDEN],
}

impl<'a> HiddenKeys<'a> {
    fn of(columns: &'a [ArrayRef]) -> Self {
        let first = columns.len() - HIDDEN;
        let columns =
            std::array::from_fn(|column| columns[first + column].as_primitive::<UInt64Type>());
        Self { columns }
    }

    fn hash(&self, row: usize) -> Hash {
        [self.columns[0].value(row), self.columns[1].value(row)]
    }

    fn number(&self, row: usize) -> Number {
        [self.columns[2].value(row), self.columns[3].value(row)]
    }
}

#[cfg(test)]
mod tests {
    use env::Env;
    use lsm::StoreOptions;
    use tempfile::TempDir;
    use types::{Column, ColumnBuilder, RowsBuilder, TableName, TableSchema};

    use super::*;

    const TABLE: TableId = TableId(1);

    fn schema() -> TableSchema {
        let hidden = ["high", "low", "position", "ordinal"];
        TableSchema {
            name: TableName {
                schema: "public".into(),
                name: "t".into(),
            },
            columns: hidden
                .map(|name| Column::new(name, ColumnType::UInt64))
                .into(),
            key: vec![0, 1, 2, 3],
        }
    }

    /// Versions of rows by their hash; deletions come without a number.
    fn rows(position: u64, versions: &[(u64, VersionKind)]) -> VersionRows {
        let mut builder = RowsBuilder::new(&schema());
        for (ordinal, &(hash, kind)) in (1..).zip(versions) {
            let number = match kind {
                VersionKind::Delete => [0, 0],
                _ => [position, ordinal],
            };
            let cells = [hash, hash, number[0], number[1]];
            for (column, cell) in builder.columns_mut().iter_mut().zip(cells) {
                let ColumnBuilder::UInt64(column) = column else {
                    unreachable!("hidden columns are unsigned 64-bit")
                };
                column.append_value(cell);
            }
            builder.finish_version(CommitPosition(position), kind);
        }
        builder.build()
    }

    /// The hashes of all rows.
    fn all(store: &Arc<Store>) -> Vec<u64> {
        let request = ScanRequest {
            projection: vec![0],
            range: KeyRange::all(),
            batch_rows: 100,
        };
        let snapshot = store.pin();
        let batches = snapshot.scan(TABLE, request).expect("it can be read");
        batches
            .flat_map(|batch| {
                let batch = batch.expect("it can be read");
                batch
                    .column(0)
                    .as_primitive::<UInt64Type>()
                    .values()
                    .to_vec()
            })
            .collect()
    }

    #[test]
    fn each_deletion_takes_one_of_the_equal_rows() {
        use VersionKind::{Delete, Put};
        let folder = TempDir::new().expect("a folder");
        let store = Store::open(Env::real(), folder.path(), StoreOptions::default());
        let store = store.expect("the store opens");
        store.create_table(TABLE, schema()).expect("there is room");
        let many: Vec<_> = (0..RANGES_MAX as u64 + 2)
            .map(|hash| (100 + hash, Put))
            .collect();
        let gone: Vec<_> = many.iter().map(|&(hash, _)| (hash, Delete)).collect();
        let batches = [
            vec![(1, Put), (2, Put), (1, Put), (1, Put)],
            // One that is there, one that has just come, and both of a kind.
            vec![
                (1, Delete),
                (3, Put),
                (3, Delete),
                (4, Put),
                (1, Delete),
                (2, Delete),
            ],
            many,
            // More than are looked for one by one.
            gone,
        ];
        for (batch, position) in batches.iter().zip((10..).step_by(10)) {
            let resolved = resolve(&store, TABLE, &rows(position, batch)).expect("it can be read");
            assert_eq!(resolved.missing, None);
            store.ingest(TABLE, resolved.rows).expect("there is room");
            store.publish(CommitPosition(position), Vec::new());
        }
        assert_eq!(all(&store), [1, 4]);
        // A row that is not there ends the batch before its transaction.
        let resolved = resolve(&store, TABLE, &rows(90, &[(1, Delete), (1, Delete)]));
        let resolved = resolved.expect("it can be read");
        assert_eq!(resolved.missing, Some(CommitPosition(90)));
        assert!(resolved.rows.is_empty());
    }
}
