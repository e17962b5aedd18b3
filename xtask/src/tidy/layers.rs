//! Who may depend on whom, read from `cargo tree`.
//!
//! Nor may the product have bugs that tests can switch on: they are a Cargo feature.
//!
//! The list of a crate's dependencies is searched for names, because `cargo tree -i NAME` also
//! "passes" on a misspelt name.

use std::collections::BTreeSet;

use anyhow::Result;

use super::Finding;
use crate::step::{cargo_command, output, workspace};

/// A crate and what must not be below it; an ending `*` stands for any rest of a name.
const ABSENT: [(&str, &[&str]); 9] = [
    ("types", &["env", "tokio", "datafusion*"]),
    ("env", &["types", "tokio", "datafusion*"]),
    ("page", &["env", "lsm", "tokio", "datafusion*"]),
    (
        "lsm",
        &["oltp", "replication", "sql", "tokio", "datafusion*"],
    ),
    (
        "oltp",
        &["lsm", "replication", "sql", "tokio", "datafusion*"],
    ),
    (
        "procedures",
        &["lsm", "replication", "sql", "tokio", "datafusion*"],
    ),
    ("protocol", &["types", "sql", "tokio", "datafusion*"]),
    ("replication", &["sql", "datafusion*"]),
    // The product: nothing in it uses what tests and experiments are made of.
    (
        "hedgerow",
        &[
            "sim",
            "bench",
            "contender",
            "peers",
            "testbed",
            "tpcc",
            "xtask",
        ],
    ),
];

/// What is shipped.
const PRODUCT: &str = "hedgerow";

/// A feature that nothing shipped may have, and whose it is.
const TEST_FEATURE: (&str, &str) = ("lsm", "museum");

/// Findings over all crates of the list that exist.
pub fn check() -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (package, absent) in ABSENT {
        if !workspace().join("crates").join(package).exists() {
            continue;
        }
        let below = dependencies(package)?;
        for name in absent {
            for found in below.iter().filter(|dependency| matches(dependency, name)) {
                findings.push(format!("crate {package} must not depend on {found}"));
            }
        }
    }
    if has_feature(PRODUCT, TEST_FEATURE)? {
        let (package, feature) = TEST_FEATURE;
        findings.push(format!(
            "{PRODUCT} must not have {package}'s feature {feature}"
        ));
    }
    Ok(findings)
}

/// Whether a shipped crate is built from another one with a feature.
fn has_feature(shipped: &str, (package, feature): (&str, &str)) -> Result<bool> {
    let list = tree(shipped, "{lib} {f}")?;
    let features = |line: &str| {
        let (name, features) = line.split_once(' ')?;
        (name == package).then(|| features.split([',', ' ']).any(|found| found == feature))
    };
    Ok(list.lines().filter_map(features).any(|found| found))
}

/// Names of everything that the shipped crate is built from, itself left out.
fn dependencies(package: &str) -> Result<BTreeSet<String>> {
    let list = tree(package, "{p}")?;
    let names = list
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    Ok(names
        .filter(|name| *name != package)
        .map(str::to_owned)
        .collect())
}

/// Everything that the shipped crate is built from, a line each.
fn tree(package: &str, format: &str) -> Result<String> {
    let edges = ["-e", "normal,build", "--prefix", "none"];
    let arguments = ["tree", "-p", package, "--format", format];
    output(cargo_command(&arguments).args(edges))
}

fn matches(dependency: &str, name: &str) -> bool {
    name.strip_suffix('*')
        .map_or(dependency == name, |beginning| {
            dependency.starts_with(beginning)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_dependencies_is_not_empty_where_there_are_some() -> Result<()> {
        // Guards against a check that passes because it looks at nothing.
        assert!(dependencies("xtask")?.contains("anyhow"));
        Ok(())
    }

    #[test]
    fn features_are_seen() -> Result<()> {
        assert!(has_feature("xtask", ("clap", "derive"))?);
        assert!(!has_feature("xtask", ("clap", "no such feature"))?);
        Ok(())
    }

    #[test]
    fn a_star_stands_for_the_rest_of_a_name() {
        assert!(matches("datafusion-common", "datafusion*"));
        assert!(matches("tokio", "tokio"));
        assert!(!matches("tokio-postgres", "tokio"));
    }
}
