//! Readers, writer, flush and merge threads at once: every snapshot sees whole transactions.
//!
//! The writer moves amounts between rows of two tables; in every committed state they add up to
//! the same total, and each row says at which position it was last written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lsm::{Snapshot, Store, StoreOptions, Work};
use types::{ColumnType, CommitPosition, TableId, TableSchema, VersionKind};

use crate::folder::Folder;
use crate::rows::{Cell, Version, table_schema, version_rows};
use crate::tables::whole;

const TABLES: [TableId; 2] = [TableId(1), TableId(2)];
const ROWS: i64 = 500;
const TRANSACTIONS: u64 = 3000;
const AMOUNT: i64 = 1000;

fn schema() -> TableSchema {
    table_schema(&["id", "amount", "written"].map(|name| (name, ColumnType::Int64)))
}

fn ingest(store: &Store, table: TableId, position: u64, rows: &[(i64, i64)]) {
    let versions = rows.iter().map(|&(id, amount)| {
        let cells = [id, amount, position as i64].map(Cell::Number);
        Version::new(position, VersionKind::Put, cells)
    });
    store
        .ingest(table, version_rows(&schema(), versions))
        .expect("ingest works");
}

fn write(store: &Store) {
    let mut amounts = [vec![AMOUNT; ROWS as usize], vec![AMOUNT; ROWS as usize]];
    let all: Vec<(i64, i64)> = (0..ROWS).map(|id| (id, AMOUNT)).collect();
    TABLES
        .iter()
        .for_each(|&table| ingest(store, table, 1, &all));
    store.publish(CommitPosition(1), vec![1]);
    for position in 2..TRANSACTIONS {
        let (from, to) = (
            position * 7919 % ROWS as u64,
            position * 104_729 % ROWS as u64,
        );
        amounts[0][from as usize] -= 1;
        amounts[1][to as usize] += 1;
        ingest(
            store,
            TABLES[0],
            position,
            &[(from as i64, amounts[0][from as usize])],
        );
        ingest(
            store,
            TABLES[1],
            position,
            &[(to as i64, amounts[1][to as usize])],
        );
        store.publish(CommitPosition(position), position.to_le_bytes().to_vec());
        if position % 50 == 0 {
            store.request_flush();
        }
        store
            .wait_for_memory(Duration::from_secs(10))
            .expect("no sync failed");
    }
}

/// Sums a table; checks that it has all rows and none from the future.
fn total(snapshot: &Snapshot, table: TableId, batch_rows: usize) -> i64 {
    let (mut total, mut rows) = (0, 0);
    for batch in snapshot
        .scan(table, whole(vec![1, 2], batch_rows))
        .expect("the table can be read")
    {
        let batch = batch.expect("pages are sound");
        rows += batch.num_rows() as i64;
        total += batch
            .column(0)
            .as_primitive::<Int64Type>()
            .values()
            .iter()
            .sum::<i64>();
        let newest = batch
            .column(1)
            .as_primitive::<Int64Type>()
            .values()
            .iter()
            .max()
            .copied();
        assert!(newest.is_some_and(|newest| newest as u64 <= snapshot.position().0));
    }
    assert_eq!(rows, ROWS);
    total
}

fn read(store: &Arc<Store>, done: &AtomicBool) {
    let mut last = CommitPosition::ZERO;
    let mut kept: Option<(Snapshot, i64)> = None;
    while !done.load(Ordering::Relaxed) {
        let snapshot = store.pin();
        assert!(snapshot.position() >= last, "positions never go back");
        last = snapshot.position();
        if last == CommitPosition::ZERO {
            continue;
        }
        let first = total(&snapshot, TABLES[0], 100);
        assert_eq!(
            first + total(&snapshot, TABLES[1], 64),
            2 * AMOUNT * ROWS,
            "at {last}"
        );
        // A snapshot that has been held for a while sees what it saw at first.
        match &kept {
            Some((old, expected)) => {
                assert_eq!(total(old, TABLES[0], 1000), *expected);
                kept = None;
            }
            None => kept = Some((snapshot, first)),
        }
    }
}

fn work(store: &Store, kind: Work) {
    while !stopped(store, kind) {
        store.wait_for_work(kind, Duration::from_millis(20));
    }
}

/// Does all work that there is; whether the store is shutting down.
fn stopped(store: &Store, kind: Work) -> bool {
    while store.work(kind).expect("background work succeeds") {}
    STOP.load(Ordering::Relaxed)
}

static STOP: AtomicBool = AtomicBool::new(false);

#[test]
fn snapshots_see_whole_transactions_while_everything_moves() {
    let folder = Folder::new(StoreOptions {
        memory_bytes: 256 << 10,
        cache_bytes: 256 << 10,
        filter_bytes: 64 << 10,
        page_bytes: 4 << 10,
        segment_bytes: 8 << 10,
        runs_max: 4,
        ..StoreOptions::default()
    });
    let store = folder.open();
    for table in TABLES {
        store.create_table(table, schema()).expect("a new table");
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| work(&store, Work::Flush));
        scope.spawn(|| work(&store, Work::Merge));
        scope.spawn(|| work(&store, Work::Merge));
        scope.spawn(|| read(&store, &done));
        scope.spawn(|| read(&store, &done));
        write(&store);
        done.store(true, Ordering::Relaxed);
        STOP.store(true, Ordering::Relaxed);
    });
    store.flush().expect("the flush works");
    assert_eq!(store.durable().position, CommitPosition(TRANSACTIONS - 1));
    assert!(store.stats().merges_done > 0, "merges took part");
}
