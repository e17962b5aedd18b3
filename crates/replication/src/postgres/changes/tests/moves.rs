//! Rows that get another key, with cells that the log leaves out.

use super::shapes::batches;
use super::*;

/// The row with key 1 goes to key 0; its text stays as it is.
fn key_change() -> Vec<u8> {
    update(&[(b'K', &[Text("1"), Null]), (b'N', &[Text("0"), Unchanged])])
}

fn is_move(change: &TableChange) -> bool {
    matches!(change, TableChange::Move { .. })
}

fn is_copy(batches: &[ChangeBatch]) -> bool {
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
