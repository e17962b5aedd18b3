//! Connections whose client has not proven the password yet: so many, and no more.
//!
//! When all places are taken, the oldest connection of the most numerous stage is ended. Whoever
//! opens many connections and always stops at the same point, to say nothing, to stop half-way, to
//! guess, drives out others like it; an honest client, which needs some milliseconds for each
//! stage, is in one that is not crowded, or among its youngest.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::AbortHandle;

/// How far a client has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It has said nothing that is complete.
    Silent,
    /// It has said who it is.
    Asking,
    /// It has been asked to prove the password.
    Proving,
    /// It could not, and is not told yet.
    Refused,
}

/// All handshakes.
pub struct Handshakes {
    places: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// By age.
    running: BTreeMap<u64, Running>,
}

struct Running {
    stage: Stage,
    task: AbortHandle,
}

impl State {
    /// The oldest of the most numerous stage.
    fn victim(&self) -> Option<u64> {
        let mut counts = BTreeMap::new();
        for running in self.running.values() {
            *counts.entry(running.stage).or_insert(0) += 1;
        }
        let (crowded, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let mut oldest_first = self.running.iter();
        oldest_first
            .find(|(_, running)| running.stage == crowded)
            .map(|(number, _)| *number)
    }
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
            && let Some(victim) = state.victim()
            && let Some(running) = state.running.remove(&victim)
        {
            running.task.abort();
        }
        let number = state.next;
        state.next += 1;
        // The lock is held until the task is entered, so that its end cannot come first.
        let task = spawn(Handshake {
            handshakes: self.clone(),
            number,
        });
        let stage = Stage::Silent;
        state.running.insert(number, Running { stage, task });
    }
}

/// A place among the handshakes, given back when dropped.
pub struct Handshake {
    handshakes: Arc<Handshakes>,
    number: u64,
}

impl Handshake {
    /// The client has come so far.
    pub fn reach(&self, stage: Stage) {
        let mut state = self.handshakes.state.lock();
        if let Some(running) = state.running.get_mut(&self.number) {
            running.stage = stage;
        }
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.handshakes.state.lock().running.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinHandle;

    use super::*;

    /// Begins a handshake that reaches `stage` and stays there.
    async fn begin(handshakes: &Arc<Handshakes>, stage: Stage) -> JoinHandle<()> {
        let (reached, wait) = tokio::sync::oneshot::channel();
        let mut begun = None;
        handshakes.begin(|handshake| {
            let task = tokio::spawn(async move {
                handshake.reach(stage);
                reached.send(()).expect("somebody waits");
                std::future::pending::<()>().await;
            });
            let abort = task.abort_handle();
            begun = Some(task);
            abort
        });
        wait.await.expect("it is reached");
        begun.expect("a task")
    }

    async fn is_ended(task: JoinHandle<()>) -> bool {
        task.await.is_err_and(|error| error.is_cancelled())
    }

    #[tokio::test]
    async fn the_oldest_handshake_makes_room() {
        let handshakes = Handshakes::new(2);
        let oldest = begin(&handshakes, Stage::Silent).await;
        let others = [
            begin(&handshakes, Stage::Silent).await,
            begin(&handshakes, Stage::Silent).await,
        ];
        assert!(is_ended(oldest).await);
        assert!(others.iter().all(|task| !task.is_finished()));
        assert_eq!(handshakes.state.lock().running.len(), 2);
    }

    #[tokio::test]
    async fn who_comes_on_is_not_driven_out_by_those_who_stop() {
        let handshakes = Handshakes::new(4);
        let honest = begin(&handshakes, Stage::Proving).await;
        for stage in [Stage::Silent, Stage::Asking, Stage::Refused] {
            for _ in 0..10 {
                begin(&handshakes, stage).await;
            }
        }
        assert!(!honest.is_finished());
        // Nor can those be who hold their places at its own stage for ever.
        for _ in 0..10 {
            begin(&handshakes, Stage::Proving).await;
        }
        assert!(is_ended(honest).await);
    }
}
