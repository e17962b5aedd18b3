//! A table that is copied beside its log: in whatever order the log's changes, the copy's rows, flushes and
//! merges come, it shows the source's rows once the log has passed the copy's snapshot.
//!
//! ```text
//!   log      10   20   30 │ 40   50      positions of transactions
//!   copy                  35             all rows as they were after 30
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lsm::{HistoryHold, Store, StoreOptions, Work};
use proptest::prelude::*;
use types::{ColumnType, CommitPosition, TableId, TableSchema, VersionKind};

use crate::folder::Folder;
use crate::rows::{Cell, Version, table_schema, version_rows};
use crate::tables::whole;

const TABLE: TableId = TableId(1);
/// Keys of the source.
const KEYS: i64 = 40;

/// Rows by key.
type Rows = BTreeMap<i64, [String; 2]>;

/// What a transaction does to a row.
#[derive(Clone, Copy, Debug)]
enum Change {
    Put,
    /// The second column stays as it is.
    Patch,
    Delete,
}

#[derive(Clone, Debug)]
enum Step {
    /// The source commits changes by key.
    Commit(BTreeMap<i64, Change>),
    /// The log's next transaction comes in.
    Follow,
    /// The copy's snapshot is taken, if there is none.
    Snapshot,
    /// Some of the snapshot's rows come in.
    Copy(usize),
    Flush,
    Merge,
}

/// The copy's snapshot.
struct Snapshot {
    /// Transactions in it.
    transactions: usize,
    /// What has not come in yet.
    left: Vec<(i64, [String; 2])>,
}

impl Snapshot {
    fn position(&self) -> u64 {
        position_of(self.transactions) + 5
    }
}

/// The position of the last of so many transactions.
fn position_of(transactions: usize) -> u64 {
    10 * transactions as u64
}

fn schema() -> TableSchema {
    table_schema(&[
        ("id", ColumnType::Int64),
        ("a", ColumnType::Text),
        ("b", ColumnType::Text),
    ])
}

fn put(key: i64, [a, b]: &[String; 2], position: u64) -> Version {
    let cells = [
        Cell::Number(key),
        Cell::Text(a.clone()),
        Cell::Text(b.clone()),
    ];
    Version::new(position, VersionKind::Put, cells)
}

/// A source, and the store that copies its table.
struct Harness {
    folder: Folder,
    store: Option<Arc<Store>>,
    /// Held until the copy is complete.
    hold: Option<HistoryHold>,
    log: Vec<Vec<Version>>,
    /// The source's rows after so many transactions.
    states: Vec<Rows>,
    followed: usize,
    snapshot: Option<Snapshot>,
}

impl Harness {
    fn new() -> Self {
        let folder = Folder::new(StoreOptions {
            memory_bytes: 1 << 20,
            cache_bytes: 1 << 20,
            filter_bytes: 1 << 10,
            page_bytes: 4 << 10,
            segment_bytes: 5 << 10,
            runs_max: 2,
            ..StoreOptions::default()
        });
        let store = folder.open();
        store.create_table(TABLE, schema()).expect("a new table");
        let rows = (0..KEYS).step_by(2);
        let rows = rows.map(|key| (key, [format!("a of {key}"), format!("b of {key}")]));
        Self {
            hold: Some(store.hold_history()),
            folder,
            store: Some(store),
            log: Vec::new(),
            states: vec![rows.collect()],
            followed: 0,
            snapshot: None,
        }
    }

    fn store(&self) -> &Arc<Store> {
        self.store.as_ref().expect("the store is open")
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Commit(changes) => self.commit(changes),
            Step::Follow => self.follow(),
            Step::Snapshot => self.take_snapshot(),
            Step::Copy(rows) => self.copy(*rows),
            Step::Flush => self.store().flush().expect("flushed"),
            Step::Merge => drop(self.store().work(Work::Merge).expect("merged")),
        }
        self.check();
    }

    fn commit(&mut self, changes: &BTreeMap<i64, Change>) {
        let mut rows = self.states.last().expect("a state").clone();
        let position = position_of(self.states.len());
        let mut versions = Vec::new();
        for (&key, change) in changes {
            let text = |column: &str| format!("{column} of {key} at {position}");
            match (change, rows.get(&key).cloned()) {
                (Change::Put, _) => {
                    let row = [text("a"), text("b")];
                    versions.push(put(key, &row, position));
                    rows.insert(key, row);
                }
                (Change::Patch, Some([_, b])) => {
                    let cells = [Cell::Number(key), Cell::Text(text("a")), Cell::Unchanged];
                    versions.push(Version::new(position, VersionKind::Patch, cells));
                    rows.insert(key, [text("a"), b]);
                }
                (Change::Delete, Some(_)) => {
                    let cells = [Cell::Number(key), Cell::Null, Cell::Null];
                    versions.push(Version::new(position, VersionKind::Delete, cells));
                    rows.remove(&key);
                }
                (Change::Patch | Change::Delete, None) => {}
            }
        }
        self.states.push(rows);
        self.log.push(versions);
    }

    fn follow(&mut self) {
        let Some(versions) = self.log.get(self.followed) else {
            return;
        };
        if !versions.is_empty() {
            let rows = version_rows(&schema(), versions.clone());
            self.store().ingest(TABLE, rows).expect("there is room");
        }
        self.followed += 1;
        self.publish();
    }

    fn take_snapshot(&mut self) {
        let transactions = self.log.len();
        let left = || self.states[transactions].clone().into_iter().collect();
        self.snapshot.get_or_insert_with(|| Snapshot {
            transactions,
            left: left(),
        });
    }

    fn copy(&mut self, count: usize) {
        let Some(snapshot) = &mut self.snapshot else {
            return;
        };
        let position = snapshot.position();
        let rows: Vec<_> = snapshot
            .left
            .drain(..count.min(snapshot.left.len()))
            .map(|(key, row)| put(key, &row, position))
            .collect();
        let is_complete = snapshot.left.is_empty();
        if !rows.is_empty() {
            let rows = version_rows(&schema(), rows);
            self.store().ingest(TABLE, rows).expect("there is room");
        }
        if is_complete && self.hold.is_some() {
            let truncated = self.store().truncate(TABLE, CommitPosition(position));
            truncated.expect("the table is there");
            self.hold = None;
            self.publish();
        }
    }

    /// What has been followed is visible; the snapshot's position as well, if all before it is.
    fn publish(&self) {
        let passed = self.passed_snapshot().map(Snapshot::position);
        let position = position_of(self.followed).max(passed.unwrap_or(0));
        let position = CommitPosition(position).max(self.store().visible());
        self.store().publish(position, Vec::new());
    }

    /// The snapshot, once all of it has come in and the log has passed it.
    fn passed_snapshot(&self) -> Option<&Snapshot> {
        let snapshot = self.snapshot.as_ref();
        let is_passed = |snapshot: &&Snapshot| snapshot.transactions <= self.followed;
        snapshot.filter(|_| self.hold.is_none()).filter(is_passed)
    }

    fn check(&self) {
        if self.passed_snapshot().is_none() {
            return;
        }
        let mut found = Rows::new();
        let scan = self.store().pin().scan(TABLE, whole(vec![0, 1, 2], 100));
        for batch in scan.expect("the table is there") {
            let batch = batch.expect("intact");
            let keys = batch.column(0).as_primitive::<Int64Type>().values();
            let texts = [1, 2].map(|column| batch.column(column).as_string::<i32>());
            for (row, key) in keys.iter().enumerate() {
                let before = found.insert(*key, texts.map(|texts| texts.value(row).to_owned()));
                assert_eq!(before, None, "key {key} is there twice");
            }
        }
        assert_eq!(found, self.states[self.followed]);
    }

    /// Everything comes to its end, also to that of the process.
    fn finish(&mut self) {
        self.take_snapshot();
        self.copy(usize::MAX);
        while self.followed < self.log.len() {
            self.take(&Step::Follow);
        }
        for _ in 0..2 {
            self.take(&Step::Flush);
            while self.store().work(Work::Merge).expect("merged") {}
            self.check();
        }
        self.store = None;
        self.store = Some(self.folder.open());
        self.check();
    }
}

fn changes() -> impl Strategy<Value = BTreeMap<i64, Change>> {
    let change = prop_oneof![Just(Change::Put), Just(Change::Patch), Just(Change::Delete)];
    prop::collection::btree_map(0..KEYS, change, 1..12)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => changes().prop_map(Step::Commit),
        4 => Just(Step::Follow),
        1 => Just(Step::Snapshot),
        3 => (1..20_usize).prop_map(Step::Copy),
        2 => Just(Step::Flush),
        3 => Just(Step::Merge),
    ]
}

proptest! {
    #[test]
    fn a_copied_table_shows_the_sources_rows(steps in prop::collection::vec(step(), 1..60)) {
        let mut harness = Harness::new();
        steps.iter().for_each(|step| harness.take(step));
        harness.finish();
    }
}
