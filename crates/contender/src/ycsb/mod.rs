//! YCSB as Anti-Caching has it (section 4.1): rows of ten texts of 100 bytes; a transaction reads a row, or
//! overwrites one of its texts. The newest rows are the hottest.
//!
//! A contender is a process that has loaded its rows and then does one [`Task`] after the other:
//!
//! 1. It loads ([`row`] has the texts), and prints what it is: a [`Loaded`].
//! 2. A check: some rows are updated and read one at a time, by one client and the next. What is read must
//!    be exactly what was written.
//! 3. Each line of its input is a task: a mix and a skew. All clients draw transactions ([`transaction`])
//!    and run them until it is time; the first seconds warm up and do not count. It prints a
//!    [`TaskReport`].
//! 4. It ends with its input.
//!
//! Drawing and checking are the clients' work, inside the clock, on all sides. A transaction counts when
//! it is acknowledged: what it has changed is durable.

mod check;
mod measure;
pub mod report;
pub mod row;
pub mod transaction;

use std::io::{BufRead, Write};

use anyhow::{Context, Result};
use clap::Args;

pub use check::Checks;
pub use report::{Counts, Loaded, Task, TaskReport};
pub use transaction::{Transaction, Update};

use crate::arguments::Arguments;
use crate::disk_use::bytes_on_disk;

/// What a contender is told.
#[derive(Clone, Debug, Args)]
pub struct YcsbArguments {
    /// What all are told.
    #[command(flatten)]
    pub common: Arguments,
    /// Rows
    #[arg(long)]
    pub rows: u64,
}

/// One of those that run transactions; each has a thread of its own.
pub trait Client: Send {
    /// Runs transactions, at the same time where it can. How many have ended since it was called; some may
    /// be under way when it returns, and end in a later call.
    fn run(&mut self, transactions: &[Transaction], checks: &mut Checks) -> Result<u64>;

    /// Waits for all that are under way; how many have ended.
    fn finish(&mut self, checks: &mut Checks) -> Result<u64>;

    /// The texts of a row, one after the other. Nothing is under way.
    fn read(&mut self, key: u64) -> Result<Vec<u8>>;
}

/// A store with its rows, and its clients.
pub trait YcsbSide {
    /// Its clients' type.
    type Client: Client;

    /// The clients.
    fn clients(&mut self) -> &mut [Self::Client];

    /// Transactions that a client is handed at once.
    fn batch(&self) -> usize;

    /// What it has counted so far.
    fn counts(&mut self) -> Result<Counts>;

    /// What only this one can tell of the time since it was asked last: names with units, and values.
    fn marks(&mut self) -> Vec<(String, f64)> {
        Vec::new()
    }

    /// Its settings, in words.
    fn settings(&self) -> String;
}

/// Checks the side, then does the tasks of `input`, and writes what comes out.
pub fn serve(
    side: &mut impl YcsbSide,
    arguments: &YcsbArguments,
    input: impl BufRead,
    mut output: impl Write,
) -> Result<()> {
    check::check_answers(side.clients(), arguments.rows)?;
    let loaded = Loaded {
        settings: side.settings(),
        bytes_on_disk: bytes_on_disk(&arguments.common.folder)?,
    };
    writeln!(output, "{}", serde_json::to_string(&loaded)?)?;
    output.flush()?;
    for line in input.lines() {
        let task: Task = serde_json::from_str(&line?).context("not a task")?;
        let report = measure::run(side, arguments.rows, &task)?;
        writeln!(output, "{}", serde_json::to_string(&report)?)?;
        output.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
