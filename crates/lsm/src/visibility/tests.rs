//! What snapshots see, one rule a test.

use super::SnapshotFilter;
use crate::key_range::KeyRange;
use crate::merge::Merger;
use crate::selection::Selection;
use crate::test_rows::Written::{Delete, PatchNumber, PatchText, Put};
use crate::test_rows::{Row, Written, layout, read, run};

/// What a snapshot at `position` sees of runs, newest first.
fn see(runs: &[&[Written]], position: u64, truncations: &[u64]) -> Vec<Row> {
    let mut merger = Merger::new();
    for written in runs {
        merger.add_window(
            run(written)
                .window(&KeyRange::all())
                .expect("runs have rows"),
        );
    }
    let mut filter = SnapshotFilter::new(position, truncations);
    let mut kept = Selection::new(layout().all_columns.clone());
    while merger
        .advance(&mut filter, &mut kept)
        .expect("memory can be read")
    {}
    if kept.rows() == 0 {
        return Vec::new();
    }
    let places = kept.places();
    let Ok(columns) = kept.all(&places).columns() else {
        panic!("memory can be read");
    };
    read(&columns)
}

fn row(key: i64, number: i64, text: &str) -> Row {
    (key, Some(number), Some(text.to_owned()))
}

#[test]
fn a_snapshot_sees_the_newest_version_that_is_not_newer_than_itself() {
    let runs: &[&[Written]] = &[
        &[Put(1, 30, 3, "c")],
        &[Put(1, 20, 2, "b"), Put(2, 20, 9, "x")],
        &[Put(1, 10, 1, "a")],
    ];
    assert_eq!(see(runs, 5, &[]), []);
    assert_eq!(see(runs, 10, &[]), [row(1, 1, "a")]);
    assert_eq!(see(runs, 29, &[]), [row(1, 2, "b"), row(2, 9, "x")]);
    assert_eq!(see(runs, 30, &[]), [row(1, 3, "c"), row(2, 9, "x")]);
}

#[test]
fn a_delete_hides_what_is_older() {
    let runs: &[&[Written]] = &[&[Delete(1, 20)], &[Put(1, 10, 1, "a"), Put(2, 10, 2, "b")]];
    assert_eq!(see(runs, 19, &[]), [row(1, 1, "a"), row(2, 2, "b")]);
    assert_eq!(see(runs, 20, &[]), [row(2, 2, "b")]);
}

#[test]
fn a_truncation_hides_what_is_older_than_itself() {
    let runs: &[&[Written]] = &[&[Put(1, 10, 1, "a"), Put(2, 20, 2, "b"), Put(3, 25, 3, "c")]];
    assert_eq!(see(runs, 30, &[20, 40]), [row(2, 2, "b"), row(3, 3, "c")]);
    assert_eq!(see(runs, 19, &[20, 40]), [row(1, 1, "a")]);
}

#[test]
fn of_equal_positions_the_newer_run_wins() {
    let runs: &[&[Written]] = &[&[Put(1, 10, 2, "again")], &[Put(1, 10, 1, "first")]];
    assert_eq!(see(runs, 10, &[]), [row(1, 2, "again")]);
}

#[test]
fn patches_are_folded_across_runs() {
    let runs: &[&[Written]] = &[
        &[PatchNumber(1, 40, 4), Put(2, 40, 9, "x")],
        &[PatchText(1, 30, "c")],
        &[PatchNumber(1, 20, 2)],
        &[Put(1, 10, 1, "a")],
    ];
    assert_eq!(see(runs, 40, &[]), [row(1, 4, "c"), row(2, 9, "x")]);
    assert_eq!(see(runs, 30, &[]), [row(1, 2, "c")]);
    assert_eq!(see(runs, 20, &[]), [row(1, 2, "a")]);
}

#[test]
fn cells_that_no_version_has_are_null() {
    assert_eq!(
        see(&[&[PatchNumber(1, 20, 2)]], 20, &[]),
        [(1, Some(2), None)]
    );
    assert_eq!(
        see(&[&[PatchNumber(1, 20, 2)], &[Delete(1, 10)]], 20, &[]),
        [(1, Some(2), None)]
    );
}
