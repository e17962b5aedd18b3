//! Operations of the disk that fail.

use std::cell::Cell;

use sim::scenario::faults;

use crate::runs::for_seeds;

#[test]
fn any_change_of_the_disk_may_fail() {
    for_seeds("failing change", 30, faults::one_change);
}

#[test]
fn any_read_may_fail() {
    for_seeds("failing read", 20, faults::one_read);
}

#[test]
fn many_changes_may_fail() {
    for_seeds("many failing changes", 60, faults::many_changes);
}

#[test]
fn a_drive_that_lies_shows_no_wrong_row() {
    for_seeds("lying drive", 10, faults::lying_drive);
}

#[test]
fn a_full_disk_is_waited_for() {
    let (runs, unopened) = (Cell::new(0), Cell::new(0));
    for_seeds("full disk", 60, |seed| {
        runs.set(runs.get() + 1);
        unopened.set(unopened.get() + u32::from(!faults::full_disk(seed)));
    });
    assert!(
        unopened.get() * 20 <= runs.get(),
        "{unopened:?} of {runs:?} stores did not open"
    );
}
