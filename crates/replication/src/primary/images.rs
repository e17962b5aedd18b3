//! Committed rows as columns: what the feed gives, as the apply loop takes it.
//!
//! A row that has come or was updated becomes a put with all its cells, one that is gone a delete with its
//! key. (One that gets another key is gone and comes.) No tree is read. Where projections need it, what is gone
//! or has changed is deleted with all its former cells.
//!
//! A replica that has nothing, or too little, gets all rows first: what it has is truncated, and nothing is
//! published until the copy is whole.

use oltp::change_feed::{ChangedRow, CommittedChanges, RowImage};
use types::{
    ChangeBatch, CommitPosition, RowsBuilder, TableChange, TableId, TableSchema, Value, VersionKind,
};

/// Makes change batches.
pub(super) struct Images {
    /// By the number of the table at the primary.
    tables: Vec<TableRows>,
}

/// The rows of one table in the batch that is being made.
struct TableRows {
    id: TableId,
    is_key: Vec<bool>,
    /// The columns that projections are ordered by.
    ordered: Vec<usize>,
    builder: RowsBuilder,
}

impl Images {
    /// For these tables, in the order of their numbers at the primary.
    pub(super) fn new<'s>(tables: impl Iterator<Item = (TableId, &'s TableSchema)>) -> Self {
        let rows = |(id, schema): (TableId, &TableSchema)| TableRows {
            id,
            is_key: (0..schema.columns.len())
                .map(|column| schema.key.contains(&column))
                .collect(),
            ordered: Vec::new(),
            builder: RowsBuilder::new(schema),
        };
        Self {
            tables: tables.map(rows).collect(),
        }
    }

    /// From now on deletions of rows of a table, and updates that change one of these columns, carry all cells
    /// of the former row.
    pub(super) fn keep_former_cells(&mut self, table: usize, columns: Vec<usize>) {
        self.tables[table].ordered = columns;
    }

    /// The batch of some changes.
    pub(super) fn batch(&mut self, changes: &CommittedChanges) -> ChangeBatch {
        let position = changes.last();
        let is_whole = changes.copy().is_none_or(|part| part.is_last);
        let mut batch = ChangeBatch {
            committed: is_whole.then_some(position),
            resume: position.0,
            ..ChangeBatch::default()
        };
        if changes.copy().is_some_and(|part| part.is_first) {
            let truncate = |table: &TableRows| TableChange::Truncate {
                table: table.id,
                position,
            };
            batch.changes.extend(self.tables.iter().map(truncate));
        }
        for transaction in changes.transactions() {
            for change in transaction.changes() {
                self.tables[usize::from(change.table.0)].append(&change, transaction.position);
            }
            batch.transactions += u64::from(is_whole);
            batch.commit_time_us = transaction.time_us;
        }
        let filled = self
            .tables
            .iter_mut()
            .filter(|table| !table.builder.is_empty());
        batch.changes.extend(filled.map(|table| TableChange::Rows {
            table: table.id,
            rows: table.builder.build(),
        }));
        batch
    }
}

impl TableRows {
    fn append(&mut self, change: &ChangedRow<'_>, position: CommitPosition) {
        match (&change.old, &change.new) {
            (Some(old), Some(new)) => {
                if self.moves(old, new) {
                    self.delete(old, position);
                }
                self.put(new, position);
            }
            (None, Some(new)) => self.put(new, position),
            (Some(old), None) => self.delete(old, position),
            (None, None) => unreachable!("a change has an image"),
        }
    }

    /// Whether the row gets another place in a projection.
    fn moves(&self, old: &RowImage<'_>, new: &RowImage<'_>) -> bool {
        let differs = |&column: &usize| old.value(column).order(&new.value(column)).is_ne();
        self.ordered.iter().any(differs)
    }

    fn put(&mut self, image: &RowImage<'_>, position: CommitPosition) {
        for (column, cells) in self.builder.columns_mut().iter_mut().enumerate() {
            cells.append(&image.value(column));
        }
        self.builder.finish_version(position, VersionKind::Put);
    }

    fn delete(&mut self, image: &RowImage<'_>, position: CommitPosition) {
        for (column, cells) in self.builder.columns_mut().iter_mut().enumerate() {
            let cell = if self.is_key[column] || !self.ordered.is_empty() {
                image.value(column)
            } else {
                Value::Null
            };
            cells.append(&cell);
        }
        self.builder.finish_version(position, VersionKind::Delete);
    }
}
