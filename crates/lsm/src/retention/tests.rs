//! What merges keep, one rule a test.

use types::VersionKind;

use super::{Outside, PositionRange, Retention};
use crate::memory_merge::merge_runs;
use crate::memory_run::MemoryRun;
use crate::test_rows::Written::{Delete, PatchNumber, PatchText, Put};
use crate::test_rows::{Written, layout, read, run};

/// A kept version: key, position, kind, number, text.
type Kept = (i64, u64, VersionKind, Option<i64>, Option<String>);

fn kept(run: &MemoryRun) -> Vec<Kept> {
    let block = run.block();
    let column = |&index| block.column(index).expect("columns in memory can be read");
    let columns: Vec<_> = layout().all_columns.iter().map(column).collect();
    let versions = block.versions();
    let version = |(row, (key, number, text))| {
        let (position, kind) = (versions.positions.at(row), versions.kinds.at(row));
        (key, position, kind, number, text)
    };
    read(&columns)
        .into_iter()
        .enumerate()
        .map(version)
        .collect()
}

/// Merges runs, newest first.
fn merge(runs: &[&[Written]], retention: &Retention) -> Vec<Kept> {
    let runs: Vec<_> = runs.iter().map(|written| run(written)).collect();
    let merged = merge_runs(&runs, retention.clone(), &layout()).expect("memory can be read");
    merged.map_or(Vec::new(), |run| kept(&run))
}

fn put(key: i64, position: u64, number: i64, text: &str) -> Kept {
    (
        key,
        position,
        VersionKind::Put,
        Some(number),
        Some(text.to_owned()),
    )
}

fn delete(key: i64, position: u64) -> Kept {
    (key, position, VersionKind::Delete, None, None)
}

#[test]
fn of_published_versions_the_newest_stays() {
    let retention = Retention::new(30, [], None);
    let merged = merge(
        &[
            &[Put(1, 30, 3, "c")],
            &[Put(1, 20, 2, "b"), Put(1, 10, 1, "a")],
        ],
        &retention,
    );
    assert_eq!(merged, [put(1, 30, 3, "c")]);
}

#[test]
fn versions_that_are_not_published_all_stay() {
    let retention = Retention::new(10, [], None);
    let merged = merge(
        &[
            &[Put(1, 30, 3, "c")],
            &[Put(1, 20, 2, "b"), Put(1, 10, 1, "a"), Put(1, 5, 0, "z")],
        ],
        &retention,
    );
    assert_eq!(
        merged,
        [put(1, 30, 3, "c"), put(1, 20, 2, "b"), put(1, 10, 1, "a")]
    );
}

#[test]
fn each_pinned_snapshot_keeps_what_it_sees() {
    let written: &[Written] = &[
        Put(1, 5, 0, "a"),
        Put(1, 10, 1, "b"),
        Put(1, 20, 2, "c"),
        Put(1, 30, 3, "d"),
        Put(1, 40, 4, "e"),
    ];
    let retention = Retention::new(40, [12, 25], None);
    assert_eq!(
        merge(&[written], &retention),
        [put(1, 40, 4, "e"), put(1, 20, 2, "c"), put(1, 10, 1, "b")]
    );
}

#[test]
fn a_hold_keeps_everything_after_it_and_one_version_before() {
    let written: &[Written] = &[
        Put(1, 5, 0, "a"),
        Put(1, 10, 1, "b"),
        Put(1, 20, 2, "c"),
        Put(1, 30, 3, "d"),
    ];
    let retention = Retention::new(40, [], Some(12));
    assert_eq!(
        merge(&[written], &retention),
        [put(1, 30, 3, "d"), put(1, 20, 2, "c"), put(1, 10, 1, "b")]
    );
}

#[test]
fn tombstones_stay_until_nothing_older_can_be_below() {
    let runs: &[&[Written]] = &[&[Delete(1, 20)], &[Put(1, 10, 1, "a"), Put(2, 10, 2, "b")]];
    let above_older_runs = Retention::new(30, [], None).for_merge(&[], Outside::Any, Vec::new());
    assert_eq!(
        merge(runs, &above_older_runs),
        [delete(1, 20), put(2, 10, 2, "b")]
    );
    let with_the_oldest =
        Retention::new(30, [], None).for_merge(&[], Outside::NoneOlder, Vec::new());
    assert_eq!(merge(runs, &with_the_oldest), [put(2, 0, 2, "b")]);
    let pinned = Retention::new(30, [15], None).for_merge(&[], Outside::NoneOlder, Vec::new());
    assert_eq!(
        merge(runs, &pinned),
        [delete(1, 20), put(1, 0, 1, "a"), put(2, 0, 2, "b")]
    );
}

#[test]
fn the_oldest_run_has_nothing_older_outside_unless_a_newer_one_was_copied_beside_it() {
    let range = |min, max| PositionRange { min, max };
    let outside = |inputs: PositionRange, others: &[PositionRange]| {
        Outside::of(true, [inputs].into_iter(), others, 30)
    };
    assert_eq!(outside(range(5, 20), &[]), Outside::NoneOlder);
    // A large transaction may be in both.
    let newer = [range(20, 25), range(26, 40)];
    assert_eq!(outside(range(5, 20), &newer), Outside::NoneOlder);
    assert_eq!(outside(range(5, 20), &[range(19, 25)]), Outside::Any);
    let apart = Outside::NoneAmong(range(5, 20));
    assert_eq!(outside(range(5, 20), &[range(4, 4)]), apart);
    // What is above the lowest boundary stays in any case.
    assert_eq!(outside(range(5, 50), &[range(30, 40)]), Outside::NoneOlder);
    assert_eq!(outside(range(40, 50), &[range(4, 4)]), Outside::Any);
}

#[test]
fn positions_become_one_where_no_other_run_has_any_among_them() {
    let range = |min, max| PositionRange { min, max };
    let outside = |others: &[PositionRange]| {
        let inputs = [range(12, 14), range(11, 40)];
        Outside::of(false, inputs.into_iter(), others, 30)
    };
    let apart = Outside::NoneAmong(range(11, 30));
    assert_eq!(outside(&[]), apart);
    assert_eq!(outside(&[range(0, 10), range(31, 99)]), apart);
    for other in [range(0, 11), range(15, 16), range(30, 50), range(5, 50)] {
        assert_eq!(outside(&[range(0, 10), other]), Outside::Any, "{other:?}");
    }
    let of = |inputs: &[PositionRange], others: &[PositionRange]| {
        Outside::of(false, inputs.iter().copied(), others, 30)
    };
    assert_eq!(of(&[], &[]), Outside::Any);
    assert_eq!(of(&[range(31, 40)], &[]), Outside::Any);
    let older = range(12, 19);
    assert_eq!(of(&[older], &[range(20, 29)]), Outside::NoneAmong(older));

    let runs: &[&[Written]] = &[
        &[Put(1, 40, 5, "e"), Put(2, 14, 3, "c")],
        &[Put(1, 12, 2, "b"), Delete(3, 11)],
    ];
    let retention = Retention::new(30, [], None);
    let merged = |truncations: &[u64]| {
        let outside = Outside::NoneAmong(range(11, 30));
        merge(runs, &retention.for_merge(truncations, outside, Vec::new()))
    };
    let together = [
        put(1, 40, 5, "e"),
        put(1, 11, 2, "b"),
        put(2, 11, 3, "c"),
        delete(3, 11),
    ];
    assert_eq!(merged(&[]), together);
    let apart = [
        put(1, 40, 5, "e"),
        put(1, 12, 2, "b"),
        put(2, 14, 3, "c"),
        delete(3, 11),
    ];
    assert_eq!(merged(&[10]), apart);
}

#[test]
fn positions_stay_while_a_truncation_needs_them() {
    let retention = Retention::new(30, [], None).for_merge(&[20], Outside::NoneOlder, Vec::new());
    let merged = merge(&[&[Put(1, 25, 3, "c")], &[Put(2, 10, 1, "a")]], &retention);
    assert_eq!(merged, [put(1, 25, 3, "c")]);
}

#[test]
fn a_truncation_keeps_what_older_snapshots_see() {
    let retention = Retention::new(30, [15], None).for_merge(&[20], Outside::NoneOlder, Vec::new());
    let merged = merge(
        &[
            &[Put(1, 25, 3, "c")],
            &[Put(1, 18, 2, "b"), Put(1, 10, 1, "a")],
        ],
        &retention,
    );
    assert_eq!(merged, [put(1, 25, 3, "c"), put(1, 10, 1, "a")]);
}

#[test]
fn patches_fold_onto_the_put_below() {
    let retention = Retention::new(30, [], None);
    let merged = merge(
        &[
            &[PatchText(1, 30, "new")],
            &[PatchNumber(1, 20, 7)],
            &[Put(1, 10, 1, "old"), Put(2, 10, 2, "b")],
        ],
        &retention,
    );
    assert_eq!(merged, [put(1, 30, 7, "new"), put(2, 10, 2, "b")]);
}

#[test]
fn patches_without_a_put_in_the_merge_stay_patches() {
    let retention = Retention::new(30, [], None);
    let merged = merge(
        &[&[PatchNumber(1, 30, 8)], &[PatchNumber(1, 20, 7)]],
        &retention,
    );
    assert_eq!(merged, [(1, 30, VersionKind::Patch, Some(8), None)]);
}

#[test]
fn patches_do_not_fold_across_versions_of_other_runs() {
    let runs: &[&[Written]] = &[&[PatchNumber(1, 30, 8)], &[Put(1, 10, 1, "a")]];
    let beside = |min, max| {
        let others = vec![PositionRange { min, max }];
        merge(
            runs,
            &Retention::new(40, [], None).for_merge(&[], Outside::Any, others),
        )
    };
    let apart = [
        (1, 30, VersionKind::Patch, Some(8), None),
        put(1, 10, 1, "a"),
    ];
    for (min, max) in [(20, 20), (5, 11), (29, 50), (5, 50)] {
        assert_eq!(beside(min, max), apart, "{min} to {max}");
    }
    for (min, max) in [(0, 10), (30, 50)] {
        assert_eq!(beside(min, max), [put(1, 30, 8, "a")], "{min} to {max}");
    }
}

/// The rows of a copy are not older than the truncation, and may be in another run.
#[test]
fn a_patch_stays_one_where_only_hidden_versions_are_below() {
    let runs: &[&[Written]] = &[&[PatchNumber(1, 30, 8)], &[Put(1, 10, 1, "a")]];
    let retention = Retention::new(40, [], None).for_merge(&[15], Outside::Any, Vec::new());
    let patch = (1, 30, VersionKind::Patch, Some(8), None);
    assert_eq!(merge(runs, &retention), [patch]);
}

#[test]
fn patches_do_not_fold_across_a_snapshot() {
    let retention = Retention::new(30, [15], None);
    let merged = merge(
        &[&[PatchNumber(1, 30, 8)], &[Put(1, 10, 1, "a")]],
        &retention,
    );
    assert_eq!(
        merged,
        [
            (1, 30, VersionKind::Patch, Some(8), None),
            put(1, 10, 1, "a")
        ]
    );
}

#[test]
fn writes_of_one_transaction_fold_into_one_version_even_before_it_ends() {
    let retention = Retention::new(0, [], None);
    let merged = merge(
        &[&[
            Put(1, 10, 1, "a"),
            PatchNumber(1, 10, 2),
            Delete(2, 10),
            Put(2, 10, 5, "b"),
        ]],
        &retention,
    );
    assert_eq!(merged, [put(1, 10, 2, "a"), put(2, 10, 5, "b")]);
}
