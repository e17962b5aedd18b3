//! The process ends at every single operation of a scenario that changes something on the disk,
//! by a kill or a power cut. What was acknowledged is there afterwards, and nothing that was not
//! published. Then it ends again at every operation of the recovery.

use sim::{Crash, Faults, Replica};

use crate::model::started;
use crate::runs::for_seeds;

const STEPS: usize = 60;

/// Steps after a recovery: it must be able to go on, not only to open.
const STEPS_AFTER: usize = 15;

/// How the process ends, by number: each scenario sees all of them.
fn crash(number: u64) -> Crash {
    match number % 5 {
        0 => Crash::Kill,
        1 => Crash::PowerCut { keep: 0.0 },
        2 => Crash::PowerCut { keep: 1.0 },
        3 => Crash::PowerCut { keep: 0.5 },
        _ => Crash::PowerCut { keep: 0.9 },
    }
}

/// Takes steps until the process has ended.
fn run(replica: &mut Replica, steps: usize) {
    for number in 0..steps {
        let step = replica.random_step();
        let result = replica.step(step);
        if replica.disk().has_crashed() {
            return;
        }
        if let Err(error) = result {
            panic!("step {number}, {step:?}: {error}; {replica:?}");
        }
    }
}

fn scenario(seed: u64, crash_at: Option<u64>) -> Replica {
    let mut replica = started(seed);
    replica.disk().plan(Faults {
        crash_at,
        ..Faults::default()
    });
    run(&mut replica, STEPS);
    replica
}

fn recover(replica: &mut Replica) {
    if let Err(error) = replica.start() {
        panic!("recovery: {error}; {replica:?}");
    }
}

fn go_on(replica: &mut Replica) {
    run(replica, STEPS_AFTER);
    replica.check_everything().expect("nothing fails");
}

#[test]
fn acknowledged_is_durable_whenever_the_process_ends() {
    for_seeds("crash", 12, |seed| {
        let first = started(seed).disk().changes();
        let last = scenario(seed, None).disk().changes();
        for crash_at in first..last {
            let mut replica = scenario(seed, Some(crash_at));
            assert!(replica.disk().has_crashed(), "equal seeds do equal things");
            replica.end(crash(seed + crash_at));
            recover(&mut replica);
            go_on(&mut replica);
        }
    });
}

#[test]
fn a_crash_in_recovery_changes_nothing() {
    for_seeds("crash in recovery", 4, |seed| {
        let first = started(seed).disk().changes();
        let last = scenario(seed, None).disk().changes();
        for crash_at in first..last {
            let mut replica = scenario(seed, Some(crash_at));
            replica.end(crash(crash_at));
            let mut whole = replica.fork();
            recover(&mut whole);
            for again_at in replica.disk().changes()..whole.disk().changes() {
                let mut again = replica.fork();
                again.disk().plan(Faults {
                    crash_at: Some(again_at),
                    ..Faults::default()
                });
                // Late operations of the recovery may fail without harm.
                let _ = again.start();
                again.end(crash(again_at + seed));
                recover(&mut again);
            }
        }
    });
}
