//! A transaction that writes to a table and then truncates it, when what it wrote may be out.

use super::shapes::batches;
use super::*;

/// The transaction at 100: a row that makes a batch by itself, a truncation, another row.
fn write_and_truncate() -> [Vec<u8>; 5] {
    let large = "x".repeat(BATCH_BYTES);
    [
        write::begin(100),
        write::insert(KEYED, &[Text("1"), Text(&large)]),
        write::truncate(&[KEYED]),
        write::insert(KEYED, &[Text("2"), Text("after")]),
        write::commit(100),
    ]
}

/// Takes messages as the stream does: what must go out goes at once.
pub(super) fn follow(changes: &mut Changes, messages: &[Vec<u8>]) -> Vec<TableChange> {
    let mut out = Vec::new();
    for message in messages {
        take(changes, std::slice::from_ref(message));
        out.extend(batches(changes));
    }
    out.into_iter().flat_map(|batch| batch.changes).collect()
}

/// The tree that the table `KEYED` goes on in, if these changes empty it at 100.
pub(super) fn emptied(changes: &[TableChange]) -> Option<TableId> {
    changes.windows(2).find_map(|pair| match pair {
        [
            TableChange::Create {
                table,
                replaces: Some(TableId(KEYED)),
                position: CommitPosition(100),
                ..
            },
            TableChange::Complete {
                table: complete,
                position: CommitPosition(100),
            },
        ] if table == complete => Some(*table),
        _ => None,
    })
}

#[test]
fn a_large_transaction_that_truncates_goes_on_in_an_empty_tree() {
    let mut changes = changes();
    let out = follow(&mut changes, &write_and_truncate());
    assert_eq!(ids(rows(&out[0])), [1]);
    let tree = emptied(&out).expect("an empty tree");
    let end = changes.take_batch();
    assert_eq!(end.committed, Some(CommitPosition(100)));
    assert!(matches!(&end.changes[..], [TableChange::Rows { table, .. }] if *table == tree));
    assert_eq!(ids(rows(&end.changes[0])), [2]);
    let stored: Vec<_> = changes.state.tables.iter().map(|t| t.table).collect();
    assert!(stored.contains(&tree.0) && !stored.contains(&KEYED));
}

#[test]
fn sent_again_it_does_not_put_the_truncated_rows_into_the_empty_tree() {
    let mut changes = changes();
    let [begin, before, truncate, after, commit] = write_and_truncate();
    let beginning = [begin.clone(), before.clone(), truncate.clone()];
    let tree = emptied(&follow(&mut changes, &beginning)).expect("an empty tree");
    changes.reconnect(CommitPosition(20), 28);
    let again = [
        write::begin(50),
        keyed_relation(),
        write::commit(50),
        begin,
        before,
        truncate,
        after,
        commit,
    ];
    let out = follow(&mut changes, &again);
    assert!(out.is_empty(), "{out:?}");
    let end = changes.take_batch();
    assert!(matches!(&end.changes[..], [TableChange::Rows { table, .. }] if *table == tree));
    assert_eq!(ids(rows(&end.changes[0])), [2]);
}

#[test]
fn a_second_truncation_empties_the_empty_tree() {
    let mut changes = changes();
    let large = "x".repeat(BATCH_BYTES);
    let [begin, before, truncate, after, commit] = write_and_truncate();
    let first = follow(&mut changes, &[begin, before, truncate.clone()]);
    let first = emptied(&first).expect("an empty tree");
    let between = write::insert(KEYED, &[Text("3"), Text(&large)]);
    let second = follow(&mut changes, &[between, truncate, after, commit]);
    let replaces_first = |change: &TableChange| match change {
        TableChange::Create { replaces, .. } => *replaces == Some(first),
        _ => false,
    };
    assert!(second.iter().any(replaces_first), "{second:?}");
    assert_eq!(ids(rows(&changes.take_batch().changes[0])), [2]);
}

#[test]
fn what_a_former_process_may_have_written_is_not_trusted_to_be_open() {
    // Its cuts may have been others: rows at 100 may be in the tree.
    let mut changes = changes();
    changes.seen_before = Some(CommitPosition(100));
    let small = [
        write::begin(100),
        write::insert(KEYED, &[Text("1"), Text("a")]),
        write::truncate(&[KEYED]),
        write::commit(100),
    ];
    assert!(emptied(&follow(&mut changes, &small)).is_some());
}

#[test]
fn a_table_that_is_being_copied_is_copied_anew() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    let name = published(KEYED, "keyed", true).name;
    changes.resync(&name).expect("an answer").expect("a copy");
    batches(&mut changes);
    let first = changes.take_copies().pop().expect("a copy").table;
    let out = follow(&mut changes, &write_and_truncate());
    let second = changes.take_copies().pop().expect("another copy").table;
    assert_ne!(first, second);
    assert_eq!(emptied(&out), None);
}
