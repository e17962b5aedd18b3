//! The built-in primary as a source: transactions in memory, followed by the replica in the same process.
//!
//! * [`table`]: a table as the primary keeps it and as its replica describes it.
//! * [`session`]: what clients call procedures through. [`host`]: the thread that runs them; [`file_threads`]:
//!   those that write its log, blocks and snapshots and read blocks.
//! * [`images`]: committed rows as columns. [`source`]: the feed of changes into the apply loop;
//!   [`projections`]: what is wanted of it meanwhile.
//! * [`observed`]: how it is, for whoever watches. [`verify`]: whether the replica equals it.
//!
//! The replica gets what is durable in the primary's log, and nothing else: a crash cannot leave it ahead.
//! The primary keeps what the replica has not made durable, so that both go on from where they were.

mod file_threads;
mod host;
mod images;
pub mod observed;
mod projections;
pub mod session;
mod signal;
pub mod source;
pub mod table;
pub mod verify;

#[cfg(test)]
mod tests;

pub use observed::{Observation, Observed};
pub use session::{Answer, CallError, Calls, Clients, Ended, Session, TakeAnswer};
pub use source::{PrimaryOptions, PrimarySource};
pub use table::PrimaryTable;
pub use verify::PrimaryVerification;
