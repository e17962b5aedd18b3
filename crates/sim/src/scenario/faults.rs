//! Single operations fail. What failed changed nothing that can be seen, and may be tried again;
//! after a failed sync only a new process goes on.

use std::collections::BTreeMap;

use lsm::StoreError;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::model::started;
use crate::disk::{Crash, Fault, Faults};
use crate::replica::{Replica, Step};

const STEPS: usize = 80;

/// Faults that are tried for one seed.
const FAULTS: usize = 4;

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
        check_found(replica, some_crash(number));
        if must_restart(&error, step) {
            replica.end(some_crash(number / 2));
        }
    }
    errors
}

fn some_crash(number: usize) -> Crash {
    [Crash::Kill, Crash::PowerCut { keep: 0.5 }][number % 2]
}

/// Right after an error the process may end: nothing is lost, and nothing is named that is gone.
fn check_found(replica: &Replica, crash: Crash) {
    let mut found = replica.found_after(crash);
    if let Err(error) = found.start() {
        panic!("recovery: {error}; {found:?}");
    }
}

/// A poisoned store is of no more use; a store that met an error when it was opened may have
/// given up a table that is intact.
fn must_restart(error: &StoreError, step: Step) -> bool {
    matches!(error, StoreError::Poisoned(_)) || step == Step::Restart
}

/// Without further faults everything works again, whether the process that met them ends in order
/// or by a power cut.
fn recovers(replica: &mut Replica) {
    replica.disk().plan(Faults::default());
    if !replica.is_running() {
        replica.start().expect("the store opens");
    }
    replica.check_everything().expect("scans work");
    replica.stop();
    replica.start().expect("the store opens");
    replica.step(Step::Flush).expect("flushes work again");
    replica.end(Crash::PowerCut { keep: 0.0 });
    replica.start().expect("the store opens");
}

fn is_of_the_disk(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::DiskFull { .. } | StoreError::Io { .. } | StoreError::Poisoned(_)
    )
}

/// One change of the disk fails; which one, and how, is drawn several times.
///
/// # Panics
/// At a violation.
pub fn one_change(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut whole = started(seed);
    let first = whole.disk().changes();
    run(&mut whole, STEPS, |_| false);
    let last = whole.disk().changes();
    for number in 0..FAULTS {
        let fault = [Fault::Error, Fault::DiskFull][number % 2];
        let mut replica = started(seed);
        replica.disk().plan(Faults {
            changes: BTreeMap::from([(random.random_range(first..last), fault)]),
            ..Faults::default()
        });
        run(&mut replica, STEPS, is_of_the_disk);
        recovers(&mut replica);
    }
}

/// One read fails; which one is drawn several times.
///
/// # Panics
/// At a violation.
pub fn one_read(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut whole = started(seed);
    let first = whole.disk().reads();
    run(&mut whole, STEPS, |_| false);
    let last = whole.disk().reads();
    for _ in 0..FAULTS {
        let mut replica = started(seed);
        replica.disk().plan(Faults {
            reads: BTreeMap::from([(random.random_range(first..last), Fault::Error)]),
            ..Faults::default()
        });
        let is_io = |error: &StoreError| matches!(error, StoreError::Io { .. });
        run(&mut replica, STEPS, is_io);
        recovers(&mut replica);
    }
}

/// Many changes of the disk fail.
///
/// # Panics
/// At a violation.
pub fn many_changes(seed: u64) {
    let mut replica = started(seed);
    let every = 3 + seed % 20;
    let fault = [Fault::Error, Fault::DiskFull][seed as usize % 2];
    let changes = (1..200).map(|number| (number * every, fault)).collect();
    replica.disk().plan(Faults {
        changes,
        ..Faults::default()
    });
    run(&mut replica, STEPS * 2, is_of_the_disk);
    recovers(&mut replica);
}

/// The disk is full for a while. Nothing is lost, reads and reopening go on, and all is well when
/// there is space again. Whether the store was open at the end of that while: it takes a last
/// commit whose mark found no space to keep it from opening.
///
/// # Panics
/// At a violation.
pub fn full_disk(seed: u64) -> bool {
    let mut replica = started(seed);
    run(&mut replica, STEPS, |_| false);
    let room = [0, 4_096, 8_192, 20_000][seed as usize % 4];
    let capacity_bytes = Some(replica.disk().occupied_bytes() + room);
    replica.disk().plan(Faults {
        capacity_bytes,
        ..Faults::default()
    });
    let is_full = |error: &StoreError| matches!(error, StoreError::DiskFull { .. });
    run(&mut replica, STEPS, is_full);
    let was_open = replica.is_running();
    if was_open {
        replica.check_everything().expect("reads go on");
    }
    recovers(&mut replica);
    was_open
}

/// A sync does nothing and says that it was done; then the power is cut. What was acknowledged may
/// be gone: that is not promised. But no wrong row is ever shown, and what can be seen to be
/// missing is named.
///
/// # Panics
/// At a violation.
pub fn lying_drive(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut replica = started(seed);
    let first = replica.disk().changes();
    let lies = (0..4).map(|_| (first + random.random_range(0..200), Fault::Lie));
    replica.disk().plan(Faults {
        changes: lies.collect(),
        ..Faults::default()
    });
    for _ in 0..STEPS {
        let step = replica.random_step();
        if step == Step::Restart {
            continue;
        }
        replica.step(step).expect("nobody notices");
        let mut found = replica.found_after(Crash::PowerCut { keep: 0.0 });
        found.distrust_disk();
        let opened = found.start();
        let is_named = |error: &StoreError| matches!(error, StoreError::Corrupt { .. });
        assert!(opened.as_ref().err().is_none_or(is_named), "{opened:?}");
    }
}
