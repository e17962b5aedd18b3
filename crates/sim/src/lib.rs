//! Simulation: the shipped engines on a simulated disk, held against a model.
//!
//! * [`disk`]: a disk that loses, keeps and tears what was not synced.
//! * [`clock`]: a clock that stands still until it is moved.
//! * [`model`], [`source`], [`tables`]: what the trees must show, and a made-up source.
//! * [`replica`]: the store, fed from the source and checked against the model by [`compare`].
//! * [`scenario`]: what is done to a replica, given a seed; [`campaign`]: a long run of them.
//!
//! Nothing in the product uses this crate.

pub mod campaign;
pub mod clock;
pub mod compare;
pub mod disk;
pub mod model;
pub mod replica;
pub mod scenario;
pub mod source;
pub mod tables;

use std::sync::Arc;

use env::{Clock, Env};

pub use clock::SimulatedClock;
pub use disk::{Crash, Fault, Faults, SimulatedDisk};
pub use replica::{Replica, Step};

/// An environment whose disk is simulated and whose clock stands still.
pub fn environment(disk: &SimulatedDisk) -> Env {
    environment_with(disk, &Arc::default())
}

/// An environment whose disk and clock are simulated.
pub fn environment_with(disk: &SimulatedDisk, clock: &Arc<SimulatedClock>) -> Env {
    Env {
        disk: Arc::new(disk.clone()),
        clock: Arc::clone(clock) as Arc<dyn Clock>,
    }
}
