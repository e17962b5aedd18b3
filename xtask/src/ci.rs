//! What a change must pass: green here is green in CI, because CI calls only this.

use anyhow::Result;

use crate::step::{self, cargo, cargo_command};
use crate::{test_run, tidy};

/// Module headers may name the modules below, most of which are private.
const DOCUMENTATION_LINTS: &str = "-D warnings -A rustdoc::private_intra_doc_links";

/// Workspaces of their own, which `cargo fmt --all` does not find.
const WORKSPACES_APART: [&str; 2] = [
    "crates/peers/Cargo.toml",
    "crates/hedgerow/tests/integration/clients/sqlx/Cargo.toml",
];

/// Formatting, tidy, lints, documentation and all tests; stops at the first failure.
pub fn run() -> Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    for apart in WORKSPACES_APART {
        cargo(&["fmt", "--manifest-path", apart, "--check"])?;
    }
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
    step::run(cargo_command(&documentation).env("RUSTDOCFLAGS", DOCUMENTATION_LINTS))?;
    test_run::run(&test_run::Options::default())
}
