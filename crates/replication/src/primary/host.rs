//! The primary's thread: runs the calls of all sessions, one after another.
//!
//! A round:
//! 1. new sessions come in, and those whose clients have gone leave; who asks is told what the tables hold;
//! 2. some calls of each session run, unless its last one waits for evicted data;
//! 3. the partition takes what came from disk, goes on with calls that waited, and evicts;
//! 4. what has become durable is answered, in the order in which it happened.
//!
//! With nothing to do it sleeps until a client, or a thread that works on files, wakes it.
//!
//! **Invariant:** an answer goes out only when everything that it may have seen is on disk.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, TryRecvError};
use env::Clock;
use oltp::{Call, Completion, Outcome, Partition, PrimaryError, Refusal, Ticket};
use types::CommitPosition;

use super::session::{Answer, CallError, Inspection, Request, SessionQueue, Submitted, TakeAnswer};
use super::signal::Signal;
use crate::source::Stop;

/// Calls of a session in a round.
const CALLS_A_ROUND: usize = 64;
/// How long the thread sleeps at most.
const SLEEP_MAX: Duration = Duration::from_millis(20);
/// The same while a snapshot is made, of which every round copies a slice: 16 MB a second if nobody calls. Without a
/// pause the disk would have bursts of it, and commits would wait for those.
const SLICE_PAUSE: Duration = Duration::from_millis(1);
/// For so long memory may be full, and rows be evicted, before calls are refused for it.
const FULL_PATIENCE: Duration = Duration::from_secs(2);

/// A session, as the primary sees it.
struct Served {
    calls: Receiver<Submitted>,
    answers: TakeAnswer,
    /// A call that was refused for now.
    again: Option<Next>,
    /// Its call that waits for evicted data.
    waits: Option<Ticket>,
    has_gone: bool,
}

/// A call that is to be run.
struct Next {
    call: Submitted,
    /// Whether it was refused before.
    was_refused: bool,
}

/// An answer that waits for the disk.
struct Unanswered {
    position: CommitPosition,
    session: u64,
    answer: Answer,
}

/// See the module.
pub(super) struct Host {
    partition: Partition,
    requests: Receiver<Request>,
    sessions: BTreeMap<u64, Served>,
    next_session: u64,
    unanswered: VecDeque<Unanswered>,
    completed: Vec<Completion>,
    reply: Vec<u8>,
    /// Since when calls have been refused for want of memory.
    full_since: Option<Duration>,
    clock: Arc<dyn Clock>,
    signal: Arc<Signal>,
    stop: Stop,
}

/// What the thread is made of.
pub(super) struct HostParts {
    pub(super) partition: Partition,
    pub(super) requests: Receiver<Request>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) signal: Arc<Signal>,
    pub(super) stop: Stop,
}

impl Host {
    pub(super) fn new(parts: HostParts) -> Self {
        let HostParts {
            partition,
            requests,
            clock,
            signal,
            stop,
        } = parts;
        Self {
            partition,
            requests,
            sessions: BTreeMap::new(),
            next_session: 0,
            unanswered: VecDeque::new(),
            completed: Vec::new(),
            reply: Vec::new(),
            full_since: None,
            clock,
            signal,
            stop,
        }
    }

    /// Runs calls until told to stop. An error means that nothing can be acknowledged any more.
    pub(super) fn run(&mut self) -> Result<(), PrimaryError> {
        while !self.stop.is_set() {
            self.take_requests();
            let has_run = self.run_calls();
            self.partition.poll(&mut self.completed)?;
            self.take_completed();
            let has_answered = self.answer_durable();
            if !has_run && !has_answered {
                self.signal.wait(match self.partition.is_copying() {
                    true => SLICE_PAUSE,
                    false => SLEEP_MAX,
                });
            }
        }
        Ok(())
    }

    fn take_requests(&mut self) {
        while let Ok(request) = self.requests.try_recv() {
            match request {
                Request::Open(queue) => self.open_session(queue),
                // Whoever has asked may have gone.
                Request::Inspect(told) => _ = told.send(self.inspect()),
            }
        }
        self.sessions
            .retain(|_, served| !served.has_gone || served.waits.is_some());
    }

    fn open_session(&mut self, SessionQueue { calls, answers }: SessionQueue) {
        let served = Served {
            calls,
            answers,
            again: None,
            waits: None,
            has_gone: false,
        };
        self.sessions.insert(self.next_session, served);
        self.next_session += 1;
    }

    fn inspect(&self) -> Inspection {
        let statistics = self.partition.table_statistics();
        let rows = statistics
            .iter()
            .map(|table| (table.rows_in_memory + table.rows_evicted) as u64);
        Inspection {
            position: self.partition.position(),
            tables: rows.zip(self.partition.digests()).collect(),
        }
    }

    /// Runs some calls of each session. Says whether there was one.
    fn run_calls(&mut self) -> bool {
        let mut has_run = false;
        let mut sessions = std::mem::take(&mut self.sessions);
        for (&session, served) in &mut sessions {
            for _ in 0..CALLS_A_ROUND {
                if served.waits.is_some() {
                    break;
                }
                let Some(next) = self.next_call(served) else {
                    break;
                };
                if !self.run_call(session, served, next) {
                    break;
                }
                has_run = true;
            }
        }
        self.sessions = sessions;
        has_run
    }

    fn next_call(&self, served: &mut Served) -> Option<Next> {
        if let Some(again) = served.again.take() {
            return Some(again);
        }
        match served.calls.try_recv() {
            Ok(call) => Some(Next {
                call,
                was_refused: false,
            }),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                served.has_gone = true;
                None
            }
        }
    }

    /// Runs a call. Says whether the session may go on at once.
    fn run_call(&mut self, session: u64, served: &mut Served, mut next: Next) -> bool {
        let call = Call {
            procedure: next.call.procedure,
            parameters: &next.call.parameters,
        };
        let mut reply = std::mem::take(&mut self.reply);
        let outcome = self.partition.execute(call, &mut reply);
        if next.was_refused && outcome != Outcome::Refused(Refusal::MemoryFull) {
            self.full_since = None;
        }
        match outcome {
            Outcome::Committed(position) => self.note(session, position, Ok(position), &reply),
            Outcome::Stopped(stop) => {
                let stopped = Err(CallError::Stopped(stop));
                self.note(session, self.partition.position(), stopped, &[]);
            }
            Outcome::Waiting(ticket) => {
                served.waits = Some(ticket);
            }
            Outcome::Refused(refusal) if self.is_worth_waiting(refusal) => {
                next.was_refused = true;
                served.again = Some(next);
                self.reply = reply;
                return false;
            }
            Outcome::Refused(refusal) => {
                let refused = Err(CallError::Refused(refusal));
                self.note(session, self.partition.position(), refused, &[]);
            }
        }
        self.reply = reply;
        true
    }

    /// Whether a refused call may be taken a little later.
    fn is_worth_waiting(&mut self, refusal: Refusal) -> bool {
        match refusal {
            Refusal::TooManyWaiting | Refusal::LogBehind | Refusal::ReplicaBehind => true,
            Refusal::MemoryFull => {
                let now = self.clock.monotonic();
                now < *self.full_since.get_or_insert(now) + FULL_PATIENCE
            }
            Refusal::ParametersTooLong | Refusal::Poisoned => false,
        }
    }

    /// Takes the ends of calls that have waited.
    fn take_completed(&mut self) {
        for completion in std::mem::take(&mut self.completed) {
            let ticket = Some(completion.ticket);
            let waits = |(_, served): &(&u64, &mut Served)| served.waits == ticket;
            let Some((&session, served)) = self.sessions.iter_mut().find(waits) else {
                unreachable!("a call waits for a session");
            };
            served.waits = None;
            match completion.outcome {
                Outcome::Committed(position) => {
                    self.note(session, position, Ok(position), &completion.reply);
                }
                Outcome::Stopped(stop) => {
                    let stopped = Err(CallError::Stopped(stop));
                    self.note(session, self.partition.position(), stopped, &[]);
                }
                Outcome::Waiting(_) | Outcome::Refused(_) => {
                    unreachable!("a call that has waited commits or stops")
                }
            }
        }
    }

    /// A call has ended: it is answered when this position is durable.
    fn note(
        &mut self,
        session: u64,
        position: CommitPosition,
        outcome: Result<CommitPosition, CallError>,
        reply: &[u8],
    ) {
        let reply = reply.to_vec();
        self.unanswered.push_back(Unanswered {
            position,
            session,
            answer: Answer {
                outcome,
                position,
                reply,
            },
        });
    }

    /// Sends the answers that may go out. Says whether there was one.
    fn answer_durable(&mut self) -> bool {
        let durable = self.partition.durable();
        let mut has_answered = false;
        while self
            .unanswered
            .front()
            .is_some_and(|first| first.position <= durable)
        {
            let first = self.unanswered.pop_front().expect("there is one");
            if let Some(served) = self.sessions.get_mut(&first.session) {
                served.has_gone |= !(served.answers)(first.answer);
            }
            has_answered = true;
        }
        has_answered
    }
}
