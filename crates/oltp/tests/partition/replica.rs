//! A replica of the script's tables: sorted maps that do what the change feed says, and nothing else.

use std::collections::BTreeMap;

use oltp::change_feed::CommittedTransaction;
use oltp::{ChangeFeed, CommittedChanges, RowImage};
use types::{CommitPosition, Value};

use crate::model::{Model, Rows};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Replica {
    pub state: Model,
    /// It has everything up to here.
    pub position: CommitPosition,
    /// Parts of copies that it was given, since the last one began.
    pub copied_parts: usize,
}

type Row = (i64, (i64, Option<Vec<u8>>));

/// What a transaction has changed: by table and id, what was there before and what is now.
pub type Difference = BTreeMap<(usize, i64), [Option<(i64, Option<Vec<u8>>)>; 2]>;

fn row(image: &RowImage<'_>) -> Row {
    let int = |column| match image.value(column) {
        Value::Int(int) => int,
        other => panic!("{other:?}"),
    };
    let text = match image.value(2) {
        Value::Null => None,
        Value::Bytes(text) => Some(text.to_vec()),
        other => panic!("{other:?}"),
    };
    (int(0), (int(1), text))
}

/// What differs between two states.
pub fn difference(before: &Model, now: &Model) -> Difference {
    let mut found = Difference::new();
    for (number, (before, now)) in before.tables.iter().zip(&now.tables).enumerate() {
        for id in before.keys().chain(now.keys()) {
            let rows = [before, now].map(|rows: &Rows| rows.get(id).cloned());
            if rows[0] != rows[1] {
                found.insert((number, *id), rows);
            }
        }
    }
    found
}

impl Replica {
    /// Takes all there is, a few transactions at a time, and asserts that each row was what its change
    /// says. Hands what each transaction has changed to `each`.
    pub fn follow(&mut self, feed: &ChangeFeed, mut each: impl FnMut(CommitPosition, Difference)) {
        while let Some(changes) = feed.take(500).expect("nothing fails") {
            if changes.copy().is_some() {
                self.copy(&changes);
                continue;
            }
            for transaction in changes.transactions() {
                let before = self.state.clone();
                self.apply_next(&transaction);
                each(self.position, difference(&before, &self.state));
            }
            assert_eq!(changes.last(), self.position);
        }
    }

    /// Takes something, if there is anything.
    pub fn take(&mut self, feed: &ChangeFeed, bytes_max: usize) {
        match feed.take(bytes_max).expect("nothing fails") {
            Some(changes) if changes.copy().is_some() => self.copy(&changes),
            Some(changes) => changes.transactions().for_each(|t| self.apply_next(&t)),
            None => {}
        }
    }

    fn apply_next(&mut self, transaction: &CommittedTransaction<'_>) {
        assert_eq!(transaction.position.0, self.position.0 + 1, "in order");
        self.apply(transaction);
        self.position = transaction.position;
    }

    /// Takes one part of a copy.
    pub fn copy(&mut self, changes: &CommittedChanges) {
        let part = changes.copy().expect("a copy");
        if part.is_first {
            *self = Self::default();
        }
        self.copied_parts += 1;
        for transaction in changes.transactions() {
            assert_eq!(transaction.position, changes.last());
            self.apply(&transaction);
        }
        if part.is_last {
            self.position = changes.last();
        }
    }

    fn apply(&mut self, transaction: &CommittedTransaction<'_>) {
        for change in transaction.changes() {
            let rows = &mut self.state.tables[usize::from(change.table.0)];
            assert!(change.old.is_some() || change.new.is_some());
            let (old, new) = (change.old.as_ref().map(row), change.new.as_ref().map(row));
            assert_ne!(old, new, "it has changed");
            if let Some((id, old)) = old {
                assert_eq!(rows.remove(&id), Some(old), "row {id} was so before");
            }
            if let Some((id, new)) = new {
                assert_eq!(rows.insert(id, new), None, "row {id} was not there");
            }
        }
    }
}
