//! Values longer than a page, from ingestion to scans: through memory, a flush, a merge, a new
//! opening, and a cache that they do not fit. And batches of rows that are wide, though none is longer than a page.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lsm::{Store, StoreOptions, Work};
use types::{CommitPosition, TableId, VersionRows};

use crate::folder::Folder;
use crate::rows::noise;
use crate::tables::{put_texts, texts, whole};

const TABLE: TableId = TableId(1);
const PAGE_BYTES: usize = 4 << 10;
const CACHE_BYTES: usize = 512 << 10;

/// What a row of 1 KiB has, about.
const WIDE_TEXT_BYTES: usize = 1_100;

/// Around a page's capacity, above the cache, and far above both.
const LENGTHS: [usize; 5] = [
    PAGE_BYTES - 1,
    PAGE_BYTES,
    PAGE_BYTES + 1,
    1 << 20,
    100_000_000,
];

fn options() -> StoreOptions {
    StoreOptions {
        memory_bytes: 1 << 20,
        cache_bytes: CACHE_BYTES,
        filter_bytes: 1 << 20,
        page_bytes: PAGE_BYTES,
        segment_bytes: 1 << 20,
        runs_max: 2,
        ..StoreOptions::default()
    }
}

/// Every tenth row is long.
fn length(key: i64) -> usize {
    match key % 10 {
        5 => LENGTHS[(key / 10) as usize % LENGTHS.len()],
        _ => 20,
    }
}

/// Text that differs from row to row.
fn text(key: i64, position: u64) -> String {
    noise(key as u64 ^ position << 32, length(key))
}

fn puts(keys: impl IntoIterator<Item = i64>, position: u64) -> VersionRows {
    put_texts(keys, position, text)
}

/// The rows of `keys` are there, those of multiples of three as of the second position.
fn check(store: &Arc<Store>, keys: i64) {
    let scan = |projection: Vec<usize>| {
        let batches = store.pin().scan(TABLE, whole(projection, 100));
        let batches = batches.expect("a table");
        batches.map(|batch| batch.expect("sound"))
    };
    let mut next = 0;
    for batch in scan(vec![0, 1]) {
        let ids = batch.column(0).as_primitive::<Int64Type>();
        let texts = batch.column(1).as_string::<i32>();
        for row in 0..batch.num_rows() {
            assert_eq!(ids.value(row), next);
            let position = if next % 3 == 0 { 2 } else { 1 };
            assert!(texts.value(row) == text(next, position), "row {next}");
            next += 1;
        }
    }
    assert_eq!(next, keys);
    let ids: usize = scan(vec![0]).map(|batch| batch.column(0).len()).sum();
    assert_eq!(ids as i64, keys);
    assert!(store.stats().cache_bytes <= CACHE_BYTES as u64);
}

#[test]
fn long_values_survive_flush_merge_and_opening() {
    let keys = 10 * LENGTHS.len() as i64;
    let folder = Folder::new(options());
    let store = folder.open();
    store.create_table(TABLE, texts()).expect("a new table");
    store.ingest(TABLE, puts(0..keys, 1)).expect("ingest works");
    store.publish(CommitPosition(1), Vec::new());
    store.flush().expect("the flush works");
    let newer = (0..keys).filter(|key| key % 3 == 0);
    store.ingest(TABLE, puts(newer, 2)).expect("ingest works");
    store.publish(CommitPosition(2), Vec::new());
    check(&store, keys);
    store.flush().expect("the flush works");
    check(&store, keys);
    while store.work(Work::Merge).expect("the merge works") {}
    check(&store, keys);
    drop(store);
    check(&folder.open(), keys);
}

/// A scan asks for batches of many rows, before it is known how wide they are: what a query holds of
/// them is bounded by no budget.
#[test]
fn batches_of_wide_rows_have_fewer() {
    // Eight digits at a time, in no order: what is stored is half of it.
    let digits = |key: i64, _: u64| -> String {
        let mixed =
            |place: i64| (key * 1_000 + place).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64);
        (0..WIDE_TEXT_BYTES as i64 / 8)
            .map(|place| format!("{:08x}", mixed(place) as u64 >> 32))
            .collect()
    };
    assert!(largest_batch_bytes(digits) <= 4 << 20);
    // Stored in a sixteenth.
    let words = |key: i64, _: u64| format!("row {key:5}, ").repeat(WIDE_TEXT_BYTES.div_ceil(11));
    assert!(largest_batch_bytes(words) <= 4 << 20);
}

/// The text in the largest batch of a scan of such texts.
fn largest_batch_bytes(text: impl Fn(i64, u64) -> String + Copy) -> usize {
    const ROWS: i64 = 8_000;
    let folder = Folder::new(options());
    let store = folder.open();
    store.create_table(TABLE, texts()).expect("a new table");
    for keys in 0..8 {
        let keys = keys * ROWS / 8..(keys + 1) * ROWS / 8;
        let rows = put_texts(keys, 1, text);
        store.ingest(TABLE, rows).expect("ingest works");
        store.flush().expect("the flush works");
    }
    store.publish(CommitPosition(1), Vec::new());
    store.flush().expect("the flush works");
    let scan = store.pin().scan(TABLE, whole(vec![0, 1], ROWS as usize));
    let (mut rows, mut bytes_max) = (0, 0);
    for batch in scan.expect("a table") {
        let batch = batch.expect("sound");
        let texts = batch.column(1).as_string::<i32>();
        rows += texts.len();
        let bytes = texts.iter().flatten().map(str::len).sum();
        bytes_max = bytes_max.max(bytes);
    }
    assert_eq!(rows, ROWS as usize);
    bytes_max
}
