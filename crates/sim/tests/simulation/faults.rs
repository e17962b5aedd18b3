//! Single operations fail. What failed changed nothing that can be seen, and may be tried again;
//! after a failed sync only a new process goes on.

use std::cell::Cell;
use std::collections::BTreeMap;

use lsm::StoreError;
use sim::{Crash, Fault, Faults, Replica, Step};

use crate::model::started;
use crate::runs::for_seeds;

const STEPS: usize = 80;

/// Takes steps, whatever fails; restarts what is poisoned. Returns the number of errors.
fn run(replica: &mut Replica, steps: usize, allowed: impl Fn(&StoreError) -> bool) -> usize {
    let mut errors = 0;
    for number in 0..steps {
        let step = replica.random_step();
        let result = if replica.is_running() {
            replica.step(step)
        } else {
            replica.start()
        };
        let Err(error) = result else { continue };
        errors += 1;
        assert!(
            allowed(&error),
            "step {number}, {step:?}: {error}; {replica:?}"
        );
        if must_restart(&error, step) {
            replica.end(if number % 2 == 0 {
                Crash::Kill
            } else {
                Crash::PowerCut { keep: 0.5 }
            });
        }
    }
    errors
}

/// A poisoned store is of no more use; a store that met an error when it was opened may have
/// given up a table that is intact.
fn must_restart(error: &StoreError, step: Step) -> bool {
    matches!(error, StoreError::Poisoned(_)) || step == Step::Restart
}

/// Without further faults everything works again.
fn recovers(replica: &mut Replica) {
    replica.disk().plan(Faults::default());
    if !replica.is_running() {
        replica.start().expect("the store opens");
    }
    replica.step(Step::Flush).expect("flushes work again");
    replica.check_everything().expect("scans work");
    replica.step(Step::Restart).expect("the store opens");
}

fn is_of_the_disk(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::DiskFull { .. } | StoreError::Io { .. } | StoreError::Poisoned(_)
    )
}

#[test]
fn any_change_of_the_disk_may_fail() {
    for_seeds("failing change", 4, |seed| {
        let mut whole = started(seed);
        let first = whole.disk().changes();
        run(&mut whole, STEPS, |_| false);
        for number in first..whole.disk().changes() {
            for fault in [Fault::Error, Fault::DiskFull] {
                let mut replica = started(seed);
                let changes = BTreeMap::from([(number, fault)]);
                replica.disk().plan(Faults {
                    changes,
                    ..Faults::default()
                });
                run(&mut replica, STEPS, is_of_the_disk);
                recovers(&mut replica);
            }
        }
    });
}

#[test]
fn any_read_may_fail() {
    for_seeds("failing read", 3, |seed| {
        let mut whole = started(seed);
        let first = whole.disk().reads();
        run(&mut whole, STEPS, |_| false);
        let reads = whole.disk().reads();
        let stride = ((reads - first) / 200).max(1) as usize;
        for number in (first..reads).step_by(stride) {
            let mut replica = started(seed);
            let reads = BTreeMap::from([(number, Fault::Error)]);
            replica.disk().plan(Faults {
                reads,
                ..Faults::default()
            });
            run(&mut replica, STEPS, |error| {
                matches!(error, StoreError::Io { .. })
            });
            recovers(&mut replica);
        }
    });
}

#[test]
fn many_changes_may_fail() {
    for_seeds("many failing changes", 60, |seed| {
        let mut replica = started(seed);
        let every = 3 + seed % 20;
        let fault = if seed % 2 == 0 {
            Fault::Error
        } else {
            Fault::DiskFull
        };
        let changes = (1..200).map(|number| (number * every, fault)).collect();
        replica.disk().plan(Faults {
            changes,
            ..Faults::default()
        });
        run(&mut replica, STEPS * 2, is_of_the_disk);
        recovers(&mut replica);
    });
}

/// Nothing is lost, reads and reopening go on, and all is well when there is space again.
#[test]
fn a_full_disk_is_waited_for() {
    let (runs, unopened) = (Cell::new(0), Cell::new(0));
    for_seeds("full disk", 60, |seed| {
        let mut replica = started(seed);
        run(&mut replica, STEPS, |_| false);
        let room = [0, 4_096, 8_192, 20_000][seed as usize % 4];
        let capacity_bytes = Some(replica.disk().occupied_bytes() + room);
        replica.disk().plan(Faults {
            capacity_bytes,
            ..Faults::default()
        });
        run(&mut replica, STEPS, |error| {
            matches!(error, StoreError::DiskFull { .. })
        });
        runs.set(runs.get() + 1);
        if replica.is_running() {
            replica.check_everything().expect("reads go on");
        } else {
            unopened.set(unopened.get() + 1);
        }
        recovers(&mut replica);
    });
    // It takes a last commit whose mark found no space.
    assert!(
        unopened.get() * 20 <= runs.get(),
        "{unopened:?} of {runs:?} stores did not open"
    );
}
