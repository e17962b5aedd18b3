//! A contender of the weather experiment: a process that is fed rows and reports what it saw.
//!
//! 1. The process joins the group that has its memory limit: [`Arguments::enter`].
//! 2. It reads records of a fixed size ([`record`]) from its standard input, batch by batch, and
//!    has its store insert them: [`insertion`].
//! 3. Meanwhile the bytes on disk are sampled: [`disk_use`].
//! 4. It prints a [`Report`], one line of JSON, and ends.
//!
//! Ours and the peers differ in what implements [`Contender`] and in nothing else: clock, windows
//! and samples are the same code. Few dependencies, because the peers build it for themselves.

mod arguments;
pub mod disk_use;
mod insertion;
pub mod record;
mod report;

pub use arguments::Arguments;
pub use insertion::{BATCH_ROWS, Contender, WINDOW_ROWS, run};
pub use report::{BatchTimes, Report};
