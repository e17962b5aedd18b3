//! Size-tiered: merges between neighbours of similar sizes, the newest first.
//!
//! While rows come in, a tree may have a few runs before anything is merged ([`RUNS_MIN`]). In an
//! idle store it may not: nobody else wants the disk then, and scans of one run take a fraction of
//! the time (weather, one column: 9 ns of the processor's time a row, 61 where three runs overlap;
//! `bench -- trees --scale quick`).
//! When there is something to do, the newest runs are merged together with each older run that is
//! at most [`RATIO`] times as large as all newer ones together. So
//!
//! * the number of runs stays about logarithmic, with the base of the tree in one run;
//! * a version that was flushed is rewritten about `RATIO` / 2 times a size class, as in Rose's
//!   leveled trees with R near 10, but large runs are rewritten in fewer, longer merges;
//! * newer runs override at most a share of 1 / `RATIO` of the base, which keeps scans fast.
//!
//! Where merges are far behind, that may be a hundred runs. Of more than [`INPUTS_MAX`] the cheapest
//! neighbours are merged first: of each input a segment lies on the disk and a buffer in memory that is
//! used up in part.
//!
//! If that leaves more than `runs_max` runs, the newest two are merged whatever their sizes.
//!
//! Runs that another merge owns separate the rest into stretches; the rule is applied to each.

use std::ops::Range;

use super::{Runs, free_stretches};

/// Fewer runs than this are left alone: merging each flush on arrival would rewrite the second
/// newest run over and over.
const RUNS_MIN: usize = 4;

/// An older run joins a merge when it is at most this many times as large as the newer ones.
const RATIO: u64 = 4;

/// So many runs are merged at once at most. While 71 runs of 600 MB became one, there were 16 % more on disk
/// than in the end; with this limit 3 % (`bench weather-side`, 104 million rows).
const INPUTS_MAX: usize = 16;

/// Chooses neighbouring runs to merge.
pub(super) fn choose(runs: &Runs<'_>, runs_max: usize, is_idle: bool) -> Option<Range<usize>> {
    let sizes = runs.sizes;
    if sizes.len() < RUNS_MIN.min(runs_max + 1) && !is_idle {
        return None;
    }
    let mut stretches = free_stretches(runs.taken).filter(|stretch| stretch.len() >= 2);
    let crowded = sizes.len() > runs_max;
    let forced = |stretch: Range<usize>| crowded.then_some(stretch.start..stretch.start + 2);
    let due = |stretch: Range<usize>| due_in(sizes, stretch).map(|due| cheapest_of(sizes, due));
    stretches.find_map(|stretch| due(stretch.clone()).or_else(|| forced(stretch)))
}

/// Of the runs that are due, as many as may be merged at once: those with the fewest bytes.
fn cheapest_of(sizes: &[u64], due: Range<usize>) -> Range<usize> {
    let inputs = due.len().min(INPUTS_MAX);
    let bytes = |start: &usize| sizes[*start..*start + inputs].iter().sum::<u64>();
    let cheapest = (due.start..=due.end - inputs).min_by_key(bytes);
    let start = cheapest.expect("the first of them is a choice");
    start..start + inputs
}

/// The newest runs of the stretch, up to the oldest that is not too large to join them.
fn due_in(sizes: &[u64], stretch: Range<usize>) -> Option<Range<usize>> {
    let mut newer = sizes[stretch.start];
    let mut due = None;
    for (older, &size) in sizes[stretch.clone()].iter().enumerate().skip(1) {
        if size <= newer.saturating_mul(RATIO) {
            due = Some(stretch.start..stretch.start + older + 1);
        }
        newer += size;
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose_of(sizes: &[u64], taken: &[bool], is_idle: bool) -> Option<Range<usize>> {
        let runs = Runs {
            sizes,
            taken,
            full_c0_bytes: 10,
        };
        choose(&runs, 6, is_idle)
    }

    fn choose_free(sizes: &[u64]) -> Option<Range<usize>> {
        choose_of(sizes, &vec![false; sizes.len()], false)
    }

    #[test]
    fn few_runs_are_left_alone() {
        assert_eq!(choose_free(&[]), None);
        assert_eq!(choose_free(&[10, 10, 10]), None);
    }

    #[test]
    fn an_idle_store_merges_all_but_what_is_small_beside_the_base() {
        let choose_idle = |sizes: &[u64]| choose_of(sizes, &vec![false; sizes.len()], true);
        assert_eq!(choose_idle(&[]), None);
        assert_eq!(choose_idle(&[10]), None);
        assert_eq!(choose_idle(&[10, 40]), Some(0..2));
        assert_eq!(choose_idle(&[10, 41]), None);
        assert_eq!(choose_idle(&[5, 10, 1000]), Some(0..2));
    }

    #[test]
    fn runs_of_one_size_are_merged_but_not_with_a_large_base() {
        assert_eq!(choose_free(&[10, 10, 10, 1000]), Some(0..3));
        assert_eq!(choose_free(&[10, 10, 300, 1000]), Some(0..4));
    }

    #[test]
    fn of_very_many_runs_the_smallest_neighbours_are_merged_first() {
        let mut sizes = [10; 30];
        sizes[29] = 200;
        sizes[..5].fill(12);
        assert_eq!(choose_free(&sizes), Some(5..21));
        sizes[21..29].fill(2);
        assert_eq!(choose_free(&sizes), Some(13..29));
    }

    #[test]
    fn a_crowded_tree_merges_its_newest_runs() {
        let sizes = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000];
        assert_eq!(choose_free(&sizes), Some(0..2));
        assert_eq!(choose_free(&sizes[1..]), None);
    }

    #[test]
    fn taken_runs_are_not_touched() {
        let choose_beside = |taken: &[bool]| choose_of(&[10; 5][..taken.len()], taken, false);
        let (free, taken) = (false, true);
        assert_eq!(choose_beside(&[free, free, taken, free, free]), Some(0..2));
        assert_eq!(
            choose_beside(&[taken, taken, free, free, taken]),
            Some(2..4)
        );
        assert_eq!(choose_beside(&[taken, free, taken, free]), None);
    }
}
