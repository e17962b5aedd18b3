//! Connections whose client has not proven the password yet: so many, and no more.
//!
//! When all places are taken, the oldest such connection is ended. An honest client needs some
//! milliseconds; whoever opens connections and says nothing only drives out others like it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::AbortHandle;

/// All handshakes.
pub struct Handshakes {
    places: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// By age.
    running: BTreeMap<u64, AbortHandle>,
}

impl Handshakes {
    /// Room for so many.
    pub fn new(places: usize) -> Arc<Self> {
        Arc::new(Self {
            places,
            state: Mutex::default(),
        })
    }

    /// Starts a connection's task with `spawn`, which gets the handshake to hold until the
    /// client has proven the password.
    pub fn begin(self: &Arc<Self>, spawn: impl FnOnce(Handshake) -> AbortHandle) {
        let mut state = self.state.lock();
        if state.running.len() >= self.places
            && let Some((_, oldest)) = state.running.pop_first()
        {
            oldest.abort();
        }
        let number = state.next;
        state.next += 1;
        // The lock is held until the task is entered, so that its end cannot come first.
        let task = spawn(Handshake {
            handshakes: self.clone(),
            number,
        });
        state.running.insert(number, task);
    }
}

/// A place among the handshakes, given back when dropped.
pub struct Handshake {
    handshakes: Arc<Handshakes>,
    number: u64,
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.handshakes.state.lock().running.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_handshake_makes_room() {
        let handshakes = Handshakes::new(2);
        let tasks = Mutex::new(Vec::new());
        for _ in 0..3 {
            handshakes.begin(|handshake| {
                let task = tokio::spawn(async move {
                    let _handshake = handshake;
                    std::future::pending::<()>().await;
                });
                let handle = task.abort_handle();
                tasks.lock().push(task);
                handle
            });
        }
        let mut tasks = tasks.into_inner().into_iter();
        let oldest = tasks.next().expect("three tasks").await;
        assert!(oldest.is_err_and(|error| error.is_cancelled()));
        assert!(tasks.all(|task| !task.is_finished()));
        assert_eq!(handshakes.state.lock().running.len(), 2);
    }
}
