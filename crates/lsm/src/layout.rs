//! Layout: where the columns of one table stand in its blocks and pages.
//!
//! Computed once a tree. A page holds the table's columns in schema order and then the system
//! columns; a block in memory holds the same without a page.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::Schema;
use types::{ColumnType, SortKeys, TableId, TableSchema};

/// Column numbers and types of one tree.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The table.
    pub table: TableId,
    /// Its schema.
    pub schema: Arc<TableSchema>,
    /// All of the table's columns: what a merge reads and writes.
    pub all_columns: Vec<usize>,
    key_types: Vec<ColumnType>,
}

impl Layout {
    /// The layout of `table`.
    pub fn new(table: TableId, schema: Arc<TableSchema>) -> Self {
        let key_types: Vec<ColumnType> = schema
            .key
            .iter()
            .map(|&c| schema.columns[c].column_type)
            .collect();
        let all_columns = (0..schema.columns.len()).collect();
        Self {
            table,
            schema,
            all_columns,
            key_types,
        }
    }

    /// The number of the table's columns.
    pub fn columns(&self) -> usize {
        self.schema.columns.len()
    }

    /// The page column that holds positions.
    pub fn position_column(&self) -> usize {
        self.columns()
    }

    /// The page column that holds version kinds.
    pub fn kind_column(&self) -> usize {
        self.columns() + 1
    }

    /// The page column that holds the patches' bits of unchanged columns.
    pub fn unchanged_column(&self) -> usize {
        self.columns() + 2
    }

    /// The types of the key columns, in key order.
    pub fn key_types(&self) -> &[ColumnType] {
        &self.key_types
    }

    /// The Arrow schema of some of the table's columns, in this order.
    pub fn projected(&self, columns: &[usize]) -> Schema {
        let fields = self.schema.arrow_schema().fields;
        let projected: Vec<_> = columns.iter().map(|&c| Arc::clone(&fields[c])).collect();
        Schema::new(projected)
    }

    /// The sort keys of rows whose key columns, in key order, are `columns`.
    pub fn sort_keys(&self, columns: &[ArrayRef]) -> SortKeys {
        SortKeys::compute(columns, &self.key_types)
    }

    /// The sort keys of rows whose columns, in schema order, are `columns`.
    pub fn sort_keys_of_row(&self, columns: &[ArrayRef]) -> SortKeys {
        let key: Vec<_> = self
            .schema
            .key
            .iter()
            .map(|&c| Arc::clone(&columns[c]))
            .collect();
        self.sort_keys(&key)
    }
}
