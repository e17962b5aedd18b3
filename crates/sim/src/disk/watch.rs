//! Looking at a disk in the middle of an operation, and doing something else meanwhile.
//!
//! A watcher is called before every operation that changes something, in the thread that asked
//! for it and with no lock held. It can make the disk that would be found if the process ended
//! just then, as often as it likes and without ending it; or call the store as another thread
//! would.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::handle::{Place, part_of_append};
use super::{Crash, SimulatedDisk};

/// Called before each operation that changes something.
pub type Watcher = Arc<dyn Fn(&Moment<'_>) + Send + Sync>;

/// An operation is about to happen.
pub struct Moment<'a> {
    disk: &'a SimulatedDisk,
    /// What is being written, and where.
    written: Option<(Place, &'a [u8])>,
    /// The file or directory.
    pub path: &'a Path,
}

impl Moment<'_> {
    /// The disk that is found if the process ends in the middle of the operation. `seed` decides
    /// what a power cut keeps, and how much of an append happened.
    pub fn found_after(&self, crash: Crash, seed: u64) -> SimulatedDisk {
        let mut random = StdRng::seed_from_u64(seed);
        let mut world = self.disk.world();
        let Some((place, bytes)) = self.written else {
            return SimulatedDisk::of(world.after(crash, &mut random));
        };
        let before = world.file(place.file).clone();
        let part = part_of_append(bytes.len(), &mut random);
        let file = world.file(place.file);
        file.write(place.offset, &bytes[..part]);
        let found = world.after(crash, &mut random);
        *world.file(place.file) = before;
        SimulatedDisk::of(found)
    }
}

impl SimulatedDisk {
    /// Sets the watcher, in place of the one before, or none. Copies of the disk have none.
    pub fn watch(&self, watcher: Option<Watcher>) {
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = watcher;
    }

    /// Calls the watcher.
    pub(super) fn pause(&self, path: &Path, written: Option<(Place, &[u8])>) {
        let watcher = self.watcher.lock();
        let watcher = watcher.unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(watcher) = watcher.filter(|_| !self.has_crashed()) {
            watcher(&Moment {
                disk: self,
                written,
                path,
            });
        }
    }
}
