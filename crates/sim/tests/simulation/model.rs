//! Without faults.

use std::cell::Cell;

use sim::scenario::model;

use crate::runs::for_seeds;

#[test]
fn snapshots_show_the_sources_states() {
    let (runs, merges) = (Cell::new(0), Cell::new(0));
    for_seeds("model", 120, |seed| {
        let done = model::run(seed, model::STEPS).done();
        runs.set(runs.get() + 1);
        merges.set(merges.get() + done.merges);
    });
    let (runs, merges) = (runs.get(), merges.get());
    assert!(
        merges > runs,
        "{merges} merges in {runs} runs: the scenario has become too tame"
    );
}

#[test]
fn look_ups_in_compaction_buffers_find_the_newest_versions() {
    for_seeds("buffered", 30, |seed| {
        model::run_buffered(seed, model::BUFFERED_STEPS);
    });
}

#[test]
fn equal_seeds_do_equal_things() {
    for_seeds("determinism", 3, |seed| {
        let [once, again] = [(); 2].map(|()| model::run(seed, 150));
        assert_eq!(once.done(), again.done());
        let digests = [once, again].map(|replica| replica.disk().digest());
        assert_eq!(digests[0], digests[1], "the disk saw something else");
    });
}
