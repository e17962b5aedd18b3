//! Every crate takes part in the tests.

use std::fs;

use anyhow::Result;

use super::Finding;
use crate::step::workspace;
use crate::test_run::{APART, TESTED};

/// Crates that `cargo xtask test` would leave out.
pub fn check() -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for entry in fs::read_dir(workspace().join("crates"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !TESTED.contains(&&*name) && !APART.contains(&&*name) {
            findings.push(format!("crate {name}: `cargo xtask test` does not know it"));
        }
    }
    Ok(findings)
}
