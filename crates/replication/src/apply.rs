//! The loop from a source's batches to the store: the same for every source.
//!
//! For each batch:
//! 1. wait until the store has memory (back-pressure: the channel fills, the source waits);
//! 2. ingest rows, truncate, stop tables, in the order of the log;
//! 3. where the batch ends transactions, publish the last commit position together with the
//!    checkpoint, and tell readers;
//! 4. ask for a flush when the last one is old enough, sooner when nothing more comes in.
//!
//! Invariant: rows are ingested before the position that makes them visible is published, and a
//! checkpoint never names a position to continue from that is ahead of the published rows.
//!
//! Does not: read any tree, confirm anything to the source (see [`crate::source::Confirmed`]).

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use env::Clock;
use lsm::{Store, StoreError};
use types::{ChangeBatch, CommitPosition, TableChange, TableId};

use crate::catalog::{Catalog, TableState};
use crate::checkpoint::Checkpoint;
use crate::source::{Stop, Target};
use crate::status::SourceHandle;

/// How long to wait for a batch or for memory before looking whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// How often published changes are made durable.
#[derive(Clone, Debug)]
pub struct ApplyOptions {
    /// At least this often while rows arrive.
    pub flush_interval: Duration,
    /// At least this often while only the position moves, and at most this often while rows
    /// come in with pauses.
    pub idle_flush_interval: Duration,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        Self {
            flush_interval: Duration::from_secs(5),
            idle_flush_interval: Duration::from_secs(1),
        }
    }
}

/// The apply loop's state.
pub struct Apply {
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    status: Arc<SourceHandle>,
    clock: Arc<dyn Clock>,
    options: ApplyOptions,
    checkpoint: Checkpoint,
    /// When the oldest published change that no flush was requested for was published.
    unflushed: Option<Unflushed>,
    /// When the last flush was requested.
    last_request: Duration,
}

/// Published changes that no flush was requested for.
struct Unflushed {
    since: Duration,
    rows: bool,
}

impl Apply {
    /// A loop that continues after `checkpoint`, which is what the store has published.
    pub fn new(target: &Target, options: ApplyOptions, checkpoint: Checkpoint) -> Self {
        Self {
            store: target.store.clone(),
            catalog: target.catalog.clone(),
            status: target.status.clone(),
            clock: target.clock.clone(),
            options,
            checkpoint,
            unflushed: None,
            last_request: Duration::ZERO,
        }
    }

    /// Applies batches until the channel closes or `stop` is set.
    pub fn run(&mut self, batches: &Receiver<ChangeBatch>, stop: &Stop) -> Result<(), StoreError> {
        while !stop.is_set() {
            let quiet = match batches.recv_timeout(PATIENCE) {
                Ok(batch) => {
                    self.apply(batch, stop)?;
                    false
                }
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            self.request_flush_when_due(quiet);
            self.status.set_durable(self.store.durable().position);
        }
        Ok(())
    }

    /// Applies one batch.
    pub fn apply(&mut self, batch: ChangeBatch, stop: &Stop) -> Result<(), StoreError> {
        let ChangeBatch {
            committed,
            resume,
            commit_time_us,
            transactions,
            changes,
        } = batch;
        let mut rows = 0;
        for change in changes {
            self.wait_for_memory(stop)?;
            rows += self.apply_change(change)?;
        }
        self.status.count(transactions, rows);
        if let Some(position) = committed {
            self.checkpoint.resume = resume;
            if commit_time_us != 0 {
                self.checkpoint.commit_time_us = commit_time_us;
            }
            self.publish(position, transactions);
        }
        Ok(())
    }

    /// Applies one change and returns the number of row versions in it.
    fn apply_change(&mut self, change: TableChange) -> Result<u64, StoreError> {
        match change {
            TableChange::Rows { table, rows } => {
                let count = rows.len() as u64;
                self.store.ingest(table, rows)?;
                Ok(count)
            }
            TableChange::Truncate { table, position } => {
                self.store.truncate(table, position)?;
                Ok(0)
            }
            TableChange::Stop {
                table,
                position,
                reason,
            } => {
                self.stop_table(table, position, reason);
                Ok(0)
            }
        }
    }

    fn stop_table(&mut self, table: TableId, position: CommitPosition, reason: String) {
        if let Some(entry) = self.catalog.by_id(table) {
            tracing::error!(table = %entry.schema.name, %position, reason, "table stopped");
        }
        self.catalog
            .set_state(table, TableState::Stopped { position, reason });
        self.checkpoint.record_tables(&self.catalog);
    }

    fn publish(&mut self, position: CommitPosition, transactions: u64) {
        self.store.publish(position, self.checkpoint.to_bytes());
        // Without a transaction the source has just told that there was none up to here.
        let idle = transactions == 0;
        let as_of = if idle {
            self.clock.wall_us()
        } else {
            self.checkpoint.commit_time_us
        };
        self.status.set_visible(position, as_of);
        let since = self.clock.monotonic();
        let unflushed = self
            .unflushed
            .get_or_insert(Unflushed { since, rows: false });
        unflushed.rows |= !idle;
    }

    /// Asks for a flush when the oldest unflushed change is old enough, or when the source has
    /// become `quiet`: then it may forget its log the sooner.
    fn request_flush_when_due(&mut self, quiet: bool) {
        let Some(unflushed) = &self.unflushed else {
            return;
        };
        let now = self.clock.monotonic();
        let is_old = |since: Duration, interval| now.saturating_sub(since) >= interval;
        let due = if unflushed.rows {
            is_old(unflushed.since, self.options.flush_interval)
                || quiet && is_old(self.last_request, self.options.idle_flush_interval)
        } else {
            is_old(unflushed.since, self.options.idle_flush_interval)
        };
        if due {
            self.store.request_flush();
            self.unflushed = None;
            self.last_request = now;
        }
    }

    /// Waits until the store has memory, however long that takes, unless told to stop.
    fn wait_for_memory(&self, stop: &Stop) -> Result<(), StoreError> {
        while !self.store.wait_for_memory(PATIENCE)? {
            if stop.is_set() {
                return Ok(());
            }
        }
        Ok(())
    }
}
