//! What the rows of a tree ascend by, in terms of its table's columns.
//!
//! A table's tree ascends by the table's key. A projection's ascends by the columns that it is ordered by
//! and then by the table's key; a column that may be NULL has a mark before it, so that NULLs come last.

use std::sync::Arc;

use replication::projection::Projection;
use replication::projection::layout::{KeyColumn, Layout};
use types::{ColumnType, TableId, TableSchema};

/// A tree of a table's rows.
#[derive(Clone, Debug)]
pub(crate) struct TableTree {
    pub(crate) id: TableId,
    /// The projection's name; `None` for the table's own tree.
    pub(crate) projection: Option<String>,
    pub(crate) key: Arc<TreeKey>,
}

/// The key of a tree.
#[derive(Debug)]
pub(crate) struct TreeKey {
    table: Arc<TableSchema>,
    pub(crate) columns: Vec<KeyColumn>,
}

impl TableTree {
    /// The tree of a table.
    pub(crate) fn of_table(id: TableId, schema: &Arc<TableSchema>) -> Self {
        Self {
            id,
            projection: None,
            key: Arc::new(TreeKey::of_table(schema)),
        }
    }

    /// The tree of a table's projection.
    pub(crate) fn of_projection(
        id: TableId,
        projection: &Projection,
        schema: &Arc<TableSchema>,
    ) -> Self {
        let key = TreeKey {
            table: Arc::clone(schema),
            columns: Layout::new(schema, &projection.order_by).key(),
        };
        Self {
            id,
            projection: Some(projection.name.clone()),
            key: Arc::new(key),
        }
    }
}

impl TreeKey {
    /// The key of a table's own tree.
    pub(crate) fn of_table(schema: &Arc<TableSchema>) -> Self {
        Self {
            table: Arc::clone(schema),
            columns: schema.key.iter().copied().map(KeyColumn::Cells).collect(),
        }
    }

    /// The types of the key's columns.
    pub(crate) fn types(&self) -> Vec<ColumnType> {
        let column_type = |column: &KeyColumn| match *column {
            KeyColumn::Cells(column) => self.table.columns[column].column_type,
            KeyColumn::NullMark(_) => ColumnType::Bool,
        };
        self.columns.iter().map(column_type).collect()
    }

    /// The place in the key of the cells of the table's column with this name.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        let is_named = |column: &KeyColumn| match *column {
            KeyColumn::Cells(column) => {
                let column = &self.table.columns[column];
                !column.hidden && column.name == name
            }
            KeyColumn::NullMark(_) => false,
        };
        self.columns.iter().position(is_named)
    }

    /// The place of the mark of the column whose cells are at `place`, if it has one.
    pub(crate) fn mark(&self, place: usize) -> Option<usize> {
        let before = place.checked_sub(1)?;
        matches!(self.columns[before], KeyColumn::NullMark(_)).then_some(before)
    }

    /// The table's columns by which rows ascend, NULLs last, as comparisons see it: without floats, whose
    /// order in keys is another one, and what comes after.
    pub(crate) fn ordering(&self) -> impl Iterator<Item = usize> {
        let columns = self.columns.iter().filter_map(|column| match *column {
            KeyColumn::Cells(column) => Some(column),
            KeyColumn::NullMark(_) => None,
        });
        columns.take_while(|&column| {
            let column_type = self.table.columns[column].column_type;
            replication::projection::orders(column_type)
        })
    }
}
