//! What the source calls a table and its columns now, where the tree knows them by former names.
//!
//! A rename, and every other change that leaves the stored cells as they are, costs nothing: the
//! tree keeps the schema with which it was made, and the checkpoint keeps the difference. So it
//! becomes durable together with the position from which it holds.

use serde::{Deserialize, Serialize};
use types::{Column, SourceType, TableName, TableSchema};

/// The names of a table and its columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    schema: String,
    table: String,
    columns: Vec<ColumnNames>,
}

/// What can change of a column without a change of its cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ColumnNames {
    name: String,
    nullable: bool,
    number: i16,
    type_oid: u32,
    modifier: i32,
    type_name: String,
}

impl Names {
    /// The names in `schema`.
    pub fn of(schema: &TableSchema) -> Self {
        Self {
            schema: schema.name.schema.clone(),
            table: schema.name.name.clone(),
            columns: schema.columns.iter().map(ColumnNames::of).collect(),
        }
    }

    /// `stored` under these names. A column without a name keeps its own.
    pub fn applied_to(&self, stored: &TableSchema) -> TableSchema {
        let mut schema = stored.clone();
        schema.name = TableName {
            schema: self.schema.clone(),
            name: self.table.clone(),
        };
        for (column, names) in schema.columns.iter_mut().zip(&self.columns) {
            names.apply_to(column);
        }
        schema
    }
}

impl ColumnNames {
    fn of(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            nullable: column.nullable,
            number: column.source_number,
            type_oid: column.source_type.oid,
            modifier: column.source_type.modifier,
            type_name: column.source_type.name.clone(),
        }
    }

    fn apply_to(&self, column: &mut Column) {
        column.name.clone_from(&self.name);
        column.nullable = self.nullable;
        column.source_number = self.number;
        column.source_type = SourceType {
            oid: self.type_oid,
            modifier: self.modifier,
            name: self.type_name.clone(),
        };
    }
}

#[cfg(test)]
mod tests {
    use types::ColumnType;

    use super::*;

    #[test]
    fn names_survive_storing_and_leave_the_cells_alone() {
        let stored = TableSchema {
            name: TableName {
                schema: "public".into(),
                name: "before".into(),
            },
            columns: vec![Column::new("a", ColumnType::Int32)],
            key: vec![0],
        };
        let mut now = stored.clone();
        now.name.name = "after".into();
        now.columns[0].name = "b".into();
        now.columns[0].nullable = false;
        now.columns[0].source_type.name = "d".into();
        let text = serde_json::to_string(&Names::of(&now)).expect("names are JSON");
        let names: Names = serde_json::from_str(&text).expect("round trip");
        assert_eq!(names.applied_to(&stored), now);
    }
}
