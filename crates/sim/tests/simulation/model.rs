//! Without faults: whatever the order of steps, snapshots show what the model says.

use std::cell::Cell;

use sim::replica::Done;
use sim::{Replica, Step};

use crate::runs::for_seeds;

const STEPS: usize = 400;

pub fn started(seed: u64) -> Replica {
    let mut replica = Replica::new(seed);
    replica.start().expect("a new store opens");
    for _ in 0..3 {
        replica.step(Step::CreateTable).expect("tables can be made");
    }
    replica
}

fn run(seed: u64, steps: usize) -> (u64, Done) {
    let mut replica = started(seed);
    for number in 0..steps {
        let step = replica.random_step();
        if let Err(error) = replica.step(step) {
            panic!("step {number}, {step:?}: {error}; {replica:?}");
        }
    }
    replica.check_everything().expect("nothing fails");
    replica.stop();
    (replica.disk().digest(), replica.done())
}

#[test]
fn snapshots_show_the_sources_states() {
    let (runs, merges) = (Cell::new(0), Cell::new(0));
    for_seeds("model", 120, |seed| {
        let (_, done) = run(seed, STEPS);
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
fn equal_seeds_do_equal_things() {
    for_seeds("determinism", 3, |seed| {
        assert_eq!(
            run(seed, 150),
            run(seed, 150),
            "the disk saw something else"
        );
    });
}
