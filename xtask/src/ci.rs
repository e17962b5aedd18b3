//! What a change must pass: green here is green in CI, because CI calls only this.

use anyhow::Result;

use crate::step::{self, cargo, cargo_command};
use crate::{test_run, tidy};

/// Formatting, tidy, lints, documentation and all tests; stops at the first failure.
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
    let mut documentation = cargo_command(&["doc", "--workspace", "--no-deps"]);
    step::run(documentation.env("RUSTDOCFLAGS", "-D warnings"))?;
    test_run::run()
}
