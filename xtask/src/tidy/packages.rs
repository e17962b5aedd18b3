//! Every crate takes part in the tests.

use std::fs;

use anyhow::Result;

use super::Finding;
use crate::step::workspace;
use crate::test_run::{APART, HEAVY, LIGHT};

/// Crates that `cargo xtask test` would leave out.
pub fn check() -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for entry in fs::read_dir(workspace().join("crates"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let known = [&LIGHT[..], &HEAVY, &APART];
        if !known.iter().any(|crates| crates.contains(&&*name)) {
            findings.push(format!("crate {name}: `cargo xtask test` does not know it"));
        }
    }
    Ok(findings)
}
