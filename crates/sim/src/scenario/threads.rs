//! Real threads, as in the product: one feeds, one flushes, two merge, two read. Every snapshot
//! shows exactly the source's state at its position, and sessions never see a position go back.
//!
//! Threads make this the one test whose course a seed does not decide.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lsm::{Store, Work};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use types::{CommitPosition, TableId};

use crate::model::{Change, Key, State, Transaction};
use crate::replica::{DIRECTORY, small_options};
use crate::source::{KEYS, Source};
use crate::tables::{Table, rows_between};
use crate::{SimulatedDisk, compare, environment};

const TABLES: [TableId; 3] = [TableId(0), TableId(1), TableId(2)];

const TRANSACTIONS: usize = 150;

/// The source's log and its state after every transaction.
struct Truth {
    log: Vec<Transaction>,
    states: BTreeMap<CommitPosition, State>,
}

fn truth(random: &mut StdRng) -> Truth {
    let mut source = Source::default();
    let mut state = State::default();
    let mut states = BTreeMap::from([(CommitPosition::ZERO, State::default())]);
    for _ in 0..TRANSACTIONS {
        source.commit(random, &TABLES);
        let transaction = source.log().last().expect("just committed");
        state.apply(transaction);
        states.insert(transaction.position, state.clone());
    }
    let log = source.log().to_vec();
    Truth { log, states }
}

fn ingest(store: &Store, transaction: &Transaction) {
    for id in TABLES {
        let mut writes = Vec::new();
        for change in transaction
            .changes
            .iter()
            .filter(|change| change.table() == id)
        {
            match change {
                Change::Write { key, write, .. } => {
                    writes.push((transaction.position, *key, write.clone()));
                }
                Change::Truncate { .. } => {
                    store.truncate(id, transaction.position).expect("truncate");
                }
            }
        }
        store
            .ingest(id, Table { id }.versions(&writes))
            .expect("ingest");
    }
}

/// Ends the other threads when one panics: they would wait for it for ever.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn assert_running(stop: &AtomicBool) {
    assert!(!stop.load(Ordering::Relaxed), "another thread failed");
}

fn feed(store: &Store, truth: &Truth, mut random: StdRng, stop: &AtomicBool) {
    let _guard = StopOnPanic(stop);
    for transaction in &truth.log {
        ingest(store, transaction);
        if random.random_bool(0.7) {
            store.publish(transaction.position, Vec::new());
        }
        while !store
            .wait_for_memory(Duration::from_millis(10))
            .expect("no failure")
        {
            assert_running(stop);
            store.request_flush();
        }
    }
    let last = truth.log.last().expect("a transaction").position;
    store.publish(last, Vec::new());
}

fn work(store: &Store, kind: Work, stop: &AtomicBool) {
    let _guard = StopOnPanic(stop);
    while !stop.load(Ordering::Relaxed) {
        if !store.work(kind).expect("no failure") {
            store.wait_for_work(kind, Duration::from_millis(1));
        }
    }
}

/// Reads until the last position is visible. Returns the number of snapshots.
fn read(store: &Arc<Store>, truth: &Truth, mut random: StdRng, stop: &AtomicBool) -> usize {
    let _guard = StopOnPanic(stop);
    let last = truth.log.last().expect("a transaction").position;
    let mut before = CommitPosition::ZERO;
    for snapshots in 1.. {
        assert_running(stop);
        let snapshot = store.pin();
        let position = snapshot.position();
        assert!(position >= before, "the visible position went back");
        before = position;
        let state = &truth.states[&position];
        for id in TABLES {
            let table = Table { id };
            let batch_rows = random.random_range(1..500);
            let request = compare::all_columns(table, table.range(None, None), batch_rows);
            let rows = state.rows(id);
            let expected = rows_between(&rows, None, None);
            compare::scan(&snapshot, table, request, expected).expect("no failure");
            let keys: Vec<Key> = (0..8).map(|_| random.random_range(0..KEYS)).collect();
            compare::look_ups(&snapshot, table, &rows, &keys).expect("no failure");
        }
        if position == last {
            return snapshots;
        }
    }
    unreachable!("the last position becomes visible")
}

/// Feeds, flushes, merges and reads a store in threads of their own, then opens it again. Each
/// thread does `begin` first.
///
/// # Panics
/// At a violation.
pub fn run(seed: u64, begin: &(dyn Fn() + Sync)) {
    let mut random = StdRng::seed_from_u64(seed);
    let options = small_options(&mut random);
    let truth = truth(&mut random);
    let disk = SimulatedDisk::new(seed);
    let store = Store::open(environment(&disk), Path::new(DIRECTORY), options);
    let store = store.expect("a new store opens");
    for id in TABLES {
        let created = store.create_table(id, Table { id }.schema());
        created.expect("tables can be made");
    }
    in_threads(&store, &truth, &mut random, begin);
    store.flush().expect("flush");
    let last = store.visible();
    drop(store);
    let options = small_options(&mut random);
    let reopened = Store::open(environment(&disk), Path::new(DIRECTORY), options);
    let reopened = reopened.expect("it opens");
    assert_eq!(reopened.visible(), last);
    read(&reopened, &truth, random, &AtomicBool::new(false));
}

fn in_threads(store: &Arc<Store>, truth: &Truth, random: &mut StdRng, begin: &(dyn Fn() + Sync)) {
    let stop = &AtomicBool::new(false);
    let [feeder, first, second] = std::array::from_fn(|_| StdRng::seed_from_u64(random.random()));
    thread::scope(|scope| {
        for kind in [Work::Flush, Work::Merge, Work::Merge] {
            scope.spawn(move || {
                begin();
                work(store, kind, stop);
            });
        }
        let readers = [first, second].map(|random| {
            scope.spawn(move || {
                begin();
                read(store, truth, random, stop)
            })
        });
        feed(store, truth, feeder, stop);
        for reader in readers {
            let snapshots = reader.join().expect("the reader saw no difference");
            assert!(snapshots > 0);
        }
        stop.store(true, Ordering::Relaxed);
    });
}
