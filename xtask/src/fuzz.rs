//! Coverage-guided fuzzing with libFuzzer, on the stable compiler.
//!
//! The targets in `fuzz/` are a workspace of their own. They are built with the compiler's
//! coverage counters, which is all that libFuzzer needs, and run for the time asked for on the
//! corpus in `fuzz/corpus/TARGET`. What they find anew stays in `target/fuzz/TARGET`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::ValueEnum;

use crate::step::{self, workspace};

/// Where to fuzz and how long.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// What to fuzz
    target: Target,
    /// How long
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// A program in `fuzz/`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Target {
    /// Hostile pages are read in every way
    ReadPage,
    /// Pages of any cells are written and read again
    WritePage,
    /// Hostile messages of PostgreSQL's replication stream are decoded
    DecodePgoutput,
    /// What a hostile client sends is read, from its first packet to the values of its parameters
    ReadFrontend,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Self::ReadPage => "read_page",
            Self::WritePage => "write_page",
            Self::DecodePgoutput => "decode_pgoutput",
            Self::ReadFrontend => "read_frontend",
        }
    }
}

/// Counters for every edge, a table of their places, and the operands of comparisons.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
     -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
     -Ccodegen-units=1";

/// Given explicitly, so that build scripts are not instrumented, too.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// The longest input: a page of the usual size.
const INPUT_BYTES_MAX: u32 = 40_000;

/// An input that takes longer than this hangs.
const INPUT_SECONDS_MAX: u32 = 10;

/// Builds the target and runs it. Fails when an input makes it crash, hang or take too much
/// memory; the input's path is printed.
pub fn run(options: &Options) -> Result<()> {
    let (name, workspace) = (options.target.name(), workspace());
    let mut build = step::cargo_command(&["build", "--release", "--target", PLATFORM]);
    build
        .args(["--manifest-path", "fuzz/Cargo.toml", "--bin", name])
        .args(["--target-dir", "target/fuzz/build"])
        .env("RUSTFLAGS", COVERAGE);
    step::run(&mut build)?;

    let found = workspace.join("target/fuzz").join(name);
    let corpus = workspace.join("fuzz/corpus").join(name);
    fs::create_dir_all(&found)?;
    if matches!(options.target, Target::ReadPage) {
        write_seeds(&found)?;
    }
    let programs = workspace
        .join("target/fuzz/build")
        .join(PLATFORM)
        .join("release");
    let mut fuzz = Command::new(programs.join(name));
    fuzz.arg(&found)
        .args(corpus.exists().then_some(&corpus))
        .arg(format!("-max_total_time={}", options.seconds))
        .arg(format!("-max_len={INPUT_BYTES_MAX}"))
        .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
        .args(["-print_final_stats=1", "-artifact_prefix=target/fuzz/"])
        .current_dir(&workspace);
    step::run(&mut fuzz)
}

/// Pages of ordinary columns to begin with. The program is built without counters, which only
/// the fuzzer can count.
fn write_seeds(folder: &Path) -> Result<()> {
    let mut seeds = step::cargo_command(&["run", "--release"]);
    seeds
        .args(["--manifest-path", "fuzz/Cargo.toml", "--bin", "seeds"])
        .args(["--target-dir", "target/fuzz/seeds", "--"])
        .arg(folder);
    step::run(&mut seeds)
}
