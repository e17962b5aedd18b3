//! Tables, columns and indexes, as they are declared.

use types::ColumnType;

/// Numbers a table: its place in the list that the partition was made with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableNumber(pub u16);

/// Numbers a column: its place in the table.
pub type ColumnNumber = usize;

/// Names an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexId {
    /// Its table.
    pub table: TableNumber,
    /// Its place in the table's list; 0 is the primary one.
    pub index: u16,
}

impl IndexId {
    /// The index at a place of a table's list.
    pub const fn new(table: u16, index: u16) -> Self {
        Self {
            table: TableNumber(table),
            index,
        }
    }
}

/// A table, as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDefinition {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<ColumnDefinition>,
    /// Its indexes. The first is the primary one: unique, and none of its columns may be NULL.
    pub indexes: Vec<IndexDefinition>,
    /// Whether its cold rows may go to disk. A table that never goes keeps no chain.
    pub is_evictable: bool,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: String,
    /// Its type.
    pub column_type: ColumnType,
    /// Whether it may be NULL.
    pub is_nullable: bool,
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDefinition {
    /// The key's columns, in the key's order.
    pub columns: Vec<ColumnNumber>,
    /// How rows are found.
    pub kind: IndexKind,
    /// Whether no two rows have the same key.
    pub is_unique: bool,
}

/// How an index finds rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// By the whole key.
    Hash,
    /// By the whole key, and in its order.
    Ordered,
}

/// The declaration contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("table {table}: {problem}")]
pub struct SchemaError {
    /// The table.
    pub table: String,
    /// What is wrong.
    pub problem: String,
}

impl TableDefinition {
    /// An evictable table without indexes.
    pub fn new(name: &str, columns: Vec<ColumnDefinition>) -> Self {
        Self {
            name: name.to_owned(),
            columns,
            indexes: Vec::new(),
            is_evictable: true,
        }
    }

    /// With one more index; the first is the primary one.
    #[must_use]
    pub fn index(mut self, kind: IndexKind, is_unique: bool, columns: &[ColumnNumber]) -> Self {
        self.indexes.push(IndexDefinition {
            columns: columns.to_vec(),
            kind,
            is_unique,
        });
        self
    }

    /// Without eviction.
    #[must_use]
    pub fn never_evicted(mut self) -> Self {
        self.is_evictable = false;
        self
    }

    /// Whether the declaration makes sense.
    pub fn check(&self) -> Result<(), SchemaError> {
        let error = |problem: String| SchemaError {
            table: self.name.clone(),
            problem,
        };
        let Some(primary) = self.indexes.first() else {
            return Err(error("it has no primary index".into()));
        };
        if !primary.is_unique {
            return Err(error("its primary index is not unique".into()));
        }
        for index in &self.indexes {
            if index.columns.is_empty() {
                return Err(error("an index has no columns".into()));
            }
            if let Some(column) = index.columns.iter().find(|c| **c >= self.columns.len()) {
                return Err(error(format!("an index names column {column}")));
            }
            let types = index
                .columns
                .iter()
                .map(|column| self.columns[*column].column_type);
            if types
                .into_iter()
                .any(|t| matches!(t, ColumnType::Float32 | ColumnType::Float64))
            {
                return Err(error("an index has a column of floats".into()));
            }
        }
        let of_key = primary.columns.iter().map(|column| &self.columns[*column]);
        match of_key.into_iter().find(|column| column.is_nullable) {
            Some(column) => Err(error(format!("key column {} may be NULL", column.name))),
            None => Ok(()),
        }
    }
}

impl ColumnDefinition {
    /// A column that is never NULL.
    pub fn new(name: &str, column_type: ColumnType) -> Self {
        Self {
            name: name.to_owned(),
            column_type,
            is_nullable: false,
        }
    }

    /// The same, and may be NULL.
    #[must_use]
    pub fn nullable(mut self) -> Self {
        self.is_nullable = true;
        self
    }
}
