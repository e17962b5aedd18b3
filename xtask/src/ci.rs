//! What a change must pass: green here is green in CI, because CI calls only this.

use anyhow::Result;

use crate::step::{self, cargo, cargo_command};
use crate::{test_run, tidy};

/// Formatting, lints, documentation, tidy, tests; stops at the first failure.
pub fn run() -> Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    tidy::run()?;
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ])?;
    let documentation = [
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ];
    step::run(cargo_command(&documentation).env("RUSTDOCFLAGS", "-D warnings"))?;
    test_run::run()
}
