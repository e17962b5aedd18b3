//! Tables that change their shape, come and go, and are copied while the log is followed.

use super::moves::is_copy;
use super::*;

/// Identity flag, name and type of columns.
type Columns<'a> = &'a [(bool, &'a str, u32)];

/// Everything in the batches that must go out now.
pub(super) fn batches(changes: &mut Changes) -> Vec<ChangeBatch> {
    let mut batches = Vec::new();
    while changes.must_cut() {
        batches.push(changes.take_batch());
    }
    batches
}

/// The log shows `columns` inside a transaction at `position`, to which nothing else has come.
fn shown(changes: &mut Changes, position: u64, columns: Columns<'_>) -> Vec<ChangeBatch> {
    let relation = write::relation(KEYED, "keyed", b'd', columns);
    take(changes, &[write::begin(position), relation]);
    batches(changes)
}

/// The changes of the last of several batches.
fn last(batches: &[ChangeBatch]) -> &[TableChange] {
    &batches.last().expect("a batch").changes
}

/// The table with one more column.
fn with_column(missing: Option<&str>) -> PublishedTable {
    let mut table = published(KEYED, "keyed", true);
    table
        .columns
        .push(published_column(3, "more", INT4, missing));
    table.number_max = 3;
    table
}

const WITH_COLUMN: [(bool, &str, u32); 3] = [
    (true, "id", INT4),
    (false, "body", TEXT),
    (false, "more", INT4),
];
/// The object id of a type that users made.
const OWN_TYPE: u32 = 20_000;
const AS_STORED: [(bool, &str, u32); 2] = [(true, "id", INT4), (false, "body", TEXT)];

/// The log may tell the label by a name that it had before.
#[test]
fn a_new_column_whose_label_may_have_been_renamed_has_the_table_copied_again() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    let mut described = with_column(None);
    described.columns[2].wire_oid = OWN_TYPE;
    described.labels = [(7, "ok".to_owned())].into();
    described.young_labels = [7].into();
    catalog.put(described);
    let columns = [WITH_COLUMN[0], WITH_COLUMN[1], (false, "more", OWN_TYPE)];
    assert!(is_copy(&shown(&mut changes, 200, &columns)));
}

#[test]
fn a_new_column_comes_at_its_own_position_with_the_value_of_old_rows() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    let before = write::insert(KEYED, &[Text("1"), Null]);
    take(
        &mut changes,
        &[write::begin(100), before, write::commit(100)],
    );
    catalog.put(with_column(Some("7")));
    let cut = shown(&mut changes, 200, &WITH_COLUMN);
    // What came before goes out first, with its own end.
    assert_eq!(cut[0].committed, Some(CommitPosition(100)));
    assert_eq!(ids(rows(&cut[0].changes[0])), [1]);
    let [
        TableChange::Reshape {
            table,
            successor,
            schema,
            columns,
            position,
        },
    ] = last(&cut)
    else {
        panic!("a reshape, not {cut:?}")
    };
    assert_eq!((*table, *position), (TableId(KEYED), CommitPosition(200)));
    assert_eq!(schema.columns.len(), 3);
    let ColumnOrigin::Constant(cell) = &columns[2] else {
        panic!("a constant, not {columns:?}")
    };
    assert_eq!(cell.as_primitive::<Int32Type>().value(0), 7);
    assert!(
        cut[1]
            .source
            .as_ref()
            .expect("a state")
            .contains("\"number_max\":3")
    );
    // Rows from here on are the successor's.
    let after = write::insert(KEYED, &[Text("2"), Null, Text("9")]);
    take(&mut changes, &[after, write::commit(200)]);
    let batch = changes.take_batch();
    let TableChange::Rows { table, rows } = &batch.changes[0] else {
        panic!("rows, not {batch:?}")
    };
    assert_eq!((table, rows.columns.len()), (successor, 3));
}

#[test]
fn names_change_without_a_new_tree() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    let mut renamed = published(KEYED, "renamed", true);
    renamed.columns[1].name = "text".into();
    renamed.columns[1].wire_oid = 1043;
    catalog.put(renamed);
    let columns = [(true, "id", INT4), (false, "text", 1043)];
    let relation = write::relation(KEYED, "renamed", b'd', &columns);
    take(&mut changes, &[write::begin(100), relation]);
    let cut = batches(&mut changes);
    let [TableChange::Describe { table, schema, .. }] = last(&cut) else {
        panic!("a description, not {cut:?}")
    };
    assert_eq!(*table, TableId(KEYED));
    assert_eq!(
        (schema.name.name.as_str(), schema.columns[1].name.as_str()),
        ("renamed", "text")
    );
}

#[test]
fn what_the_log_does_not_tell_is_copied_again() {
    let rewritten = |mut table: PublishedTable| {
        table.file += 1;
        table
    };
    let mut retyped = published(KEYED, "keyed", true);
    retyped.columns[1].wire_oid = INT4;
    let mut exchanged = with_column(None);
    exchanged.columns.remove(1);
    let mut unkeyed = published(KEYED, "keyed", false);
    unkeyed.identity = 'd';
    let mut filtered = published(KEYED, "keyed", true);
    filtered.row_filter = Some("(id > 1)".into());
    let cases: [(&str, PublishedTable, Columns<'_>); 7] = [
        (
            "added with a value of its own in each row",
            rewritten(with_column(None)),
            &WITH_COLUMN,
        ),
        (
            "a value that does not parse",
            with_column(Some("x")),
            &WITH_COLUMN,
        ),
        (
            "another type in a new file",
            rewritten(retyped),
            &[(true, "id", INT4), (false, "body", INT4)],
        ),
        (
            "one dropped, one added",
            exchanged,
            &[(true, "id", INT4), (false, "more", INT4)],
        ),
        (
            "no key any more",
            unkeyed,
            &[(false, "id", INT4), (false, "body", TEXT)],
        ),
        ("other rows", filtered, &AS_STORED),
        (
            "the catalog is further on",
            with_column(None),
            &[(true, "id", INT4), (false, "b", TEXT)],
        ),
    ];
    for (case, described, columns) in cases {
        let catalog = FakeCatalog::default();
        let mut changes = changes_beside(&catalog);
        catalog.put(described);
        let cut = shown(&mut changes, 100, columns);
        let [
            TableChange::Create {
                replaces, position, ..
            },
        ] = last(&cut)
        else {
            panic!("{case}: a copy, not {cut:?}")
        };
        assert_eq!(
            (*replaces, *position),
            (Some(TableId(KEYED)), CommitPosition(100)),
            "{case}"
        );
        assert_eq!(changes.take_copies().len(), 1, "{case}");
        assert_eq!(changes.take_warnings().len(), 1, "{case}");
    }
}

#[test]
fn a_change_that_lies_ahead_waits_for_its_place_in_the_log() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    catalog.put(with_column(Some("7")));
    assert!(shown(&mut changes, 100, &AS_STORED).is_empty());
    // But a column that was dropped may be the one that the log shows, or another of its name.
    let mut exchanged = with_column(None);
    exchanged.columns.remove(1);
    exchanged.columns[1].name = "body".into();
    catalog.put(exchanged);
    take(&mut changes, &[write::commit(100)]);
    let cut = shown(&mut changes, 200, &AS_STORED);
    assert!(
        matches!(last(&cut), [TableChange::Create { .. }]),
        "{cut:?}"
    );
}

#[test]
fn a_transaction_that_writes_before_it_changes_columns_has_the_table_copied() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    take(
        &mut changes,
        &[write::begin(100), write::insert(KEYED, &[Text("1"), Null])],
    );
    catalog.put(with_column(None));
    take(
        &mut changes,
        &[write::relation(KEYED, "keyed", b'd', &WITH_COLUMN)],
    );
    let cut = batches(&mut changes);
    assert!(
        matches!(last(&cut), [TableChange::Create { .. }]),
        "{cut:?}"
    );
}

#[test]
fn a_damaged_table_is_copied_again_with_the_damage_as_the_reason() {
    let mut changes = changes_beside(&FakeCatalog::default());
    let damage = lsm::StoreError::Corrupt {
        file: "segments/7.seg".into(),
        offset: 4096,
        table: None,
        detail: "page 1".into(),
    };
    let unknown = TableId(999);
    changes.repair(unknown, &damage).expect("nothing to do");
    assert!(batches(&mut changes).is_empty());
    let damaged = changes.tree(0);
    changes
        .repair(damaged, &damage)
        .expect("the catalog answers");
    let cut = batches(&mut changes);
    assert!(
        matches!(last(&cut), [TableChange::Create { replaces: Some(old), .. }] if *old == damaged),
        "{cut:?}"
    );
    let warnings = changes.take_warnings();
    let reason =
        "table public.keyed is copied again: segments/7.seg is damaged at byte 4096: page 1";
    assert_eq!(warnings, [reason]);
}

#[test]
fn a_copy_is_complete_when_the_log_has_passed_its_snapshot() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    let name = TableName {
        schema: "public".into(),
        name: "keyed".into(),
    };
    let begun = changes.resync(&name).expect("the catalog answers");
    assert!(begun.is_ok(), "{begun:?}");
    let cut = batches(&mut changes);
    assert!(
        matches!(last(&cut), [TableChange::Create { .. }]),
        "{cut:?}"
    );
    let order = changes.take_copies().pop().expect("an order");
    // The log goes on meanwhile, into the new tree.
    take(&mut changes, &[write::begin(100), keyed_relation()]);
    take(
        &mut changes,
        &[write::insert(KEYED, &[Text("1"), Null]), write::commit(100)],
    );
    let batch = changes.take_batch();
    assert!(
        matches!(&batch.changes[..], [TableChange::Rows { table, .. }] if *table == order.table)
    );
    let copied = CopyOutcome::Copied(CommitPosition(200));
    changes
        .copied(order.table, copied)
        .expect("the catalog answers");
    changes.complete_copies().expect("the catalog answers");
    assert!(batches(&mut changes).is_empty(), "the log is not there yet");
    changes.keepalive(200);
    changes.complete_copies().expect("the catalog answers");
    let cut = batches(&mut changes);
    let [TableChange::Complete { table, position }] = last(&cut) else {
        panic!("the end of the copy, not {cut:?}")
    };
    assert_eq!((*table, *position), (order.table, CommitPosition(199)));
    let missing = TableName {
        schema: "public".into(),
        name: "missing".into(),
    };
    let refused = changes.resync(&missing).expect("the catalog answers");
    assert!(refused.is_err());
}

#[test]
fn a_copy_that_missed_a_change_begins_again() {
    // A truncation or another shape after the snapshot; before it the snapshot has it all.
    for (position, again) in [(150, false), (300, true)] {
        let truncation = write::truncate(&[KEYED]);
        let wider = write::relation(KEYED, "keyed", b'd', &WITH_COLUMN);
        let row = write::insert(KEYED, &[Text("1"), Null, Null]);
        for messages in [vec![truncation], vec![wider, row, keyed_relation()]] {
            let catalog = FakeCatalog::default();
            let mut changes = changes_beside(&catalog);
            let name = table(KEYED, "keyed", true).schema.name.clone();
            _ = changes.resync(&name).expect("the catalog answers");
            batches(&mut changes);
            let order = changes.take_copies().pop().expect("an order");
            take(&mut changes, &[write::begin(position)]);
            take(&mut changes, &messages);
            take(&mut changes, &[write::commit(position)]);
            let copied = CopyOutcome::Copied(CommitPosition(200));
            changes
                .copied(order.table, copied)
                .expect("the catalog answers");
            changes.keepalive(400);
            changes.complete_copies().expect("the catalog answers");
            let cut = batches(&mut changes);
            let begins = matches!(last(&cut), [TableChange::Create { .. }]);
            assert_eq!(begins, again, "{position}: {cut:?}");
        }
    }
}

#[test]
fn rows_of_a_shape_that_the_copy_does_not_have_are_left_to_its_snapshot() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    // The catalog is two changes further on than the log.
    catalog.put(with_column(None));
    let cut = shown(&mut changes, 100, &[(true, "id", INT4), (false, "b", TEXT)]);
    assert!(
        matches!(last(&cut), [TableChange::Create { .. }]),
        "{cut:?}"
    );
    let order = changes.take_copies().pop().expect("an order");
    let row = write::insert(KEYED, &[Text("1"), Null]);
    take(&mut changes, &[row, write::commit(100)]);
    assert!(changes.take_batch().changes.is_empty());
    // Then the log shows the table as it is copied.
    assert!(shown(&mut changes, 150, &WITH_COLUMN).is_empty());
    let row = write::insert(KEYED, &[Text("2"), Null, Null]);
    take(&mut changes, &[row, write::commit(150)]);
    let batch = changes.take_batch();
    assert!(
        matches!(&batch.changes[..], [TableChange::Rows { table, .. }] if *table == order.table)
    );
}

/// The shape changed after the last row of the log: the copy is complete without a word of the log about it.
#[test]
fn a_copy_ends_though_the_log_shows_the_table_no_more() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    catalog.put(with_column(None));
    shown(&mut changes, 100, &[(true, "id", INT4), (false, "b", TEXT)]);
    let order = changes.take_copies().pop().expect("an order");
    let row = write::insert(KEYED, &[Text("1"), Null]);
    take(&mut changes, &[row, write::commit(100)]);
    changes.take_batch();
    let copied = CopyOutcome::Copied(CommitPosition(200));
    changes
        .copied(order.table, copied)
        .expect("the catalog answers");
    changes.keepalive(400);
    changes.complete_copies().expect("the catalog answers");
    let cut = batches(&mut changes);
    assert!(
        matches!(last(&cut), [TableChange::Complete { .. }]),
        "{cut:?}"
    );
    // What comes later is shown as it is, and taken.
    assert!(shown(&mut changes, 500, &WITH_COLUMN).is_empty());
    let row = write::insert(KEYED, &[Text("2"), Null, Null]);
    take(&mut changes, &[row, write::commit(500)]);
    let batch = changes.take_batch();
    assert!(
        matches!(&batch.changes[..], [TableChange::Rows { table, .. }] if *table == order.table)
    );
}

#[test]
fn tables_come_and_go_with_the_publication() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    changes.compare_tables().expect("the catalog answers");
    assert!(!changes.must_cut(), "nothing has changed");
    catalog.put(published(300, "new", true));
    catalog.remove(KEYED);
    catalog.remove(KEYLESS);
    catalog.unpublished.lock().insert(KEYLESS);
    changes.compare_tables().expect("the catalog answers");
    let cut = batches(&mut changes);
    let all: Vec<_> = cut.iter().flat_map(|batch| &batch.changes).collect();
    let [
        stop,
        TableChange::Drop { table, .. },
        TableChange::Create { schema, .. },
    ] = &all[..]
    else {
        panic!("a stop, a drop and a copy, not {all:?}")
    };
    assert!(matches!(stop, TableChange::Stop { table, reason, .. }
        if *table == TableId(KEYLESS) && reason.contains("left the publication")));
    assert_eq!(*table, TableId(KEYED));
    assert_eq!(schema.name.name, "new");
    // Once is enough.
    changes.compare_tables().expect("the catalog answers");
    assert!(!changes.must_cut());
}

#[test]
fn a_table_made_again_under_its_name_is_copied() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    catalog.remove(KEYED);
    catalog.put(published(300, "keyed", true));
    let relation = write::relation(300, "keyed", b'd', &AS_STORED);
    take(&mut changes, &[write::begin(100), relation]);
    // A description alone may be that of a partition, whose changes come as another table's.
    assert!(!changes.must_cut());
    take(&mut changes, &[write::insert(300, &[Text("1"), Null])]);
    let cut = batches(&mut changes);
    assert!(matches!(
        last(&cut),
        [TableChange::Create {
            replaces: Some(TableId(KEYED)),
            ..
        }]
    ));
}

#[test]
fn the_last_changes_of_a_dropped_table_are_not_its_successors() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    catalog.remove(KEYED);
    catalog.put(published(300, "keyed", true));
    // Seen in the catalog before the log has come to the drop.
    changes.compare_tables().expect("the catalog answers");
    assert_eq!(last(&batches(&mut changes)).len(), 1);
    let batch = transaction(&mut changes, &[write::insert(KEYED, &[Text("1"), Null])]);
    assert!(batch.changes.is_empty(), "{batch:?}");
}

#[test]
fn a_table_that_the_catalog_shows_late_takes_changes_from_its_copy_on() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    let relation = write::relation(300, "late", b'd', &AS_STORED);
    let insert = || write::insert(300, &[Text("1"), Null]);
    take(
        &mut changes,
        &[write::begin(100), relation, insert(), write::commit(100)],
    );
    assert!(changes.take_batch().changes.is_empty());
    catalog.put(published(300, "late", true));
    changes.compare_tables().expect("the catalog answers");
    batches(&mut changes);
    take(
        &mut changes,
        &[write::begin(200), insert(), write::commit(200)],
    );
    assert_eq!(ids(rows(&changes.take_batch().changes[0])), [1]);
}

/// The names of the tables that are described anew.
fn described(batches: &[ChangeBatch]) -> Vec<(TableId, &str)> {
    let changes = batches.iter().flat_map(|batch| &batch.changes);
    changes
        .filter_map(|change| match change {
            TableChange::Describe { table, schema, .. } => Some((*table, &*schema.name.name)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_table_that_takes_over_a_name_takes_it_from_the_table_that_had_it() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    catalog.put(published(KEYLESS, "keyed", false));
    catalog.put(published(KEYED, "old", true));
    let columns = [(false, "id", INT4), (false, "body", TEXT)];
    let relation = write::relation(KEYLESS, "keyed", b'd', &columns);
    take(&mut changes, &[write::begin(100), relation]);
    let cut = batches(&mut changes);
    assert_eq!(
        described(&cut),
        [(TableId(KEYED), "old"), (TableId(KEYLESS), "keyed")]
    );
}

#[test]
fn a_new_name_is_found_without_a_change_of_the_table() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    catalog.put(published(KEYED, "other", true));
    changes.compare_tables().expect("the catalog answers");
    let cut = batches(&mut changes);
    assert_eq!(described(&cut), [(TableId(KEYED), "other")]);
}

#[test]
fn a_publication_that_leaves_changes_out_stops_its_tables() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    *catalog.leaves_changes_out.lock() = true;
    changes.compare_tables().expect("the catalog answers");
    let batch = changes.take_batch();
    assert!(stop_reason(&batch).1.contains("leaves out some kinds"));
    assert_eq!(batch.changes.len(), 2);
}

#[test]
fn a_table_that_lost_a_partition_is_copied_again() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    let partition = |relation| SeenPartition {
        partition: Partition { relation, file: 1 },
        came_filled: false,
        written_by: TransactionId(7),
    };
    let mut look = |now: Vec<SeenPartition>| {
        catalog.partitions.lock().insert(KEYED, now);
        changes.compare_tables().expect("the catalog answers");
        batches(&mut changes)
    };
    // Nothing was known of them: they are remembered, and stored.
    let seen = look(vec![partition(1), partition(2)]);
    let state = last_source(&seen);
    assert!(state.contains("\"relation\":2"), "{state}");
    assert!(look(vec![partition(1), partition(2)]).is_empty());
    let made = look(vec![partition(1), partition(2), partition(3)]);
    assert!(last(&made).is_empty(), "{made:?}");
    let lost = look(vec![partition(1), partition(3)]);
    assert!(matches!(last(&lost), [TableChange::Create { .. }]));
}

/// A table with one partition, which has this file; the log ends there.
fn look(changes: &mut Changes, catalog: &FakeCatalog, file: u32, log_end: u64) -> Vec<ChangeBatch> {
    let seen = SeenPartition {
        partition: Partition { relation: 1, file },
        came_filled: false,
        // All transactions of these tests have this name.
        written_by: TransactionId(7),
    };
    catalog.partitions.lock().insert(KEYED, vec![seen]);
    *catalog.log_end.lock() = CommitPosition(log_end);
    changes.compare_tables().expect("the catalog answers");
    batches(changes)
}

fn is_copied_again(cut: &[ChangeBatch]) -> bool {
    let mut changes = cut.iter().flat_map(|batch| &batch.changes);
    changes.any(|change| matches!(change, TableChange::Create { .. }))
}

/// A transaction that empties the table, and may write a row afterwards.
fn truncation(position: u64, row: bool) -> Vec<Vec<u8>> {
    let row = row.then(|| write::insert(KEYED, &[Text("1"), Text("one")]));
    let (begin, truncate) = (write::begin(position), write::truncate(&[KEYED]));
    let messages = [
        Some(begin),
        Some(truncate),
        row,
        Some(write::commit(position)),
    ];
    messages.into_iter().flatten().collect()
}

#[test]
fn a_truncation_that_the_log_told_explains_new_files_of_partitions_once() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    look(&mut changes, &catalog, 1, 0);
    take(&mut changes, &truncation(100, false));
    batches(&mut changes);
    let told = look(&mut changes, &catalog, 2, 101);
    assert!(!is_copied_again(&told), "{told:?}");
    assert!(last_source(&told).contains("\"file\":2"));
    look(&mut changes, &catalog, 2, 101);
    assert!(is_copied_again(&look(&mut changes, &catalog, 3, 101)));
}

#[test]
fn rows_after_a_truncation_may_have_gone_with_their_partition() {
    for truncations in 1..3 {
        let catalog = FakeCatalog::default();
        let mut changes = changes_beside(&catalog);
        look(&mut changes, &catalog, 1, 0);
        let mut messages = truncation(100, true);
        messages.splice(1..1, (1..truncations).map(|_| write::truncate(&[KEYED])));
        take(&mut changes, &messages);
        batches(&mut changes);
        let cut = look(&mut changes, &catalog, 2, 101);
        assert!(is_copied_again(&cut), "{truncations}: {cut:?}");
    }
}

/// Other sessions see a commit before the log has told of it.
#[test]
fn partitions_are_compared_when_the_log_has_told_what_was_seen_of_them() {
    let catalog = FakeCatalog::default();
    let mut changes = changes_beside(&catalog);
    look(&mut changes, &catalog, 1, 0);
    assert!(look(&mut changes, &catalog, 2, 101).is_empty(), "not yet");
    take(&mut changes, &truncation(100, false));
    batches(&mut changes);
    changes.compare_partitions().expect("nothing is asked");
    let told = batches(&mut changes);
    assert!(!is_copied_again(&told), "{told:?}");
    assert!(last_source(&told).contains("\"file\":2"));
}

/// What the last of several batches remembers of the source.
fn last_source(batches: &[ChangeBatch]) -> &str {
    let source = batches.last().and_then(|batch| batch.source.as_deref());
    source.expect("a state")
}
