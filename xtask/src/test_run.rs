//! All tests, with debug assertions, and one total at the end.
//!
//! One profile for everything: what takes the time is building DataFusion, and a second profile
//! would build it twice. No test has a bound on time.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::step::{cargo_command, observe};
use crate::{postgres_versions, prerequisites};

/// What is tested.
pub const TESTED: [&str; 18] = [
    "allocator",
    "prefetch",
    "types",
    "env",
    "page",
    "lsm",
    "oltp",
    "procedures",
    "protocol",
    "sim",
    "replication",
    "testbed",
    "contender",
    "tpcc",
    "xtask",
    "sql",
    "hedgerow",
    "bench",
];

/// All tests run, whatever fails.
const TEST: &[&str] = &["test", "--no-fail-fast"];
/// Those of them that start PostgreSQL.
const WITH_POSTGRES: [&str; 2] = ["testbed", "hedgerow"];
/// Names the folder of the programs of the server to test with.
const PROGRAMS_VARIABLE: &str = "HEDGEROW_POSTGRES";

/// What to test with.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Major versions of PostgreSQL: run what starts a server, with each of them
    #[arg(long, value_delimiter = ',')]
    postgres: Vec<u32>,
}

/// A workspace of its own, whose dependencies take long to build and need what nothing else here
/// does; tested by hand: `cargo test --manifest-path crates/peers/Cargo.toml`.
pub const APART: [&str; 1] = ["peers"];

/// Results of test binaries, added up.
#[derive(Debug, Default, PartialEq, Eq)]
struct Total {
    passed: u64,
    failed: u64,
    ignored: u64,
    skipped: Vec<String>,
}

/// Installs what is missing, runs everything, prints the total. Fails after the last test when
/// any of them failed.
pub fn run(options: &Options) -> Result<()> {
    prerequisites::install()?;
    let mut total = Total::default();
    let mut is_content = true;
    if options.postgres.is_empty() {
        is_content = run_packages(&TESTED, &mut cargo_command(TEST), &mut total)?;
    }
    for major in &options.postgres {
        let mut command = cargo_command(TEST);
        command.env(PROGRAMS_VARIABLE, postgres_versions::programs(*major)?);
        let mut of_version = Total::default();
        is_content &= run_packages(&WITH_POSTGRES, &mut command, &mut of_version)?;
        println!("\nPostgreSQL {major}: {}", of_version.counts());
        total.add(of_version);
    }
    total.print();
    ensure!(is_content && total.failed == 0, "tests failed");
    ensure!(total.passed > 0, "no test ran");
    Ok(())
}

/// Runs the tests of packages; whether all went well.
fn run_packages(packages: &[&str], command: &mut Command, total: &mut Total) -> Result<bool> {
    command.args(packages.iter().flat_map(|package| ["-p", package]));
    observe(command, |line| total.take(line))
}

impl Total {
    fn counts(&self) -> String {
        let Self {
            passed,
            failed,
            ignored,
            ..
        } = self;
        format!("{passed} passed, {failed} failed, {ignored} ignored")
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.skipped.extend(other.skipped);
    }

    fn print(&self) {
        println!("\ntotal: {}", self.counts());
        for reason in &self.skipped {
            println!("{reason}");
        }
    }

    /// Adds what a line of a test binary's output tells.
    fn take(&mut self, line: &str) {
        if line.starts_with("skipped: ") {
            self.skipped.push(line.to_owned());
        }
        let Some(counts) = line.strip_prefix("test result: ") else {
            return;
        };
        for count in counts.split(['.', ';']) {
            let mut words = count.split_whitespace();
            let figure = words.next().and_then(|word| word.parse::<u64>().ok());
            match (figure, words.next()) {
                (Some(figure), Some("passed")) => self.passed += figure,
                (Some(figure), Some("failed")) => self.failed += figure,
                (Some(figure), Some("ignored")) => self.ignored += figure,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_add_up_over_test_binaries() {
        let mut total = Total::default();
        total.take("test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out");
        total.take("test names::that_passed ... ok");
        total.take("test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured");
        total.take("skipped: a_full_disk: mounting needs root");
        assert_eq!((total.passed, total.failed, total.ignored), (7, 3, 1));
        assert_eq!(total.skipped.len(), 1);
    }
}
