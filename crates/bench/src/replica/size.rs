//! Bytes on disk beside PostgreSQL's tables and primary keys.

use std::time::Duration;

use anyhow::Result;
use tempfile::TempDir;
use testbed::soak::settled_bytes;
use testbed::tpch::tables;
use testbed::{Hedgerow, HedgerowOptions, PostgresOptions, PostgresServer};

use super::{DATABASE, say};
use crate::results::Results;

/// Copies TPC-H at a scale factor, without limits, and notes the ratio.
pub fn tpch(results: &mut Results, scale: f64) -> Result<()> {
    say(&format!("TPC-H at scale factor {scale}: size"));
    let folder = TempDir::with_prefix("bench-tpch-")?;
    let postgres = PostgresServer::start(
        PostgresOptions::default()
            .with("max_wal_size", "16GB")
            .with("shared_buffers", "512MB"),
    )?;
    let mut client = postgres.connect(DATABASE)?;
    tables::load(&mut client, scale)?;
    let postgres_bytes = tables::table_and_key_bytes(&mut client)?;
    let options = HedgerowOptions::new(postgres.url(DATABASE), &folder.path().join("data"))?;
    let mut hedgerow = Hedgerow::start(options)?;
    hedgerow.wait_ready_at_most(Duration::from_secs(3600))?;
    let bytes = settled_bytes(&hedgerow)?;
    results.setting("TPC-H scale factor", scale);
    results.figure(
        "R4b",
        ratio(bytes, postgres_bytes),
        "ratio",
        Some("postgresql"),
    );
    Ok(())
}

/// Bytes of the publisher's table and key.
pub fn of_publisher(publisher: &PostgresServer) -> Result<u64> {
    tables::table_and_key_bytes(&mut publisher.connect(DATABASE)?)
}

/// One byte count in terms of another.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
pub fn ratio(bytes: u64, of: u64) -> f64 {
    bytes as f64 / of as f64
}
