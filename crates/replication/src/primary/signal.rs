//! Wakes the primary's thread when there may be something for it to do.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// See the module. What is signalled while nobody waits is seen by the next wait.
#[derive(Default)]
pub(super) struct Signal {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    /// There may be something to do.
    pub(super) fn set(&self) {
        let mut is_set = self.is_set.lock();
        if !*is_set {
            *is_set = true;
            self.changed.notify_one();
        }
    }

    /// Waits until it is set, but not longer than this, and clears it.
    pub(super) fn wait(&self, most: Duration) {
        let mut is_set = self.is_set.lock();
        if !*is_set {
            self.changed.wait_for(&mut is_set, most);
        }
        *is_set = false;
    }
}
