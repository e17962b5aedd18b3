//! What people want of the running source: that a projection begins, or ends.
//!
//! Only the source knows a place in its log from which on it tells the former cells that a projection
//! needs. So statements put requests into a queue that the source looks into between transactions. The
//! queue is the catalog's, which both know.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use types::TableName;

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A projection that there is not yet.
    Create {
        /// Its name.
        name: String,
        /// Its table.
        table: TableName,
        /// The columns that it is ordered by.
        order_by: Vec<String>,
    },
    /// One projection less.
    Drop {
        /// Its name.
        name: String,
    },
}

/// Why a source does not do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is not possible.
    pub reason: String,
    /// What can be done about it.
    pub hint: Option<String>,
}

impl Refusal {
    /// A refusal of which nothing more is to be said.
    pub fn because(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            hint: None,
        }
    }
}

/// A wish, and whom to answer.
#[derive(Debug)]
pub struct Request {
    /// What is wanted.
    pub wish: Wish,
    answer: Sender<Result<(), Refusal>>,
    given_up: Arc<AtomicBool>,
}

impl Request {
    /// Whether nobody waits for it any more: then it must not be carried out.
    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }

    /// Tells whoever waits that the apply loop has been told, or why not.
    pub fn answer(self, answer: Result<(), Refusal>) {
        // Who asked may have lost patience this very moment.
        _ = self.answer.send(answer);
    }
}

/// The queue.
#[derive(Clone, Debug)]
pub struct Requests {
    sender: Sender<Request>,
    receiver: Receiver<Request>,
}

impl Default for Requests {
    fn default() -> Self {
        let (sender, receiver) = unbounded();
        Self { sender, receiver }
    }
}

impl Requests {
    /// Asks the running source, and waits until the apply loop has been told.
    pub fn ask(&self, wish: Wish, patience: Duration) -> Result<(), Refusal> {
        let (answer, answered) = bounded(1);
        let given_up = Arc::<AtomicBool>::default();
        let request = Request {
            wish,
            answer,
            given_up: given_up.clone(),
        };
        let silent = || Refusal {
            reason: "the source does not answer".to_owned(),
            hint: Some(
                "It is not followed at the moment, or in the middle of a large transaction; \
                 hedgerow.sources shows its state. Try again later."
                    .to_owned(),
            ),
        };
        self.sender.send(request).map_err(|_| silent())?;
        match answered.recv_timeout(patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                given_up.store(true, Ordering::Release);
                Err(silent())
            }
        }
    }

    /// The next request that somebody still waits for.
    pub fn next(&self) -> Option<Request> {
        self.receiver
            .try_iter()
            .find(|request| !request.is_given_up())
    }
}
