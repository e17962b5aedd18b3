//! Development tasks: everything a contributor or CI runs, behind one command.
//!
//! * `cargo xtask test`: installs what the tests need and runs them all; `--postgres 14,18` runs those that
//!   start PostgreSQL with these versions.
//! * `cargo xtask ci`: formatting, lints, documentation, tidy, tests: what `.ci/run` calls.
//! * `cargo xtask tidy`: the rules of the code base that compilers do not check.
//! * `cargo xtask fuzz`: hostile and arbitrary input for a parser, with coverage as the guide.
//! * `cargo xtask simulate`: crash states and model operations of the trees, seed after seed.
//! * `cargo xtask kill-primary`: kills of a process with a primary under load, on the real disk.
//! * `cargo xtask soak`, `cargo xtask tpch`: long runs against a real PostgreSQL.

mod ci;
mod fuzz;
mod postgres_versions;
mod prerequisites;
mod step;
mod test_run;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::step::cargo;

/// Development tasks.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install what the tests need (PostgreSQL, drivers) and run all tests
    Test(test_run::Options),
    /// Formatting, lints, documentation, tidy and all tests
    Ci,
    /// Check headers, names, layers, seams and links
    Tidy,
    /// Feed a parser with input that coverage guides
    Fuzz(fuzz::Options),
    /// Check the trees on a simulated disk: crashes, faults, damage, seed after seed
    ///
    /// [--crash-states 1000000] [--operations 10000000] [--seconds 86400] [--seed 1000000]
    /// [--runs N] [--scenario NAME]
    Simulate(PassedOn),
    /// Kill a process with a primary under load; check that nothing acknowledged is lost
    ///
    /// [--kills 500] [--accounts 200000] [--memory-mb 16] [--long-life-seconds 20] [--seed N]
    KillPrimary(PassedOn),
    /// Kill hedgerow, crash PostgreSQL, cut their link and drop the slot under load; check every answer
    ///
    /// [--seconds 120] [--round-seconds 300] [--rate 400] [--kills 20] [--crashes 4] [--cuts 8]
    /// [--slot-drops 1] [--timeline FILE] [--seed N]
    Soak(PassedOn),
    /// Compare the 22 TPC-H answers and sizes with PostgreSQL's
    ///
    /// [--scale 1]
    Tpch(PassedOn),
}

/// Arguments handed on to the program that does the work.
#[derive(Debug, clap::Args)]
struct PassedOn {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Test(options) => test_run::run(&options),
        Task::Ci => ci::run(),
        Task::Tidy => tidy::run(),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Simulate(PassedOn { arguments }) => run_optimised("sim", "simulate", &arguments),
        Task::KillPrimary(PassedOn { arguments }) => {
            run_optimised("testbed", "kill_primary", &arguments)
        }
        Task::Soak(PassedOn { arguments }) => run_in_testbed("soak", &arguments),
        Task::Tpch(PassedOn { arguments }) => run_in_testbed("tpch", &arguments),
    }
}

/// Runs a program of one of the test crates, optimised.
fn run_optimised(package: &str, program: &str, arguments: &[String]) -> Result<()> {
    let own = ["run", "--release", "-p", package, "--bin", program, "--"];
    let passed_on = arguments.iter().map(String::as_str);
    cargo(&own.into_iter().chain(passed_on).collect::<Vec<_>>())
}

/// Builds the binary under test, then runs a program of the `testbed` crate on it.
fn run_in_testbed(program: &str, arguments: &[String]) -> Result<()> {
    prerequisites::install()?;
    cargo(&["build", "--release", "-p", "hedgerow"])?;
    run_optimised("testbed", program, arguments)
}
