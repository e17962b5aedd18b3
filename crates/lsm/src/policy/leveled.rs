//! Leveled: levels of one run each, so many times as large as the one before; bLSM (SIGMOD 2012) as
//! LSbM-tree (ICDCS 2017) builds on it.
//!
//! A baseline. A level is filled by merging the level before into it. When it is full it is drained
//! into the next one, a part of its keys at a time, while the next runs that come form a new one:
//! bLSM's C_i and C_i'.
//!
//! The size of a level follows from that of the last one, which has no limit. Which level a run is
//! of follows from its size, so nothing has to be remembered.

use std::ops::Range;

use super::Runs;

/// A run that has so many percent of a level's size fills it: with one more merge it would have too
/// much.
const FULL_PERCENT: u64 = 90;

/// The newest pair of neighbours of which the newer one is to be merged into the older one, and the
/// runs behind it that go on filling the same level: where merges are behind, each is written once.
pub(super) fn choose(runs: &Runs<'_>, ratio: u64) -> Option<Range<usize>> {
    let last = *runs.sizes.last()?;
    let is_due = |&newer: &usize| {
        let older = newer + 1;
        let is_free = !runs.taken[newer] && !runs.taken[older];
        let next_level_bytes = level_bytes(last, runs.sizes[newer], ratio).saturating_mul(ratio);
        let is_last = older + 1 == runs.sizes.len();
        is_free
            && match is_last {
                true => next_level_bytes >= last,
                false => !is_full(runs.sizes[older], next_level_bytes),
            }
    };
    let newer = (0..runs.sizes.len() - 1).find(is_due)?;
    let level_bytes = level_bytes(last, runs.sizes[newer], ratio).saturating_mul(ratio);
    let mut filled = runs.sizes[newer] + runs.sizes[newer + 1];
    let behind = newer + 2..runs.sizes.len() - 1;
    let more = behind.take_while(|&run| {
        filled += runs.sizes[run];
        !runs.taken[run] && filled <= level_bytes
    });
    Some(newer..newer + 2 + more.count())
}

/// The size of the largest level that a run fills; where it fills none, of the smallest.
fn level_bytes(last: u64, run: u64, ratio: u64) -> u64 {
    let mut level = last;
    while level > 1 && !is_full(run, level) {
        level = level.div_ceil(ratio);
    }
    level
}

fn is_full(run: u64, level_bytes: u64) -> bool {
    run.saturating_mul(100) >= level_bytes.saturating_mul(FULL_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose_of(sizes: &[u64], taken: &[bool]) -> Option<Range<usize>> {
        let runs = Runs {
            sizes,
            taken,
            full_c0_bytes: 1,
        };
        choose(&runs, 10)
    }

    fn choose_free(sizes: &[u64]) -> Option<Range<usize>> {
        choose_of(sizes, &vec![false; sizes.len()])
    }

    #[test]
    fn what_fills_the_same_level_is_merged_at_once() {
        let behind = [300, 100, 100, 100, 500, 100_000];
        assert_eq!(choose_free(&behind), Some(0..4));
        let taken = [false, false, false, true, false, false];
        assert_eq!(choose_of(&behind, &taken), Some(0..3));
    }

    #[test]
    fn a_level_takes_what_comes_until_it_is_full() {
        assert_eq!(choose_free(&[]), None);
        assert_eq!(choose_free(&[100_000]), None);
        assert_eq!(choose_free(&[100, 100_000]), None);
        assert_eq!(choose_free(&[100, 800, 100_000]), Some(0..2));
        assert_eq!(choose_free(&[100, 900, 100_000]), None);
    }

    #[test]
    fn a_full_level_is_drained_into_the_next() {
        assert_eq!(choose_free(&[100, 900, 5_000, 100_000]), Some(1..3));
        assert_eq!(choose_free(&[100, 900, 9_000, 100_000]), Some(2..4));
    }

    #[test]
    fn levels_of_any_size_reach_the_last_one() {
        assert_eq!(choose_free(&[8_100, 88_817]), Some(0..2));
        assert_eq!(choose_free(&[7_900, 88_817]), None);
        assert_eq!(choose_free(&[900, 7_900, 88_817]), Some(0..2));
        assert_eq!(choose_free(&[1, 2]), Some(0..2));
    }

    #[test]
    fn a_new_level_fills_while_the_old_one_is_drained() {
        let draining = [false, false, true, true, false];
        let sizes = [100, 300, 900, 5_000, 100_000];
        assert_eq!(choose_of(&sizes, &draining), Some(0..2));
        let draining = [false, true, true, false];
        assert_eq!(choose_of(&sizes[1..], &draining), None);
    }
}
