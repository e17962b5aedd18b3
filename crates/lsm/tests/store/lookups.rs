//! Point look-ups: one key, many keys, and what neither may be misled by.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use lsm::{Snapshot, StoreOptions};
use types::{ColumnType, CommitPosition, TableId, TableSchema, Value, VersionKind};

use crate::folder::Folder;
use crate::rows::{Cell, Version, numbers_and_texts, table_schema, version_rows};
use crate::tables::{put_texts, texts};

const TABLE: TableId = TableId(3);

type Row = (Option<i64>, Option<String>);

/// The last two columns (a number and a text) of the rows of these keys, looked up one by one
/// and all at once: both ways give the same.
pub fn rows_of_keys(
    snapshot: &Snapshot,
    table: TableId,
    schema: &TableSchema,
    keys: &[Vec<Cell>],
) -> Vec<Option<Row>> {
    let count = schema.columns.len();
    let columns = [count - 2, count - 1];
    let one_by_one: Vec<_> = keys
        .iter()
        .map(|key| get(snapshot, table, key, &columns))
        .collect();
    let key_schema = TableSchema {
        columns: schema
            .key
            .iter()
            .map(|&c| schema.columns[c].clone())
            .collect(),
        ..schema.clone()
    };
    let versions = keys
        .iter()
        .map(|key| Version::new(0, VersionKind::Put, key.clone()));
    let arrays = version_rows(&key_schema, versions).columns;
    let all_at_once = snapshot
        .multi_get(table, &arrays, &columns)
        .expect("pages are sound");
    let mut rows = all_at_once
        .batches
        .iter()
        .flat_map(|batch| numbers_and_texts(batch.columns()).collect::<Vec<_>>());
    let all_at_once: Vec<_> = all_at_once
        .found
        .iter()
        .map(|found| found.then(|| rows.next().expect("a row a key that was found")))
        .collect();
    assert_eq!(rows.next(), None);
    assert_eq!(one_by_one, all_at_once);
    one_by_one
}

fn get(snapshot: &Snapshot, table: TableId, key: &[Cell], columns: &[usize; 2]) -> Option<Row> {
    let value = |cell| match cell {
        &Cell::Number(number) => Value::Int(number),
        Cell::Text(text) => Value::Bytes(text.as_bytes()),
        Cell::Null | Cell::Unchanged => Value::Null,
    };
    let key: Vec<_> = key.iter().map(value).collect();
    let row = snapshot
        .get(table, &key, columns)
        .expect("pages are sound")?;
    assert_eq!(row.len(), 2);
    let number = match row.value(0) {
        Value::Int(number) => Some(number),
        _ => None,
    };
    let text = match row.value(1) {
        Value::Bytes(text) => Some(String::from_utf8(text.to_vec()).expect("text")),
        _ => None,
    };
    Some((number, text))
}

fn options() -> StoreOptions {
    StoreOptions {
        page_bytes: 4 << 10,
        ..StoreOptions::default()
    }
}

fn text_of(snapshot: &Snapshot, key: i64) -> Option<String> {
    let row = snapshot
        .get(TABLE, &[Value::Int(key)], &[1])
        .expect("pages are sound")?;
    match row.value(0) {
        Value::Bytes(text) => Some(String::from_utf8(text.to_vec()).expect("text")),
        other => panic!("{other:?} is no text"),
    }
}

fn note(key: i64, position: u64) -> String {
    format!("{key} as of {position}")
}

/// A table's first copy is older than the changes that follow it, and may arrive after them.
#[test]
fn the_newest_position_counts_whatever_came_last() {
    let folder = Folder::new(options());
    let store = folder.open();
    store.create_table(TABLE, texts()).expect("a new table");
    let ingest = |keys: std::ops::Range<i64>, position| {
        let rows = put_texts(keys, position, note);
        store.ingest(TABLE, rows).expect("ingested");
    };
    ingest(0..10, 20);
    ingest(0..20, 10);
    let check = || {
        let snapshot = store.pin();
        assert_eq!(text_of(&snapshot, 3), Some(note(3, 20)));
        assert_eq!(text_of(&snapshot, 13), Some(note(13, 10)));
        assert_eq!(text_of(&snapshot, 23), None);
    };
    store.publish(CommitPosition(20), Vec::new());
    check();
    store.flush().expect("flushed");
    check();
}

/// Each in a run of its own on disk, the newer first.
#[test]
fn a_newer_version_in_an_older_run_on_disk_counts() {
    let folder = Folder::new(options());
    let store = folder.open();
    store.create_table(TABLE, texts()).expect("a new table");
    let _hold = store.hold_history();
    for position in [20, 10] {
        let rows = put_texts(0..10, position, note);
        store.ingest(TABLE, rows).expect("ingested");
        store.flush().expect("flushed");
    }
    store.publish(CommitPosition(20), Vec::new());
    assert_eq!(text_of(&store.pin(), 3), Some(note(3, 20)));
}

/// A row that changes all the time fills pages with its versions.
#[test]
fn versions_of_a_key_are_followed_from_page_to_page() {
    let folder = Folder::new(options());
    let store = folder.open();
    store.create_table(TABLE, texts()).expect("a new table");
    let hold = store.hold_history();
    let long = |key, position| format!("{} {}", note(key, position), "x".repeat(200));
    for position in 1..=200 {
        let keys = [1, 2, 3]
            .into_iter()
            .filter(|&key| key == 2 || position % 100 == 1);
        let rows = put_texts(keys, position, long);
        store.ingest(TABLE, rows).expect("ingested");
        store.publish(CommitPosition(position), Vec::new());
    }
    store.flush().expect("flushed");
    let stats = store.table_stats(TABLE).expect("a table");
    assert!(stats.bytes_in_memory == 0);
    for position in [1, 2, 50, 101, 199, 200] {
        let snapshot = store.pin_at(&hold, CommitPosition(position)).expect("held");
        assert_eq!(text_of(&snapshot, 2), Some(long(2, position)));
        let rare = (position - 1) / 100 * 100 + 1;
        assert_eq!(text_of(&snapshot, 1), Some(long(1, rare)));
        assert_eq!(text_of(&snapshot, 3), Some(long(3, rare)));
    }
}

#[test]
fn many_keys_are_answered_in_the_order_asked() {
    let folder = Folder::new(options());
    let store = folder.open();
    store.create_table(TABLE, texts()).expect("a new table");
    let rows = put_texts((0..5_000).map(|key| key * 2), 1, note);
    store.ingest(TABLE, rows).expect("ingested");
    store.publish(CommitPosition(1), Vec::new());
    store.flush().expect("flushed");
    let rows = put_texts((0..100).map(|key| key * 30), 2, note);
    store.ingest(TABLE, rows).expect("ingested");
    store.publish(CommitPosition(2), Vec::new());

    // Descending, with gaps, one key asked for twice, one NULL.
    let mut keys: Vec<Option<i64>> = (0..3_000).rev().map(|key| Some(key * 3)).collect();
    keys.extend([Some(60), None, Some(60)]);
    let asked: ArrayRef = Arc::new(Int64Array::from(keys.clone()));
    let snapshot = store.pin();
    let found = snapshot
        .multi_get(TABLE, std::slice::from_ref(&asked), &[1, 0])
        .expect("pages are sound");
    let expected: Vec<i64> = keys
        .iter()
        .flatten()
        .copied()
        .filter(|key| key % 2 == 0)
        .collect();
    let bits: Vec<bool> = keys
        .iter()
        .map(|key| key.is_some_and(|key| key % 2 == 0))
        .collect();
    assert_eq!(found.found.iter().collect::<Vec<_>>(), bits);
    let [batch] = found.batches.as_slice() else {
        panic!("{} batches", found.batches.len())
    };
    assert_eq!(batch.schema().field(0).name(), "text");
    assert_eq!(
        batch.column(1).as_primitive::<Int64Type>().values(),
        &expected[..]
    );
    let notes = expected.iter().map(|&key| {
        let changed = key % 30 == 0 && key < 3_000;
        note(key, if changed { 2 } else { 1 })
    });
    let notes: StringArray = notes.map(Some).collect();
    assert_eq!(batch.column(0).as_string::<i32>(), &notes);

    // No column is wanted: batches carry the number of rows.
    let found = snapshot
        .multi_get(TABLE, &[asked], &[])
        .expect("pages are sound");
    assert_eq!(found.batches[0].num_rows(), expected.len());
    let nothing: ArrayRef = Arc::new(Int64Array::from(vec![1, 3]));
    let found = snapshot
        .multi_get(TABLE, &[nothing.slice(0, 2)], &[0])
        .expect("pages are sound");
    assert!(found.batches.is_empty());
    assert_eq!(found.found.count_set_bits(), 0);
    let found = snapshot
        .multi_get(TABLE, &[nothing.slice(0, 0)], &[0])
        .expect("no key is no work");
    assert!(found.found.is_empty());
}

#[test]
fn a_key_that_no_row_can_have_is_not_found() {
    let schema = table_schema(&[("id", ColumnType::Int32), ("text", ColumnType::Text)]);
    let folder = Folder::new(options());
    let store = folder.open();
    store
        .create_table(TABLE, schema.clone())
        .expect("a new table");
    let cells = [Cell::Number(0), Cell::Text("zero".to_owned())];
    let version = Version::new(1, VersionKind::Put, cells);
    store
        .ingest(TABLE, version_rows(&schema, [version]))
        .expect("ingested");
    store.publish(CommitPosition(1), Vec::new());
    let snapshot = store.pin();
    assert_eq!(text_of(&snapshot, 0), Some("zero".to_owned()));
    assert_eq!(text_of(&snapshot, 1 << 32), None);
    let null = snapshot.get(TABLE, &[Value::Null], &[1]);
    assert!(null.expect("memory can be read").is_none());
}

#[test]
fn a_missing_key_reads_no_page() {
    const KEYS: i64 = 20_000;
    let folder = Folder::new(options());
    let store = folder.open();
    store.create_table(TABLE, texts()).expect("a new table");
    let rows = put_texts((0..KEYS).map(|key| key * 2), 1, note);
    store.ingest(TABLE, rows).expect("ingested");
    store.publish(CommitPosition(1), Vec::new());
    store.flush().expect("flushed");
    let before = store.stats();
    let snapshot = store.pin();
    for key in 0..KEYS {
        assert_eq!(text_of(&snapshot, key * 2 + 1), None);
    }
    let missing = store.stats();
    let (lookups, pages) = (
        missing.lookups - before.lookups,
        missing.lookup_pages - before.lookup_pages,
    );
    assert_eq!(lookups, KEYS as u64);
    // 1 of 256 is expected to pass, in error.
    assert_eq!(pages, missing.filter_errors);
    assert!(pages <= lookups / 100, "{pages} pages for {lookups} keys");
    // Keys between two pages need no filter.
    assert!(missing.filter_negatives >= lookups - lookups / 10);

    assert_eq!(text_of(&snapshot, 2), Some(note(2, 1)));
    let all: ArrayRef = Arc::new(Int64Array::from_iter_values(0..KEYS));
    let found = snapshot
        .multi_get(TABLE, &[all], &[1])
        .expect("pages are sound");
    assert_eq!(found.found.count_set_bits(), KEYS as usize / 2);
    let stats = store.stats();
    assert_eq!(stats.lookups - missing.lookups, KEYS as u64 + 1);
    let pages = stats.lookup_pages - missing.lookup_pages;
    assert!(pages < KEYS as u64 / 20, "{pages} pages, each loaded once");

    drop(snapshot);
    drop(store);
    let store = folder.open();
    assert_eq!(
        store.stats().filter_bytes,
        0,
        "nobody has asked a filter yet"
    );
    assert_eq!(text_of(&store.pin(), 1), None);
    let bytes = store.stats().filter_bytes;
    assert!(
        bytes > KEYS as u64 && bytes < 2 * KEYS as u64,
        "{bytes} bytes"
    );
}

#[test]
fn without_room_for_a_filter_keys_are_looked_up_in_pages() {
    const KEYS: i64 = 5_000;
    let folder = Folder::new(StoreOptions {
        filter_bytes: KEYS as usize / 2,
        ..options()
    });
    let store = folder.open();
    store.create_table(TABLE, texts()).expect("a new table");
    let rows = put_texts((0..KEYS).map(|key| key * 2), 1, note);
    store.ingest(TABLE, rows).expect("ingested");
    store.publish(CommitPosition(1), Vec::new());
    store.flush().expect("flushed");
    let snapshot = store.pin();
    for key in 0..KEYS {
        let row = (key % 2 == 0).then(|| note(key, 1));
        assert_eq!(text_of(&snapshot, key), row);
    }
    let stats = store.stats();
    assert_eq!((stats.filter_bytes, stats.filter_negatives), (0, 0));
    assert!(stats.lookup_pages > KEYS as u64 * 3 / 4);
}
