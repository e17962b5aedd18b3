//! The `hedgerow` program. Everything is in the library.

use std::process::ExitCode;

use clap::Parser;
use hedgerow::cli::Arguments;
use hedgerow::{command, open_files};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Err(error) = allocator::give_back_early() {
        eprintln!("error: could not set the allocator up: {error}");
        return ExitCode::FAILURE;
    }
    if let Err(error) = open_files::raise_limit() {
        eprintln!("error: could not raise the limit on open files: {error}");
        return ExitCode::FAILURE;
    }
    command::run(arguments)
}
