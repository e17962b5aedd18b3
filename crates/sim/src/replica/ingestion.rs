//! What a replica takes from its source: changes in the order of the log, published at the ends of
//! transactions.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::Rng;
use types::{CommitPosition, TableId};

use super::{Replica, StepResult, metadata};
use crate::model::{Change, Key, Write};
use crate::tables::Table;

/// The next change to ingest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    pub transaction: usize,
    pub change: usize,
}

impl Replica {
    /// Ingests the rest of the transaction under way and a few more, or stops inside one.
    pub(super) fn ingest(&mut self) -> StepResult {
        let stop = self.some_stop();
        let changes = self.changes_until(stop);
        for (table, changes) in changes {
            self.ingest_table(Table { id: table }, &changes)?;
        }
        self.next = stop;
        Ok(())
    }

    fn some_stop(&mut self) -> Cursor {
        let log = self.source.log();
        let transactions = self.random.random_range(1..=4);
        let end = (self.next.transaction + transactions).min(log.len());
        let mut stop = Cursor {
            transaction: end,
            change: 0,
        };
        if let Some(transaction) = log.get(end).filter(|_| self.random.random_ratio(1, 4)) {
            let first = if end == self.next.transaction {
                self.next.change
            } else {
                0
            };
            stop.change = self.random.random_range(first..=transaction.changes.len());
        }
        stop
    }

    /// The changes from the cursor on, by table, in order. Changes of tables that do not exist
    /// any more are left out.
    pub(super) fn changes_until(
        &self,
        stop: Cursor,
    ) -> BTreeMap<TableId, Vec<(CommitPosition, Change)>> {
        let mut changes: BTreeMap<TableId, Vec<(CommitPosition, Change)>> = BTreeMap::new();
        for index in self.next.transaction..=stop.transaction {
            let Some(transaction) = self.source.log().get(index) else {
                break;
            };
            let first = if index == self.next.transaction {
                self.next.change
            } else {
                0
            };
            let last = if index == stop.transaction {
                stop.change
            } else {
                transaction.changes.len()
            };
            for change in &transaction.changes[first.min(last)..last] {
                if self.tables.contains_key(&change.table()) {
                    let of_table = changes.entry(change.table()).or_default();
                    of_table.push((transaction.position, change.clone()));
                }
            }
        }
        changes
    }

    fn ingest_table(&mut self, table: Table, changes: &[(CommitPosition, Change)]) -> StepResult {
        let store = Arc::clone(self.store());
        self.note(|done| done.changes += changes.len() as u64);
        let mut writes: Vec<(CommitPosition, Key, Write)> = Vec::new();
        for (position, change) in changes {
            match change {
                Change::Write { key, write, .. } => writes.push((*position, *key, write.clone())),
                Change::Truncate { .. } => store.truncate(table.id, *position)?,
            }
            if self.random.random_ratio(1, 50) {
                store.ingest(table.id, table.versions(&std::mem::take(&mut writes)))?;
            }
        }
        store.ingest(table.id, table.versions(&writes))
    }

    pub(super) fn publish(&mut self) {
        let Some(position) = self.publishable() else {
            return;
        };
        self.store().publish(position, metadata(position));
        self.published(position);
    }

    /// The last transaction that is ingested whole, if it is not visible.
    pub(super) fn publishable(&self) -> Option<CommitPosition> {
        let last = self.next.transaction.checked_sub(1)?;
        let position = self.source.log()[last].position;
        (position > self.visible).then_some(position)
    }

    pub(super) fn published(&mut self, position: CommitPosition) {
        self.visible_state = self.state_at(position);
        self.visible = position;
        let state = Arc::clone(&self.visible_state);
        self.states
            .retain(|position, _| *position >= self.acknowledged);
        self.states.insert(position, state);
    }
}
