//! What a client asks of a partition, and what becomes of it.

use types::CommitPosition;

use crate::procedure::ProcedureNumber;
use crate::stop::Stop;

/// A procedure with its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The procedure.
    pub procedure: ProcedureNumber,
    /// What it makes of them is its affair.
    pub parameters: &'a [u8],
}

/// Names a call that waits for evicted data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(crate) u64);

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has happened. It must not be acknowledged before the log is durable up to this position.
    Committed(CommitPosition),
    /// It has not happened, and will not.
    Stopped(Stop),
    /// It runs again when its data is in memory; then `poll` has its end.
    Waiting(Ticket),
    /// It was not tried.
    Refused(Refusal),
}

/// Why a call was not tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// As many calls wait for evicted data as may. Try again after `poll`.
    #[error("too many transactions wait for evicted data")]
    TooManyWaiting,
    /// Memory is full, and rows cannot be evicted as fast as they come, or at all.
    #[error("memory is full")]
    MemoryFull,
    /// The log's writer is so far behind that more commits would fill the memory. Try again after
    /// `poll`.
    #[error("too many commits wait for the command log")]
    LogBehind,
    /// The replica has taken so little of the change feed that more commits would fill the memory. Try
    /// again when it has.
    #[error("too many commits wait for the replica")]
    ReplicaBehind,
    /// The parameters are longer than a record of the log may be: 16 MiB.
    #[error("the parameters are too long for the command log")]
    ParametersTooLong,
    /// An earlier failure of the log: nothing could be acknowledged.
    #[error("the command log has failed")]
    Poisoned,
}

/// The end of a call that waited.
#[derive(Clone, Debug)]
pub struct Completion {
    /// The call.
    pub ticket: Ticket,
    /// Committed or stopped.
    pub outcome: Outcome,
    /// What the procedure answered.
    pub reply: Vec<u8>,
}
