//! What has to be right at the source before it can be replicated.
//!
//! Every fault says what is wrong, why it matters and the exact statement that mends it, and
//! all faults are reported at once: nobody wants to mend them one restart at a time.

use types::TableName;

use super::catalog::{PublishedTable, Selection, first, read_tables, server_version};
use super::config::PostgresConfig;
use super::connection::{Connection, ConnectionError, Mode, identifier, literal};
use super::slot::create_publication_sql;
use crate::source::Stop;

/// The oldest version that speaks the protocol that we read.
const VERSION_MIN: u32 = 140_000;

/// How bad a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Replication works, with a restriction.
    Warning,
    /// Replication cannot start.
    Error,
}

/// Something at the source that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub what: String,
    /// Why it matters.
    pub why: String,
    /// The statements that mend it, to be run at the source.
    pub fix_sql: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.why)?;
        if !self.fix_sql.is_empty() {
            write!(f, ". To mend it: {}", self.fix_sql)?;
        }
        Ok(())
    }
}

fn error(what: String, why: &str, fix_sql: String) -> Fault {
    Fault {
        severity: Severity::Error,
        what,
        why: why.to_owned(),
        fix_sql,
    }
}

fn warning(what: String, why: &str, fix_sql: String) -> Fault {
    Fault {
        severity: Severity::Warning,
        what,
        why: why.to_owned(),
        fix_sql,
    }
}

/// Connects and checks everything. An empty list means that replication can start.
pub fn check(config: &PostgresConfig) -> Result<Vec<Fault>, ConnectionError> {
    let mut connection = Connection::open(config, Mode::Query, &Stop::new())?;
    check_connected(&mut connection, config)
}

/// Checks everything over an open connection.
pub(super) fn check_connected(
    connection: &mut Connection,
    config: &PostgresConfig,
) -> Result<Vec<Fault>, ConnectionError> {
    let mut faults = Vec::new();
    let version = server_version(connection)?;
    if version < VERSION_MIN {
        let what = format!("the server is PostgreSQL {}", version / 10_000);
        let why = "version 14 or later is needed";
        return Ok(vec![error(what, why, String::new())]);
    }
    check_server(connection, config, &mut faults)?;
    check_role(connection, config, &mut faults)?;
    let selection = check_publication(connection, config, &mut faults)?;
    for table in read_tables(connection, selection)? {
        check_table(&table, config, &mut faults);
    }
    Ok(faults)
}

fn check_server(
    connection: &mut Connection,
    config: &PostgresConfig,
    faults: &mut Vec<Fault>,
) -> Result<(), ConnectionError> {
    let row = first(connection.query(&format!(
        "SELECT current_setting('wal_level'), current_setting('max_replication_slots')::int, \
         (SELECT count(*) FROM pg_replication_slots WHERE slot_name <> {}), \
         current_setting('max_wal_senders')::int, (SELECT count(*) FROM pg_stat_replication)",
        literal(&config.slot)
    ))?)?;
    if row.text(0)? != "logical" {
        let what = format!("wal_level is {}", row.text(0)?);
        let why = "row changes are only in the log with wal_level = logical; \
                   the change takes a restart of the server";
        faults.push(error(
            what,
            why,
            "ALTER SYSTEM SET wal_level = 'logical'".to_owned(),
        ));
    }
    let (slots_max, slots) = (row.parse::<u64>(1)?, row.parse::<u64>(2)?);
    if slots >= slots_max {
        let what = format!("all {slots_max} replication slots are in use");
        let why = "one slot is needed; the change takes a restart of the server";
        let fix = format!("ALTER SYSTEM SET max_replication_slots = {}", slots_max + 4);
        faults.push(error(what, why, fix));
    }
    let (senders_max, senders) = (row.parse::<u64>(3)?, row.parse::<u64>(4)?);
    if senders >= senders_max {
        let what = format!("all {senders_max} WAL senders are in use");
        let why = "one is needed; the change takes a restart of the server";
        let fix = format!("ALTER SYSTEM SET max_wal_senders = {}", senders_max + 4);
        faults.push(error(what, why, fix));
    }
    check_prepared(connection, faults)?;
    check_slot(connection, config, faults)
}

/// A slot is made when all transactions have ended that were there when it was asked for, those of other
/// databases included.
fn check_prepared(
    connection: &mut Connection,
    faults: &mut Vec<Fault>,
) -> Result<(), ConnectionError> {
    let rows = connection.query("SELECT gid, database FROM pg_prepared_xacts ORDER BY prepared")?;
    for row in rows {
        let (name, database) = (row.text(0)?, row.text(1)?);
        let what = format!("transaction {name:?} is prepared in database {database:?}");
        let why =
            "no copy can begin before it ends, and the source keeps its log from its beginning on";
        let fix = format!(
            "COMMIT PREPARED {name}; or ROLLBACK PREPARED {name}",
            name = literal(name)
        );
        faults.push(warning(what, why, fix));
    }
    Ok(())
}

/// An existing slot of our name is fine where we made it, which only the data directory tells.
fn check_slot(
    connection: &mut Connection,
    config: &PostgresConfig,
    faults: &mut Vec<Fault>,
) -> Result<(), ConnectionError> {
    let name = literal(&config.slot);
    let rows = connection.query(&format!(
        "SELECT plugin, wal_status, active_pid FROM pg_replication_slots WHERE slot_name = {name}"
    ))?;
    let Some(row) = rows.first() else {
        return Ok(());
    };
    let drop = format!("SELECT pg_drop_replication_slot({name})");
    if row.get(0) != Some("pgoutput") {
        let what = format!("the replication slot {:?} has another plugin", config.slot);
        faults.push(error(what, "only a slot of pgoutput can be read", drop));
    } else if row.get(1) == Some("lost") {
        let what = format!("the replication slot {:?} is lost", config.slot);
        let why = "the server has removed log that it needed (see max_slot_wal_keep_size); \
                   drop it and start with an empty data directory";
        faults.push(error(what, why, drop));
    } else if let Some(pid) = row.get(2) {
        let what = format!(
            "the replication slot {:?} is in use by process {pid}",
            config.slot
        );
        let why = "a slot has one reader; this is fine if that reader is this replica";
        faults.push(warning(
            what,
            why,
            format!("SELECT pg_terminate_backend({pid})"),
        ));
    }
    Ok(())
}

fn check_role(
    connection: &mut Connection,
    config: &PostgresConfig,
    faults: &mut Vec<Fault>,
) -> Result<(), ConnectionError> {
    let row =
        first(connection.query(
            "SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user",
        )?)?;
    if !row.flag(0) {
        let what = format!("the role {:?} may not replicate", config.user);
        let fix = format!("ALTER ROLE {} REPLICATION", identifier(&config.user));
        faults.push(error(
            what,
            "reading the log takes the attribute REPLICATION",
            fix,
        ));
    }
    Ok(())
}

/// Checks the publication and says which tables are in it, or will be once it is made.
fn check_publication<'a>(
    connection: &mut Connection,
    config: &'a PostgresConfig,
    faults: &mut Vec<Fault>,
) -> Result<Selection<'a>, ConnectionError> {
    let name = config.publication_name();
    let rows = connection.query(&format!(
        "SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate FROM pg_publication \
         WHERE pubname = {}",
        literal(name)
    ))?;
    let Some(row) = rows.first() else {
        check_can_publish(connection, config, faults)?;
        return Ok(Selection::AllTables);
    };
    if !row.flag(0) {
        let what = format!("the publication {name:?} leaves out some kinds of changes");
        let why = "the copy would silently differ from the source";
        let fix = format!(
            "ALTER PUBLICATION {} SET (publish = 'insert, update, delete, truncate')",
            identifier(name)
        );
        faults.push(error(what, why, fix));
    }
    Ok(Selection::Publication(name))
}

fn check_can_publish(
    connection: &mut Connection,
    config: &PostgresConfig,
    faults: &mut Vec<Fault>,
) -> Result<(), ConnectionError> {
    let name = config.publication_name();
    let what = format!("the publication {name:?} does not exist");
    let fix = create_publication_sql(name);
    if config.publication.is_some() {
        faults.push(error(what, "it was named in the settings", fix));
        return Ok(());
    }
    let sql = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user";
    if !first(connection.query(sql)?)?.flag(0) {
        let why = "only a superuser can publish all tables; let one run this, or publish chosen \
                   tables and name that publication";
        faults.push(error(what, why, fix));
    }
    Ok(())
}

fn check_table(table: &PublishedTable, config: &PostgresConfig, faults: &mut Vec<Fault>) {
    let name = &table.name;
    if !table.readable {
        let what = format!("the role {:?} may not read table {name}", config.user);
        let fix = format!(
            "GRANT USAGE ON SCHEMA {} TO {role}; GRANT SELECT ON {} TO {role}",
            identifier(&table.name.schema),
            table.sql_name(),
            role = identifier(&config.user)
        );
        faults.push(error(what, "the initial copy reads it", fix));
    }
    if table.key.is_none() && table.identity != 'f' {
        faults.push(no_key(table, name));
    }
}

fn no_key(table: &PublishedTable, name: &TableName) -> Fault {
    let what = format!("table {name} has no replica identity");
    let why = "inserts are replicated; the source itself refuses every UPDATE and DELETE on it \
               while it is published";
    let sql_name = table.sql_name();
    let fix = format!(
        "ALTER TABLE {sql_name} ADD PRIMARY KEY (…), or for a unique index over columns that \
         are NOT NULL: ALTER TABLE {sql_name} REPLICA IDENTITY USING INDEX …, or where rows may be \
         equal: ALTER TABLE {sql_name} REPLICA IDENTITY FULL"
    );
    warning(what, why, fix)
}
