//! A contender of the experiments weather, trees, rangehot and anticache: a process that is fed rows, does with them
//! what all contenders do, and reports what it saw.
//!
//! 1. The process joins the group that has its memory limit: [`Arguments::enter`].
//! 2. It reads records of a fixed size ([`record`]) from its standard input, batch by batch, and
//!    has its store insert them: [`insertion`]. Meanwhile the bytes on disk are sampled:
//!    [`disk_use`].
//! 3. Or it has a store that was filled so, looks up the keys that it is fed and scans all rows:
//!    [`reading`].
//! 4. Or it makes its rows itself and has them read and overwritten for a while: [`caching`].
//! 5. It prints a [`Report`] or a [`ReadingReport`], one line of JSON, and ends.
//!
//! In the experiment anticache it loads rows, and then does one task after the other: [`ycsb`].
//!
//! Beside that, what needs no feeding: TPC-C's data, transactions and conditions ([`tpcc`]), and Zipf's
//! distribution ([`zipf`]).
//!
//! Ours and the peers differ in what implements [`Contender`], [`Scan`] and [`LookUp`] and in
//! nothing else: clock, windows and samples are the same code. Few dependencies, because the peers
//! build it for themselves.

mod arguments;
pub mod caching;
pub mod cells;
pub mod disk_use;
mod insertion;
mod process_use;
pub mod reading;
mod reading_report;
pub mod record;
mod report;
mod stolen_time;
pub mod tpcc;
pub mod ycsb;
pub mod zipf;

pub use arguments::{Arguments, ReadingArguments};
pub use cells::Cells;
pub use insertion::{BATCH_ROWS, Contender, WINDOW_ROWS, run};
pub use reading::{LookUp, Scan, Wanted};
pub use reading_report::{LookUps, Present, ReadingReport, Scans};
pub use report::{BatchTimes, Report};
