//! The 22 query texts, as the `sql` crate's tests hold them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// Numbers of the queries.
pub const NUMBERS: std::ops::RangeInclusive<u8> = 1..=22;

/// The text of query `number`.
pub fn text(number: u8) -> Result<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../sql/tests/tpch/q{number:02}.sql"));
    fs::read_to_string(&path).with_context(|| format!("no query text {}", path.display()))
}
