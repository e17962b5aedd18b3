//! PostgreSQL as a [`Source`]: the first start copies (see [`super::initial_copy`]), later starts stream.
//!
//! If the log cannot be followed any further and the settings say so, [`Source::run`] ends with the
//! wish to begin again, and the next [`Source::prepare`] copies everything once more.

use types::TableId;

use super::changes::{Beginning, Changes, ReplicatedTable};
use super::config::PostgresConfig;
use super::copy_again::CopyAgain;
use super::describe::ServerCatalog;
use super::initial_copy::InitialCopy;
use super::resync::Resyncs;
use super::slot_watch::SlotWatch;
use super::state::{PostgresState, WireTable};
use super::stream::{Start, Stream};
use crate::catalog::TableState;
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
