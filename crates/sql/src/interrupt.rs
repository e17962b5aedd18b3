//! What ends a statement before it is done: a cancel request, or its time.
//!
//! A session has one [`Interrupts`]. It begins anew with each statement, and each time that a client
//! asks for more rows of an earlier one: the time between counts for none. Statements of a session run
//! one at a time, so whatever of it waits is what is meant.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::error::SqlError;

/// A session's end of it.
pub(crate) struct Interrupts(watch::Sender<Current>);

/// About what runs now.
#[derive(Clone, Copy, Default)]
struct Current {
    canceled: bool,
    deadline: Option<Instant>,
}

impl Interrupts {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Current::default()))
    }

    /// Something begins that may take so long.
    pub(crate) fn begin(&self, timeout: Option<Duration>) -> Interrupt {
        self.0.send_replace(Current {
            canceled: false,
            deadline: timeout.map(|timeout| Instant::now() + timeout),
        });
        Interrupt(self.0.subscribe())
    }

    /// Ends what runs now. Nothing happens to what begins later.
    pub(crate) fn cancel(&self) {
        self.0.send_modify(|current| current.canceled = true);
    }
}

/// The end of whatever can be interrupted.
#[derive(Clone)]
pub(crate) struct Interrupt(watch::Receiver<Current>);

impl Interrupt {
    /// Completes, with the reason, when what runs now has to end.
    pub(crate) async fn raised(&mut self) -> SqlError {
        loop {
            let current = *self.0.borrow_and_update();
            if current.canceled {
                return SqlError::canceled();
            }
            tokio::select! {
                changed = self.0.changed() => if changed.is_err() {
                    // The session has ended, and nobody can ask for anything any more.
                    std::future::pending::<()>().await;
                },
                () = until(current.deadline) => return SqlError::timed_out(),
            }
        }
    }
}

/// Completes at the deadline, if there is one.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn raised(interrupt: &mut Interrupt) -> Option<String> {
        let error = interrupt.raised().now_or_never();
        error.map(|error| error.message)
    }

    #[tokio::test]
    async fn what_begins_anew_has_all_its_time() {
        let interrupts = Interrupts::new();
        let mut over = interrupts.begin(Some(Duration::ZERO));
        let error = over.raised().await;
        assert!(error.message.ends_with("statement timeout"), "{error}");
        let mut next = interrupts.begin(Some(Duration::from_secs(3600)));
        assert_eq!(raised(&mut next), None);
        // The rows that come next of the same statement.
        assert_eq!(raised(&mut over), None);
    }

    #[tokio::test]
    async fn a_cancel_ends_what_runs_and_not_what_begins_after_it() {
        let interrupts = Interrupts::new();
        interrupts.cancel();
        let mut interrupt = interrupts.begin(None);
        assert_eq!(raised(&mut interrupt), None);
        interrupts.cancel();
        let message = raised(&mut interrupt).expect("it is cancelled");
        assert!(message.ends_with("user request"), "{message}");
    }
}
