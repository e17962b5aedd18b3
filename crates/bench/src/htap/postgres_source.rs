//! The source: a PostgreSQL with TPC-C's rows in two databases, one that is followed and one that is not.

use std::io::Write;

use anyhow::{Context, Result};
use contender::tpcc::Scale as Rows;
use postgres::Client;
use testbed::{PostgresOptions, PostgresServer};

use super::load;
use super::writers::WRITERS;

/// The tables, as PostgreSQL declares them.
pub const TABLE_DEFINITIONS: &str = include_str!("tables.sql");
const TRANSACTIONS: &str = include_str!("transactions.sql");
const FOLLOWED: &str = "orders";
const NOT_FOLLOWED: &str = "elsewhere";

/// What results say of it.
pub const SETTINGS_IN_WORDS: &str = "PostgreSQL, shared_buffers = 4 GB, work_mem = 256 MB, jit = off, \
     fsync = off, synchronous_commit = on, max_wal_size = 16 GB, autovacuum as it comes";

/// Which of the two databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    /// The one that hedgerow follows.
    Followed,
    /// The same rows, and nobody listens.
    NotFollowed,
}

/// The running server.
#[derive(Debug)]
pub struct PostgresSource {
    server: PostgresServer,
}

impl PostgresSource {
    /// Starts and fills it.
    pub fn start(rows: Rows) -> Result<Self> {
        eprintln!("loading {} warehouses", rows.warehouses);
        let options = PostgresOptions::default()
            .with("shared_buffers", "4GB")
            .with("work_mem", "256MB")
            .with("max_wal_size", "16GB")
            .with("jit", "off");
        let source = Self {
            server: PostgresServer::start(options)?,
        };
        let mut client = source.server.create_database(FOLLOWED)?;
        client.batch_execute(TABLE_DEFINITIONS)?;
        fill(&mut client, rows)?;
        client.batch_execute(TRANSACTIONS)?;
        client.execute(
            "insert into stopwatch select number, 0 from generate_series(0, $1 - 1) number",
            &[&i32::try_from(WRITERS)?],
        )?;
        client.batch_execute("vacuum analyze")?;
        // A database that is a template must have no connections.
        drop(client);
        let statement = format!("create database {NOT_FOLLOWED} template {FOLLOWED}");
        source.server.execute("postgres", &statement)?;
        source.server.execute("postgres", "checkpoint")?;
        Ok(source)
    }

    /// A connection to the database that is followed.
    pub fn connect(&self) -> Result<Client> {
        self.connect_to(Database::Followed)
    }

    /// A connection to one of the two.
    pub fn connect_to(&self, database: Database) -> Result<Client> {
        self.server.connect(match database {
            Database::Followed => FOLLOWED,
            Database::NotFollowed => NOT_FOLLOWED,
        })
    }

    /// Where it is followed.
    pub fn url(&self) -> String {
        self.server.url(FOLLOWED)
    }

    /// The same by way of another port.
    pub fn url_through(&self, port: u16) -> String {
        self.server.url_through(port, FOLLOWED)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// Its first process, the parent of the others.
    pub fn process_id(&self) -> Result<u32> {
        self.server.process_id().context("the source does not run")
    }
}

/// Fills all tables but the stopwatch.
fn fill(client: &mut Client, rows: Rows) -> Result<()> {
    load::each_part(rows, &mut |table, lines| {
        let mut writer = client.copy_in(&format!("copy {table} from stdin"))?;
        writer.write_all(lines.as_bytes())?;
        let finished = writer.finish();
        finished.with_context(|| format!("copy into {table}"))?;
        Ok(())
    })
}
