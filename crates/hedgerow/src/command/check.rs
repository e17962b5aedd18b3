//! `hedgerow check`: is the source ready? Changes nothing.

use std::process::ExitCode;

use replication::postgres::preflight::{self, Severity};

use replication::postgres::PostgresConfig;

use super::serve::describe;
use crate::cli::CheckArguments;
use crate::primary::{SchemaFile, SchemaFileError};
use crate::settings::{self, PrimarySettings, SourceSettings};

/// Checks and tells.
pub fn run(arguments: CheckArguments) -> anyhow::Result<ExitCode> {
    match settings::source(arguments.source)? {
        SourceSettings::Postgres(source) => check_postgres(&source),
        SourceSettings::Primary(primary) => check_schema(&primary),
    }
}

/// The built-in primary needs nothing but its schema file.
fn check_schema(primary: &PrimarySettings) -> anyhow::Result<ExitCode> {
    let Some(file) = &primary.schema else {
        anyhow::bail!("name the schema file to check: --schema FILE");
    };
    match SchemaFile::read(file) {
        Ok(schema) => {
            println!("{}: {}", file.display(), schema.summary());
            Ok(ExitCode::SUCCESS)
        }
        Err(fault @ SchemaFileError::Fault { .. }) => {
            println!("{fault}");
            Ok(ExitCode::FAILURE)
        }
        Err(error) => Err(error.into()),
    }
}

fn check_postgres(source: &PostgresConfig) -> anyhow::Result<ExitCode> {
    let faults = preflight::check(source)
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
