//! Watches the slot from outside the stream, and keeps an idle source's log moving.
//!
//! In a thread and over a connection of its own, so that it tells how the slot is while the stream
//! is busy, stuck or refused:
//! 1. every [`LOOK_INTERVAL`], read what `pg_replication_slots` says of the slot;
//! 2. say so in the source's status, and in the log when the alarm is another one;
//! 3. if a heartbeat is asked for, write a logical message into the source's log when its time has
//!    come. It commits in our database, so the position that we confirm moves even where nothing
//!    else does, and a server that sends no keepalives has something to send.
//!
//! Without heartbeat an idle source moves the slot as well: the stream asks for the end of the log
//! once a second and confirms it (see [`super::stream`]).
//!
//! Does not: decide what is done about an alarm.

use std::sync::Arc;
use std::time::Duration;

use env::Clock;
use types::CommitPosition;

use super::config::PostgresConfig;
use super::connection::{Connection, ConnectionError, Mode, literal};
use crate::slot_status::{SlotAlarm, SlotStatus};
use crate::source::Stop;
use crate::status::SourceHandle;

/// How often to look at the slot.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// The prefix of our messages in the source's log.
const MESSAGE_PREFIX: &str = "hedgerow";

/// What watches a slot.
pub struct SlotWatch {
    /// The source.
    pub config: PostgresConfig,
    /// Where to report.
    pub status: Arc<SourceHandle>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Set when the process ends.
    pub stop: Stop,
    /// Set when another watch takes over.
    pub replaced: Stop,
}

impl SlotWatch {
    /// Watches until told to stop, also where the log cannot be followed any more.
    pub fn run(self) {
        let mut connection = None;
        let mut alarm = None;
        let mut looked_at = None;
        let mut beat_at = Duration::ZERO;
        let interval = self.config.heartbeat.unwrap_or(LOOK_INTERVAL);
        loop {
            let now = self.clock.monotonic();
            let is_due = |last: Duration, interval| now.saturating_sub(last) >= interval;
            if looked_at.is_none_or(|last| is_due(last, LOOK_INTERVAL)) {
                looked_at = Some(now);
                alarm = self.look(&mut connection, alarm);
            }
            if let Some(interval) = self.config.heartbeat
                && is_due(beat_at, interval)
            {
                beat_at = now;
                self.beat(&mut connection);
            }
            if self.stop.wait(interval.min(LOOK_INTERVAL)) || self.replaced.is_set() {
                return;
            }
        }
    }

    /// Looks at the slot and reports; returns the alarm that is raised now. A source that cannot
    /// be asked leaves everything as it was: the stream tells of lost connections.
    fn look(
        &self,
        connection: &mut Option<Connection>,
        before: Option<SlotAlarm>,
    ) -> Option<SlotAlarm> {
        let asked = self.ask(connection, |connection| read_slot(connection, &self.config));
        let mut slot = match asked {
            Ok(slot) => slot,
            Err(error) => {
                tracing::debug!(%error, "the slot could not be looked at");
                return before;
            }
        };
        slot.seen_at = self.clock.monotonic();
        slot.alarm = slot.worst(self.config.retained_bytes_max);
        let alarm = slot.alarm;
        if alarm != before {
            let (name, retained_bytes, safe_bytes) =
                (&slot.name, slot.retained_bytes, slot.safe_bytes);
            match alarm {
                Some(alarm) => tracing::warn!(
                    slot = name,
                    retained_bytes,
                    safe_bytes,
                    "alarm: {}",
                    alarm.as_str()
                ),
                None => tracing::info!(slot = name, retained_bytes, "no alarm any more"),
            }
        }
        self.status.set_slot(Some(slot));
        alarm
    }

    fn beat(&self, connection: &mut Option<Connection>) {
        let sql = format!(
            "SELECT pg_logical_emit_message(true, {}, '')",
            literal(MESSAGE_PREFIX)
        );
        let written = self.ask(connection, |connection| connection.query(&sql).map(drop));
        if let Err(error) = written {
            tracing::warn!(%error, "no heartbeat could be written at the source");
        }
    }

    /// Asks over the connection that there is, or a new one.
    fn ask<T>(
        &self,
        connection: &mut Option<Connection>,
        question: impl FnOnce(&mut Connection) -> Result<T, ConnectionError>,
    ) -> Result<T, ConnectionError> {
        let mut asked = match connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.config, Mode::Query, &self.stop)?,
        };
        let answer = question(&mut asked)?;
        *connection = Some(asked);
        Ok(answer)
    }
}

/// Reads what the source says of our slot. Columns that only later versions have are taken from
/// the row as JSON.
fn read_slot(
    connection: &mut Connection,
    config: &PostgresConfig,
) -> Result<SlotStatus, ConnectionError> {
    let rows = connection.query(&format!(
        "SELECT wal_status, to_jsonb(s) ->> 'invalidation_reason', active, \
         greatest(pg_wal_lsn_diff(log_end, restart_lsn), 0)::bigint, \
         CASE WHEN safe_wal_size < 0 THEN 0 ELSE safe_wal_size END, coalesce(log_end, '0/0') \
         FROM pg_replication_slots s, (SELECT CASE WHEN pg_is_in_recovery() \
         THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END) l (log_end) \
         WHERE slot_name = {}",
        literal(&config.slot)
    ))?;
    let Some(row) = rows.first() else {
        return Ok(SlotStatus {
            name: config.slot.clone(),
            wal_status: None,
            invalidation: None,
            active: false,
            retained_bytes: 0,
            safe_bytes: None,
            log_end: CommitPosition::ZERO,
            alarm: None,
            seen_at: Duration::ZERO,
        });
    };
    let number = |column| row.get(column).map(|_| row.parse(column)).transpose();
    Ok(SlotStatus {
        name: config.slot.clone(),
        // A slot that is invalid in another way may have no status.
        wal_status: Some(row.get(0).unwrap_or("lost").to_owned()),
        invalidation: row.get(1).map(str::to_owned),
        active: row.flag(2),
        // A lost slot keeps nothing.
        retained_bytes: number(3)?.unwrap_or(0),
        safe_bytes: number(4)?,
        log_end: row.parse(5)?,
        alarm: None,
        seen_at: Duration::ZERO,
    })
}
