//! What other threads do while the store flushes or merges: tables are read, changes arrive and
//! are published, snapshots are taken, all between two operations of the disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use lsm::{Snapshot, Store};
use rand::Rng;
use types::{CommitPosition, TableId};

use super::{Cursor, Kept, Replica, StepResult, metadata};
use crate::compare;
use crate::model::{Change, Key, State};
use crate::source::{HOT_KEYS, KEYS};
use crate::tables::{Table, rows_between};

/// Background work is mostly done after so many operations.
const OPERATIONS_MAX: u32 = 16;

/// One of so many keys is looked up.
const KEYS_STRIDE: Key = 8;

/// Changes by table, in order.
type Changes = BTreeMap<TableId, Vec<(CommitPosition, Change)>>;

/// What will happen.
struct Arrival {
    store: Arc<Store>,
    /// What is visible before.
    state: Arc<State>,
    /// Read before, each in so many parts, and by these keys.
    tables: Vec<TableId>,
    parts: usize,
    keys: Vec<Key>,
    changes: Changes,
    /// Published then.
    position: CommitPosition,
}

/// What came of it.
struct Outcome {
    read: StepResult,
    ingested: StepResult,
    before: Snapshot,
    after: Snapshot,
}

impl Replica {
    /// Does some work of the store. Half of the time other threads do something meanwhile.
    pub(super) fn interrupted(&mut self, work: impl FnOnce(&Store) -> StepResult) -> StepResult {
        if self.random.random_bool(0.5) {
            return work(self.store());
        }
        let (arrival, stop) = self.arrival();
        let position = arrival.position;
        let outcome = Arc::new(Mutex::new(None));
        let told = Arc::clone(&outcome);
        let action = Box::new(move || {
            let happened = arrival.happen();
            *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(happened);
        });
        let operations = self.random.random_range(0..OPERATIONS_MAX);
        self.watch.plan(operations, action);
        let result = work(self.store());
        if let Some(action) = self.watch.take_planned() {
            action();
        }
        let outcome = outcome
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let read = self.arrived(outcome.expect("the action was taken"), stop, position);
        result.and(read)
    }

    /// The next transactions of the source, and the end of its log.
    fn arrival(&mut self) -> (Arrival, Cursor) {
        self.commit();
        let stop = Cursor {
            transaction: self.source.log().len(),
            change: 0,
        };
        let changes = self.changes_until(stop);
        let count: usize = changes.values().map(Vec::len).sum();
        self.note(|done| done.changes += count as u64);
        let arrival = Arrival {
            store: Arc::clone(self.store()),
            state: Arc::clone(&self.visible_state),
            tables: self.table_ids(),
            keys: self.keys_all_over(),
            parts: self.random.random_range(1..6),
            changes,
            position: self.source.log()[stop.transaction - 1].position,
        };
        (arrival, stop)
    }

    /// Those that come and go, and an even choice of the others.
    fn keys_all_over(&mut self) -> Vec<Key> {
        let first = HOT_KEYS + self.random.random_range(0..KEYS_STRIDE);
        let others = (first..KEYS).step_by(KEYS_STRIDE as usize);
        (0..HOT_KEYS).chain(others).collect()
    }

    fn arrived(&mut self, outcome: Outcome, stop: Cursor, position: CommitPosition) -> StepResult {
        let state = Arc::clone(&self.visible_state);
        self.keep(Kept {
            snapshot: outcome.before,
            state,
        });
        outcome.ingested?;
        self.next = stop;
        self.published(position);
        let state = Arc::clone(&self.visible_state);
        self.keep(Kept {
            snapshot: outcome.after,
            state,
        });
        outcome.read
    }
}

impl Arrival {
    fn happen(self) -> Outcome {
        let before = self.store.pin();
        let read = self.read(&before);
        let mut tables = self.changes.iter();
        let ingested =
            tables.try_for_each(|(&id, changes)| ingest(&self.store, Table { id }, changes));
        if ingested.is_ok() {
            self.store.publish(self.position, metadata(self.position));
        }
        Outcome {
            read,
            ingested,
            before,
            after: self.store.pin(),
        }
    }

    fn read(&self, snapshot: &Snapshot) -> StepResult {
        for table in self.tables.iter().map(|&id| Table { id }) {
            let rows = self.state.rows(table.id);
            let parts = snapshot.split(table.id, self.parts)?;
            compare::scans(snapshot, table, parts, rows_between(&rows, None, None))?;
            compare::look_up_together(snapshot, table, &rows, &self.keys)?;
        }
        Ok(())
    }
}

fn ingest(store: &Store, table: Table, changes: &[(CommitPosition, Change)]) -> StepResult {
    let mut writes = Vec::new();
    for (position, change) in changes {
        match change {
            Change::Write { key, write, .. } => writes.push((*position, *key, write.clone())),
            Change::Truncate { .. } => store.truncate(table.id, *position)?,
        }
    }
    store.ingest(table.id, table.versions(&writes))
}
