//! Sessions: how clients in the process call the primary's procedures.
//!
//! 1. A client submits calls, as many ahead as it likes, up to the length of the queue.
//! 2. The primary runs the calls of a session one after another: while one waits for evicted data, those
//!    behind it wait too; other sessions go on.
//! 3. Each call is answered, in the order of the calls, when it and everything before it is on disk.
//!
//! Does not: go over the network.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use oltp::{ProcedureNumber, Refusal, RowsDigest, Stop};
use types::CommitPosition;

use super::signal::Signal;

/// Calls of a session that may wait to be run, or to be answered.
const QUEUE_CALLS: usize = 1_024;

/// A call that was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The procedure, or a rule of a table, has stopped it. Nothing of it remains.
    #[error(transparent)]
    Stopped(Stop),
    /// It was not tried.
    #[error(transparent)]
    Refused(Refusal),
}

/// What became of a call.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Everything up to this position is on disk, the call's changes among it.
    pub outcome: Result<CommitPosition, CallError>,
    /// What the call has seen, whatever became of it: the primary as it was at this position.
    pub position: CommitPosition,
    /// What the procedure says.
    pub reply: Vec<u8>,
}

/// The primary has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the primary has ended")]
pub struct Ended;

/// A call on its way.
pub(super) struct Submitted {
    pub(super) procedure: ProcedureNumber,
    pub(super) parameters: Vec<u8>,
}

/// The primary's side of a session.
pub(super) struct SessionQueue {
    pub(super) calls: Receiver<Submitted>,
    pub(super) answers: TakeAnswer,
}

/// Takes the answers to a session's calls, in their order. `false`: nobody wants them any more.
pub type TakeAnswer = Box<dyn FnMut(Answer) -> bool + Send>;

/// What the primary's tables hold at one position.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The position.
    pub position: CommitPosition,
    /// Of each table: its rows, and their digest.
    pub tables: Vec<(u64, RowsDigest)>,
}

/// What is asked of the primary beside calls.
pub(super) enum Request {
    /// To serve one more session.
    Open(SessionQueue),
    /// To tell what its tables hold.
    Inspect(Sender<Inspection>),
}

/// Opens sessions. Calls that are submitted before the primary is open wait for it.
#[derive(Clone)]
pub struct Clients {
    requests: Sender<Request>,
    signal: Arc<Signal>,
}

impl Clients {
    /// The clients, and where the primary finds what they ask.
    pub(super) fn new(signal: Arc<Signal>) -> (Self, Receiver<Request>) {
        let (requests, asked) = unbounded();
        (Self { requests, signal }, asked)
    }

    /// Opens a session. It lasts until it is dropped.
    pub fn session(&self) -> Result<Session, Ended> {
        let (answered, answers) = unbounded();
        let take = move |answer| answered.send(answer).is_ok();
        let calls = self.session_with(Box::new(take))?;
        Ok(Session { calls, answers })
    }

    /// Opens a session whose answers are taken in the primary's thread, which must not wait for anything. When
    /// the primary ends, `answers` is dropped.
    pub fn session_with(&self, answers: TakeAnswer) -> Result<Calls, Ended> {
        let (calls, submitted) = bounded(QUEUE_CALLS);
        let queue = SessionQueue {
            calls: submitted,
            answers,
        };
        self.requests
            .send(Request::Open(queue))
            .map_err(|_| Ended)?;
        Ok(Calls {
            calls,
            signal: Arc::clone(&self.signal),
        })
    }
}

impl Clients {
    /// Has the primary look at all its rows, between two calls. It stands still for that long.
    pub fn inspect(&self) -> Result<Inspection, Ended> {
        let (told, inspection) = bounded(1);
        self.requests
            .send(Request::Inspect(told))
            .map_err(|_| Ended)?;
        self.signal.set();
        inspection.recv().map_err(|_| Ended)
    }
}

/// Where the calls of a session go.
pub struct Calls {
    calls: Sender<Submitted>,
    signal: Arc<Signal>,
}

impl Calls {
    /// Submits a call; waits while the queue is full.
    pub fn submit(&self, procedure: ProcedureNumber, parameters: Vec<u8>) -> Result<(), Ended> {
        let call = Submitted {
            procedure,
            parameters,
        };
        self.calls.send(call).map_err(|_| Ended)?;
        self.signal.set();
        Ok(())
    }
}

/// See the module.
pub struct Session {
    calls: Calls,
    answers: Receiver<Answer>,
}

impl Session {
    /// Submits a call; waits while the queue is full.
    pub fn submit(&self, procedure: ProcedureNumber, parameters: Vec<u8>) -> Result<(), Ended> {
        self.calls.submit(procedure, parameters)
    }

    /// The answer to the first call that has none yet: waits for it, but not longer than this.
    pub fn answer(&self, most: Duration) -> Result<Option<Answer>, Ended> {
        match self.answers.recv_timeout(most) {
            Ok(answer) => Ok(Some(answer)),
            Err(crossbeam_channel::RecvTimeoutError::Timeout) => Ok(None),
            Err(crossbeam_channel::RecvTimeoutError::Disconnected) => Err(Ended),
        }
    }
}
