//! Ends of the process at any moment.

use std::cell::RefCell;

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
