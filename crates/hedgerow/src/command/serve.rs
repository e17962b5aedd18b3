//! `hedgerow serve`: a node with a PostgreSQL server as its source, or with the built-in primary.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use replication::postgres::preflight::{self, Fault, Severity};
use replication::postgres::resync::{self, Resyncs};
use replication::postgres::{PostgresConfig, PostgresSource};
use sql::SqlError;

use crate::cli::ServeArguments;
use crate::node::{Node, RunningNode, asked_to_end};
use crate::primary::{self, SchemaFile};
use crate::server::{ResyncTable, SourceCommands};
use crate::settings::{DATABASE, NodeSettings, PrimarySettings, SourceSettings, USER};
use crate::verification;
use crate::{logging, password, settings};

/// How long the source may take until a copy begins: while its connection is lost it does not.
const RESYNC_PATIENCE: Duration = Duration::from_secs(10);
/// How often to look whether it has begun.
const LOOK: Duration = Duration::from_millis(10);
/// SQLSTATE for "not in this state".
const NOT_NOW: &str = "55000";

/// Serves until told to end.
pub fn run(arguments: ServeArguments) -> anyhow::Result<ExitCode> {
    logging::start();
    let (node_settings, source) = settings::serve(arguments)?;
    let (data, web) = (node_settings.data.clone(), node_settings.web);
    let of_primary = match &source {
        SourceSettings::Postgres(_) => 0,
        SourceSettings::Primary(primary) => primary.memory.0,
    };
    allocator::set_limit(node_settings.memory.0 + of_primary);
    let started = match source {
        SourceSettings::Postgres(source) => follow(node_settings, *source)?,
        SourceSettings::Primary(primary) => Some(run_primary(node_settings, primary)?),
    };
    let Some((running, shown)) = started else {
        return Ok(ExitCode::FAILURE);
    };
    announce(&shown, &data, running.address());
    if let Some(address) = web {
        println!("  web page   http://{address}/ (metrics: /metrics)");
    }
    running.run(asked_to_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Starts a node that follows a PostgreSQL server, and tells how that is shown; `None` if it is not ready.
fn follow(
    node_settings: NodeSettings,
    source: PostgresConfig,
) -> anyhow::Result<Option<(RunningNode, String)>> {
    let node = Node::open(node_settings)?;
    if node.is_new() && !is_ready(&source)? {
        return Ok(None);
    }
    let verify = verification::of_postgres(&node, source.clone());
    let shown = source.to_string();
    let name = source.database.clone();
    let replica = Box::new(PostgresSource::new(source));
    let resync = resync_through(replica.resyncs(), &node);
    let commands = SourceCommands { verify, resync };
    let running = node.start(&name, PostgresSource::KIND, replica, commands)?;
    Ok(Some((running, shown)))
}

/// Starts a node that runs the built-in primary and follows it.
fn run_primary(
    node_settings: NodeSettings,
    settings: PrimarySettings,
) -> anyhow::Result<(RunningNode, String)> {
    // Faults of the file are told before anything is made.
    let file = settings
        .schema
        .as_deref()
        .map(SchemaFile::read)
        .transpose()?;
    let node = Node::open(node_settings)?;
    let application = primary::open_schema(&node, file)?;
    let shown = format!("the built-in primary: {}", primary::summary(&application));
    Ok((primary::start(node, application, settings.memory)?, shown))
}

/// `RESYNC TABLE`, carried out by the source that runs. Returns when readers see that the table is
/// another one, and a crash does not forget it.
fn resync_through(resyncs: Resyncs, node: &Node) -> ResyncTable {
    let (catalog, store) = (node.catalog().clone(), node.store().clone());
    Arc::new(move |table| {
        let not_now = |reason| SqlError::new(NOT_NOW, reason);
        let current = || {
            let entry = catalog.by_name_at(&table.schema, &table.name, store.visible());
            entry.map(|entry| entry.id)
        };
        let before = current();
        let begun = resyncs.request(table.clone(), RESYNC_PATIENCE);
        let tree = begun.map_err(not_now)?;
        for _ in 0..RESYNC_PATIENCE.as_millis() / LOOK.as_millis() {
            let durable = resync::is_durable(&store, tree);
            if durable.map_err(|error| not_now(error.to_string()))? && current() != before {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
        Err(not_now(format!(
            "the copy of table {table} has begun, but is not on disk yet: a crash now would forget it"
        )))
    })
}

/// Checks the source before anything is created there.
fn is_ready(source: &PostgresConfig) -> anyhow::Result<bool> {
    let faults = preflight::check(source)
        .map_err(|error| anyhow::anyhow!("the source {source} cannot be checked: {error}"))?;
    let (errors, warnings): (Vec<_>, Vec<_>) = faults
        .into_iter()
        .partition(|fault| fault.severity == Severity::Error);
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    if !errors.is_empty() {
        eprint!(
            "hedgerow: the source {source} is not ready\n{}",
            describe(&errors)
        );
    }
    Ok(errors.is_empty())
}

/// Faults one below the other, each with the statement that mends it.
pub fn describe(faults: &[Fault]) -> String {
    let mut text = String::new();
    for fault in faults {
        let kind = match fault.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        text.push_str(&format!(
            "\n{kind}: {}\n  why:  {}\n",
            fault.what, fault.why
        ));
        if !fault.fix_sql.is_empty() {
            text.push_str(&format!("  mend: {};\n", fault.fix_sql));
        }
    }
    text
}

/// Tells where everything is, with a command to paste.
fn announce(source: &str, data: &Path, address: SocketAddr) {
    let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    let password = password::file(&data);
    let (ip, port) = (address.ip(), address.port());
    println!("hedgerow {} follows {source}", env!("CARGO_PKG_VERSION"));
    println!("  listening  {address}");
    println!("  data       {}", data.display());
    println!("  password   {}", password.display());
    println!(
        "  connect    PGPASSWORD=$(cat {}) psql -h {ip} -p {port} -U {USER} {DATABASE}",
        shell_quoted(&password.display().to_string())
    );
}

fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_shown_with_their_remedy() {
        let fault = Fault {
            severity: Severity::Error,
            what: "wal_level is replica".into(),
            why: "row changes are not in the log".into(),
            fix_sql: "ALTER SYSTEM SET wal_level = 'logical'".into(),
        };
        let text = describe(&[fault]);
        assert!(text.contains("error: wal_level is replica"));
        assert!(text.contains("mend: ALTER SYSTEM SET wal_level = 'logical';"));
    }

    #[test]
    fn only_odd_paths_are_quoted() {
        assert_eq!(shell_quoted("/a/b-c.d"), "/a/b-c.d");
        assert_eq!(shell_quoted("/a b/it's"), r"'/a b/it'\''s'");
    }
}
