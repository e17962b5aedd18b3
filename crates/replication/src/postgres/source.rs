//! PostgreSQL as a [`Source`]: first start copies, later starts stream.
//!
//! First start:
//! 1. check that the source can be replicated, create the publication;
//! 2. store, durably, that a copy begins and which table ids and slot it uses;
//! 3. create the slot with its snapshot, read the tables inside the snapshot, create their
//!    trees, copy their rows;
//! 4. publish the rows together with the state "streaming", durably.
//!
//! A start that finds the state of step 2 knows that a copy was cut off: its trees and its slot
//! are dropped and the copy starts over.
//!
//! If the log cannot be followed any further and the settings say so, [`Source::run`] ends with the
//! wish to begin again, and the next [`Source::prepare`] copies everything once more.

use types::{CommitPosition, TableId};

use super::catalog::{PublishedTable, Selection, read_tables};
use super::changes::{Beginning, Changes, ReplicatedTable};
use super::config::PostgresConfig;
use super::connection::{Connection, ConnectionError, Mode};
use super::copy::{Copied, Job, copy_tables, open_at};
use super::copy_again::CopyAgain;
use super::describe::ServerCatalog;
use super::preflight::{Fault, Severity, check_connected};
use super::resync::Resyncs;
use super::slot::{self, SystemIdentity};
use super::slot_watch::SlotWatch;
use super::state::{PostgresState, WireTable};
use super::stream::{Start, Stream};
use crate::catalog::{TableEntry, TableState};
use crate::checkpoint::{Checkpoint, Phase};
use crate::source::{Feed, Source, SourceError, Stop, Target};
use crate::status::SourceState;

/// How long to wait before a server that cannot be reached is tried again.
const RETRY: std::time::Duration = std::time::Duration::from_secs(2);

/// A PostgreSQL server as a source of changes.
pub struct PostgresSource {
    config: PostgresConfig,
    resyncs: Resyncs,
    /// Why everything has to be copied again, if it has.
    gap: Option<String>,
}

impl PostgresSource {
    /// What kind of source this is, as shown to users.
    pub const KIND: &'static str = "postgresql";

    /// The source at `config`.
    pub fn new(config: PostgresConfig) -> Self {
        let resyncs = Resyncs::default();
        Self {
            config,
            resyncs,
            gap: None,
        }
    }

    /// Where to ask the running source to copy a table again.
    pub fn resyncs(&self) -> Resyncs {
        self.resyncs.clone()
    }
}

impl Source for PostgresSource {
    fn prepare(&mut self, target: &Target) -> Result<Checkpoint, SourceError> {
        loop {
            let config = &self.config;
            let copied = match Checkpoint::load(&target.store)? {
                Some(checkpoint) if checkpoint.phase == Phase::Streaming => {
                    let Some(gap) = &self.gap else {
                        self.check_settings(&checkpoint)?;
                        remove_leftovers(&checkpoint, target)?;
                        return Ok(checkpoint);
                    };
                    let again = CopyAgain {
                        config,
                        target,
                        gap,
                    };
                    again.run(checkpoint)
                }
                left_over => (InitialCopy { config, target }).run(left_over),
            };
            match copied {
                Err(SourceError::Lost(reason)) => {
                    tracing::warn!(source = target.status.name(), reason, "trying again");
                    target
                        .status
                        .set_state(SourceState::Connecting, Some(reason));
                }
                result => {
                    self.gap = None;
                    return result;
                }
            }
            if target.stop.wait(RETRY) {
                return Err(SourceError::Stopped);
            }
        }
    }

    fn run(&mut self, start: &Checkpoint, feed: &Feed) -> Result<(), SourceError> {
        let state = PostgresState::from_value(&start.source)?;
        let position = feed.status.visible();
        let describe = ServerCatalog::new(self.config.clone(), feed.stop.clone());
        let mut changes = Changes::new(Beginning {
            tables: replicated_tables(&state, feed),
            state: state.clone(),
            next_table: feed.store.next_table(),
            position,
            resume: start.resume,
            describe: Box::new(describe),
        });
        changes.maintain(&feed.catalog.projections());
        let start = Start {
            position,
            resume: start.resume,
        };
        let resyncs = self.resyncs.clone();
        let mut stream = Stream::new(&self.config, &state, feed, changes, resyncs, start)
            .map_err(|error| SourceError::Refused(error.to_string()))?;
        let replaced = self.watch_slot(feed);
        let result = stream.run();
        if let Err(SourceError::BeginAgain(reason)) = &result {
            replaced.set();
            self.gap = Some(reason.clone());
        }
        result
    }
}

impl PostgresSource {
    /// Starts to watch the slot; to be told when another watch takes over.
    fn watch_slot(&self, feed: &Feed) -> Stop {
        let replaced = Stop::new();
        let watch = SlotWatch {
            config: self.config.clone(),
            status: feed.status.clone(),
            clock: feed.clock.clone(),
            stop: feed.stop.clone(),
            replaced: replaced.clone(),
        };
        (feed.spawner)("slot", Box::new(move || watch.run()));
        replaced
    }

    /// The settings must name what was copied.
    fn check_settings(&self, checkpoint: &Checkpoint) -> Result<(), SourceError> {
        let state = PostgresState::from_value(&checkpoint.source)?;
        let (slot, publication) = (&self.config.slot, self.config.publication_name());
        if *slot != state.slot || *publication != state.publication {
            return Err(SourceError::Refused(format!(
                "this data directory belongs to slot {:?} and publication {:?}, the settings \
                 name {slot:?} and {publication:?}. Start with an empty data directory to copy \
                 with other settings",
                state.slot, state.publication
            )));
        }
        Ok(())
    }
}

/// Removes trees that the checkpoint does not know: what they were made for did not become
/// durable, or they had been replaced.
fn remove_leftovers(checkpoint: &Checkpoint, target: &Target) -> Result<(), SourceError> {
    for (tree, _) in target.store.tables() {
        if !checkpoint.has_tree(tree) {
            target.store.drop_table(tree)?;
        }
    }
    Ok(())
}

/// The tables that the stream carries.
fn replicated_tables(state: &PostgresState, feed: &Feed) -> Vec<ReplicatedTable> {
    let table = |wire: &WireTable| {
        let entry = feed.catalog.by_id(TableId(wire.table))?;
        Some(ReplicatedTable {
            id: entry.id,
            schema: entry.schema.clone(),
            wire: wire.clone(),
            stopped: matches!(entry.state, TableState::Stopped { .. }),
            copying: entry.state == TableState::Copying,
            // A damaged tree takes no changes either.
            written_before: feed.store.newest_position(entry.id).unwrap_or_default(),
        })
    };
    state.tables.iter().filter_map(table).collect()
}

/// The first start.
struct InitialCopy<'a> {
    config: &'a PostgresConfig,
    target: &'a Target,
}

impl InitialCopy<'_> {
    fn run(&self, left_over: Option<Checkpoint>) -> Result<Checkpoint, SourceError> {
        self.check()?;
        let (config, stop) = (self.config, &self.target.stop);
        let mut connection = Connection::open(config, Mode::Replication, stop)?;
        if let Some(left_over) = &left_over {
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
        let copied = copy_tables(self.target, self.config, slot.snapshot, position, jobs)?;
        self.set_states(&copied);
        checkpoint.phase = Phase::Streaming;
        checkpoint.resume = slot.consistent_point.0;
        checkpoint.commit_time_us = self.target.clock.wall_us();
        checkpoint.record_tables(&self.target.store, &self.target.catalog);
        self.store(position, &checkpoint)?;
        status.count(0, copied.rows);
        status.set_visible(position, checkpoint.commit_time_us);
        tracing::info!(rows = copied.rows, "initial copy complete");
        Ok(checkpoint)
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
            let schema = std::sync::Arc::new(published.schema());
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
