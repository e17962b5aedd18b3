//! Changes that need a look at the tree: rows that get another key, with cells that the log leaves out, and
//! rows that go from a multiset.

use super::shapes::batches;
use super::*;

/// The row with key 1 goes to key 0; its text stays as it is.
fn key_change() -> Vec<u8> {
    update(&[(b'K', &[Text("1"), Null]), (b'N', &[Text("0"), Unchanged])])
}

fn is_move(change: &TableChange) -> bool {
    matches!(change, TableChange::Move { .. })
}

pub(super) fn is_copy(batches: &[ChangeBatch]) -> bool {
    let mut changes = batches.iter().flat_map(|batch| &batch.changes);
    changes.any(|change| matches!(change, TableChange::Create { .. }))
}

#[test]
fn the_old_row_is_looked_up() {
    let batch = transaction(&mut changes(), &[key_change()]);
    assert!(is_move(&batch.changes[0]), "{batch:?}");
}

#[test]
fn a_transaction_that_was_partly_sent_does_not_look_up_what_it_did_itself() {
    let mut changes = changes();
    take(&mut changes, &[write::begin(100), key_change()]);
    assert!(is_move(&changes.take_batch().changes[0]));
    changes.reconnect(CommitPosition(20), 20);
    take(
        &mut changes,
        &[keyed_relation(), write::begin(100), key_change()],
    );
    assert!(is_copy(&batches(&mut changes)));
    // The snapshot has the rest.
    take(&mut changes, &[key_change(), write::commit(100)]);
    let batch = changes.take_batch();
    assert!(!batch.changes.iter().any(is_move), "{batch:?}");
}

#[test]
fn nor_what_a_former_process_did() {
    let mut changes = changes();
    changes.tables[0].replicated.written_before = CommitPosition(100);
    take(&mut changes, &[write::begin(100), key_change()]);
    assert!(is_copy(&batches(&mut changes)));
}

#[test]
fn a_later_transaction_looks_its_rows_up_again() {
    let mut changes = changes();
    changes.tables[0].replicated.written_before = CommitPosition(99);
    let batch = transaction(&mut changes, &[key_change()]);
    assert!(is_move(&batch.changes[0]), "{batch:?}");
}

/// Begins to copy [`KEYED`] while a row moves at 150 and another at 250.
fn copied_while_rows_move(changes: &mut Changes) -> TableId {
    let name = table(KEYED, "keyed", true).schema.name.clone();
    _ = changes.resync(&name).expect("the catalog answers");
    batches(changes);
    let order = changes.take_copies().pop().expect("an order");
    for position in [150, 250] {
        let row = write::insert(KEYED, &[Text("5"), Null]);
        take(changes, &[write::begin(position), row, key_change()]);
        take(changes, &[write::commit(position)]);
    }
    order.table
}

/// What goes out when everything in a snapshot with the consistent point 200 has been copied.
fn completed(changes: &mut Changes, table: TableId) -> Vec<TableChange> {
    let copied = CopyOutcome::Copied(CommitPosition(200));
    changes.copied(table, copied).expect("it is known");
    changes.complete_copies().expect("the catalog answers");
    let cut = batches(changes);
    cut.into_iter().flat_map(|batch| batch.changes).collect()
}

#[test]
fn what_needs_the_copied_rows_waits_for_them() {
    let mut changes = changes();
    let table = copied_while_rows_move(&mut changes);
    // What came before the first that has to wait does not wait.
    let batch = changes.take_batch();
    assert_eq!(rows(&batch.changes[0]).positions, [150]);
    assert_eq!(batch.changes.len(), 1);
    let completed = completed(&mut changes, table);
    // The snapshot has what was before it.
    let [
        TableChange::Rows { rows, .. },
        moved,
        TableChange::Complete { .. },
    ] = &completed[..]
    else {
        panic!("rows, a move and the end, not {completed:?}")
    };
    assert_eq!(rows.positions, [250]);
    assert!(is_move(moved));
}

#[test]
fn what_waited_and_comes_again_does_not_come_twice() {
    let mut changes = changes();
    let table = copied_while_rows_move(&mut changes);
    changes.take_batch();
    changes.reconnect(CommitPosition(160), 160);
    take(
        &mut changes,
        &[keyed_relation(), write::begin(250), key_change()],
    );
    take(&mut changes, &[write::commit(250)]);
    let completed = completed(&mut changes, table);
    assert_eq!(completed.iter().filter(|c| is_move(c)).count(), 1);
}

#[test]
fn a_copy_begins_again_when_too_much_waits_for_it() {
    let mut changes = changes();
    let table = copied_while_rows_move(&mut changes);
    let large = "x".repeat(1 << 20);
    let row = write::insert(KEYED, &[Text("6"), Text(&large)]);
    take(&mut changes, &[write::begin(300)]);
    (0..65).for_each(|_| take(&mut changes, std::slice::from_ref(&row)));
    take(&mut changes, &[key_change(), write::commit(300)]);
    batches(&mut changes);
    let completed = completed(&mut changes, table);
    assert!(
        matches!(completed.last(), Some(TableChange::Create { .. })),
        "{completed:?}"
    );
}

/// [`KEYLESS`] as a multiset.
fn multiset() -> Changes {
    multiset_beside(&FakeCatalog::default())
}

fn multiset_described() -> PublishedTable {
    PublishedTable {
        identity: 'f',
        ..published(KEYLESS, "keyless", false)
    }
}

fn multiset_beside(catalog: &FakeCatalog) -> Changes {
    let mut changes = changes_beside(catalog);
    catalog.put(multiset_described());
    take(&mut changes, &[write::begin(50), multiset_relation()]);
    batches(&mut changes);
    let order = changes
        .take_copies()
        .pop()
        .expect("it is copied as a multiset");
    take(&mut changes, &[write::commit(50)]);
    let copied = CopyOutcome::Copied(CommitPosition(51));
    changes.copied(order.table, copied).expect("it is known");
    changes.complete_copies().expect("the catalog answers");
    batches(&mut changes);
    changes
}

fn multiset_relation() -> Vec<u8> {
    let columns = [(true, "id", INT4), (true, "body", TEXT)];
    write::relation(KEYLESS, "keyless", b'f', &columns)
}

#[test]
fn a_row_goes_from_a_multiset_by_what_it_was() {
    let mut changes = multiset();
    let old = [Text("1"), Text("a")];
    let new = [Text("2"), Unchanged];
    let changed = write::row_change(b'U', KEYLESS, &[(b'O', &old), (b'N', &new)]);
    let gone = write::row_change(b'D', KEYLESS, &[(b'O', &[Text("2"), Text("a")])]);
    let batch = transaction(&mut changes, &[changed, gone]);
    let [TableChange::Multiset { rows, .. }] = &batch.changes[..] else {
        panic!("rows of a multiset, not {batch:?}")
    };
    let expected = [VersionKind::Delete, VersionKind::Put, VersionKind::Delete];
    assert_eq!(kinds(rows), expected);
    let hash = rows.columns[2].as_primitive::<UInt64Type>();
    assert_ne!(hash.value(0), hash.value(1));
    assert_eq!(
        hash.value(1),
        hash.value(2),
        "the value that was left out counts"
    );
    // Rows that only come are ordinary ones.
    let insert = write::insert(KEYLESS, &old);
    take(
        &mut changes,
        &[write::begin(200), insert, write::commit(200)],
    );
    assert_eq!(super::rows(&changes.take_batch().changes[0]).len(), 1);
}

#[test]
fn a_multiset_is_copied_again_when_a_transaction_comes_again() {
    let mut changes = multiset();
    let gone = write::row_change(b'D', KEYLESS, &[(b'O', &[Text("2"), Text("a")])]);
    take(&mut changes, &[write::begin(100), gone.clone()]);
    changes.take_batch();
    changes.reconnect(CommitPosition(60), 60);
    take(
        &mut changes,
        &[multiset_relation(), write::begin(100), gone],
    );
    assert!(is_copy(&batches(&mut changes)));
}

/// A row that the log shows with a label's new name is not there with that name: the table was stopped for it.
#[test]
fn a_stopped_multiset_is_copied_again_when_a_label_was_renamed() {
    let catalog = FakeCatalog::default();
    let mut changes = multiset_beside(&catalog);
    let mut tables = changes.tables.iter_mut();
    let multiset = tables.find(|table| table.sink.is_multiset());
    let table = &mut multiset.expect("there is one").replicated;
    table.stopped = true;
    table.wire.labels = Some([(7, "ok".to_owned())].into());
    for (label, is_copied) in [("ok", false), ("fine", true)] {
        let mut described = multiset_described();
        described.labels = [(7, label.to_owned())].into();
        catalog.put(described);
        changes.compare_tables().expect("the catalog answers");
        assert_eq!(is_copy(&batches(&mut changes)), is_copied, "{label}");
    }
}
