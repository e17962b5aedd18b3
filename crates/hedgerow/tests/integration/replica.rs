//! A PostgreSQL and its replica, the fixture of most tests.

use anyhow::{Result, ensure};
use postgres::Client;
use tempfile::TempDir;
use testbed::bank::single_value;
use testbed::patience::wait_for;
use testbed::tpch::answers::Answer;
use testbed::{Hedgerow, HedgerowOptions, PostgresOptions, PostgresServer};

/// The source's database.
pub const DATABASE: &str = "postgres";

/// A source and a hedgerow that follows it.
pub struct Replica {
    // Ended in this order: the replica, the source, then their files.
    pub hedgerow: Hedgerow,
    pub postgres: PostgresServer,
    pub folder: TempDir,
    barrier: u64,
}

impl Replica {
    /// Starts a source, runs `setup` in it, and has it copied.
    pub fn of(setup: &str) -> Result<Self> {
        Self::with(setup, &[])
    }

    /// The same, with further arguments of `hedgerow serve`.
    pub fn with(setup: &str, arguments: &[&str]) -> Result<Self> {
        let postgres = source(setup)?;
        let folder = TempDir::with_prefix("testbed-hedgerow-")?;
        let url = postgres.url(DATABASE);
        let options = HedgerowOptions::new(url, &folder.path().join("data"))?.with(arguments);
        let hedgerow = Hedgerow::start_ready(options)?;
        Ok(Self {
            hedgerow,
            postgres,
            folder,
            barrier: 0,
        })
    }

    /// Runs statements at the source.
    pub fn at_source(&self, statements: &str) -> Result<()> {
        self.postgres.execute(DATABASE, statements)
    }

    /// Waits until everything that the source has committed is visible in the replica.
    pub fn catch_up(&mut self) -> Result<()> {
        self.barrier += 1;
        let value = self.barrier.to_string();
        self.at_source(&format!("update testbed_barrier set value = {value}"))?;
        wait_for("the replica to catch up", || {
            let mut client = self.hedgerow.connect()?;
            let seen = single_value(&mut client, "select value from testbed_barrier")?;
            ensure!(
                seen == value,
                "the barrier is at {seen}, not yet at {value}"
            );
            Ok(Some(()))
        })
    }

    /// Catches up; then both must give the same answer to `query`, to the character.
    pub fn ensure_same(&mut self, query: &str) -> Result<()> {
        self.catch_up()?;
        let expected = Answer::ask(&mut self.postgres.connect(DATABASE)?, query)?;
        let answer = Answer::ask(&mut self.connect()?, query)?;
        answer
            .ensure_equal(&expected)
            .map_err(|error| error.context(query.to_owned()))
    }

    /// Waits until `query` gives the same answer at both ends: a table may be being copied.
    pub fn wait_for_same(&mut self, query: &str) -> Result<()> {
        wait_for(&format!("the same answer to {query}"), || {
            Ok(self.ensure_same(query).ok())
        })
    }

    /// Waits until a table has so many rows in the replica: it may be being copied.
    pub fn wait_for_rows(&mut self, table: &str, rows: &str) -> Result<()> {
        wait_for(&format!("{rows} rows in {table}"), || {
            self.catch_up()?;
            Ok(self
                .rows(table)
                .is_ok_and(|found| found == rows)
                .then_some(()))
        })
    }

    /// The number of a table's rows in the replica.
    pub fn rows(&self, table: &str) -> Result<String> {
        single_value(
            &mut self.connect()?,
            &format!("select count(*) from {table}"),
        )
    }

    /// The names of a table's columns in the replica.
    pub fn column_names(&self, table: &str) -> Result<Vec<String>> {
        let statement = self.connect()?.prepare(&format!("select * from {table}"))?;
        let names = statement.columns().iter().map(|c| c.name().to_owned());
        Ok(names.collect())
    }

    /// What the replica warns of.
    pub fn warnings(&self) -> Result<String> {
        let sql = "select coalesce(warnings, '') from hedgerow.sources";
        single_value(&mut self.connect()?, sql)
    }

    /// A connection to the replica.
    pub fn connect(&self) -> Result<Client> {
        self.hedgerow.connect()
    }

    /// The error that the replica answers `query` with: SQLSTATE and all texts.
    pub fn refusal(&self, query: &str) -> Result<(String, String)> {
        refusal(&mut self.connect()?, query)
    }

    /// Ends hedgerow in good order and starts it again.
    pub fn restart(&mut self) -> Result<()> {
        self.hedgerow.stop()?;
        self.hedgerow.start_again()?;
        self.hedgerow.wait_ready()
    }

    /// Kills hedgerow and starts it again.
    pub fn kill_and_restart(&mut self) -> Result<()> {
        self.hedgerow.kill()?;
        self.hedgerow.start_again()?;
        self.hedgerow.wait_ready()
    }
}

/// A statement that writes so many mebibytes of log of which nothing is for a replica.
pub fn fill_log(mib: u32) -> String {
    format!(
        "select count(pg_logical_emit_message(false, 'fill', repeat('x', 1 << 20)))
         from generate_series(1, {mib})"
    )
}

/// A source with the barrier table and whatever `setup` makes.
pub fn source(setup: &str) -> Result<PostgresServer> {
    let postgres = PostgresServer::start(PostgresOptions::default())?;
    postgres.execute(
        DATABASE,
        "create table testbed_barrier (id int primary key, value bigint not null);
         insert into testbed_barrier values (1, 0);",
    )?;
    postgres.execute(DATABASE, setup)?;
    Ok(postgres)
}

/// The error that a server answers `query` with: SQLSTATE and all texts.
pub fn refusal(client: &mut Client, query: &str) -> Result<(String, String)> {
    let Err(error) = client.simple_query(query) else {
        anyhow::bail!("{query} was answered, and should not have been");
    };
    let Some(error) = error.as_db_error() else {
        anyhow::bail!("{query} failed without an answer: {error}");
    };
    let texts = [Some(error.message()), error.detail(), error.hint()];
    Ok((
        error.code().code().to_owned(),
        texts.into_iter().flatten().collect::<Vec<_>>().join("\n"),
    ))
}
