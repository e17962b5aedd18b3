//! Transactions that the server sends while they are still in progress.
//!
//! A large one comes in blocks, between those of others: `S` names the transaction, `E` ends the
//! block. Inside a block every message names the part of the transaction that it belongs to. They
//! are spooled; `A` rolls a part or all of it back, `c` commits it, and only then do its messages
//! go the way of all others, between a beginning and an end that are made here.

use super::pgoutput::{DecodeError, Streamed, decode_streamed};
use super::spool::{Spool, SpoolError, Spools, TransactionId};

/// A message cannot be dealt with.
#[derive(Debug, thiserror::Error)]
pub enum InProgressError {
    /// It cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// It cannot be kept.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// It does not belong where it came.
    #[error("the replication stream is out of order: {0}")]
    OutOfOrder(&'static str),
}

/// What becomes of a message.
pub enum Taken {
    /// It is none of a transaction in progress.
    Ordinary,
    /// It was dealt with.
    Kept,
    /// A transaction has committed.
    Committed(CommittedSpool),
}

/// A transaction that has committed, and what it did.
pub struct CommittedSpool {
    /// The transaction.
    pub transaction: TransactionId,
    /// Its messages; `None` if it had none.
    pub spool: Option<Spool>,
    /// The position of its commit record.
    pub commit_position: u64,
    /// The end of its commit record.
    pub end: u64,
    /// When it committed, microseconds since 2000-01-01 UTC.
    pub commit_time: i64,
}

/// The transactions in progress of one connection after the other.
pub struct InProgress {
    spools: Spools,
    /// The transaction whose block is coming in.
    block: Option<TransactionId>,
}

impl InProgress {
    /// None, yet.
    pub fn new(spools: Spools) -> Self {
        Self {
            spools,
            block: None,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.block.is_none() && self.spools.is_empty()
    }

    /// Forgets all of them: the connection was lost, and they are sent again.
    pub fn reconnect(&mut self) {
        self.spools.clear();
        self.block = None;
    }

    /// Takes a message of the output plugin in, if it is one of a transaction in progress.
    pub fn take(&mut self, payload: &[u8]) -> Result<Taken, InProgressError> {
        let in_block = self.block.is_some();
        match decode_streamed(payload, in_block)? {
            Streamed::Ordinary if in_block => {
                Err(InProgressError::OutOfOrder("a commit inside a block"))
            }
            Streamed::Ordinary => Ok(Taken::Ordinary),
            Streamed::Start { transaction } if !in_block => {
                self.block = Some(transaction);
                Ok(Taken::Kept)
            }
            Streamed::Origin => Ok(Taken::Kept),
            Streamed::Start { .. } => Err(InProgressError::OutOfOrder("a block inside a block")),
            Streamed::Stop => {
                self.block = None;
                Ok(Taken::Kept)
            }
            Streamed::Abort { transaction, part } => {
                self.spools.roll_back(transaction, part)?;
                Ok(Taken::Kept)
            }
            Streamed::Part {
                part,
                kind,
                content,
            } => {
                let transaction = self.block.unwrap_or(part);
                let mut message = Vec::with_capacity(1 + content.len());
                message.push(kind);
                message.extend_from_slice(content);
                self.spools.push(transaction, part, &message)?;
                Ok(Taken::Kept)
            }
            Streamed::Commit {
                transaction,
                commit_position,
                end,
                commit_time,
            } => Ok(Taken::Committed(CommittedSpool {
                transaction,
                spool: self.spools.take(transaction),
                commit_position,
                end,
                commit_time,
            })),
        }
    }
}
