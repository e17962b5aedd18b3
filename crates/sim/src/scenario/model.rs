//! Without faults: whatever the order of steps, snapshots show what the model says.

use crate::replica::{Replica, Step};

/// Steps of an ordinary run.
pub const STEPS: usize = 400;

/// Steps of a run with compaction buffers: those have older tables to mistake for newer ones only after many
/// merges. Twice as many steps as an ordinary run's found a skipped hole in one run of 300, four times
/// as many in the second.
pub const BUFFERED_STEPS: usize = 4 * STEPS;

/// A running replica with three tables.
///
/// # Panics
/// When the store does not open or make tables, though nothing fails.
pub fn started(seed: u64) -> Replica {
    let mut replica = Replica::new(seed);
    start_with_tables(&mut replica);
    replica
}

/// Starts a new replica and makes three tables.
///
/// # Panics
/// When the store does not open or make tables, though nothing fails.
pub fn start_with_tables(replica: &mut Replica) {
    replica.start().expect("a new store opens");
    for _ in 0..3 {
        replica.step(Step::CreateTable).expect("tables can be made");
    }
}

/// Takes steps, compares everything and stops.
///
/// # Panics
/// At a violation, or when a step fails.
pub fn run(seed: u64, steps: usize) -> Replica {
    take_steps(started(seed), steps)
}

/// The same with compaction buffers in every tree.
///
/// # Panics
/// At a violation, or when a step fails.
pub fn run_buffered(seed: u64, steps: usize) -> Replica {
    let mut replica = Replica::new(seed).with_buffers();
    start_with_tables(&mut replica);
    take_steps(replica, steps)
}

fn take_steps(mut replica: Replica, steps: usize) -> Replica {
    for number in 0..steps {
        let step = replica.random_step();
        if let Err(error) = replica.step(step) {
            panic!("step {number}, {step:?}: {error}; {replica:?}");
        }
    }
    replica.check_everything().expect("nothing fails");
    replica.stop();
    replica
}
