//! What becomes of a replica whose source ends, and of a table that is emptied on the way.

use std::sync::atomic::{AtomicUsize, Ordering};

use env::Env;
use lsm::{KeyRange, ScanRequest, StoreOptions};
use tempfile::TempDir;
use types::{
    ChangeBatch, Column, ColumnBuilder, ColumnType, CommitPosition, RowsBuilder, TableChange,
    TableId, TableSchema, VersionKind, VersionRows,
};

use super::*;
use crate::catalog::{TableEntry, TableState};
use crate::checkpoint::Phase;

/// A source that follows nothing: each time it runs it ends with the next of its errors.
struct Ending {
    ends: Vec<SourceError>,
    prepared: Arc<AtomicUsize>,
}

impl Source for Ending {
    fn prepare(&mut self, _: &Target) -> Result<Checkpoint, SourceError> {
        self.prepared.fetch_add(1, Ordering::Relaxed);
        Ok(Checkpoint::new(Phase::Streaming, serde_json::Value::Null))
    }

    fn run(&mut self, _: &Checkpoint, _: &Feed) -> Result<(), SourceError> {
        Err(self.ends.remove(0))
    }
}

struct Fixture {
    parts: ReplicaParts,
    _folder: TempDir,
}

fn fixture() -> Fixture {
    let folder = TempDir::new().expect("a folder");
    let env = Env::real();
    let store = Store::open(env.clone(), folder.path(), StoreOptions::default());
    let parts = ReplicaParts {
        store: store.expect("the store opens"),
        catalog: Arc::new(Catalog::new()),
        status: Arc::new(Status::new(env.clock.clone())),
        clock: env.clock,
        disk: env.disk,
        spool_directory: folder.path().join("spool"),
        spawner: Arc::new(|name, work| {
            let thread = std::thread::Builder::new().name(name.to_owned());
            drop(thread.spawn(work).expect("it starts"));
        }),
        options: ApplyOptions::default(),
    };
    Fixture {
        parts,
        _folder: folder,
    }
}

/// Runs a source to its end: how often it was prepared, the failure, and the status.
fn run_to_the_end(ends: Vec<SourceError>) -> (usize, Option<String>, Arc<Status>) {
    let fixture = fixture();
    let status = fixture.parts.status.clone();
    let prepared = Arc::new(AtomicUsize::new(0));
    let source = Ending {
        ends,
        prepared: prepared.clone(),
    };
    let replica = Replica::start(fixture.parts, "s", "k", Box::new(source)).expect("it starts");
    let mut ended = replica.shared.ended.lock();
    while ended.threads > 0 {
        replica.shared.changed.wait(&mut ended);
    }
    drop(ended);
    (prepared.load(Ordering::Relaxed), replica.failed(), status)
}

#[test]
fn a_source_that_cannot_be_followed_leaves_a_stale_copy_that_is_served() {
    let (prepared, failure, status) =
        run_to_the_end(vec![SourceError::Stale("the slot is gone".into())]);
    assert_eq!((prepared, failure), (1, None));
    let source = &status.sources()[0];
    assert_eq!(source.state, SourceState::Stale);
    assert_eq!(source.reason.as_deref(), Some("the slot is gone"));
    assert!(status.caught_up_since_start(), "nobody waits for more");
}

#[test]
fn a_source_that_begins_again_is_prepared_again() {
    let again = || SourceError::BeginAgain("the slot is gone".into());
    let (prepared, failure, _) =
        run_to_the_end(vec![again(), again(), SourceError::Refused("no".into())]);
    assert_eq!((prepared, failure.as_deref()), (3, Some("no")));
}

const BEFORE: TableId = TableId(1);
const AFTER: TableId = TableId(2);

fn schema() -> Arc<TableSchema> {
    Arc::new(TableSchema {
        name: types::TableName {
            schema: "public".into(),
            name: "t".into(),
        },
        columns: vec![Column::new("id", ColumnType::Int64)],
        key: vec![0],
    })
}

fn rows(ids: &[i64], position: CommitPosition) -> VersionRows {
    let mut rows = RowsBuilder::new(&schema());
    for &id in ids {
        match &mut rows.columns_mut()[0] {
            ColumnBuilder::Int64(column) => column.append_value(id),
            _ => unreachable!("the column is a bigint"),
        }
        rows.finish_version(position, VersionKind::Put);
    }
    rows.build()
}

#[test]
fn a_table_that_a_transaction_empties_changes_over_with_its_commit() {
    let fixture = fixture();
    let parts = fixture.parts;
    let (store, catalog) = (parts.store.clone(), parts.catalog.clone());
    store
        .create_table(BEFORE, TableSchema::clone(&schema()))
        .expect("a new table");
    catalog.replace(vec![TableEntry {
        id: BEFORE,
        schema: schema(),
        state: TableState::Live,
    }]);
    let stop = Stop::new();
    let target = Target {
        store: store.clone(),
        catalog: catalog.clone(),
        status: parts.status.register("s", "k"),
        clock: parts.clock,
        spawner: parts.spawner,
        stop: stop.clone(),
    };
    let checkpoint = Checkpoint::new(Phase::Streaming, serde_json::Value::Null);
    let apply = Apply::new(&target, ApplyOptions::default(), checkpoint);
    let mut apply = apply.expect("there is nothing to begin again");
    let mut take = |committed: Option<u64>, source: Option<&str>, changes| {
        let batch = ChangeBatch {
            committed: committed.map(CommitPosition),
            source: source.map(str::to_owned),
            changes,
            ..ChangeBatch::default()
        };
        apply.apply(batch, &stop).expect("it is applied");
    };
    let [earlier, position] = [20, 30].map(CommitPosition);
    let into = |table, ids: &[i64], position| TableChange::Rows {
        table,
        rows: rows(ids, position),
    };
    // What a reader sees now: the rows of the tree that its snapshot finds under the name.
    let seen = || {
        let snapshot = store.pin();
        let entry = catalog.by_name_at("public", "t", snapshot.position());
        let entry = entry.expect("the table is there");
        assert_eq!(entry.state, TableState::Live);
        let request = ScanRequest {
            projection: vec![0],
            range: KeyRange::all(),
            batch_rows: 100,
        };
        let scan = snapshot.scan(entry.id, request).expect("a scan");
        scan.map(|batch| batch.expect("rows").num_rows())
            .sum::<usize>()
    };
    take(Some(20), None, vec![into(BEFORE, &[1, 2, 3], earlier)]);
    take(None, None, vec![into(BEFORE, &[4, 5], position)]);
    let create = TableChange::Create {
        table: AFTER,
        schema: schema(),
        replaces: Some(BEFORE),
        position,
    };
    let complete = TableChange::Complete {
        table: AFTER,
        position,
    };
    take(None, Some("null"), vec![create, complete]);
    assert_eq!(seen(), 3);
    take(Some(30), None, vec![into(AFTER, &[6], position)]);
    assert_eq!(seen(), 1);
}
