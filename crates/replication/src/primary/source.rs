//! The primary as a source of changes.
//!
//! 1. Preparing makes the tables of a new replica, or checks that it is the primary's and makes those that have
//!    been added since, and opens the primary: its feed begins where the replica ends, or with a copy of all rows.
//! 2. Running starts the primary's threads and hands batches on as they become durable there: the first commit after
//!    a pause at once, those that follow it closely together ([`PUBLISH_INTERVAL`]).
//! 3. What the replica has made durable is confirmed to the feed, so that the primary may forget it; what a snapshot of
//!    the primary waits for is made durable at once.
//!
//! **Invariant:** one position is one transaction of the primary's log, on both sides.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use env::Env;
use oltp::change_feed::{ChangeFeed, CommittedChanges, FeedStart};
use oltp::{AntiCacheOptions, Partition, PartitionPlan, PrimaryError, Procedure, SnapshotOptions};
use serde_json::{Value, json};
use types::{CommitPosition, TableId};

use super::file_threads::FileThreads;
use super::host::{Host, HostParts};
use super::images::Images;
use super::observed::Observed;
use super::projections::Projections;
use super::session::{Clients, Request};
use super::signal::Signal;
use super::table::PrimaryTable;
use crate::catalog::{TableEntry, TableState};
use crate::checkpoint::{Checkpoint, Phase};
use crate::source::{Feed, PUBLISH_INTERVAL, Source, SourceError, Stop, Target};
use crate::status::SourceState;

/// The kind under which the source is shown.
pub const KIND: &str = "primary";

/// Bytes of changes that the feed may hold for the replica.
const FEED_BYTES_MAX: usize = 64 << 20;
/// Bytes of changes in a batch, about.
const BATCH_BYTES: usize = 4 << 20;
/// How long to wait for changes before looking whether to stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a primary is made of.
pub struct PrimaryOptions {
    /// Its folder, which is for nothing else.
    pub folder: PathBuf,
    /// Bytes of memory for rows, indexes and bookkeeping.
    pub memory_bytes: usize,
    /// When snapshots are made: what they make superfluous of the log a start need not run again.
    pub snapshots: SnapshotOptions,
    /// Its tables, in the order of their numbers.
    pub tables: Vec<PrimaryTable>,
    /// Its procedures, in the order of their numbers.
    pub procedures: Vec<Arc<dyn Procedure>>,
    /// What tells it from another application: a data directory of another one is refused.
    pub identity: Value,
}

/// See the module.
pub struct PrimarySource {
    env: Env,
    options: PrimaryOptions,
    signal: Arc<Signal>,
    clients: Clients,
    requests: Option<Receiver<Request>>,
    observed: Observed,
    opened: Option<Partition>,
}

impl PrimarySource {
    /// A primary that is not open yet.
    pub fn new(env: Env, options: PrimaryOptions) -> Self {
        let signal = Arc::<Signal>::default();
        let (clients, requests) = Clients::new(Arc::clone(&signal));
        Self {
            env,
            options,
            signal,
            clients,
            requests: Some(requests),
            observed: Observed::default(),
            opened: None,
        }
    }

    /// The way to call its procedures.
    pub fn clients(&self) -> Clients {
        self.clients.clone()
    }

    /// The means to watch it, also once it runs.
    pub fn observed(&self) -> Observed {
        self.observed.clone()
    }

    /// What a data directory remembers of its source.
    fn identity(&self) -> Value {
        json!({ "kind": KIND, "application": self.options.identity })
    }

    /// Checks that a replica was filled by this primary.
    fn check_identity(&self, stored: &Value) -> Result<(), SourceError> {
        if *stored == self.identity() {
            return Ok(());
        }
        let is_primary = stored.get("kind").and_then(Value::as_str) == Some(KIND);
        let holds = if is_primary {
            "the replica of another application, of other data, or of another release's"
        } else {
            "the replica of another source"
        };
        Err(SourceError::Refused(format!(
            "the data directory holds {holds}. Give this one a directory of its own with --data"
        )))
    }

    /// Makes the tables in a store without a checkpoint: new, or left by a process that ended before
    /// it published anything.
    fn create_tables(&self, target: &Target) -> Result<Checkpoint, SourceError> {
        let mut checkpoint = Checkpoint::new(Phase::Streaming, self.identity());
        for (leftover, _) in target.store.tables() {
            checkpoint.next_table = checkpoint.next_table.max(leftover.0 + 1);
            target.store.drop_table(leftover)?;
        }
        let mut entries = Vec::new();
        for table in &self.options.tables {
            let id = TableId(checkpoint.next_table);
            checkpoint.next_table += 1;
            target.store.create_table(id, table.schema.clone())?;
            entries.push(TableEntry {
                id,
                schema: Arc::new(table.schema.clone()),
                state: TableState::Live,
            });
        }
        target.catalog.replace(entries);
        checkpoint.record_tables(&target.store, &target.catalog);
        Ok(checkpoint)
    }

    /// Makes the tables that have been added since the replica was there last; they are empty at its position. A
    /// crash before the next publish forgets them: then their trees are left over, and others are made.
    fn add_tables(
        &self,
        target: &Target,
        mut checkpoint: Checkpoint,
    ) -> Result<Checkpoint, SourceError> {
        for table in &self.options.tables {
            let name = &table.schema.name;
            if target.catalog.by_name(&name.schema, &name.name).is_some() {
                continue;
            }
            let id = target.store.next_table();
            checkpoint.next_table = id.0 + 1;
            target.store.create_table(id, table.schema.clone())?;
            let entry = TableEntry {
                id,
                schema: Arc::new(table.schema.clone()),
                state: TableState::Live,
            };
            target
                .catalog
                .change(CommitPosition::ZERO, None, Some(entry));
        }
        checkpoint.record_tables(&target.store, &target.catalog);
        Ok(checkpoint)
    }

    /// Opens the primary, whose feed begins after a position.
    fn open(&self, after: CommitPosition) -> Result<Partition, PrimaryError> {
        let tables = self.options.tables.iter();
        let plan = PartitionPlan {
            tables: tables.map(|table| table.definition.clone()).collect(),
            procedures: self.options.procedures.clone(),
            anti_cache: Some(AntiCacheOptions::new(self.options.memory_bytes)),
            has_log: true,
            feed: Some(FeedStart {
                after,
                bytes_max: FEED_BYTES_MAX,
            }),
        };
        let mut partition = Partition::open(&self.env, &self.options.folder, plan)?;
        partition.set_snapshot_options(self.options.snapshots)?;
        Ok(partition)
    }

    fn images(&self, feed: &Feed) -> Images {
        Images::new(self.options.tables.iter().map(|table| {
            let name = &table.schema.name;
            let entry = feed.catalog.by_name(&name.schema, &name.name);
            let entry = entry.expect("preparing put all tables into the catalog");
            (entry.id, &table.schema)
        }))
    }
}

impl Source for PrimarySource {
    fn prepare(&mut self, target: &Target) -> Result<Checkpoint, SourceError> {
        let checkpoint = match Checkpoint::load(&target.store)? {
            Some(checkpoint) => {
                self.check_identity(&checkpoint.source)?;
                self.add_tables(target, checkpoint)?
            }
            None => self.create_tables(target)?,
        };
        let after = CommitPosition(checkpoint.resume);
        self.opened = Some(self.open(after).map_err(refused)?);
        Ok(checkpoint)
    }

    fn run(&mut self, start: &Checkpoint, feed: &Feed) -> Result<(), SourceError> {
        let partition = self.opened.take().expect("prepared before it runs");
        let changes = partition.change_feed().expect("it was opened with a feed");
        let board = partition.statistics_board();
        self.observed.open(self.options.memory_bytes, board);
        feed.status.set_primary(self.observed());
        feed.status.set_target(partition.durable());
        feed.status.set_state(SourceState::CatchingUp, None);
        let mut images = self.images(feed);
        let identity = self.identity().to_string();
        let projections = Projections::new(&self.options.tables, identity, feed);
        projections.tell(&mut images);
        let threads = FileThreads::start(&partition, &feed.spawner, &self.signal);
        let stop = Stop::new();
        let requests = self.requests.take().expect("it runs once");
        let ended = self.start_host(partition, requests, feed, stop.clone());
        let following = Following {
            handed_on_at: None,
            hurried_to: CommitPosition::ZERO,
            changes: &changes,
            images,
            projections,
            position: CommitPosition(start.resume),
        };
        let result = following.run(feed, &ended);
        stop.set();
        self.signal.set();
        // The host's sender is dropped when it has ended.
        let failure = ended.recv().ok();
        threads.stop();
        match failure {
            Some(error) => Err(refused(error)),
            None => result,
        }
    }
}

impl PrimarySource {
    /// Starts the primary's thread. It sends why it has failed, if it has, and drops the sender when it
    /// ends.
    fn start_host(
        &self,
        partition: Partition,
        requests: Receiver<Request>,
        feed: &Feed,
        stop: Stop,
    ) -> Receiver<PrimaryError> {
        let (ends, ended): (Sender<PrimaryError>, _) = bounded(1);
        let mut host = Host::new(HostParts {
            partition,
            requests,
            clock: feed.clock.clone(),
            signal: Arc::clone(&self.signal),
            stop,
        });
        let run = move || {
            if let Err(error) = host.run() {
                ends.send(error).expect("the receiver outlives the host");
            }
        };
        (feed.spawner)("primary", Box::new(run));
        ended
    }
}

/// What hands changes on.
struct Following<'f> {
    changes: &'f ChangeFeed,
    images: Images,
    projections: Projections<'f>,
    /// Everything up to here has been handed on.
    position: CommitPosition,
    /// When the last commits were handed on; `None` after rows of a copy, which are large batches anyway.
    handed_on_at: Option<Duration>,
    /// A flush was asked for up to here.
    hurried_to: CommitPosition,
}

impl Following<'_> {
    /// Goes on until told to stop, or the primary ends.
    fn run(mut self, feed: &Feed, ended: &Receiver<PrimaryError>) -> Result<(), SourceError> {
        let mut is_whole = true;
        while !feed.stop.is_set() && ended.is_empty() {
            self.wait_for_more(feed);
            match self.changes.take(BATCH_BYTES).map_err(refused)? {
                None => self.changes.wait(PATIENCE),
                Some(taken) => {
                    is_whole = taken.copy().is_none_or(|part| part.is_last);
                    if !self.hand_on(&taken, feed) {
                        return Ok(());
                    }
                }
            }
            // Projections begin and end between two transactions.
            if is_whole
                && self.position > CommitPosition::ZERO
                && !self
                    .projections
                    .see_to(self.position, feed, &mut self.images)
            {
                return Ok(());
            }
            let confirmed = feed.confirmed.latest()?.resume;
            self.changes.confirm(CommitPosition(confirmed));
            self.hurry(feed);
        }
        Ok(())
    }

    /// Has what a snapshot of the primary waits for made durable, once it is there.
    fn hurry(&mut self, feed: &Feed) {
        let Some(awaited) = self.changes.awaited() else {
            return;
        };
        if awaited > self.hurried_to && feed.store.visible() >= awaited {
            self.hurried_to = awaited;
            feed.store.request_flush();
        }
    }

    /// Commits that follow others closely wait until there is a batch of them.
    fn wait_for_more(&self, feed: &Feed) {
        let Some(handed_on_at) = self.handed_on_at else {
            return;
        };
        let since = feed.clock.monotonic().saturating_sub(handed_on_at);
        if since < PUBLISH_INTERVAL && self.changes.held_bytes() < BATCH_BYTES {
            feed.stop.wait(PUBLISH_INTERVAL - since);
        }
    }

    /// Hands changes on; false when that is no longer wanted.
    fn hand_on(&mut self, taken: &CommittedChanges, feed: &Feed) -> bool {
        if taken.copy().is_some_and(|part| part.is_first) {
            feed.status.set_state(SourceState::Copying, None);
        }
        feed.status.set_sent(taken.last());
        let batch = self.images.batch(taken);
        feed.status.set_received(taken.last());
        if !feed.hand_over(batch) {
            return false;
        }
        self.position = taken.last();
        self.handed_on_at = taken.copy().is_none().then(|| feed.clock.monotonic());
        if taken.copy().is_some_and(|part| part.is_last) {
            feed.status.set_state(SourceState::CatchingUp, None);
        }
        true
    }
}

/// The primary cannot go on; only an operator can mend that.
fn refused(error: PrimaryError) -> SourceError {
    SourceError::Refused(format!("the primary cannot go on: {error}"))
}
