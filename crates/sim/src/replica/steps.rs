//! The steps that a replica takes, and how often each is drawn.

use std::rc::Rc;
use std::sync::Arc;

use lsm::{StoreError, Work};
use rand::Rng;
use types::{CommitPosition, TableId};

use super::{Kept, Replica, StepResult, WAIT};
use crate::compare;
use crate::disk::Crash;
use crate::model::Key;
use crate::source::{HOT_KEYS, KEYS};
use crate::tables::{Table, rows_between};

/// The tables that a replica has at most at once.
const TABLES_MAX: usize = 4;

/// Snapshots that are held at most at once.
const SNAPSHOTS_MAX: usize = 4;

/// One step that a replica takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The source commits a few transactions.
    Commit,
    /// The next changes of the source's log are ingested, up to some place in a transaction.
    Ingest,
    /// Everything that was ingested whole is published.
    Publish,
    /// A flush in the calling thread.
    Flush,
    /// One piece of background work.
    Work(Work),
    /// A flush is asked for.
    RequestFlush,
    /// Time passes.
    Wait,
    /// A snapshot is taken and kept.
    Pin,
    /// A kept snapshot is compared and dropped.
    Unpin,
    /// History is held from now on.
    Hold,
    /// The hold is released.
    Release,
    /// A snapshot at an older position is taken under the hold and kept.
    PinAt,
    /// A snapshot is scanned and compared: one table, some range, some columns.
    Scan,
    /// Some keys of a table, there or not, are looked up and compared.
    LookUp,
    /// The ranges that a table is cut into for parallel scans are compared.
    Split,
    /// A table is made.
    CreateTable,
    /// A table is dropped.
    DropTable,
    /// The process ends in order and a new one starts.
    Restart,
}

impl Replica {
    /// Takes one step.
    ///
    /// # Panics
    /// When the store shows anything but what the model says.
    pub fn step(&mut self, step: Step) -> StepResult {
        self.note(|done| done.steps += 1);
        self.watch.know(self.acknowledged, &self.tables);
        match step {
            Step::Commit => self.commit(),
            Step::Ingest => self.ingest()?,
            Step::Publish => self.publish(),
            Step::Flush => self.flush()?,
            Step::Work(kind) => self.interrupted(|store| store.work(kind).map(drop))?,
            Step::RequestFlush => self.store().request_flush(),
            Step::Wait => self.clock.advance(WAIT),
            Step::Pin => self.pin(),
            Step::Unpin => self.unpin()?,
            Step::Hold => self.hold = Some(self.store().hold_history()),
            Step::Release => self.hold = None,
            Step::PinAt => self.pin_at(),
            Step::Scan => self.scan()?,
            Step::LookUp => self.look_up()?,
            Step::Split => self.split()?,
            Step::CreateTable => self.create_table()?,
            Step::DropTable => self.drop_table()?,
            Step::Restart => self.restart()?,
        }
        self.acknowledge();
        Ok(())
    }

    /// A step such as a running replica takes, chosen at random.
    pub fn random_step(&mut self) -> Step {
        match self.random.random_range(0..100) {
            0..14 => Step::Commit,
            14..38 => Step::Ingest,
            38..40 => Step::Wait,
            40..54 => Step::Publish,
            54..58 => Step::Flush,
            58..64 => Step::Work(Work::Flush),
            64..72 => Step::Work(Work::Merge),
            72..74 => Step::RequestFlush,
            74..78 => Step::Pin,
            78..81 => Step::Unpin,
            81..83 => Step::Hold,
            83..84 => Step::Release,
            84..86 => Step::PinAt,
            86..91 => Step::Scan,
            91..95 => Step::LookUp,
            95..97 => Step::Split,
            97 => Step::CreateTable,
            98 => Step::DropTable,
            _ => Step::Restart,
        }
    }

    pub(super) fn commit(&mut self) {
        let tables = self.table_ids();
        for _ in 0..self.random.random_range(1..=5) {
            Rc::make_mut(&mut self.source).commit(&mut self.random, &tables);
        }
    }

    fn flush(&mut self) -> StepResult {
        let published = self.visible;
        self.interrupted(|store| store.flush())?;
        let durable = self.store().durable().position;
        assert!(durable >= published, "a flush makes all durable");
        Ok(())
    }

    fn pin(&mut self) {
        let snapshot = self.store().pin();
        assert_eq!(snapshot.position(), self.visible);
        let state = Arc::clone(&self.visible_state);
        self.keep(Kept { snapshot, state });
    }

    pub(super) fn keep(&mut self, kept: Kept) {
        if self.kept.len() == SNAPSHOTS_MAX {
            let oldest = self.random.random_range(0..SNAPSHOTS_MAX);
            self.kept.swap_remove(oldest);
        }
        self.kept.push(kept);
    }

    fn unpin(&mut self) -> StepResult {
        if self.kept.is_empty() {
            return Ok(());
        }
        let index = self.random.random_range(0..self.kept.len());
        let kept = self.kept.swap_remove(index);
        self.check_all_tables(&kept.snapshot, &kept.state)
    }

    fn pin_at(&mut self) {
        let Some(hold) = &self.hold else { return };
        let position = self
            .random
            .random_range(hold.position().0..=self.visible.0 + 3);
        let position = CommitPosition(position);
        let snapshot = self.store().pin_at(hold, position);
        assert_eq!(
            snapshot.is_some(),
            position <= self.visible,
            "held positions can be pinned"
        );
        if let Some(snapshot) = snapshot {
            assert_eq!(snapshot.position(), position);
            let state = self.state_at(position);
            self.keep(Kept { snapshot, state });
        }
    }

    /// Scans a part of a table in a kept snapshot or in a new one.
    fn scan(&mut self) -> StepResult {
        let Some(table) = self.some_table() else {
            return Ok(());
        };
        let mut bound = || {
            self.random
                .random_bool(0.5)
                .then(|| self.random.random_range(0..KEYS))
        };
        let (start, end) = (bound(), bound());
        let index = self.random.random_range(0..=self.kept.len());
        let batch_rows = self.random.random_range(1..200);
        let latest;
        let (snapshot, state) = match self.kept.get(index) {
            Some(kept) => (&kept.snapshot, &kept.state),
            None => {
                latest = self.store().pin();
                (&latest, &self.visible_state)
            }
        };
        let rows = state.rows(table.id);
        let expected = rows_between(&rows, start, end);
        let range = table.range(start, end);
        if self.random.random_bool(0.7) {
            let request = compare::all_columns(table, range, batch_rows);
            return compare::scan(snapshot, table, request, expected);
        }
        compare::count(snapshot, table, range, expected.count())
    }

    /// Looks keys up in a kept snapshot or in a new one.
    fn look_up(&mut self) -> StepResult {
        let Some(table) = self.some_table() else {
            return Ok(());
        };
        let keys = self.random_keys();
        let index = self.random.random_range(0..=self.kept.len());
        match self.kept.get(index) {
            Some(kept) => {
                compare::look_ups(&kept.snapshot, table, &kept.state.rows(table.id), &keys)
            }
            None => {
                let rows = self.visible_state.rows(table.id);
                compare::look_ups(&self.store().pin(), table, &rows, &keys)
            }
        }
    }

    /// Neighbours, some twice, in any order.
    fn random_keys(&mut self) -> Vec<Key> {
        let keys = [HOT_KEYS, KEYS][self.random.random_range(0..2)];
        let first = self.random.random_range(0..keys);
        let nearby = self.random.random_range(1..keys);
        let count = self.random.random_range(1..40);
        let key = |_| (first + self.random.random_range(0..nearby)) % keys;
        (0..count).map(key).collect()
    }

    fn split(&mut self) -> StepResult {
        let Some(table) = self.some_table() else {
            return Ok(());
        };
        let parts = self.random.random_range(1..8);
        let snapshot = self.store().pin();
        let ranges = snapshot.split(table.id, parts)?;
        let found = ranges.len();
        assert!(found <= parts.max(1), "{found} of {parts} parts");
        let rows = self.visible_state.rows(table.id);
        compare::scans(&snapshot, table, ranges, rows_between(&rows, None, None))
    }

    fn create_table(&mut self) -> StepResult {
        if self.tables.len() == TABLES_MAX {
            return Ok(());
        }
        let table = Table {
            id: TableId(self.next_table),
        };
        self.next_table += 1;
        self.tables.insert(table.id, false);
        self.watch.know(self.acknowledged, &self.tables);
        let created = self.store().create_table(table.id, table.schema());
        self.settle_table(table.id, created.is_ok(), &created);
        created
    }

    fn drop_table(&mut self) -> StepResult {
        if self.tables.len() < 3 {
            return Ok(());
        }
        let Some(table) = self.some_table() else {
            return Ok(());
        };
        self.tables.insert(table.id, false);
        self.watch.know(self.acknowledged, &self.tables);
        let dropped = self.store().drop_table(table.id);
        self.settle_table(table.id, dropped.is_err(), &dropped);
        dropped
    }

    /// A change of the tables that failed did not happen. But for a failed sync: then the next
    /// process finds out.
    fn settle_table(&mut self, table: TableId, exists: bool, result: &StepResult) {
        let unknown = matches!(result, Err(StoreError::Poisoned(_))) || self.disk.has_crashed();
        match (unknown, exists) {
            (true, _) => {}
            (false, true) => {
                self.tables.insert(table, true);
            }
            (false, false) => {
                self.tables.remove(&table);
            }
        }
    }

    fn restart(&mut self) -> StepResult {
        if self.random.random_bool(0.5) {
            self.stop();
        } else {
            self.end(Crash::Kill);
        }
        self.start()
    }
}
