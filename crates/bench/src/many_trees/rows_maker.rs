//! Makes versions of a table's rows, as a source that decodes its log does.

use types::{ColumnBuilder, CommitPosition, RowsBuilder, VersionKind, VersionRows};

use super::history::{Change, RowNumber, RowVersion};
use super::shape::ShapedRow;
use super::tables::{Table, position_of};

/// See the module.
pub struct RowsMaker {
    builder: RowsBuilder,
    text: String,
}

impl RowsMaker {
    /// Of a table.
    pub fn new(table: &Table) -> Self {
        Self {
            builder: RowsBuilder::new(&table.shape.schema(table.tenant)),
            text: String::new(),
        }
    }

    /// Rows as they are before all changes.
    pub fn before(
        &mut self,
        table: &Table,
        rows: std::ops::Range<u64>,
        position: CommitPosition,
    ) -> VersionRows {
        for number in rows.map(RowNumber) {
            self.put(table, table.row(number, RowVersion(0)));
            self.builder.finish_version(position, VersionKind::Put);
        }
        self.builder.build()
    }

    /// What a batch changes.
    pub fn batch(&mut self, table: &Table, batch: u64) -> VersionRows {
        let changes = table.changes_of(batch);
        let count = changes.end - changes.start;
        for (change, nth) in changes.zip(0..) {
            let position = position_of(batch, nth, count);
            match table.history.change(change) {
                Change::Put(number, version) => {
                    self.put(table, table.row(number, version));
                    self.builder.finish_version(position, VersionKind::Put);
                }
                Change::Delete(number) => {
                    self.delete(table, table.row(number, RowVersion(0)));
                    self.builder.finish_version(position, VersionKind::Delete);
                }
            }
        }
        self.builder.build()
    }

    fn put(&mut self, table: &Table, row: ShapedRow) {
        let columns = table.shape.columns.iter();
        for (column, cells) in columns.zip(self.builder.columns_mut()) {
            cells.append(&column.value(row, &mut self.text));
        }
    }

    fn delete(&mut self, table: &Table, row: ShapedRow) {
        let (key, others) = self
            .builder
            .columns_mut()
            .split_at_mut(table.shape.key_columns());
        for (column, cells) in table.shape.columns.iter().zip(key) {
            cells.append(&column.value(row, &mut self.text));
        }
        others.iter_mut().for_each(ColumnBuilder::append_null);
    }
}
