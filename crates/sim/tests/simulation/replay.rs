//! After a restart the source's log comes again, from the durable position on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lsm::{Store, StoreOptions};
use sim::compare;
use sim::model::{Change, Row, State, Transaction, Write};
use sim::tables::{Table, rows_between};
use sim::{Crash, SimulatedDisk, environment};
use types::{CommitPosition, TableId};

const TRUNCATED: Table = Table { id: TableId(0) };
const OTHER: Table = Table { id: TableId(1) };

/// Operations of the disk that a flush of one table takes, or more.
const OPERATIONS_MAX: u32 = 20;

fn put(table: Table, key: u32) -> Change {
    let row = Row {
        number: Some(key.into()),
        note: None,
        price: None,
    };
    Change::Write {
        table: table.id,
        key,
        write: Write::Put(row),
    }
}

fn transaction(position: u64, changes: Vec<Change>) -> Transaction {
    Transaction {
        position: CommitPosition(position),
        changes,
    }
}

/// What comes between two flushes, and comes again: rows, and the truncation that hides them.
fn truncating() -> [Transaction; 2] {
    let table = TRUNCATED.id;
    [
        transaction(5, vec![put(TRUNCATED, 1), put(TRUNCATED, 2)]),
        transaction(7, vec![Change::Truncate { table }, put(TRUNCATED, 3)]),
    ]
}

fn open(disk: &SimulatedDisk) -> Arc<Store> {
    Store::open(environment(disk), "/data".as_ref(), StoreOptions::default()).expect("it opens")
}

fn ingest(store: &Store, transactions: &[Transaction]) {
    for transaction in transactions {
        for change in &transaction.changes {
            let position = transaction.position;
            let table = Table { id: change.table() };
            let done = match change {
                Change::Truncate { .. } => store.truncate(table.id, position),
                Change::Write { key, write, .. } => {
                    store.ingest(table.id, table.versions(&[(position, *key, write.clone())]))
                }
            };
            done.expect("nothing fails");
        }
    }
}

/// Flushes, and has `arrive` called before one operation of the disk.
fn flush_while(disk: &SimulatedDisk, store: &Arc<Store>, operation: u32, arrive: fn(&Store)) {
    let (count, arriving) = (AtomicU32::new(0), Arc::downgrade(store));
    disk.watch(Some(Arc::new(move |_| {
        if count.fetch_add(1, Ordering::Relaxed) == operation {
            arriving.upgrade().iter().for_each(|store| arrive(store));
        }
    })));
    store.flush().expect("nothing fails");
    disk.watch(None);
}

fn publish(store: &Store, position: u64) {
    store.publish(CommitPosition(position), Vec::new());
}

/// 1. Rows and their truncation arrive while another table is flushed: the manifest learns of the
///    truncation, the rows stay in memory, and the process ends.
/// 2. The next process knows the truncation, and no row. The log comes again while it flushes.
fn comes_again(first_at: u32, again_at: u32) {
    let disk = SimulatedDisk::new(0);
    let store = open(&disk);
    for table in [TRUNCATED, OTHER] {
        let created = store.create_table(table.id, table.schema());
        created.expect("a new table");
    }
    ingest(&store, &[transaction(1, vec![put(OTHER, 1)])]);
    publish(&store, 1);
    flush_while(&disk, &store, first_at, |store| {
        ingest(store, &truncating())
    });
    drop(store);
    let disk = disk.crash(Crash::Kill);

    let store = open(&disk);
    ingest(&store, &[transaction(2, vec![put(OTHER, 2)])]);
    publish(&store, 2);
    flush_while(&disk, &store, again_at, |store| {
        ingest(store, &truncating());
        publish(store, 7);
    });
    if store.visible() < CommitPosition(7) {
        return; // The flush has fewer operations.
    }
    let mut state = State::default();
    truncating().iter().for_each(|news| state.apply(news));
    let rows = state.rows(TRUNCATED.id);
    let all = compare::all_columns(TRUNCATED, TRUNCATED.range(None, None), 10);
    let expected = rows_between(&rows, None, None);
    compare::scan(&store.pin(), TRUNCATED, all, expected).expect("nothing fails");
}

#[test]
fn a_truncation_that_is_known_before_what_it_hides_stays() {
    for first_at in 0..OPERATIONS_MAX {
        (0..OPERATIONS_MAX).for_each(|again_at| comes_again(first_at, again_at));
    }
}
