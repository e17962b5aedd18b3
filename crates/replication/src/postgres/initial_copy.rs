//! The first start: everything is copied once.
//!
//! 1. check that the source can be replicated, create the publication;
//! 2. store, durably, that a copy begins and which table ids and slot it uses;
//! 3. create the slot with its snapshot, read the tables inside the snapshot, create their
//!    trees, copy their rows; now and then store, durably, which tables are complete;
//! 4. publish the rows together with the state "streaming", durably.
//!
//! A start that finds the state of step 2 or 3 knows that a copy was cut off, and with it its snapshot.
//! If tables are complete and the slot still has all that came since, the log is followed from there on, and
//! the others are copied beside it with snapshots of their own (see [`super::resync`]). Else its trees
//! and its slot are dropped and the copy starts over.
//!
//! Does not: go on in the middle of a table.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use types::{CommitPosition, TableId};

use super::catalog::{PublishedTable, Selection, read_tables};
use super::config::PostgresConfig;
use super::connection::{Connection, ConnectionError, Mode};
use super::copy::{Copied, Job, copy_tables, open_at};
use super::preflight::{Fault, Severity, check_connected};
use super::slot::{self, CheckError, SystemIdentity};
use super::state::{PostgresState, WireTable};
use crate::catalog::{TableEntry, TableState};
use crate::checkpoint::{Checkpoint, Phase};
use crate::source::{SourceError, Target};
use crate::status::SourceState;

/// How often it is stored which tables are complete, at most: all that is in memory is written with it.
const NOTE_INTERVAL: Duration = Duration::from_secs(2);

/// The first start.
pub struct InitialCopy<'a> {
    /// The source.
    pub config: &'a PostgresConfig,
    /// Where the rows go.
    pub target: &'a Target,
}

impl InitialCopy<'_> {
    /// Copies, or goes on with the copy that was cut off, and returns what is published then.
    pub fn run(&self, left_over: Option<Checkpoint>) -> Result<Checkpoint, SourceError> {
        self.check()?;
        let (config, stop) = (self.config, &self.target.stop);
        let mut connection = Connection::open(config, Mode::Replication, stop)?;
        if let Some(left_over) = &left_over {
            if self.can_go_on(&mut connection, left_over)? {
                return self.go_on(left_over.clone());
            }
            self.clean_up(&mut connection, left_over)?;
        }
        let (identity, _) = slot::identify(&mut connection)?;
        if slot::exists(&mut connection, &self.config.slot)? {
            return Err(SourceError::Refused(format!(
                "the replication slot {slot:?} exists already, but this data directory has \
                 no copy that belongs to it. If no other replica uses the slot, drop it at the source: SELECT \
                 pg_drop_replication_slot('{slot}')",
                slot = self.config.slot
            )));
        }
        let mut checkpoint = Checkpoint::new(Phase::Copying, self.state(identity).to_value());
        checkpoint.next_table = self.next_table(left_over.as_ref());
        self.store(self.target.store.visible(), &checkpoint)?;
        self.copy(&mut connection, checkpoint)
    }

    /// Checks the source, creates the publication. Its own connection: without the right to
    /// replicate there is no replication connection, but there is advice to give.
    fn check(&self) -> Result<(), SourceError> {
        let mut connection = Connection::open(self.config, Mode::Query, &self.target.stop)?;
        self.heed(check_connected(&mut connection, self.config)?)?;
        Ok(slot::ensure_publication(&mut connection, self.config)?)
    }

    /// Whether some tables of a copy that was cut off are complete, and the slot has what came since.
    fn can_go_on(
        &self,
        connection: &mut Connection,
        left: &Checkpoint,
    ) -> Result<bool, SourceError> {
        let state = PostgresState::from_value(&left.source)?;
        let is_same = (&state.slot, state.publication.as_str())
            == (&self.config.slot, self.config.publication_name());
        if state.copied.is_empty() || !is_same {
            return Ok(false);
        }
        let resume = CommitPosition(left.resume);
        match slot::check(connection, self.config, &state.identity, resume) {
            Ok(_) => Ok(true),
            Err(CheckError::Gap(gap)) => {
                tracing::warn!(%gap, "the initial copy that was cut off is of no use");
                Ok(false)
            }
            Err(CheckError::Connection(error)) => Err(error.into()),
        }
    }

    /// Publishes the tables that are complete; the others are left to the stream.
    fn go_on(&self, mut checkpoint: Checkpoint) -> Result<Checkpoint, SourceError> {
        let mut state = PostgresState::from_value(&checkpoint.source)?;
        let copied = std::mem::take(&mut state.copied);
        checkpoint.source = state.to_value();
        checkpoint.fill_catalog(&self.target.store, &self.target.catalog);
        let tables = self.target.catalog.tables();
        for table in &copied {
            self.target
                .catalog
                .set_state(TableId(*table), TableState::Live);
        }
        let (source, complete, all) = (self.target.status.name(), copied.len(), tables.len());
        tracing::info!(source, complete, all, "going on with the initial copy");
        let position = CommitPosition(checkpoint.resume.saturating_sub(1));
        self.publish(position, &mut checkpoint)?;
        Ok(checkpoint)
    }

    /// Drops what a copy that was cut off has left.
    fn clean_up(&self, connection: &mut Connection, left: &Checkpoint) -> Result<(), SourceError> {
        let reason = "an earlier initial copy was cut off; starting over";
        tracing::warn!(source = self.target.status.name(), reason);
        self.target.status.warn(reason.to_owned());
        let state = PostgresState::from_value(&left.source)?;
        let (identity, _) = slot::identify(connection)?;
        let same_server = identity == state.identity;
        if same_server && slot::exists(connection, &state.slot)? {
            slot::drop_slot(connection, &state.slot)?;
        }
        self.target.catalog.replace(Vec::new());
        for (table, _) in self.target.store.tables() {
            self.target.store.drop_table(table)?;
        }
        Ok(())
    }

    /// Refuses to start with errors; shows warnings.
    fn heed(&self, faults: Vec<Fault>) -> Result<(), SourceError> {
        let (errors, warnings): (Vec<_>, Vec<_>) = faults
            .into_iter()
            .partition(|fault| fault.severity == Severity::Error);
        for warning in warnings {
            tracing::warn!("{warning}");
            self.target.status.warn(warning.to_string());
        }
        if errors.is_empty() {
            return Ok(());
        }
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        Err(SourceError::Refused(errors.join("\n")))
    }

    fn state(&self, identity: SystemIdentity) -> PostgresState {
        PostgresState {
            identity,
            slot: self.config.slot.clone(),
            publication: self.config.publication_name().to_owned(),
            tables: Vec::new(),
            copied: Vec::new(),
        }
    }

    /// The lowest table id that was never used.
    fn next_table(&self, left_over: Option<&Checkpoint>) -> u32 {
        let known = left_over.map_or(1, |checkpoint| checkpoint.next_table);
        let used = self
            .target
            .store
            .tables()
            .iter()
            .map(|(table, _)| table.0 + 1)
            .max();
        known.max(used.unwrap_or(1))
    }

    fn copy(
        &self,
        connection: &mut Connection,
        mut checkpoint: Checkpoint,
    ) -> Result<Checkpoint, SourceError> {
        let status = &self.target.status;
        let waiting = "creating the slot waits for transactions that are running at the source";
        status.set_state(SourceState::Copying, Some(waiting.to_owned()));
        let slot = slot::create(connection, &self.config.slot, false)?;
        status.set_state(SourceState::Copying, None);
        let position = CommitPosition(slot.consistent_point.0.saturating_sub(1));
        let published = self.read_tables(&slot.snapshot)?;
        let jobs = self.create_tables(&mut checkpoint, published)?;
        tracing::info!(tables = jobs.len(), position = %slot.consistent_point, "initial copy");
        checkpoint.resume = slot.consistent_point.0;
        checkpoint.record_tables(&self.target.store, &self.target.catalog);
        let notes = Arc::new(Notes::new(self.target, &checkpoint)?);
        let note = notes.clone();
        let note = Arc::new(move |table| note.complete(table));
        let copied = copy_tables(
            self.target,
            self.config,
            slot.snapshot,
            position,
            jobs,
            note,
        );
        if copied.is_err() {
            notes.store()?;
        }
        let copied = copied?;
        self.set_states(&copied);
        self.publish(position, &mut checkpoint)?;
        status.count(0, copied.rows);
        tracing::info!(rows = copied.rows, "initial copy complete");
        Ok(checkpoint)
    }

    /// Publishes what was copied, in the states that the tables have now.
    fn publish(
        &self,
        position: CommitPosition,
        checkpoint: &mut Checkpoint,
    ) -> Result<(), SourceError> {
        checkpoint.phase = Phase::Streaming;
        checkpoint.commit_time_us = self.target.clock.wall_us();
        checkpoint.record_tables(&self.target.store, &self.target.catalog);
        self.store(position, checkpoint)?;
        let status = &self.target.status;
        status.set_visible(position, checkpoint.commit_time_us);
        Ok(())
    }

    /// Every table is live, but for those that were given up or are left to the stream.
    fn set_states(&self, copied: &Copied) {
        for table in self.target.catalog.tables() {
            let state = copied.state_of(table.id);
            self.target.catalog.set_state(table.id, state);
        }
    }

    fn read_tables(&self, snapshot: &str) -> Result<Vec<PublishedTable>, ConnectionError> {
        let mut connection = open_at(self.config, snapshot, &self.target.stop)?;
        let selection = Selection::Publication(self.config.publication_name());
        read_tables(&mut connection, selection)
    }

    /// Creates the trees; the checkpoint, stored already, keeps their ids from being reused.
    fn create_tables(
        &self,
        checkpoint: &mut Checkpoint,
        published: Vec<PublishedTable>,
    ) -> Result<Vec<Job>, SourceError> {
        let first = checkpoint.next_table;
        checkpoint.next_table += published.len() as u32;
        self.store(self.target.store.visible(), checkpoint)?;
        let mut state = PostgresState::from_value(&checkpoint.source)?;
        let mut jobs = Vec::new();
        let mut entries = Vec::new();
        for (id, published) in (first..).map(TableId).zip(published) {
            self.target.store.create_table(id, published.schema())?;
            let schema = Arc::new(published.schema());
            state.tables.push(WireTable::new(id, &published));
            let state = TableState::Copying;
            entries.push(TableEntry {
                id,
                schema: schema.clone(),
                state,
            });
            jobs.push(Job {
                table: id,
                schema,
                published,
            });
        }
        self.target.catalog.replace(entries);
        checkpoint.source = state.to_value();
        Ok(jobs)
    }

    /// Stores a checkpoint durably.
    fn store(&self, position: CommitPosition, checkpoint: &Checkpoint) -> Result<(), SourceError> {
        self.target.store.publish(position, checkpoint.to_bytes());
        self.target.store.flush()?;
        Ok(())
    }
}

/// Which tables of a copy are complete, stored durably now and then.
struct Notes {
    target: Target,
    noted: Mutex<Noted>,
}

struct Noted {
    checkpoint: Checkpoint,
    state: PostgresState,
    stored_at: Duration,
}

impl Notes {
    fn new(target: &Target, checkpoint: &Checkpoint) -> Result<Self, SourceError> {
        let noted = Noted {
            state: PostgresState::from_value(&checkpoint.source)?,
            checkpoint: checkpoint.clone(),
            stored_at: target.clock.monotonic(),
        };
        Ok(Self {
            target: target.clone(),
            noted: Mutex::new(noted),
        })
    }

    /// All rows of a table are in the store.
    fn complete(&self, table: TableId) -> Result<(), SourceError> {
        let is_due = {
            let noted = &mut *self.noted.lock();
            noted.state.copied.push(table.0);
            let now = self.target.clock.monotonic();
            let is_due = now - noted.stored_at >= NOTE_INTERVAL;
            if is_due {
                noted.stored_at = now;
            }
            is_due
        };
        if is_due { self.store() } else { Ok(()) }
    }

    /// Makes the rows of complete tables durable, together with which these are.
    fn store(&self) -> Result<(), SourceError> {
        let noted = &mut *self.noted.lock();
        noted.checkpoint.source = noted.state.to_value();
        let (store, bytes) = (&self.target.store, noted.checkpoint.to_bytes());
        store.publish(store.visible(), bytes);
        store.flush()?;
        Ok(())
    }
}
