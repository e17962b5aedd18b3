//! Former cells for projections: kept where the log has them, missed where it does not.

use super::shapes::batches;
use super::*;
use crate::projection::request::Wish;

/// A wish for a projection of the keyed table, by its text.
fn by_body() -> Wish {
    Wish::Create {
        name: "by_body".into(),
        table: TableName {
            schema: "public".into(),
            name: "keyed".into(),
        },
        order_by: vec!["body".into()],
    }
}

/// The changes of a source with whole old rows in its log, and the catalog beside them.
fn full() -> (Changes, FakeCatalog) {
    let catalog = FakeCatalog::default();
    let changes = changes_beside(&catalog);
    let mut keyed = published(KEYED, "keyed", true);
    keyed.identity = 'f';
    catalog.put(keyed);
    (changes, catalog)
}

/// The same with the projection.
fn projected() -> (Changes, FakeCatalog) {
    let (mut changes, catalog) = full();
    let place = changes.check_wish(&by_body()).expect("it is asked");
    place.expect("the source gives what it needs");
    let ordered = changes.carry_out_wish(&by_body()).expect("it is asked");
    ordered.expect("the table is there");
    let batches = batches(&mut changes);
    assert!(batches.iter().any(|batch| projections(batch).len() == 1));
    (changes, catalog)
}

/// Trees, positions and orders of the projections that begin in a batch.
fn projections(batch: &ChangeBatch) -> Vec<(TableId, TableId, u64, Vec<usize>)> {
    let project = |change: &TableChange| match change {
        TableChange::Project {
            table,
            projection,
            order_by,
            position,
            ..
        } => {
            let order_by = order_by.iter().map(|each| each.column).collect();
            Some((*table, *projection, position.0, order_by))
        }
        _ => None,
    };
    batch.changes.iter().filter_map(project).collect()
}

fn stops(batch: &ChangeBatch) -> Vec<(&str, u64)> {
    let stop = |change| match change {
        &TableChange::StopProjection {
            ref name, position, ..
        } => Some((name.as_str(), position.0)),
        _ => None,
    };
    batch.changes.iter().filter_map(stop).collect()
}

/// What a batch writes: kind, key and text.
fn written(batch: &ChangeBatch) -> Vec<(VersionKind, i32, Option<String>)> {
    let rows = batch.changes.iter().find_map(|change| match change {
        TableChange::Rows { rows, .. } => Some(rows),
        _ => None,
    });
    let rows = rows.expect("rows");
    let texts = rows.columns[1].as_string::<i32>();
    let text = |row| texts.is_valid(row).then(|| texts.value(row).to_owned());
    let versions = kinds(rows).into_iter().zip(ids(rows)).enumerate();
    versions
        .map(|(row, (kind, id))| (kind, id, text(row)))
        .collect()
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_projection_begins_where_everything_before_it_has_come_in() {
    let (mut changes, _) = full();
    assert!(changes.is_between_transactions());
    let before = transaction(
        &mut changes,
        &[write::insert(KEYED, &[Text("1"), Text("a")])],
    );
    assert_eq!(before.committed, Some(CommitPosition(100)));
    let ordered = changes.carry_out_wish(&by_body()).expect("it is asked");
    ordered.expect("the table is there");
    let begun = batches(&mut changes);
    let begun: Vec<_> = begun.iter().flat_map(projections).collect();
    assert_eq!(begun, [(TableId(KEYED), TableId(1000), 100, vec![1])]);
}

#[test]
fn without_whole_old_rows_it_is_refused_with_what_mends_it() {
    let mut changes = changes();
    let place = changes.check_wish(&by_body()).expect("it is asked");
    let hint = place.expect_err("the log does not have the text").hint;
    let hint = hint.expect("it can be mended");
    assert!(
        hint.contains("ALTER TABLE \"public\".\"keyed\" REPLICA IDENTITY FULL"),
        "{hint}"
    );
    let by_key = Wish::Create {
        name: "by_key".into(),
        table: TableName {
            schema: "public".into(),
            name: "keyed".into(),
        },
        order_by: vec!["id".into()],
    };
    let place = changes.check_wish(&by_key).expect("it is asked");
    place.expect("the log always has the key");
}

#[test]
fn deletions_carry_the_former_cells() {
    let (mut changes, _) = projected();
    let (old, new) = ([Text("1"), Text("a")], [Text("1"), Text("b")]);
    let batch = transaction(
        &mut changes,
        &[
            update(&[(b'O', &old), (b'N', &new)]),
            update(&[(b'O', &new), (b'N', &[Text("1"), Unchanged])]),
            write::row_change(b'D', KEYED, &[(b'O', &[Text("2"), Null])]),
        ],
    );
    assert_eq!(
        written(&batch),
        [
            (VersionKind::Delete, 1, text("a")),
            (VersionKind::Put, 1, text("b")),
            // It stays in its place: no deletion.
            (VersionKind::Put, 1, text("b")),
            (VersionKind::Delete, 2, None),
        ]
    );
    assert!(stops(&batch).is_empty());
}

#[test]
fn a_change_without_former_cells_stops_the_projection_before_its_transaction() {
    for change in [
        update(&[(b'N', &[Text("1"), Text("b")])]),
        update(&[(b'K', &[Text("1"), Null]), (b'N', &[Text("2"), Text("b")])]),
        write::row_change(b'D', KEYED, &[(b'K', &[Text("1"), Null])]),
    ] {
        let (mut changes, _) = projected();
        let before = [Text("1"), Text("a")];
        take(
            &mut changes,
            &[
                write::begin(100),
                write::insert(KEYED, &before),
                change.clone(),
            ],
        );
        // A lost connection must not make anybody forget it.
        changes.reconnect(CommitPosition(20), 20);
        take(&mut changes, &[keyed_relation()]);
        let batch = transaction(&mut changes, &[write::insert(KEYED, &before), change]);
        assert_eq!(stops(&batch), [("by_body", 99)]);
        let next = transaction_at(
            &mut changes,
            200,
            &[write::row_change(
                b'D',
                KEYED,
                &[(b'K', &[Text("1"), Null])],
            )],
        );
        assert!(stops(&next).is_empty());
    }
}

#[test]
fn inserts_need_no_former_cells() {
    let (mut changes, _) = projected();
    let batch = transaction(
        &mut changes,
        &[write::insert(KEYED, &[Text("1"), Text("a")])],
    );
    assert!(stops(&batch).is_empty());
    assert_eq!(written(&batch), [(VersionKind::Put, 1, text("a"))]);
}

#[test]
fn it_begins_again_with_the_tree_in_which_its_table_goes_on() {
    let (mut changes, _) = projected();
    // The transaction has been sent in part: its truncation empties the table with a new tree.
    take(
        &mut changes,
        &[
            write::begin(100),
            write::insert(KEYED, &[Text("1"), Text("a")]),
        ],
    );
    changes.take_batch();
    take(&mut changes, &[write::truncate(&[KEYED])]);
    let again: Vec<_> = batches(&mut changes).iter().flat_map(projections).collect();
    let [(table, _, 99, order_by)] = again.as_slice() else {
        panic!("it begins again before the transaction: {again:?}");
    };
    assert_ne!(*table, TableId(KEYED));
    assert_eq!(order_by, &[1]);
    // And its former cells are kept there.
    let change = update(&[
        (b'O', &[Text("3"), Text("a")]),
        (b'N', &[Text("3"), Text("b")]),
    ]);
    take(&mut changes, &[change, write::commit(100)]);
    let batch = changes.take_batch();
    assert_eq!(written(&batch)[0], (VersionKind::Delete, 3, text("a")));
}

#[test]
fn one_that_is_dropped_needs_nothing_any_more() {
    let (mut changes, _) = projected();
    let drop = Wish::Drop {
        name: "by_body".into(),
    };
    let dropped = changes.carry_out_wish(&drop).expect("it is asked");
    dropped.expect("it is dropped");
    let is_drop = |change: &TableChange| matches!(change, TableChange::DropProjection { .. });
    assert!(
        batches(&mut changes)
            .iter()
            .any(|batch| batch.changes.iter().any(is_drop))
    );
    let change = update(&[(b'N', &[Text("1"), Text("b")])]);
    let batch = transaction(&mut changes, &[change]);
    assert!(stops(&batch).is_empty());
}

fn transaction_at(changes: &mut Changes, position: u64, messages: &[Vec<u8>]) -> ChangeBatch {
    take(changes, &[write::begin(position)]);
    take(changes, messages);
    take(changes, &[write::commit(position)]);
    changes.take_batch()
}
