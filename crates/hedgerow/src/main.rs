//! The `hedgerow` program. Everything is in the library.

use std::process::ExitCode;

use clap::Parser;
use hedgerow::cli::Arguments;
use hedgerow::command;

fn main() -> ExitCode {
    allocator::keep_nothing();
    command::run(Arguments::parse())
}
