//! Copies one table while the log is followed.
//!
//! In a thread of its own:
//! 1. make a temporary slot: its snapshot holds every commit before its consistent point, which
//!    is above everything that the stream had read when the copy was ordered;
//! 2. see in the snapshot whether the table is as it was ordered;
//! 3. copy it as the initial copy does, at the position just before the consistent point.
//!
//! 4. hide what is older: the log's changes that the snapshot has, and what copies that were cut
//!    off have left. Where rows have keys, that is hidden anyway; rows without one would be there
//!    twice.
//!
//! A lost connection begins at 1 again, in the same tree.
//!
//! The history hold keeps every version of the log that comes meanwhile, with its position, so
//! that the copied rows find their place below it. It is taken before the tree exists.
//!
//! Does not: make the table readable. That is the stream's affair, when it has passed the
//! consistent point (see [`super::changes`]).

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use lsm::{HistoryHold, Store};
use rand::Rng;
use types::{CommitPosition, TableId, TableName};

use super::catalog::{Selection, read_tables};
use super::changes::{CopyOrder, CopyOutcome};
use super::config::PostgresConfig;
use super::connection::{Connection, ConnectionError, Mode};
use super::copy::{Job, NotCopied, copy_tables, open_at};
use super::slot;
use super::table_sink::RowError;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::source::{SourceError, Stop, Target};

/// How long to wait before a copy that was cut off begins again.
const PAUSE: Duration = Duration::from_secs(1);
/// How often to look whether the tree exists.
const LOOK: Duration = Duration::from_millis(5);

/// What a copy reports.
pub type CopyReport = (TableId, CopyOutcome);

/// One table's copy.
pub struct TableCopy {
    /// What to copy, and into which tree.
    pub order: CopyOrder,
    /// Keeps the log's versions in order.
    pub hold: HistoryHold,
    /// The store and the status.
    pub target: Target,
    /// The source.
    pub config: PostgresConfig,
    /// Where to report.
    pub reports: Sender<CopyReport>,
    /// Taken while it copies.
    pub turns: CopyTurns,
}

/// Copies beside the stream at a time: each has a slot and two or more connections at the source.
const COPIES_MAX: usize = 2;

/// Who may copy.
#[derive(Clone)]
pub struct CopyTurns {
    taken: (Sender<()>, Receiver<()>),
}

impl Default for CopyTurns {
    fn default() -> Self {
        let taken = crossbeam_channel::bounded(COPIES_MAX);
        Self { taken }
    }
}

impl CopyTurns {
    /// Waits for a turn; false if told to stop.
    fn begin(&self, stop: &Stop) -> bool {
        while self.taken.0.send_timeout((), LOOK).is_err() {
            if stop.is_set() {
                return false;
            }
        }
        true
    }

    fn end(&self) {
        self.taken.1.try_recv().expect("a turn was taken");
    }
}

impl TableCopy {
    /// Copies the table and reports; says nothing when it was told to stop.
    pub fn run(self) {
        if !self.turns.begin(&self.target.stop) {
            return;
        }
        let outcome = self.copy_until_done();
        self.turns.end();
        if let Some(outcome) = outcome {
            // Whoever listened has ended, or the report arrives.
            _ = self.reports.send((self.order.table, outcome));
        }
        drop(self.hold);
    }

    /// How the copy ended; `None` if it was told to stop.
    fn copy_until_done(&self) -> Option<CopyOutcome> {
        loop {
            match self.copy() {
                Ok(outcome) => return Some(outcome),
                Err(SourceError::Stopped) => return None,
                Err(SourceError::Lost(reason)) => {
                    let table = &self.order.published.name;
                    tracing::warn!(%table, reason, "copy cut off, beginning again");
                }
                Err(error) => return Some(CopyOutcome::GivenUp(error.to_string())),
            }
            if self.target.stop.wait(PAUSE) {
                return None;
            }
        }
    }

    fn copy(&self) -> Result<CopyOutcome, SourceError> {
        let (config, stop) = (&self.config, &self.target.stop);
        let ordered = &self.order.published;
        let mut replication = Connection::open(config, Mode::Replication, stop)?;
        let slot = slot::create(&mut replication, &temporary_slot(config, "copy"), true)
            .map_err(when_slots_are_in_use)?;
        let mut session = open_at(config, &slot.snapshot, stop)?;
        let selection = Selection::Relation {
            publication: config.publication_name(),
            relation: ordered.relation,
        };
        let Some(mut published) = read_tables(&mut session, selection)?.pop() else {
            return Ok(CopyOutcome::Changed);
        };
        published.keep_text_of(&ordered.schema());
        if !published.has_shape_of(ordered) {
            return Ok(CopyOutcome::Changed);
        }
        self.wait_for_tree()?;
        let job = Job {
            table: self.order.table,
            schema: Arc::new(published.schema()),
            published,
        };
        let position = CommitPosition(slot.consistent_point.0.saturating_sub(1));
        let copied = copy_tables(
            &self.target,
            config,
            slot.snapshot,
            position,
            vec![job],
            Arc::new(|_| Ok(())),
        )?;
        drop(replication);
        // Rows that the log had brought before, or a copy that was cut off: the snapshot has them as
        // well, and in a table without a key under other hidden keys.
        (self.target.store).truncate(self.order.table, position)?;
        Ok(match copied.given_up.first() {
            Some((_, NotCopied::Changed(_))) => CopyOutcome::Changed,
            Some((_, NotCopied::Row(RowError::Cell(cell)))) if cell.fits_text() => {
                CopyOutcome::TextNeeded(cell.column.clone())
            }
            Some((_, error)) => {
                CopyOutcome::GivenUp(format!("the table could not be copied: {error}"))
            }
            None => CopyOutcome::Copied(slot.consistent_point),
        })
    }

    /// The batch that makes the tree is on its way.
    fn wait_for_tree(&self) -> Result<(), SourceError> {
        while self.target.store.schema(self.order.table).is_none() {
            if self.target.stop.wait(LOOK) {
                return Err(SourceError::Stopped);
            }
        }
        Ok(())
    }
}

/// All of the server's slots are in use: others may be free in a moment.
fn when_slots_are_in_use(error: ConnectionError) -> SourceError {
    match error.code() {
        Some("53400") => SourceError::Lost(error.to_string()),
        _ => error.into(),
    }
}

/// A name for a slot that is needed for a moment.
pub fn temporary_slot(config: &PostgresConfig, purpose: &str) -> String {
    let name = format!(
        "{}_{purpose}_{:08x}",
        config.slot,
        rand::rng().random::<u32>()
    );
    // PostgreSQL's names are at most 63 bytes; the random end must stay.
    name[name.len().saturating_sub(63)..].to_owned()
}

/// A request to copy a table again.
#[derive(Debug)]
pub struct ResyncRequest {
    /// The table.
    pub table: TableName,
    /// Where to say in which tree the copy begins, or why it does not.
    pub answer: Sender<Result<TableId, String>>,
}

/// Where a running source takes requests from.
#[derive(Clone, Debug)]
pub struct Resyncs {
    sender: Sender<ResyncRequest>,
    pub(super) receiver: Receiver<ResyncRequest>,
}

impl Default for Resyncs {
    fn default() -> Self {
        let (sender, receiver) = crossbeam_channel::unbounded();
        Self { sender, receiver }
    }
}

impl Resyncs {
    /// Asks the source to copy a table again; returns when the copy begins, with the tree that it
    /// goes into, or with the reason why it does not begin.
    ///
    /// A crash may forget the copy as long as [`is_durable`] does not say otherwise.
    pub fn request(&self, table: TableName, patience: Duration) -> Result<TableId, String> {
        let (answer, answered) = crossbeam_channel::bounded(1);
        let request = ResyncRequest { table, answer };
        let _ = self.sender.send(request);
        let silent = |_| Err("the source is not connected; try again later".to_owned());
        answered.recv_timeout(patience).unwrap_or_else(silent)
    }
}

/// Whether a restart would go on with the copy into `tree`, or with what has become of it.
pub fn is_durable(store: &Store, tree: TableId) -> Result<bool, CheckpointError> {
    let metadata = store.durable().metadata;
    if metadata.is_empty() {
        return Ok(false);
    }
    // Ids only grow: a checkpoint with a later tree is later than this one's making.
    let checkpoint = Checkpoint::from_bytes(&metadata)?;
    Ok(checkpoint.tables.iter().any(|record| record.id >= tree.0))
}
