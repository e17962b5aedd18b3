//! Changes that the apply loop completes from the rows that are there: a row under another key whose large
//! values the log left out, and a row that goes from a multiset.
//!
//! The tree must have everything before such a change, and nothing of its table after it:
//! * Where the transaction comes again, the tree may have what it did the first time; the table is copied
//!   again. Looked up among that, the wrong row would be found:
//!
//!   ```text
//!     first time   1 → 0, 2 → 1 ─lost─         rows 0 and 1, no row 2
//!     again        1 → 0                       finds what was row 2
//!   ```
//!
//! * Where the table is being copied, the row may not have been copied yet. From the first such change on
//!   all changes of the table are held back, in memory, and go out when everything has been copied, but for
//!   those that the copy's snapshot has. If they become too many, the copy begins again afterwards.

use types::{CommitPosition, TableChange, VersionKind, VersionRows};

use super::super::pgoutput::{OldTuple, Tuple};
use super::{Changes, ChangesError, Described, Table};

/// Bytes of messages whose changes one copy may hold back.
const HELD_BYTES_MAX: usize = 64 << 20;
/// What a held change takes beside its message, about: its arrays.
const CHANGE_BYTES: usize = 2 << 10;

/// Whether the changes of a table wait until its copy has everything.
#[derive(Debug, Default)]
pub(super) enum HeldBack {
    /// None had to, yet.
    #[default]
    Nothing,
    /// Those since the first that had to, in order.
    Changes {
        /// The changes.
        changes: Vec<TableChange>,
        /// Bytes of their messages.
        bytes: usize,
    },
    /// They became too many.
    TooMuch,
}

impl HeldBack {
    /// Takes out what is not in a snapshot with this consistent point.
    pub(super) fn take_from(&mut self, point: CommitPosition) -> Vec<TableChange> {
        match std::mem::take(self) {
            Self::Changes { changes, .. } => {
                let after = |change| within(change, |position| position >= point.0);
                changes.into_iter().filter_map(after).collect()
            }
            Self::Nothing | Self::TooMuch => Vec::new(),
        }
    }
}

/// The part of a change whose positions are wanted: a beginning or an end of its rows.
fn within(change: TableChange, wanted: impl Fn(u64) -> bool) -> Option<TableChange> {
    let part = |rows: VersionRows| {
        let first = rows.positions.iter().position(|&p| wanted(p))?;
        let count = rows.positions[first..].partition_point(|&p| wanted(p));
        Some(rows.slice(first..first + count))
    };
    Some(match change {
        TableChange::Rows { table, rows } => TableChange::Rows {
            table,
            rows: part(rows)?,
        },
        TableChange::Multiset { table, rows } => TableChange::Multiset {
            table,
            rows: part(rows)?,
        },
        TableChange::Move { table, rows } => TableChange::Move {
            table,
            rows: part(rows)?,
        },
        _ => unreachable!("only rows are held back"),
    })
}

impl Table {
    /// Whether its changes are held back.
    pub(super) fn holds_back(&self) -> bool {
        let held = self.copy.as_ref().map(|copy| &copy.held_back);
        matches!(held, Some(HeldBack::Changes { .. }))
    }

    /// Counts a change of `bytes`; gives up holding back when there are too many.
    pub(super) fn count_held(&mut self, position: CommitPosition, more: usize) {
        let Some(copy) = &mut self.copy else {
            return;
        };
        if let HeldBack::Changes { bytes, .. } = &mut copy.held_back {
            *bytes += more;
            if *bytes > HELD_BYTES_MAX {
                copy.held_back = HeldBack::TooMuch;
                copy.disturb(position);
            }
        }
    }

    /// Forgets what comes again.
    pub(super) fn forget_held_after(&mut self, last: CommitPosition) {
        let held = self.copy.as_mut().map(|copy| &mut copy.held_back);
        if let Some(HeldBack::Changes { changes, .. }) = held {
            let before = |change| within(change, |position| position <= last.0);
            *changes = std::mem::take(changes)
                .into_iter()
                .filter_map(before)
                .collect();
        }
    }
}

impl Changes {
    pub(super) fn needs_old_row(&self, relation: u32, old: OldTuple<'_>, new: Tuple<'_>) -> bool {
        self.table_shown(relation)
            .is_some_and(|table| table.sink.needs_old_row(old, new))
    }

    pub(super) fn is_multiset(&self, relation: u32) -> bool {
        self.table_shown(relation)
            .is_some_and(|table| table.sink.is_multiset())
    }

    fn table_shown(&self, relation: u32) -> Option<&Table> {
        match self.relations.get(&relation) {
            // One that is about to be copied has no place yet.
            Some(Described::Replicated(index)) => self.tables.get(*index),
            _ => None,
        }
    }

    /// Hands rows of a table on: into the batch, or to what is held back.
    pub(super) fn pass_on_rows(&mut self, index: usize, rows: VersionRows) {
        if rows.is_empty() {
            return;
        }
        let sink = &self.tables[index].sink;
        let table = sink.table();
        let takes_away = sink.is_multiset() && rows.kinds.contains(&(VersionKind::Delete as u8));
        let change = match takes_away {
            true => TableChange::Multiset { table, rows },
            false => TableChange::Rows { table, rows },
        };
        self.pass_on(index, change);
    }

    fn pass_on(&mut self, index: usize, change: TableChange) {
        let held = self.tables[index]
            .copy
            .as_mut()
            .map(|copy| &mut copy.held_back);
        match held {
            Some(HeldBack::Changes { changes, bytes }) => {
                *bytes += CHANGE_BYTES;
                changes.push(change);
            }
            _ => self.batch.changes.push(change),
        }
    }

    /// Holds the changes of a table that is being copied back from here on; false if the copy begins again
    /// anyway.
    fn hold_back(&mut self, index: usize, position: CommitPosition) -> bool {
        let table = &mut self.tables[index];
        let Some(copy) = &mut table.copy else {
            return true;
        };
        match copy.held_back {
            HeldBack::Changes { .. } => true,
            HeldBack::TooMuch => {
                copy.disturb(position);
                false
            }
            HeldBack::Nothing => {
                let before = table.sink.take();
                self.pass_on_rows(index, before);
                let copy = self.tables[index]
                    .copy
                    .as_mut()
                    .expect("it is being copied");
                copy.held_back = HeldBack::Changes {
                    changes: Vec::new(),
                    bytes: 0,
                };
                true
            }
        }
    }

    /// Whether the tree may have what this transaction did the first time. The table is copied again, then.
    fn came_before(
        &mut self,
        index: usize,
        position: CommitPosition,
    ) -> Result<bool, ChangesError> {
        let table = &self.tables[index];
        if position > table.replicated.written_before {
            return Ok(false);
        }
        let name = &table.replicated.schema.name;
        self.warnings.push(format!(
            "table {name} is copied again: a transaction was cut off whose rows have to be looked up"
        ));
        self.copy_once_more(index)?;
        Ok(true)
    }

    /// Takes in an update that the apply loop has to complete from the old row. What came before
    /// it goes before it, so a truncation of the same transaction cannot take it out any more.
    pub(super) fn move_row(
        &mut self,
        relation: u32,
        old: OldTuple<'_>,
        new: Tuple<'_>,
        bytes: usize,
    ) -> Result<(), ChangesError> {
        let Some((index, place)) = self.taker(relation, bytes)? else {
            return Ok(());
        };
        if self.came_before(index, place.position)? {
            return Ok(());
        }
        let is_looked_up = self.hold_back(index, place.position);
        let table = &mut self.tables[index];
        if !is_looked_up {
            let deleted = table.sink.delete(old, place);
            self.stop_projections_without_cells(index, place);
            return deleted.or_else(|error| self.not_appended(index, error));
        }
        let before = table.sink.take();
        if !table.holds_back() {
            table.partly_sent = place.position;
        }
        let moved = table.sink.update(Some(old), new, place);
        self.pass_on_rows(index, before);
        self.stop_projections_without_cells(index, place);
        match moved {
            Ok(()) => {
                let sink = &mut self.tables[index].sink;
                let (table, rows) = (sink.table(), sink.take());
                self.pass_on(index, TableChange::Move { table, rows });
                Ok(())
            }
            Err(error) => self.not_appended(index, error),
        }
    }

    /// Takes in an update or a deletion of a row of a multiset.
    pub(super) fn take_away(
        &mut self,
        relation: u32,
        old: OldTuple<'_>,
        new: Option<Tuple<'_>>,
        bytes: usize,
    ) -> Result<(), ChangesError> {
        let Some((index, place)) = self.taker(relation, bytes)? else {
            return Ok(());
        };
        if self.came_before(index, place.position)? {
            return Ok(());
        }
        let is_looked_up = self.hold_back(index, place.position);
        let sink = &mut self.tables[index].sink;
        let appended = match new {
            Some(new) if is_looked_up => sink.update(Some(old), new, place),
            Some(new) => sink.put_updated(old, new, place),
            None if is_looked_up => sink.delete(old, place),
            None => Ok(()),
        };
        self.stop_projections_without_cells(index, place);
        appended.or_else(|error| self.not_appended(index, error))
    }
}
