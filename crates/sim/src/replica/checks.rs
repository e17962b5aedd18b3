//! What a replica must show: the source's rows in every snapshot, and after a start a position that
//! was published.

use lsm::{Snapshot, Store, StoreError};
use types::{CommitPosition, TableId};

use super::{Replica, StepResult, metadata};
use crate::compare;
use crate::model::{Key, Rows, State};
use crate::source::{HOT_KEYS, KEYS};
use crate::tables::{Table, rows_between};

/// Keys of a table that are looked up, about, when all of it is compared.
const KEYS_LOOKED_UP: usize = 8;

/// Keys that are looked up at once where all are.
const KEYS_TOGETHER: usize = 100;

impl Replica {
    /// What the next process finds is a position that was published, and nothing that was
    /// acknowledged is missing.
    pub(super) fn check_recovered(&mut self, store: &Store) {
        let position = store.visible();
        assert!(
            position >= self.acknowledged,
            "{position} was recovered, but {} had been acknowledged",
            self.acknowledged
        );
        assert!(position <= self.visible, "{position} was never published");
        let log = self.source.log();
        let ends = self.source.transactions_until(position).checked_sub(1);
        let committed = ends.map_or(CommitPosition::ZERO, |last| log[last].position);
        assert_eq!(
            position, committed,
            "a position between two commits was recovered"
        );
        let expected = if position == CommitPosition::ZERO {
            Vec::new()
        } else {
            metadata(position)
        };
        assert_eq!(
            *store.metadata(),
            *expected,
            "metadata of another position was recovered"
        );
        assert_eq!(store.durable().position, position);
        self.check_tables(store);
    }

    fn check_tables(&mut self, store: &Store) {
        let found: Vec<TableId> = store.tables().iter().map(|(table, _)| *table).collect();
        for (table, certain) in &self.tables {
            assert!(
                !certain || found.contains(table),
                "table {table} is missing"
            );
        }
        for &table in &found {
            assert!(self.tables.contains_key(&table), "table {table} is back");
            assert_eq!(
                store.schema(table).as_deref(),
                Some(&Table { id: table }.schema())
            );
        }
        self.tables = found.into_iter().map(|table| (table, true)).collect();
    }

    /// Compares every table in every kept snapshot and in a new one.
    pub fn check_everything(&self) -> StepResult {
        for kept in &self.kept {
            self.check_all_tables(&kept.snapshot, &kept.state)?;
        }
        let latest = self.store().pin();
        self.check_all_tables(&latest, &self.visible_state)
    }

    pub(super) fn check_all_tables(&self, snapshot: &Snapshot, state: &State) -> StepResult {
        for &id in self.tables.keys() {
            self.note(|done| done.rows += state.rows(id).len() as u64);
            self.tolerate(check_table(snapshot, Table { id }, &state.rows(id)))?;
        }
        Ok(())
    }

    /// Looks every key of every table up, there or not.
    pub fn look_everything_up(&self) -> StepResult {
        let snapshot = self.store().pin();
        let keys: Vec<Key> = (0..KEYS).collect();
        for table in self.tables.keys().map(|&id| Table { id }) {
            let rows = self.visible_state.rows(table.id);
            for keys in keys.chunks(KEYS_TOGETHER) {
                let compared = compare::look_up_together(&snapshot, table, &rows, keys);
                self.tolerate(compared)?;
            }
        }
        Ok(())
    }

    fn tolerate(&self, compared: StepResult) -> StepResult {
        match (compared, &self.damage) {
            (Err(error @ StoreError::Corrupt { .. }), Some(damage)) => {
                damage.borrow_mut().push(error);
                Ok(())
            }
            (compared, _) => compared,
        }
    }
}

/// Compares all rows of a table, and looks some of them up, and their neighbours.
fn check_table(snapshot: &Snapshot, table: Table, rows: &Rows) -> StepResult {
    let everything = compare::all_columns(table, table.range(None, None), 1_000);
    compare::scan(snapshot, table, everything, rows_between(rows, None, None))?;
    compare::large_numbers(snapshot, table, rows)?;
    compare::look_ups(snapshot, table, rows, &some_keys(rows))
}

/// Keys from all over a table and their neighbours, and some of those that come and go.
fn some_keys(rows: &Rows) -> Vec<Key> {
    let stride = (rows.len() / KEYS_LOOKED_UP).max(1);
    let some = rows.keys().step_by(stride);
    let hot = (0..HOT_KEYS).step_by(HOT_KEYS as usize / KEYS_LOOKED_UP);
    some.flat_map(|&key| [key, key + 1]).chain(hot).collect()
}
