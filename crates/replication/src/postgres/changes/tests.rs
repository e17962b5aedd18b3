//! What each kind of change becomes, and what stops a table.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use types::{Column, ColumnOrigin, ColumnType, SourceType, VersionKind, VersionRows};

use super::super::catalog::{PublishedColumn, PublishedTable};
use super::super::drift::ListedTable;
use super::super::messages as write;
use super::super::messages::{Null, Text, Unchanged, WrittenCell};
use super::super::partitions::{Partition, SeenPartition};
use super::super::slot::SystemIdentity;
use super::*;

mod kept_as_text;
mod moves;
mod projections;
mod shapes;
mod truncations;

const INT4: u32 = 23;
const TEXT: u32 = 25;
/// A table with the key `id`.
const KEYED: u32 = 100;
/// A table without a key.
const KEYLESS: u32 = 200;

fn column(number: i16, name: &str, column_type: ColumnType, oid: u32) -> Column {
    let mut column = Column::new(name, column_type);
    column.hidden = oid == 0;
    column.nullable = number != 1 && !column.hidden;
    column.source_number = number;
    column.source_type.oid = oid;
    column
}

fn table(relation: u32, name: &str, keyed: bool) -> ReplicatedTable {
    let mut columns = vec![
        column(1, "id", ColumnType::Int32, INT4),
        column(2, "body", ColumnType::Text, TEXT),
    ];
    let mut key = vec![0];
    if !keyed {
        columns.push(column(0, "__position", ColumnType::UInt64, 0));
        columns.push(column(0, "__ordinal", ColumnType::UInt64, 0));
        key = vec![2, 3];
    }
    let name = TableName {
        schema: "public".into(),
        name: name.into(),
    };
    ReplicatedTable {
        id: TableId(relation),
        schema: Arc::new(TableSchema { name, columns, key }),
        wire: WireTable {
            table: relation,
            relation,
            types: vec![(INT4, -1), (TEXT, -1)],
            file: relation,
            number_max: 2,
            labels: Some(BTreeMap::new()),
            ..WireTable::default()
        },
        stopped: false,
        copying: false,
        written_before: CommitPosition::ZERO,
    }
}

/// What the source's catalog says, by object id.
#[derive(Clone, Default)]
struct FakeCatalog {
    tables: Arc<Mutex<BTreeMap<u32, PublishedTable>>>,
    /// Tables that exist without being published.
    unpublished: Arc<Mutex<BTreeSet<u32>>>,
    leaves_changes_out: Arc<Mutex<bool>>,
    partitions: Arc<Mutex<HashMap<u32, Vec<SeenPartition>>>>,
    log_end: Arc<Mutex<CommitPosition>>,
}

impl FakeCatalog {
    fn put(&self, table: PublishedTable) {
        self.tables.lock().insert(table.relation, table);
    }

    fn remove(&self, relation: u32) {
        self.tables.lock().remove(&relation);
    }
}

impl Describe for FakeCatalog {
    fn table(&mut self, relation: u32) -> Result<Option<PublishedTable>, ConnectionError> {
        Ok(self.tables.lock().get(&relation).cloned())
    }

    fn table_shown(&mut self, shown: &Relation) -> Result<Option<PublishedTable>, ConnectionError> {
        self.table(shown.id)
    }

    fn published(&mut self) -> Result<Vec<ListedTable>, ConnectionError> {
        let tables = self.tables.lock();
        let listed = |table: &PublishedTable| ListedTable {
            relation: table.relation,
            name: table.name.clone(),
            row_filter: table.row_filter.clone(),
            column_list: table.column_list.clone(),
            labels: table.labels.clone(),
        };
        Ok(tables.values().map(listed).collect())
    }

    fn leaves_changes_out(&mut self) -> Result<bool, ConnectionError> {
        Ok(*self.leaves_changes_out.lock())
    }

    fn partitions(&mut self) -> Result<HashMap<u32, Vec<SeenPartition>>, ConnectionError> {
        Ok(self.partitions.lock().clone())
    }

    fn exists(&mut self, relation: u32) -> Result<bool, ConnectionError> {
        Ok(self.unpublished.lock().contains(&relation))
    }

    fn log_end(&mut self) -> Result<CommitPosition, ConnectionError> {
        Ok(*self.log_end.lock())
    }
}

/// A published column with a value for rows from before it.
fn published_column(number: i16, name: &str, oid: u32, missing: Option<&str>) -> PublishedColumn {
    let base = SourceType {
        oid,
        modifier: -1,
        name: String::new(),
    };
    PublishedColumn {
        number,
        name: name.into(),
        not_null: number == 1,
        generated: false,
        wire_oid: oid,
        wire_modifier: -1,
        base,
        missing: missing.map(str::to_owned),
        as_text: false,
    }
}

/// [`table`] as the catalog describes it.
fn published(relation: u32, name: &str, keyed: bool) -> PublishedTable {
    PublishedTable {
        relation,
        name: TableName {
            schema: "public".into(),
            name: name.into(),
        },
        partitioned: false,
        partitions: Vec::new(),
        identity: 'd',
        bytes: 0,
        row_filter: None,
        column_list: None,
        labels: BTreeMap::new(),
        young_labels: BTreeSet::new(),
        readable: true,
        file: relation,
        number_max: 2,
        columns: vec![
            published_column(1, "id", INT4, None),
            published_column(2, "body", TEXT, None),
        ],
        key: keyed.then(|| vec![0]),
    }
}

fn keyed_relation() -> Vec<u8> {
    write::relation(
        KEYED,
        "keyed",
        b'd',
        &[(true, "id", INT4), (false, "body", TEXT)],
    )
}

fn keyless_relation() -> Vec<u8> {
    write::relation(
        KEYLESS,
        "keyless",
        b'd',
        &[(false, "id", INT4), (false, "body", TEXT)],
    )
}

/// Changes that have been told of both tables.
fn changes() -> Changes {
    changes_beside(&FakeCatalog::default())
}

/// The same; both tables are in `catalog` now.
fn changes_beside(catalog: &FakeCatalog) -> Changes {
    catalog.put(published(KEYED, "keyed", true));
    catalog.put(published(KEYLESS, "keyless", false));
    let tables = vec![
        table(KEYED, "keyed", true),
        table(KEYLESS, "keyless", false),
    ];
    let identity = SystemIdentity {
        system: "1".into(),
        timeline: "1".into(),
        database: "d".into(),
    };
    let state = PostgresState {
        identity,
        slot: "s".into(),
        publication: "p".into(),
        tables: tables.iter().map(|t| t.wire.clone()).collect(),
        copied: Vec::new(),
    };
    let mut changes = Changes::new(Beginning {
        tables,
        state,
        next_table: TableId(1000),
        position: CommitPosition(10),
        resume: 10,
        describe: Box::new(catalog.clone()),
    });
    take(
        &mut changes,
        &[
            write::begin(20),
            keyed_relation(),
            keyless_relation(),
            write::commit(20),
        ],
    );
    changes.take_batch();
    changes.log_ended_at(CommitPosition(20));
    changes
}

fn take(changes: &mut Changes, messages: &[Vec<u8>]) {
    for message in messages {
        changes.message(message).expect("a message in order");
    }
}

/// The batch of one transaction at 100 with these messages.
fn transaction(changes: &mut Changes, messages: &[Vec<u8>]) -> ChangeBatch {
    take(changes, &[write::begin(100)]);
    take(changes, messages);
    take(changes, &[write::commit(100)]);
    changes.take_batch()
}

fn rows(change: &TableChange) -> &VersionRows {
    match change {
        TableChange::Rows { rows, .. } => rows,
        change => panic!("rows, not {change:?}"),
    }
}

fn ids(rows: &VersionRows) -> Vec<i32> {
    rows.columns[0]
        .as_primitive::<Int32Type>()
        .values()
        .to_vec()
}

fn kinds(rows: &VersionRows) -> Vec<VersionKind> {
    rows.kinds
        .iter()
        .map(|&k| VersionKind::from_u8(k).expect("a kind"))
        .collect()
}

fn stop_reason(batch: &ChangeBatch) -> (CommitPosition, &str) {
    let stop = batch.changes.iter().find_map(|change| match change {
        TableChange::Stop {
            position, reason, ..
        } => Some((*position, reason.as_str())),
        _ => None,
    });
    stop.unwrap_or_else(|| panic!("a stop in {batch:?}"))
}

fn update(rows: &[(u8, &[WrittenCell<'_>])]) -> Vec<u8> {
    write::row_change(b'U', KEYED, rows)
}

#[test]
fn a_batch_says_where_it_ends() {
    let mut changes = changes();
    let batch = transaction(&mut changes, &[write::insert(KEYED, &[Text("1"), Null])]);
    assert_eq!(batch.committed, Some(CommitPosition(100)));
    assert_eq!(batch.resume, 108);
    assert_eq!(batch.commit_time_us, POSTGRES_EPOCH_US + 1_000_000);
    assert_eq!(batch.transactions, 1);
    assert_eq!(rows(&batch.changes[0]).positions, [100]);
}

#[test]
fn an_update_that_keeps_the_key_is_a_put_and_never_asks_for_the_old_row() {
    let batch = transaction(
        &mut changes(),
        &[update(&[(b'N', &[Text("1"), Text("b")])])],
    );
    assert_eq!(kinds(rows(&batch.changes[0])), [VersionKind::Put]);
}

#[test]
fn a_key_change_is_a_delete_and_a_put() {
    let batch = transaction(
        &mut changes(),
        &[update(&[
            (b'K', &[Text("1"), Null]),
            (b'N', &[Text("2"), Text("b")]),
        ])],
    );
    let rows = rows(&batch.changes[0]);
    assert_eq!(ids(rows), [1, 2]);
    assert_eq!(kinds(rows), [VersionKind::Delete, VersionKind::Put]);
}

#[test]
fn an_unchanged_value_is_a_patch_or_comes_from_the_old_row() {
    let mut changes = changes();
    let batch = transaction(&mut changes, &[update(&[(b'N', &[Text("1"), Unchanged])])]);
    let patch = rows(&batch.changes[0]);
    assert_eq!(kinds(patch), [VersionKind::Patch]);
    assert_eq!(patch.unchanged.as_ref().expect("a patch").value(0), [0b10]);
    take(&mut changes, &[write::begin(200)]);
    let old = [Text("1"), Text("old")];
    take(
        &mut changes,
        &[update(&[(b'O', &old), (b'N', &[Text("1"), Unchanged])])],
    );
    take(
        &mut changes,
        &[update(&[(b'O', &old), (b'N', &[Text("3"), Unchanged])])],
    );
    take(&mut changes, &[write::commit(200)]);
    let batch = changes.take_batch();
    let rows = rows(&batch.changes[0]);
    assert_eq!(
        kinds(rows),
        [VersionKind::Put, VersionKind::Delete, VersionKind::Put]
    );
    assert_eq!(rows.columns[1].as_string::<i32>().value(0), "old");
    assert_eq!(rows.columns[1].as_string::<i32>().value(2), "old");
}

#[test]
fn a_key_change_with_an_unknown_value_asks_for_the_old_row() {
    let good = write::insert(KEYED, &[Text("7"), Null]);
    let moved = update(&[(b'K', &[Text("1"), Null]), (b'N', &[Text("2"), Unchanged])]);
    let truncate = write::truncate(&[KEYED]);
    let messages = [write::begin(100), good.clone(), moved, good, truncate];
    let out = truncations::follow(&mut changes(), &messages);
    // What the transaction wrote before has gone ahead; a truncation cannot take it back.
    let [before, TableChange::Move { rows: moved, .. }, ..] = &out[..] else {
        panic!("rows and a move, not {out:?}")
    };
    assert_eq!(ids(rows(before)), [7]);
    assert_eq!(ids(moved), [1, 2]);
    assert_eq!(kinds(moved), [VersionKind::Delete, VersionKind::Patch]);
    assert!(truncations::emptied(&out).is_some(), "{out:?}");
}

#[test]
fn a_row_that_cannot_be_stored_stops_one_table_and_no_other() {
    let bad = write::insert(KEYED, &[Text("1"), Null, Null]);
    let other = write::insert(KEYLESS, &[Text("1"), Null]);
    let batch = transaction(&mut changes(), &[bad, other]);
    assert!(stop_reason(&batch).1.contains("a row has 3 columns"));
    assert!(batch.changes.iter().any(|c| matches!(
        c,
        TableChange::Rows {
            table: TableId(KEYLESS),
            ..
        }
    )));
}

#[test]
fn deletes_carry_the_key_alone() {
    let deletes = [
        write::row_change(b'D', KEYED, &[(b'K', &[Text("1"), Null])]),
        write::row_change(b'D', KEYED, &[(b'O', &[Text("2"), Text("x")])]),
    ];
    let batch = transaction(&mut changes(), &deletes);
    let rows = rows(&batch.changes[0]);
    assert_eq!(ids(rows), [1, 2]);
    assert_eq!(rows.columns[1].null_count(), 2);
}

#[test]
fn rows_without_a_key_are_numbered_and_cannot_be_changed() {
    let mut changes = changes();
    let row = write::insert(KEYLESS, &[Text("5"), Null]);
    let batch = transaction(&mut changes, &[row.clone(), row.clone()]);
    let numbers = rows(&batch.changes[0]).columns[3].as_primitive::<UInt64Type>();
    assert_eq!(numbers.values(), &[1, 2]);
    take(&mut changes, &[write::begin(200)]);
    let delete = write::row_change(b'D', KEYLESS, &[(b'O', &[Text("5"), Null])]);
    take(&mut changes, &[delete, write::commit(200)]);
    assert!(
        stop_reason(&changes.take_batch())
            .1
            .contains("without a key")
    );
}

#[test]
fn truncate_takes_the_transactions_own_rows_with_it() {
    let mut changes = changes();
    take(
        &mut changes,
        &[
            write::begin(50),
            write::insert(KEYED, &[Text("1"), Null]),
            write::commit(50),
        ],
    );
    let batch = transaction(
        &mut changes,
        &[
            write::insert(KEYED, &[Text("2"), Null]),
            write::truncate(&[KEYED]),
            write::insert(KEYED, &[Text("3"), Null]),
        ],
    );
    assert_eq!(ids(rows(&batch.changes[0])), [1]);
    assert!(matches!(
        batch.changes[1],
        TableChange::Truncate {
            position: CommitPosition(100),
            ..
        }
    ));
    assert_eq!(ids(rows(&batch.changes[2])), [3]);
}

#[test]
fn a_transaction_sent_again_is_cut_at_the_same_places() {
    let text = "x".repeat(BATCH_BYTES / 3 + 1);
    let transaction = [
        write::begin(100),
        write::insert(KEYED, &[Text("1"), Text(&text)]),
        write::insert(KEYED, &[Text("2"), Text(&text)]),
        write::insert(KEYED, &[Text("3"), Text(&text)]),
        write::insert(KEYED, &[Text("4"), Text(&text)]),
        write::commit(100),
    ];
    let cuts = |changes: &mut Changes| {
        let cut_after = |(index, message): (usize, &Vec<u8>)| {
            changes.message(message).expect("a message in order");
            let cut = changes.must_cut();
            if cut {
                changes.take_batch();
            }
            cut.then_some(index)
        };
        transaction
            .iter()
            .enumerate()
            .filter_map(cut_after)
            .collect::<Vec<_>>()
    };
    let alone = cuts(&mut changes());
    let mut after_another = changes();
    let other = write::insert(KEYLESS, &[Text("1"), Text(&text)]);
    take(
        &mut after_another,
        &[write::begin(50), other, write::commit(50)],
    );
    assert_eq!(alone, [3]);
    assert_eq!(cuts(&mut after_another), alone);
}

#[test]
fn transactions_sent_again_are_dropped_and_disorder_is_an_error() {
    let mut changes = changes();
    let insert = write::insert(KEYED, &[Text("1"), Null]);
    transaction(&mut changes, std::slice::from_ref(&insert));
    assert!(matches!(
        changes.message(&write::begin(90)),
        Err(ChangesError::OutOfOrder(_))
    ));
    changes.reconnect(CommitPosition(100), 108);
    take(
        &mut changes,
        &[
            write::begin(90),
            keyed_relation(),
            insert,
            write::commit(90),
        ],
    );
    assert!(!changes.can_cut());
    assert!(changes.message(&write::commit(95)).is_err());
    assert!(changes.message(&write::truncate(&[KEYED])).is_err());
}

#[test]
fn a_lost_connection_forgets_what_was_not_handed_on() {
    let mut changes = changes();
    take(
        &mut changes,
        &[write::begin(100), write::insert(KEYED, &[Text("1"), Null])],
    );
    changes.reconnect(CommitPosition(20), 28);
    take(&mut changes, &[write::begin(100), keyed_relation()]);
    take(
        &mut changes,
        &[write::insert(KEYED, &[Text("2"), Null]), write::commit(100)],
    );
    let batch = changes.take_batch();
    assert_eq!(ids(rows(&batch.changes[0])), [2]);
}

#[test]
fn an_idle_source_moves_the_position() {
    let mut changes = changes();
    changes.keepalive(15);
    assert!(!changes.can_cut(), "nothing new");
    changes.keepalive(1000);
    let batch = changes.take_batch();
    assert_eq!(
        (batch.committed, batch.resume),
        (Some(CommitPosition(999)), 1000)
    );
    assert!(batch.changes.is_empty());
    take(&mut changes, &[write::begin(1000)]);
    changes.keepalive(2000);
    assert_eq!(
        changes.last(),
        CommitPosition(999),
        "not inside a transaction"
    );
}

#[test]
fn an_unknown_table_is_warned_of_once_and_an_undescribed_one_is_an_error() {
    let mut changes = changes();
    let relation = write::relation(300, "new", b'd', &[(true, "id", INT4)]);
    let insert = write::insert(300, &[Text("1")]);
    let batch = transaction(
        &mut changes,
        &[relation.clone(), insert.clone(), relation, insert],
    );
    assert!(batch.changes.is_empty());
    let warnings = changes.take_warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("public.new"), "{warnings:?}");
    take(&mut changes, &[write::begin(200)]);
    assert!(changes.message(&write::insert(999, &[])).is_err());
}
