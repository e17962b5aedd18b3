//! A table as the primary keeps it and as its replica describes it.

use oltp::{ColumnDefinition, IndexKind, TableDefinition};
use types::TableSchema;

/// A table of the primary. Both descriptions have the same columns in the same order.
#[derive(Clone, Debug)]
pub struct PrimaryTable {
    /// For SQL and the trees. Its key is the primary's first index.
    pub schema: TableSchema,
    /// For the primary.
    pub definition: TableDefinition,
}

impl PrimaryTable {
    /// An evictable table with an index on its key and no other.
    pub fn new(schema: TableSchema, kind: IndexKind) -> Self {
        let column = |column: &types::Column| {
            let defined = ColumnDefinition::new(&column.name, column.column_type);
            if column.nullable {
                defined.nullable()
            } else {
                defined
            }
        };
        let columns = schema.columns.iter().map(column).collect();
        let definition =
            TableDefinition::new(&schema.name.name, columns).index(kind, true, &schema.key);
        Self { schema, definition }
    }
}
