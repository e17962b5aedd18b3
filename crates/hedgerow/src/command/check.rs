//! `hedgerow check`: is the source ready? Changes nothing.

use std::process::ExitCode;

use replication::postgres::preflight::{self, Severity};

use super::serve::describe;
use crate::cli::CheckArguments;
use crate::settings;

/// Checks and tells.
pub fn run(arguments: CheckArguments) -> anyhow::Result<ExitCode> {
    let source = settings::source(arguments.source)?;
    let faults = preflight::check(&source)
        .map_err(|error| anyhow::anyhow!("the source {source} cannot be checked: {error}"))?;
    print!("{}", describe(&faults));
    let errors = faults
        .iter()
        .filter(|fault| fault.severity == Severity::Error)
        .count();
    if errors > 0 {
        println!("\n{source} is not ready: {errors} to mend");
        return Ok(ExitCode::FAILURE);
    }
    println!(
        "{}{source} is ready",
        if faults.is_empty() { "" } else { "\n" }
    );
    Ok(ExitCode::SUCCESS)
}
