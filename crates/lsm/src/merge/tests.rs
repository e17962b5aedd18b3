//! What is left of a merge is the same whichever way a step takes.

use std::cmp::Reverse;
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

/// The newest version of each key in each stripe (of equal positions the newest run's), keys ascending,
/// the newest stripe first. `stripe` is `None` for what does not count.
fn newest(runs: &[Puts], stripe: impl Fn(u64) -> Option<u64>) -> Vec<(i64, i64)> {
    let mut newest: BTreeMap<(i64, Reverse<u64>), (u64, usize)> = BTreeMap::new();
    for (age, puts) in runs.iter().enumerate() {
        for &(key, position) in puts {
            let Some(stripe) = stripe(position) else {
                continue;
            };
            let best = newest
                .entry((key, Reverse(stripe)))
                .or_insert((position, age));
            if position > best.0 {
                *best = (position, age);
            }
        }
    }
    let number = |(position, age): (u64, usize)| age as i64 * 1_000 + position as i64;
    newest
        .into_iter()
        .map(|((key, _), best)| (key, number(best)))
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
        let seen = newest(&runs, |of_row| (of_row <= position).then_some(0));
        prop_assert_eq!(merged(&runs, step_rows, &mut filter), seen);
    }

    #[test]
    fn a_merge_keeps_the_newest_versions_where_no_snapshot_is_older(
        runs in proptest::collection::vec(puts(), 1..8),
        step_rows in 1..300_usize,
    ) {
        let mut filter = RetentionFilter::new(Retention::new(POSITION_MAX, [], None));
        prop_assert_eq!(merged(&runs, step_rows, &mut filter), newest(&runs, |_| Some(0)));
    }

    /// Each position above the visible one, or the oldest hold, is a stripe of its own.
    #[test]
    fn a_merge_keeps_the_newest_versions_of_each_stripe(
        runs in proptest::collection::vec(puts(), 1..8),
        step_rows in 1..300_usize,
        visible in 0..=POSITION_MAX,
        pins in proptest::collection::btree_set(0..=POSITION_MAX, 0..4),
        hold in proptest::option::weighted(0.2, 0..=POSITION_MAX),
    ) {
        let retention = Retention::new(visible, pins.iter().copied(), hold);
        let keep_above = hold.map_or(visible, |hold| hold.min(visible));
        let boundaries = pins.iter().copied().filter(|&pin| pin < keep_above);
        let boundaries: Vec<u64> = boundaries.chain([keep_above]).collect();
        let stripe = |position: u64| {
            let boundary = boundaries.iter().copied().find(|&b| b >= position);
            Some(boundary.unwrap_or(position))
        };
        let mut filter = RetentionFilter::new(retention);
        prop_assert_eq!(merged(&runs, step_rows, &mut filter), newest(&runs, stripe));
    }
}
