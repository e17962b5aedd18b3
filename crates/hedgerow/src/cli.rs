//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Deserialize;

use crate::byte_size::ByteSize;
use crate::demo::DemoArguments;

/// A live, compressed, queryable copy of a database.
///
/// Hedgerow follows the replication log of a PostgreSQL server, or of its own primary, and answers any
/// PostgreSQL client in SQL, always exactly as the source was at one commit.
#[derive(Debug, Parser)]
#[command(
    name = "hedgerow",
    version,
    after_help = "Begin here:\n  \
        hedgerow demo                                          see it work, nothing needed\n  \
        hedgerow check --source postgres://user@host/db        is the source ready?\n  \
        hedgerow serve --source postgres://user@host/db --data DIR\n  \
        hedgerow serve --source primary --schema FILE --data DIR\n  \
        hedgerow sql --data DIR \"select count(*) from orders\"\n  \
        hedgerow status --data DIR                             how far behind is it?\n  \
        hedgerow verify --data DIR                             does it equal the source?\n  \
        hedgerow resync --data DIR orders                      copy one table again"
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Copy a source, follow it, and answer PostgreSQL clients
    Serve(Box<ServeArguments>),
    /// Ask a running server
    Sql(SqlArguments),
    /// Show how far a running server is, its tables and their sizes
    Status(ClientArguments),
    /// Prove that every table equals the source at one commit
    ///
    /// Prints a line a table. Exits with 0 if all are equal, 1 if one differs, 2 if that could
    /// not be found out.
    Verify(ClientArguments),
    /// Copy one table again while the others go on, such as one that has stopped
    ///
    /// Waits until it is complete. Exits with 0 then, 1 if it could not be copied.
    Resync(ResyncArguments),
    /// Check whether a source is ready to be copied, and say what is missing
    ///
    /// Changes nothing. Exits with 0 if it is ready, 1 if it is not, 2 if it could not be asked.
    Check(CheckArguments),
    /// Watch an order-entry workload arrive, be compressed and be queried, with nothing to set up
    Demo(DemoArguments),
}

/// Where the source is.
#[derive(Debug, Default, Args)]
pub struct SourceArguments {
    /// The source: postgres://user:password@host:5432/database, or "primary" for the built-in one
    ///
    /// Keep passwords out of the process list: put the URL into the environment variable
    /// HEDGEROW_SOURCE or into the settings file, or the password alone into PGPASSWORD.
    #[arg(long, value_name = "URL")]
    pub source: Option<String>,
    /// A publication that exists, to copy its tables only [default: all tables, through a
    /// publication that Hedgerow creates]
    #[arg(long, value_name = "NAME")]
    pub publication: Option<String>,
    /// The replication slot that Hedgerow creates at the source [default: hedgerow]
    #[arg(long, value_name = "NAME")]
    pub slot: Option<String>,
    /// The tables and procedures of the built-in primary, in SQL: CREATE TABLE, CREATE INDEX,
    /// CREATE PROCEDURE [default: those that the data directory has]
    #[arg(long, value_name = "FILE")]
    pub schema: Option<PathBuf>,
    /// Settings file (TOML) with any of the long options, such as memory = "512MiB"
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// `hedgerow serve`
#[derive(Debug, Default, Args)]
pub struct ServeArguments {
    /// Where the source is.
    #[command(flatten)]
    pub source: SourceArguments,
    /// Data directory [default: ./hedgerow-data]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Address for PostgreSQL clients; other than loopback with a certificate only
    /// [default: 127.0.0.1:5433]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Address of the web page and of Prometheus metrics (`/metrics`); loopback only [default: none]
    #[arg(long, value_name = "ADDRESS")]
    pub web: Option<SocketAddr>,
    /// Certificate (PEM, with those above it) for encrypted connections; taken up when it changes
    #[arg(long, value_name = "FILE")]
    pub tls_certificate: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Refuse connections without encryption from this machine, too; those from other machines
    /// are always refused
    #[arg(long)]
    pub tls_required: bool,
    /// Memory to use in all: changes not yet on disk, cached pages, running statements
    /// [default: 512MiB]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<ByteSize>,
    /// Memory of the built-in primary, beside that; rows beyond it go to disk, their keys stay
    /// [default: 256MiB]
    #[arg(long, value_name = "SIZE")]
    pub primary_memory: Option<ByteSize>,
    /// Disk space for sorts and joins that exceed the memory [default: 16GiB]
    #[arg(long, value_name = "SIZE")]
    pub spill: Option<ByteSize>,
    /// Threads that one statement may use [default: as many as there are processors]
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
    /// Clients served at the same time [default: 100]
    #[arg(long, value_name = "COUNT")]
    pub connections: Option<usize>,
    /// Seconds after which changes are made durable, and the source may forget them [default: 30]
    #[arg(long, value_name = "SECONDS")]
    pub flush_seconds: Option<u64>,
    /// Seconds that a statement waits after a start until the copy has caught up [default: 30]
    #[arg(long, value_name = "SECONDS")]
    pub catch_up_seconds: Option<u64>,
    /// What to do when the source's log cannot be followed any further, because the slot is gone or
    /// lost, say: go on to serve the copy, marked as stale, or also copy everything again meanwhile
    /// [default: stop]
    #[arg(long, value_name = "stop|copy-again")]
    pub on_gap: Option<GapAnswer>,
    /// Write a message into the source's log every so many seconds, for a source that says nothing
    /// while it is idle; 0 for never [default: 0]
    #[arg(long, value_name = "SECONDS")]
    pub heartbeat_seconds: Option<u64>,
    /// How 64 MiB of log or more are read from PostgreSQL: by statements, which is faster and takes two
    /// temporary slots, or by the replication stream as all else [default: statements]
    #[arg(long, value_name = "statements|stream")]
    pub backlog: Option<BacklogLink>,
    /// Raise an alarm when the source keeps more log than this for us [default: 10GiB]
    #[arg(long, value_name = "SIZE")]
    pub retained_max: Option<ByteSize>,
}

/// What to do when the source's log cannot be followed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapAnswer {
    /// Serve the copy, marked as stale
    Stop,
    /// Copy everything again meanwhile
    CopyAgain,
}

/// How a backlog is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BacklogLink {
    /// By statements
    Statements,
    /// By the replication stream
    Stream,
}

/// Where a running server is.
#[derive(Debug, Default, Args)]
pub struct ClientArguments {
    /// The server's data directory: tells address and password [default: ./hedgerow-data]
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub data: Option<PathBuf>,
    /// The server's address: postgres://hedgerow@127.0.0.1:5433/hedgerow (password in PGPASSWORD)
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// `hedgerow resync`
#[derive(Debug, Args)]
pub struct ResyncArguments {
    /// Where the server is.
    #[command(flatten)]
    pub client: ClientArguments,
    /// The table, as it is written in SQL; without a schema, one of "public"
    #[arg(value_name = "TABLE")]
    pub table: String,
}

/// `hedgerow sql`
#[derive(Debug, Args)]
pub struct SqlArguments {
    /// Where the server is.
    #[command(flatten)]
    pub client: ClientArguments,
    /// How rows are printed
    #[arg(long, value_enum, default_value_t = RowFormat::Aligned)]
    pub format: RowFormat,
    /// Statements; read from standard input if left out
    #[arg(value_name = "SQL")]
    pub sql: Option<String>,
}

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// Columns under their names
    Aligned,
    /// Comma-separated values with a header
    Csv,
}

/// `hedgerow check`
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Where the source is.
    #[command(flatten)]
    pub source: SourceArguments,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn serve_takes_its_options() {
        let arguments = Arguments::try_parse_from([
            "hedgerow",
            "serve",
            "--source",
            "postgres://u@h/d",
            "--data",
            "/d",
            "--listen",
            "127.0.0.1:7000",
            "--memory",
            "1GiB",
            "--slot",
            "s",
        ]);
        let Ok(Arguments {
            command: Command::Serve(serve),
        }) = arguments
        else {
            panic!("{arguments:?}");
        };
        assert_eq!(serve.memory, Some(ByteSize(1 << 30)));
        assert_eq!(serve.source.slot.as_deref(), Some("s"));
        assert_eq!(serve.listen.map(|address| address.port()), Some(7000));
    }

    #[test]
    fn sql_takes_a_statement_or_none() {
        let sql = |arguments: &[&str]| {
            let all = ["hedgerow", "sql"].iter().chain(arguments);
            match Arguments::try_parse_from(all).map(|arguments| arguments.command) {
                Ok(Command::Sql(sql)) => sql.sql,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            sql(&["--data", "d", "select 1"]),
            Some("select 1".to_owned())
        );
        assert_eq!(
            sql(&["select 1", "--data", "d"]),
            Some("select 1".to_owned())
        );
        assert_eq!(sql(&[]), None);
        let both = ["hedgerow", "status", "--data", "d", "--url", "u"];
        assert!(Arguments::try_parse_from(both).is_err());
    }

    #[test]
    fn a_bad_size_is_explained() {
        let error = Arguments::try_parse_from(["hedgerow", "serve", "--memory", "lots"]);
        let text = error.expect_err("refused").to_string();
        assert!(text.contains("such as 512MiB"), "{text}");
    }
}
