//! What is left of a merge is the same whichever way a step takes.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::Merger;
use crate::key_range::KeyRange;
use crate::retention::{Retention, RetentionFilter};
use crate::selection::Selection;
use crate::test_rows::Written::Put;
use crate::test_rows::{layout, read, run};
use crate::visibility::SnapshotFilter;

/// Puts of a run: keys and positions, each pair once.
type Puts = BTreeSet<(i64, u64)>;

const POSITION_MAX: u64 = 40;

/// A run with many or few of the keys, of positions that other runs have, too.
fn puts() -> impl Strategy<Value = Puts> {
    let sizes = prop_oneof![1..4_usize, 1..40_usize, 150..400_usize];
    let put = || (0..300_i64, 1..=POSITION_MAX);
    sizes.prop_flat_map(move |size| proptest::collection::btree_set(put(), 1..=size))
}

/// The number of a row says which run it is from.
fn merged(runs: &[Puts], step_rows: usize, filter: &mut impl super::Filter) -> Vec<(i64, i64)> {
    let mut merger = Merger::with_step_rows(step_rows);
    for (age, puts) in runs.iter().enumerate() {
        let written = puts.iter().map(|&(key, position)| {
            let number = age as i64 * 1_000 + position as i64;
            Put(key, position, number, "text")
        });
        let run = run(&written.collect::<Vec<_>>());
        merger.add_window(run.window(&KeyRange::all()).expect("runs have rows"));
    }
    let mut kept = Selection::new(layout().all_columns.clone());
    while merger
        .advance(filter, &mut kept)
        .expect("memory can be read")
    {}
    if kept.rows() == 0 {
        return Vec::new();
    }
    let places = kept.places();
    let Ok(columns) = kept.all(&places).columns() else {
        panic!("memory can be read");
    };
    let rows = read(&columns);
    let row = |(key, number, _): &(i64, Option<i64>, _)| (*key, number.expect("not NULL"));
    rows.iter().map(row).collect()
}

/// The newest version of each key up to a position: of equal positions the newest run's.
fn newest(runs: &[Puts], position_max: u64) -> Vec<(i64, i64)> {
    let mut newest: BTreeMap<i64, (u64, usize)> = BTreeMap::new();
    for (age, puts) in runs.iter().enumerate() {
        for &(key, position) in puts
            .iter()
            .filter(|(_, position)| *position <= position_max)
        {
            let best = newest.entry(key).or_insert((position, age));
            if position > best.0 {
                *best = (position, age);
            }
        }
    }
    let number = |(position, age): (u64, usize)| age as i64 * 1_000 + position as i64;
    newest
        .into_iter()
        .map(|(key, best)| (key, number(best)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_snapshot_sees_the_newest_versions(
        runs in proptest::collection::vec(puts(), 1..8),
        step_rows in 1..300_usize,
        position in prop_oneof![Just(POSITION_MAX), 0..=POSITION_MAX],
    ) {
        let mut filter = SnapshotFilter::new(position, &[]);
        prop_assert_eq!(merged(&runs, step_rows, &mut filter), newest(&runs, position));
    }

    #[test]
    fn a_merge_keeps_the_newest_versions_where_no_snapshot_is_older(
        runs in proptest::collection::vec(puts(), 1..8),
        step_rows in 1..300_usize,
    ) {
        let mut filter = RetentionFilter::new(Retention::new(POSITION_MAX, [], None));
        prop_assert_eq!(merged(&runs, step_rows, &mut filter), newest(&runs, POSITION_MAX));
    }
}
