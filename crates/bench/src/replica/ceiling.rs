//! The ceiling: the backlog through pgoutput to nowhere, with the options that hedgerow asks for, which is what
//! the source can deliver.

use std::process::Stdio;
use std::time::Instant;

use anyhow::{Result, ensure};
use testbed::PostgresServer;

use super::backlog::{Backlog, as_lsn};
use super::{DATABASE, rate};

const SLOT: &str = "ceiling";
const PUBLICATION: &str = "ceiling";

/// A slot of its own, so that it gets each backlog, too.
pub struct Ceiling;

impl Ceiling {
    /// Makes a slot, and a publication of this table.
    pub fn new(publisher: &PostgresServer, table: &str) -> Result<Self> {
        publisher.execute(
            DATABASE,
            &format!("create publication {PUBLICATION} for table {table}"),
        )?;
        publisher.execute(
            DATABASE,
            &format!("select pg_create_logical_replication_slot('{SLOT}', 'pgoutput')"),
        )?;
        Ok(Self)
    }

    /// Reads the backlog and throws it away; rows a second.
    pub fn drain(&self, publisher: &PostgresServer, backlog: &Backlog) -> Result<f64> {
        let started = Instant::now();
        let output = publisher
            .client_program("pg_recvlogical")
            .args([
                "--dbname",
                DATABASE,
                "--slot",
                SLOT,
                "--start",
                "--file",
                "/dev/null",
            ])
            .args([
                "--endpos",
                &as_lsn(backlog.end),
                "--fsync-interval",
                "0",
                "--no-loop",
            ])
            .args(["--option", "proto_version=2", "--option", "streaming=on"])
            .args(["--option", &format!("publication_names={PUBLICATION}")])
            .stdin(Stdio::null())
            .output()?;
        ensure!(
            output.status.success(),
            "pg_recvlogical: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(rate(backlog, 1.0, started.elapsed()))
    }
}
