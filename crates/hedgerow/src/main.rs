//! The `hedgerow` program. Everything is in the library.

use std::process::ExitCode;

use clap::Parser;
use hedgerow::cli::Arguments;
use hedgerow::command;

// Batches of columns come and go on many threads; the system's allocator keeps what they leave
// behind.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    command::run(Arguments::parse())
}
