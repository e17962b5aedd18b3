//! Publication and replication slot: made once, checked at every connect.
//!
//! The slot is the source's promise to keep the log from our position on. If it is gone, lost
//! or ahead of us, changes are missing and nothing but a new copy mends that; so this is found
//! out before a single change is read, and named.

use serde::{Deserialize, Serialize};
use types::CommitPosition;

use super::catalog::first;
use super::config::PostgresConfig;
use super::connection::{Connection, ConnectionError, identifier, literal};
use super::gap::{Gap, GapKind};
use crate::source::SourceError;

/// Which server, and which life of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemIdentity {
    /// The identifier of the cluster, given by `initdb`.
    pub system: String,
    /// The timeline, a new one after every promotion or point-in-time recovery.
    pub timeline: String,
    /// The database.
    pub database: String,
}

/// A slot that was just created.
#[derive(Debug)]
pub struct CreatedSlot {
    /// Transactions that committed before are in the snapshot, later ones in the stream.
    pub consistent_point: CommitPosition,
    /// The snapshot, usable until the next command on the slot's connection.
    pub snapshot: String,
}

/// Asks which server this is and where its log ends.
pub fn identify(
    connection: &mut Connection,
) -> Result<(SystemIdentity, CommitPosition), ConnectionError> {
    let row = first(connection.query("IDENTIFY_SYSTEM")?)?;
    let database = row.get(3).unwrap_or_default().to_owned();
    let (system, timeline) = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
    Ok((
        SystemIdentity {
            system,
            timeline,
            database,
        },
        row.parse(2)?,
    ))
}

/// Creates our own publication where it is missing.
pub fn ensure_publication(
    connection: &mut Connection,
    config: &PostgresConfig,
) -> Result<(), ConnectionError> {
    let name = config.publication_name();
    let found = connection.query(&format!(
        "SELECT 1 FROM pg_publication WHERE pubname = {}",
        literal(name)
    ))?;
    if found.is_empty() && config.publication.is_none() {
        connection.execute(&create_publication_sql(name))?;
        tracing::info!(publication = name, "created the publication");
    }
    Ok(())
}

/// The statement that creates our own publication.
pub fn create_publication_sql(name: &str) -> String {
    format!(
        "CREATE PUBLICATION {} FOR ALL TABLES WITH (publish_via_partition_root = true)",
        identifier(name)
    )
}

/// Whether there is a slot of this name.
pub fn exists(connection: &mut Connection, slot: &str) -> Result<bool, ConnectionError> {
    let sql = format!(
        "SELECT 1 FROM pg_replication_slots WHERE slot_name = {}",
        literal(slot)
    );
    Ok(!connection.query(&sql)?.is_empty())
}

/// Creates a slot and exports the snapshot that belongs to it. Waits for the transactions that
/// are running at the source.
pub fn create(
    connection: &mut Connection,
    slot: &str,
    temporary: bool,
) -> Result<CreatedSlot, ConnectionError> {
    let temporary = if temporary { "TEMPORARY " } else { "" };
    let sql = format!(
        "CREATE_REPLICATION_SLOT {} {temporary}LOGICAL pgoutput EXPORT_SNAPSHOT",
        identifier(slot)
    );
    let row = first(connection.query(&sql)?)?;
    Ok(CreatedSlot {
        consistent_point: row.parse(1)?,
        snapshot: row.text(2)?.to_owned(),
    })
}

/// Drops a slot, waiting until nobody uses it.
pub fn drop_slot(connection: &mut Connection, slot: &str) -> Result<(), ConnectionError> {
    connection.execute(&format!("DROP_REPLICATION_SLOT {} WAIT", identifier(slot)))
}

/// Checks that the stream can continue without a gap from `resume`: the same server and
/// timeline, the slot there, whole, ours, and not ahead of us. Returns where the log ends. A server in recovery that
/// cannot serve us yet is a lost connection: nothing is known to be missing until it is promoted.
pub fn check(
    connection: &mut Connection,
    config: &PostgresConfig,
    expected: &SystemIdentity,
    resume: CommitPosition,
) -> Result<CommitPosition, CheckError> {
    let (found, log_end) = identify(connection)?;
    let same_system = found.system == expected.system;
    if !same_system || found.database != expected.database {
        let kind = match same_system {
            true => GapKind::OtherDatabase,
            false => GapKind::OtherSystem,
        };
        let detail = format!(
            "{config} is another database than the one that was copied (system {}, database {:?}; \
             now system {}, database {:?})",
            expected.system, expected.database, found.system, found.database
        );
        return gap(kind, detail);
    }
    check_recovery(connection, config, log_end, resume)?;
    if log_end < resume {
        let detail = format!(
            "the source's log ends at {log_end}, before our position {resume}: it was restored \
             from a backup, or a server that was behind us was promoted"
        );
        return gap(GapKind::LogEndsEarly, detail);
    }
    if found.timeline != expected.timeline {
        let detail = format!(
            "the source went from timeline {} to {}: it was promoted or recovered to a point in \
             time, and may lack what was copied",
            expected.timeline, found.timeline
        );
        return gap(GapKind::TimelineChanged, detail);
    }
    check_slot(connection, config, resume)?;
    Ok(log_end)
}

/// A server in recovery is on its way to be a primary, or an address has moved to a standby for a moment. Only one of version
/// 16 or later decodes its log meanwhile, and not of a slot that it keeps in step with its own primary's.
fn check_recovery(
    connection: &mut Connection,
    config: &PostgresConfig,
    log_end: CommitPosition,
    resume: CommitPosition,
) -> Result<(), ConnectionError> {
    let row = first(connection.query(&format!(
        "SELECT pg_is_in_recovery(), current_setting('server_version_num')::int >= 160000 AND EXISTS \
         (SELECT FROM pg_replication_slots s WHERE slot_name = {} AND to_jsonb(s) ->> 'synced' IS DISTINCT FROM 'true')",
        literal(&config.slot)
    ))?)?;
    let (in_recovery, can_decode) = (row.flag(0), row.flag(1));
    if !in_recovery || (can_decode && log_end >= resume) {
        return Ok(());
    }
    let why = if can_decode {
        format!("its log ends at {log_end}, before our position {resume}")
    } else {
        "our slot cannot be read there".to_owned()
    };
    Err(ConnectionError::Lost(format!(
        "{config} is in recovery or a standby at the moment: {why}"
    )))
}

fn check_slot(
    connection: &mut Connection,
    config: &PostgresConfig,
    resume: CommitPosition,
) -> Result<(), CheckError> {
    let slot = &config.slot;
    let rows = connection.query(&format!(
        "SELECT plugin, database, wal_status, confirmed_flush_lsn, \
         to_jsonb(s) ->> 'invalidation_reason' FROM pg_replication_slots s WHERE slot_name = {}",
        literal(slot)
    ))?;
    let Some(row) = rows.first() else {
        let detail = format!("the replication slot {slot:?} is gone");
        return gap(GapKind::SlotGone, detail);
    };
    if row.get(0) != Some("pgoutput") || row.get(1) != Some(config.database.as_str()) {
        let detail = format!(
            "the replication slot {slot:?} is not ours any more (plugin {:?}, database {:?})",
            row.get(0).unwrap_or_default(),
            row.get(1).unwrap_or_default()
        );
        return gap(GapKind::SlotForeign, detail);
    }
    if row.get(2) == Some("lost") || row.get(4).is_some() {
        let detail = format!(
            "the source has removed log that the replication slot {slot:?} still needed \
             (wal_status {}, {})",
            row.get(2).unwrap_or("unknown"),
            row.get(4).unwrap_or("see max_slot_wal_keep_size")
        );
        return gap(GapKind::SlotLost, detail);
    }
    let confirmed: CommitPosition = row.parse(3)?;
    if confirmed > resume {
        let detail = format!(
            "the replication slot {slot:?} is at {confirmed}, ahead of our position {resume}: it \
             was recreated or read by another client"
        );
        return gap(GapKind::SlotAhead, detail);
    }
    Ok(())
}

/// Why a stream cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The connection or the server failed.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// There would be a gap.
    #[error(transparent)]
    Gap(#[from] Gap),
}

fn gap<T>(kind: GapKind, detail: String) -> Result<T, CheckError> {
    Err(Gap { kind, detail }.into())
}

impl From<ConnectionError> for SourceError {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::Stopped => Self::Stopped,
            error if error.passes() => Self::Lost(error.to_string()),
            error => Self::Refused(error.to_string()),
        }
    }
}
