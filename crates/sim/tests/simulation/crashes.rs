//! Ends of the process at any moment.

use std::cell::RefCell;

use sim::Replica;
use sim::scenario::crashes::{self, Seen};

use crate::runs::for_seeds;

#[test]
fn acknowledged_is_durable_whenever_the_process_ends() {
    let seen = RefCell::new(Seen::default());
    for_seeds("crashes", 40, |seed| {
        crashes::run(seed, &crashes::SHORT, &mut seen.borrow_mut());
    });
    let seen = seen.into_inner();
    let (distinct, later) = (seen.distinct(), seen.later.len());
    assert!(
        later * 10 > distinct,
        "{later} of {distinct} crash states follow a crash in a recovery"
    );
}

#[test]
fn a_process_that_has_ended_does_nothing_more() {
    for_seeds("ended processes", 20, crashes::ended_processes);
}

/// A kill leaves names that only the operating system knows. A power cut in the next process may
/// then take them away and leave names of files made later.
#[test]
fn a_power_cut_after_a_kill_while_a_store_is_made_leaves_a_store() {
    for seed in 0..20 {
        let mut new = Replica::new(seed);
        new.make_images(1, seed);
        new.start().expect("a new store opens");
        for mut second in new.take_images() {
            second.make_images(1, seed);
            second.start().expect("a half-made store opens");
            for mut third in second.take_images() {
                third.start().expect("and again");
            }
        }
    }
}
