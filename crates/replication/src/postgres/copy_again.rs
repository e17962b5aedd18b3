//! Everything is copied once more, in place, after the log could not be followed any further.
//!
//! 1. see that the source is the one that was copied, and further on;
//! 2. make the slot anew, with its snapshot, whose position is above everything that is visible;
//! 3. copy all tables of the snapshot into new trees, which nobody sees;
//! 4. publish the snapshot's position: from it on there are the new trees in place of the old ones.
//!
//! Until step 4 readers go on with what was copied before, as of its last position, and the source
//! is shown as copying, with the reason. A process that ends before is as if nothing had happened:
//! the slot is then ahead of its position, and that is a gap again.

use std::sync::Arc;

use types::{CommitPosition, TableId};

use super::catalog::{PublishedTable, Selection, read_tables};
use super::config::PostgresConfig;
use super::connection::{Connection, Mode};
use super::copy::{Copied, Job, copy_tables, open_at};
use super::gap::{Gap, GapKind};
use super::slot::{self, SystemIdentity};
use super::state::{PostgresState, WireTable};
use crate::catalog::TableEntry;
use crate::checkpoint::Checkpoint;
use crate::source::{SourceError, Target};
use crate::status::SourceState;

/// One more copy of a source.
pub struct CopyAgain<'a> {
    /// The source.
    pub config: &'a PostgresConfig,
    /// What was copied before.
    pub target: &'a Target,
    /// Why it cannot be continued.
    pub gap: &'a str,
}

impl CopyAgain<'_> {
    /// Copies, and returns what is published then. `before` is what was published before.
    pub fn run(&self, before: Checkpoint) -> Result<Checkpoint, SourceError> {
        let Target { store, status, .. } = self.target;
        tracing::warn!(
            source = status.name(),
            reason = self.gap,
            "copying everything again"
        );
        let shown = format!("{}; it is copied again", self.gap);
        status.set_state(SourceState::Copying, Some(shown));
        let (config, stop) = (self.config, &self.target.stop);
        let mut connection = Connection::open(config, Mode::Replication, stop)?;
        let mut state = PostgresState::from_value(&before.source)?;
        let identity = self.check(&mut connection, &state.identity)?;
        if slot::exists(&mut connection, &config.slot)? {
            slot::drop_slot(&mut connection, &config.slot)?;
        }
        let slot = slot::create(&mut connection, &config.slot, false)?;
        let position = CommitPosition(slot.consistent_point.0.saturating_sub(1));
        let mut session = open_at(config, &slot.snapshot, stop)?;
        let selection = Selection::Publication(config.publication_name());
        let jobs = self.create_trees(read_tables(&mut session, selection)?)?;
        drop(session);
        state.identity = identity;
        state.tables = jobs
            .iter()
            .map(|job| WireTable::new(job.table, &job.published))
            .collect();
        let entries: Vec<_> = jobs
            .iter()
            .map(|job| (job.table, job.schema.clone()))
            .collect();
        let copied = copy_tables(
            self.target,
            config,
            slot.snapshot,
            position,
            jobs,
            Arc::new(|_| Ok(())),
        );
        if copied.is_err() {
            for (tree, _) in &entries {
                store.drop_table(*tree)?;
            }
        }
        let copied = copied?;
        self.replace_tables(position, entries, &copied);
        let mut checkpoint = before;
        checkpoint.resume = slot.consistent_point.0;
        checkpoint.commit_time_us = self.target.clock.wall_us();
        checkpoint.source = state.to_value();
        checkpoint.record_tables(store, &self.target.catalog);
        store.publish(position, checkpoint.to_bytes());
        store.flush()?;
        status.count(0, copied.rows);
        status.set_visible(position, checkpoint.commit_time_us);
        tracing::info!(rows = copied.rows, %position, "copied again");
        Ok(checkpoint)
    }

    /// The source must be the one that was copied, and its log beyond what readers see.
    fn check(
        &self,
        connection: &mut Connection,
        before: &SystemIdentity,
    ) -> Result<SystemIdentity, SourceError> {
        let (found, log_end) = slot::identify(connection)?;
        let stale = |kind, detail| Err(SourceError::Stale(Gap { kind, detail }.to_string()));
        if (&found.system, &found.database) != (&before.system, &before.database) {
            let detail = format!(
                "{} is another database than the one that was copied",
                self.config
            );
            return stale(GapKind::OtherSystem, detail);
        }
        let visible = self.target.store.visible();
        if log_end <= visible {
            let detail =
                format!("the source's log ends at {log_end}, before what is visible, {visible}");
            return stale(GapKind::LogEndsEarly, detail);
        }
        Ok(found)
    }

    fn create_trees(&self, published: Vec<PublishedTable>) -> Result<Vec<Job>, SourceError> {
        let store = &self.target.store;
        let first = store.next_table().0;
        let ids = (first..).map(TableId);
        let job = |(table, published): (TableId, PublishedTable)| -> Result<Job, SourceError> {
            let schema = published.schema();
            store.create_table(table, schema.clone())?;
            Ok(Job {
                table,
                schema: Arc::new(schema),
                published,
            })
        };
        ids.zip(published).map(job).collect()
    }

    /// From `position` on there are the new trees, and no others.
    fn replace_tables(
        &self,
        position: CommitPosition,
        entries: Vec<(TableId, Arc<types::TableSchema>)>,
        copied: &Copied,
    ) {
        let catalog = &self.target.catalog;
        for former in catalog.tables() {
            self.move_projections(&former, &entries);
            catalog.change(position, Some(former.id), None);
        }
        for (id, schema) in entries {
            let state = copied.state_of(id);
            catalog.change(position, None, Some(TableEntry { id, schema, state }));
        }
    }

    /// The projections of a table are those of the one that has its name now. The apply loop fills them.
    fn move_projections(
        &self,
        former: &TableEntry,
        entries: &[(TableId, Arc<types::TableSchema>)],
    ) {
        let catalog = &self.target.catalog;
        let same =
            |(_, schema): &&(TableId, Arc<types::TableSchema>)| schema.name == former.schema.name;
        for projection in catalog.projections_of(former.id) {
            let moved = entries.iter().find(same);
            let moved = moved.and_then(|(id, now)| projection.moved(&former.schema, *id, now));
            match moved {
                Some(moved) => catalog.set_projection(moved),
                None => catalog.remove_projection(&projection.name),
            }
        }
    }
}
