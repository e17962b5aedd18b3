//! A condition that threads wait for: work to do, memory to use.
//!
//! Waiting is what threads of the binary do between steps. A simulation calls the steps itself and
//! never waits, so real time does not reach it.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Wakes waiting threads after something changed.
#[derive(Default)]
pub(crate) struct Signal {
    lock: Mutex<()>,
    changed: Condvar,
}

impl Signal {
    /// Wakes all waiting threads. Called after the change that they wait for.
    pub fn notify(&self) {
        // Taking the lock orders the change before the check of a thread about to wait.
        drop(self.lock.lock());
        self.changed.notify_all();
    }

    /// Waits until `condition` holds or the time is over; whether it holds.
    pub fn wait_until(&self, timeout: Duration, condition: impl Fn() -> bool) -> bool {
        let mut lock = self.lock.lock();
        let waited = self
            .changed
            .wait_while_for(&mut lock, |()| !condition(), timeout);
        !waited.timed_out() || condition()
    }
}
