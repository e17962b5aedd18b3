//! sqlx: what a program that uses it is told at the source and at the replica.
//!
//! The program is a workspace of its own and built here, with what is in its lock file. Each of its
//! lines is a question and its answer. All answers have to be the source's, but for those of
//! [`OTHERWISE`], which have to be others: one that has become the source's is taken off that list.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{run, run_at_source};
use crate::replica::Replica;

const MANIFEST: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/integration/clients/sqlx/Cargo.toml"
);
const BUILD: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/sqlx_client");
const BETWEEN: &str = " => ";

/// How questions begin whose answers differ, and why they do.
const OTHERWISE: &[(&str, &str)] = &[
    ("own types", "a column of an enum is text"),
    ("an enum as a parameter", "a column of an enum is text"),
    ("a list of enums", "a column of an enum is text"),
    ("placed + $1", "an interval as a parameter is read as text"),
    (
        "day = any($1)",
        "a list as a parameter is of numbers or of text",
    ),
    (
        "price = any($1)",
        "a list as a parameter is of numbers or of text",
    ),
    ("counts = $1", "a column of lists is text"),
    (
        "prepared select * from orders",
        "a parameter beside a varchar is a varchar",
    ),
    ("prepared select id, mood", "a column of an enum is text"),
    (
        "described",
        "EXECUTE cannot be explained, and EXPLAIN gives no JSON",
    ),
];

#[test]
fn sqlx_is_told_what_it_is_told_at_the_source() -> Result<()> {
    let program = built()?;
    let replica = Replica::of(include_str!("sqlx/tables.sql"))?;
    let expected = run_at_source(&replica, &mut Command::new(&program))?;
    let told = run(&replica, &mut Command::new(&program))?;
    let (expected, mut told) = (answers(&expected)?, answers(&told)?);
    let mut findings = Vec::new();
    for (question, expected) in expected {
        let told = told.remove(question).unwrap_or("nothing");
        match (told == expected, otherwise(question)) {
            (true, None) | (false, Some(_)) => {}
            (false, None) => findings.push(format!("{question}\n- {expected}\n+ {told}")),
            (true, Some(why)) => findings.push(format!("{question}: no more so: {why}")),
        }
    }
    ensure!(findings.is_empty(), "{}", findings.join("\n"));
    ensure!(told.is_empty(), "only at the replica: {told:?}");
    Ok(())
}

fn otherwise(question: &str) -> Option<&'static str> {
    let mut reasons = OTHERWISE.iter();
    let found = reasons.find(|(beginning, _)| question.starts_with(beginning));
    found.map(|(_, why)| *why)
}

/// Answers by question.
fn answers(text: &str) -> Result<BTreeMap<&str, &str>> {
    let answer = |line| str::split_once(line, BETWEEN).context("a line without an answer");
    text.lines().map(answer).collect()
}

fn built() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").context("cargo runs this")?;
    let mut build = Command::new(cargo);
    build.args(["build", "--locked", "--quiet", "--manifest-path", MANIFEST]);
    let status = build.args(["--target-dir", BUILD]).status()?;
    ensure!(status.success(), "{build:?}: {status}");
    Ok(PathBuf::from(BUILD).join("debug/sqlx_client"))
}
