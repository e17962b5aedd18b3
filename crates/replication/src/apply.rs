//! The loop from a source's batches to the store: the same for every source.
//!
//! For each batch:
//! 1. wait until the store has memory (back-pressure: the channel fills, the source waits);
//! 2. ingest rows, truncate, stop, create, reshape and drop tables, in the order of the log;
//! 3. where the batch ends transactions, publish the last commit position together with the
//!    checkpoint, and tell readers;
//! 4. ask for a flush when the last one is old enough, sooner when nothing more comes in.
//!
//! Invariant: rows are ingested before the position that makes them visible is published, and a
//! checkpoint never names a position to continue from that is ahead of the published rows.
//!
//! A tree that was replaced or dropped is removed once no snapshot can see it any more and a
//! restart would not need it: the change that made it superfluous is durable.
//!
//! What goes into a table goes into its projections, too (see [`crate::projection`]).
//!
//! Does not: read any tree (but for a reshape, a moved row and a multiset), confirm anything to the source (see
//! [`crate::source::Confirmed`]).

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use env::Clock;
use lsm::{Store, StoreError};
use types::{ChangeBatch, CommitPosition, TableChange, TableId, TableSchema, VersionRows};

use crate::catalog::{Catalog, TableEntry, TableState};
use crate::checkpoint::Checkpoint;
use crate::equal_rows::{self, Resolved};
use crate::moved_row::{self, MoveError};
use crate::projection::maintenance::{Beginning, Maintenance};
use crate::reshape::{Reshape, ReshapeError};
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
            flush_interval: Duration::from_secs(30),
            idle_flush_interval: Duration::from_secs(1),
        }
    }
}

/// The trees that only snapshots of former positions see.
fn superfluous_trees(target: &Target) -> Vec<(TableId, CommitPosition)> {
    let after_now = CommitPosition(target.store.visible().0.saturating_add(1));
    let trees = target.store.tables().into_iter().map(|(tree, _)| tree);
    let projections = target.catalog.projections();
    let is_projection = |tree| projections.iter().any(|each| each.tree() == Some(tree));
    trees
        .filter(|&tree| target.catalog.by_id(tree).is_none() && !is_projection(tree))
        .map(|tree| (tree, after_now))
        .collect()
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
    /// Trees that are not needed from a position on.
    superfluous: Vec<(TableId, CommitPosition)>,
    projections: Maintenance,
    /// Whether the last batch ended inside a transaction.
    in_transaction: bool,
    /// Told to stop in the middle of a batch: nothing of it may be published.
    interrupted: bool,
}

/// Published changes that no flush was requested for.
struct Unflushed {
    since: Duration,
    rows: bool,
}

impl Apply {
    /// A loop that continues after `checkpoint`, which is what the store has published.
    ///
    /// Projections that are not ready begin again.
    pub fn new(
        target: &Target,
        options: ApplyOptions,
        checkpoint: Checkpoint,
    ) -> Result<Self, StoreError> {
        let projections = Maintenance::new(target)?;
        let mut apply = Self {
            superfluous: superfluous_trees(target),
            projections,
            in_transaction: false,
            store: target.store.clone(),
            catalog: target.catalog.clone(),
            status: target.status.clone(),
            clock: target.clock.clone(),
            options,
            checkpoint,
            unflushed: None,
            last_request: Duration::ZERO,
            interrupted: false,
        };
        // They are superfluous already.
        apply.projections.take_left();
        apply.record_projections();
        Ok(apply)
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
            self.see_to_rest(quiet)?;
        }
        Ok(())
    }

    /// What is to be done between batches; `quiet`: none has come for a while.
    pub(crate) fn see_to_rest(&mut self, quiet: bool) -> Result<(), StoreError> {
        self.see_to_projections()?;
        self.request_flush_when_due(quiet);
        self.status.set_durable(self.store.durable().position);
        self.remove_superfluous()
    }

    /// Applies one batch.
    pub fn apply(&mut self, batch: ChangeBatch, stop: &Stop) -> Result<(), StoreError> {
        let ChangeBatch {
            committed,
            resume,
            commit_time_us,
            transactions,
            source,
            changes,
        } = batch;
        let changes_tables = source.is_some();
        if let Some(source) = source {
            self.checkpoint.source =
                serde_json::from_str(&source).expect("a source keeps its state as JSON");
        }
        let mut rows = 0;
        for change in changes {
            self.wait_for_memory(stop)?;
            rows += self.apply_change(change, stop)?;
        }
        if self.interrupted {
            return Ok(());
        }
        self.record_projections();
        self.in_transaction = committed.is_none();
        self.status.count(transactions, rows);
        if let Some(position) = committed {
            self.checkpoint.resume = resume;
            if commit_time_us != 0 {
                self.checkpoint.commit_time_us = commit_time_us;
            }
            self.publish(position, transactions);
        }
        if changes_tables {
            // What an operator has asked for should outlive a crash soon after.
            self.store.request_flush();
        }
        Ok(())
    }

    /// Applies one change and returns the number of row versions in it.
    fn apply_change(&mut self, change: TableChange, stop: &Stop) -> Result<u64, StoreError> {
        match change {
            TableChange::Rows { table, rows } => {
                let count = rows.len() as u64;
                self.projections.ingest(table, &rows)?;
                self.store.ingest(table, rows)?;
                Ok(count)
            }
            TableChange::Move { table, rows } => self.move_row(table, &rows),
            TableChange::Multiset { table, rows } => self.change_multiset(table, &rows),
            TableChange::Truncate { table, position } => {
                self.store.truncate(table, position)?;
                self.projections.truncate(table, position)?;
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
            TableChange::Create {
                table,
                schema,
                replaces,
                position,
            } => {
                self.store
                    .create_table(table, TableSchema::clone(&schema))?;
                let entry = TableEntry {
                    id: table,
                    schema,
                    state: TableState::Copying,
                };
                self.change_catalog(position, replaces, Some(entry));
                Ok(0)
            }
            TableChange::Complete { table, position } => {
                self.complete_table(table, position);
                Ok(0)
            }
            TableChange::Describe {
                table,
                schema,
                position,
            } => {
                if let Some(entry) = self.catalog.by_id(table) {
                    tracing::info!(table = %schema.name, %position, "table described anew");
                    let entry = TableEntry {
                        schema,
                        ..TableEntry::clone(&entry)
                    };
                    self.change_catalog(position, Some(table), Some(entry));
                }
                Ok(0)
            }
            TableChange::Reshape {
                table,
                successor,
                schema,
                columns,
                position,
            } => {
                let reshape = Reshape {
                    table,
                    successor,
                    schema: &schema,
                    columns: &columns,
                    position,
                };
                self.reshape(&reshape, &schema, stop)
            }
            TableChange::Drop { table, position } => {
                self.change_catalog(position, Some(table), None);
                Ok(0)
            }
            TableChange::Project {
                table,
                projection,
                name,
                order_by,
                position,
            } => {
                self.projections.begin(Beginning {
                    name,
                    table,
                    tree: projection,
                    order_by,
                    position,
                })?;
                Ok(0)
            }
            TableChange::StopProjection {
                name,
                position,
                reason,
            } => {
                self.projections.stop(&name, position, reason);
                Ok(0)
            }
            TableChange::DropProjection { name } => {
                self.projections.drop(&name);
                Ok(0)
            }
        }
    }

    /// Takes in what has become of projections in the background. What it changes is published at once,
    /// unless the source's state is that of a transaction whose rest is still to come.
    fn see_to_projections(&mut self) -> Result<(), StoreError> {
        self.projections.take_reports()?;
        if self.record_projections() && !self.in_transaction {
            let visible = self.store.visible();
            self.store.publish(visible, self.checkpoint.to_bytes());
            self.store.request_flush();
        }
        Ok(())
    }

    /// The next publish tells how the projections are; whether there is anything new.
    fn record_projections(&mut self) -> bool {
        // A reader at the visible position may have found a tree just before.
        let from = CommitPosition(self.store.visible().0.saturating_add(1));
        let left = self.projections.take_left();
        self.superfluous
            .extend(left.into_iter().map(|tree| (tree, from)));
        let changed = self.projections.take_changed();
        if changed {
            self.checkpoint.record_tables(&self.store, &self.catalog);
        }
        changed
    }

    fn move_row(&mut self, table: TableId, rows: &VersionRows) -> Result<u64, StoreError> {
        match moved_row::complete(&self.store, table, rows) {
            Ok(rows) => {
                let count = rows.len() as u64;
                self.projections.ingest(table, &rows)?;
                self.store.ingest(table, rows)?;
                Ok(count)
            }
            Err(MoveError::Store(error)) => Err(error),
            Err(error @ MoveError::NoRow) => {
                let before = CommitPosition(rows.positions[0].saturating_sub(1));
                self.stop_table(table, before, error.to_string());
                Ok(0)
            }
        }
    }

    fn change_multiset(&mut self, table: TableId, rows: &VersionRows) -> Result<u64, StoreError> {
        let Resolved { rows, missing } = equal_rows::resolve(&self.store, table, rows)?;
        let count = rows.len() as u64;
        if count > 0 {
            self.projections.ingest(table, &rows)?;
            self.store.ingest(table, rows)?;
        }
        if let Some(position) = missing {
            let before = CommitPosition(position.0.saturating_sub(1));
            let reason = "an UPDATE or DELETE came for a row that is not there".to_owned();
            self.stop_table(table, before, reason);
        }
        Ok(count)
    }

    /// Puts the successor of a reshaped table in its place. One that cannot be made stops the
    /// table, as it was.
    fn reshape(
        &mut self,
        reshape: &Reshape<'_>,
        schema: &Arc<TableSchema>,
        stop: &Stop,
    ) -> Result<u64, StoreError> {
        let Reshape {
            table,
            successor,
            position,
            ..
        } = *reshape;
        self.store
            .create_table(successor, TableSchema::clone(schema))?;
        // A table that was stopped in this place stays stopped, whatever its columns.
        let before = self.catalog.by_id(table);
        let entry = TableEntry {
            id: successor,
            schema: schema.clone(),
            state: before.map_or(TableState::Live, |entry| entry.state.clone()),
        };
        match reshape.run(&self.store, stop) {
            Ok(rows) => {
                tracing::info!(table = %schema.name, rows, %position, "table reshaped");
                self.change_catalog(position, Some(table), Some(entry));
                Ok(rows)
            }
            Err(ReshapeError::Store(error)) => Err(error),
            // The next start does it again.
            Err(ReshapeError::Stopped) => {
                self.interrupted = true;
                Ok(0)
            }
            Err(error @ ReshapeError::Cell { .. }) => {
                let reason = format!("a column's type changed, and {error}");
                let before = CommitPosition(position.0.saturating_sub(1));
                self.change_catalog(position, Some(table), Some(entry));
                self.stop_table(successor, before, reason);
                Ok(0)
            }
        }
    }

    fn complete_table(&mut self, table: TableId, position: CommitPosition) {
        let Some(entry) = self.catalog.by_id(table) else {
            return;
        };
        tracing::info!(table = %entry.schema.name, %position, "table complete");
        let entry = TableEntry {
            state: TableState::Live,
            ..TableEntry::clone(&entry)
        };
        self.change_catalog(position, Some(table), Some(entry));
    }

    /// From `position` on there is `entry` in place of `replaced`, and the next publish says so.
    fn change_catalog(
        &mut self,
        position: CommitPosition,
        replaced: Option<TableId>,
        entry: Option<TableEntry>,
    ) {
        let kept = entry.as_ref().map(|entry| entry.id);
        let superfluous = replaced.filter(|&replaced| Some(replaced) != kept);
        // A reader at the position may have found it just before.
        let from = CommitPosition(position.0.saturating_add(1));
        self.superfluous
            .extend(superfluous.map(|tree| (tree, from)));
        if let Some(replaced) = superfluous {
            let by = entry.as_ref().map(|entry| (entry.id, &*entry.schema));
            self.projections.table_replaced(replaced, by);
        }
        self.catalog.change(position, replaced, entry);
        self.checkpoint.record_tables(&self.store, &self.catalog);
    }

    /// Removes trees that neither a reader nor a restart can need any more.
    fn remove_superfluous(&mut self) -> Result<(), StoreError> {
        if self.superfluous.is_empty() {
            return Ok(());
        }
        let durable = self.store.durable().position;
        let needed = self.store.oldest_readable().min(durable);
        self.catalog.forget_before(needed);
        let is_free = |&mut (_, since): &mut (TableId, CommitPosition)| since <= needed;
        let free: Vec<_> = self.superfluous.extract_if(.., is_free).collect();
        for (table, _) in free {
            self.store.drop_table(table)?;
        }
        Ok(())
    }

    fn stop_table(&mut self, table: TableId, position: CommitPosition, reason: String) {
        if let Some(entry) = self.catalog.by_id(table) {
            tracing::error!(table = %entry.schema.name, %position, reason, "table stopped");
        }
        self.catalog
            .set_state(table, TableState::Stopped { position, reason });
        self.checkpoint.record_tables(&self.store, &self.catalog);
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
