//! Stepped merge (Jagadish, Narayan, Seshadri, Sudarshan and Kanneganti, VLDB 1997).
//!
//! A baseline. A flush writes a run of the first level. When a level has `runs_a_level` runs, they
//! are merged into one run of the next level, so that each row is written once a level. Inputs are
//! given back when the whole merge is done.
//!
//! The level of a run follows from its size: it is the root of `runs_a_level` times larger or
//! smaller than what that many runs of the level before should give, or less. An older run is
//! never of a lower level than a newer one, however small it has become.
//!
//! Does not: merge the last level into a base relation, which the paper has beside its runs.

use std::ops::Range;

use super::{Runs, free_stretches};

/// The oldest runs of the lowest level that has enough of them.
pub(super) fn choose(runs: &Runs<'_>, runs_a_level: usize) -> Option<Range<usize>> {
    let levels = levels(runs, runs_a_level);
    free_stretches(runs.taken).find_map(|stretch| {
        due_in(&levels[stretch.clone()], runs_a_level)
            .map(|due| stretch.start + due.start..stretch.start + due.end)
    })
}

/// Of neighbours: ascending levels, the newest run first.
fn due_in(levels: &[u32], runs_a_level: usize) -> Option<Range<usize>> {
    let mut start = 0;
    for level in levels.chunk_by(|newer, older| newer == older) {
        let end = start + level.len();
        if level.len() >= runs_a_level {
            return Some(end - runs_a_level..end);
        }
        start = end;
    }
    None
}

/// The level of each run; ascending, because a run counts as one of its newer neighbour's level at
/// least.
fn levels(runs: &Runs<'_>, runs_a_level: usize) -> Vec<u32> {
    let level = |size: u64| {
        let c0s = size as f64 / runs.full_c0_bytes.max(1) as f64;
        c0s.log(runs_a_level as f64).round().max(0.0) as u32
    };
    let up_to = |highest: &mut u32, &size: &u64| {
        *highest = level(size).max(*highest);
        Some(*highest)
    };
    runs.sizes.iter().scan(0, up_to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose_of(sizes: &[u64], taken: &[bool]) -> Option<Range<usize>> {
        let runs = Runs {
            sizes,
            taken,
            full_c0_bytes: 10,
        };
        choose(&runs, 4)
    }

    fn choose_free(sizes: &[u64]) -> Option<Range<usize>> {
        choose_of(sizes, &vec![false; sizes.len()])
    }

    #[test]
    fn a_level_is_merged_when_it_has_all_its_runs() {
        assert_eq!(choose_free(&[]), None);
        assert_eq!(choose_free(&[10, 10, 10]), None);
        assert_eq!(choose_free(&[10, 10, 10, 10]), Some(0..4));
        assert_eq!(choose_free(&[10, 10, 10, 35, 38]), None);
        assert_eq!(choose_free(&[10, 35, 38, 33, 40]), Some(1..5));
        assert_eq!(choose_free(&[10, 35, 38, 33, 140]), None);
    }

    #[test]
    fn of_a_level_that_has_too_many_the_oldest_go_first() {
        assert_eq!(choose_free(&[10, 10, 10, 10, 10, 10, 40]), Some(2..6));
    }

    #[test]
    fn small_runs_are_of_the_first_level_or_that_of_their_newer_neighbour() {
        assert_eq!(choose_free(&[1, 10, 1, 12]), Some(0..4));
        assert_eq!(choose_free(&[10, 40, 2, 40, 1]), Some(1..5));
    }

    #[test]
    fn taken_runs_are_not_touched() {
        let taken = [false, false, false, true, false];
        assert_eq!(choose_of(&[10; 5], &taken), None);
        let taken = [true, false, false, false, false];
        assert_eq!(choose_of(&[10; 5], &taken), Some(1..5));
    }
}
