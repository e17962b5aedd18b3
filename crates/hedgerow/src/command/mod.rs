//! The commands of the program, one module each.

pub mod check;
pub mod resync;
pub mod serve;
pub mod sql;
pub mod status;
pub mod verify;

use std::process::ExitCode;

use crate::cli::{Arguments, Command};
use crate::{demo, logging};

/// It could not be found out, for the commands whose 1 means "no".
const UNKNOWN: u8 = 2;

/// Carries out the command line.
pub fn run(arguments: Arguments) -> ExitCode {
    let (result, failure) = match arguments.command {
        Command::Serve(arguments) => (serve::run(*arguments), 1),
        Command::Sql(arguments) => (sql::run(arguments), 1),
        Command::Status(arguments) => (status::run(&arguments), 1),
        Command::Verify(arguments) => (verify::run(&arguments), UNKNOWN),
        Command::Resync(arguments) => (resync::run(&arguments), 1),
        Command::Check(arguments) => (check::run(arguments), UNKNOWN),
        Command::Demo(arguments) => {
            logging::start();
            (demo::run(&arguments).map_err(anyhow::Error::from), 1)
        }
    };
    result.unwrap_or_else(|error| {
        eprintln!("hedgerow: {error:#}");
        ExitCode::from(failure)
    })
}

/// Runs a client's work on this thread.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work)
}
