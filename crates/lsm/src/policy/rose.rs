//! Rose as published (Sears, Callaghan and Brewer, VLDB 2008; sections 2.1, 2.2 and 4.3).
//!
//! A baseline. What the paper leaves open is as in its released code (`lsmTable.h` of Stasis):
//!
//! 1. A full C0 is merged with all of C1. The writer fills a second C0 meanwhile, and stops when
//!    that is full, too.
//! 2. When C1 has reached `R` times C0, `R` being the root of |C2| / |C0|, it is handed over to
//!    the merge with all of C2. The next C0 begins a new C1. `R` follows C2 as it grows.
//! 3. Where C1 has reached that size and the merge before it has not ended, C0 waits, and in the
//!    end the writer does.
//!
//! Inputs are given back when the whole merge is done, so a component takes its room twice.
//!
//! The oldest run is C2, the newest one that is not being merged C1. A run alone is C2: the first
//! C0 needs no merge to become it. Sizes are bytes on disk, where the paper has pages.
//!
//! What is kinder than the paper: where C0 waits (3.), both of its halves go into C1 in one merge.

use std::ops::Range;

use super::Runs;

/// C1 and C2, once C1 is large enough; first of all what a merge has left that was stopped.
pub(super) fn choose(runs: &Runs<'_>) -> Option<Range<usize>> {
    let count = runs.sizes.len();
    if count < 2 || runs.taken[1..].contains(&true) {
        return None;
    }
    match count {
        2 => (!runs.taken[0] && newest_is_due(runs)).then_some(0..2),
        _ => Some(1..count),
    }
}

/// C0 is merged with C1, unless that has been handed over.
pub(super) fn flushes_into_newest(runs: &Runs<'_>) -> bool {
    runs.sizes.len() >= 2 && !runs.taken[0]
}

/// C0 waits for the merge that C1 is due for.
pub(super) fn flush_waits(runs: &Runs<'_>) -> bool {
    flushes_into_newest(runs) && newest_is_due(runs)
}

/// Whether |C1| >= R |C0|: both squared, |C1|² >= |C2| |C0|.
fn newest_is_due(runs: &Runs<'_>) -> bool {
    let [Some(&c1), Some(&c2)] = [runs.sizes.first(), runs.sizes.last()] else {
        return false;
    };
    u128::from(c1).pow(2) >= u128::from(c2) * u128::from(runs.full_c0_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const C0: u64 = 10;

    fn runs<'a>(sizes: &'a [u64], taken: &'a [bool]) -> Runs<'a> {
        Runs {
            sizes,
            taken,
            full_c0_bytes: C0,
        }
    }

    fn free(sizes: &[u64]) -> Runs<'_> {
        runs(sizes, &[false; 4][..sizes.len()])
    }

    #[test]
    fn c1_is_merged_with_c2_at_r_times_c0() {
        // R is 4.
        assert_eq!(choose(&free(&[30, 160])), None);
        assert_eq!(choose(&free(&[40, 160])), Some(0..2));
        assert!(!flush_waits(&free(&[30, 160])));
        assert!(flush_waits(&free(&[40, 160])));
    }

    #[test]
    fn the_first_run_is_c2() {
        assert_eq!(choose(&free(&[])), None);
        assert_eq!(choose(&free(&[10])), None);
        assert!(!flushes_into_newest(&free(&[])));
        assert!(!flushes_into_newest(&free(&[10])));
        assert!(flushes_into_newest(&free(&[10, 160])));
    }

    #[test]
    fn while_c2_is_merged_a_new_c1_grows_until_it_is_due_itself() {
        let merging = [true, true];
        assert_eq!(choose(&runs(&[40, 160], &merging)), None);
        assert!(!flushes_into_newest(&runs(&[40, 160], &merging)));
        let merging = [false, true, true];
        assert_eq!(choose(&runs(&[20, 40, 160], &merging)), None);
        assert!(flushes_into_newest(&runs(&[20, 40, 160], &merging)));
        assert!(!flush_waits(&runs(&[20, 40, 160], &merging)));
        assert_eq!(choose(&runs(&[40, 40, 160], &merging)), None);
        assert!(flush_waits(&runs(&[40, 40, 160], &merging)));
    }

    #[test]
    fn a_merge_of_c2_that_was_stopped_begins_again() {
        assert_eq!(choose(&free(&[20, 40, 160])), Some(1..3));
        let flushing = [true, false, false];
        assert_eq!(choose(&runs(&[20, 40, 160], &flushing)), Some(1..3));
        assert_eq!(choose(&runs(&[40, 160], &[true, false])), None);
    }
}
