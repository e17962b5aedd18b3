//! What a change must pass: green here is green in CI, because CI calls only this.

use std::process::Command;

use anyhow::Result;

use crate::step::{self, cargo, cargo_command};
use crate::test_run::ENGINES;
use crate::{test_run, tidy};

/// Formatting, tidy, lints and tests of the engines, and the main job of the real binary; stops
/// at the first failure.
///
/// Lints and tests of the crates that link DataFusion are not part of it yet: `cargo xtask test`
/// runs those tests.
pub fn run() -> Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    tidy::run()?;
    let lint = ["clippy", "--all-targets"];
    let engines = ENGINES.iter().flat_map(|package| ["-p", package]);
    step::run(
        cargo_command(&lint)
            .args(engines)
            .args(["--", "-D", "warnings"]),
    )?;
    test_run::run_engines()?;
    cargo(&["build", "--release", "-p", "hedgerow"])?;
    let demo = ["demo", "--orders", "50000", "--once"];
    let listen = ["--listen", "127.0.0.1:0"];
    let mut demo_run = Command::new("target/release/hedgerow");
    step::run(demo_run.args(demo).args(listen))
}
