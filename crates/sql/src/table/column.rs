//! A table's columns as Arrow fields that remember the source's types.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use types::{Column, TableSchema};

/// Field metadata: the type's object id at the source.
pub const OID_KEY: &str = "pg.oid";
/// Field metadata: the type modifier at the source.
pub const MODIFIER_KEY: &str = "pg.modifier";
/// Field metadata: the type's name at the source.
pub const TYPE_KEY: &str = "pg.type";

/// The schema that queries see: the source's columns without the hidden ones.
///
/// Only key columns are told to be without NULL. What the source says of others is not used
/// for planning, because a constraint may be dropped there without the log telling of it.
pub(crate) fn visible_schema(table: &TableSchema) -> SchemaRef {
    let fields: Vec<Field> = visible(table)
        .map(|(index, column)| {
            Field::new(
                &column.name,
                column.column_type.arrow_type(),
                !table.key.contains(&index),
            )
            .with_metadata(metadata(column))
        })
        .collect();
    Arc::new(Schema::new(fields))
}

/// The columns that queries see, with their places among the stored ones.
pub(crate) fn visible(table: &TableSchema) -> impl Iterator<Item = (usize, &Column)> {
    table
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| !column.hidden)
}

fn metadata(column: &Column) -> HashMap<String, String> {
    let source = &column.source_type;
    HashMap::from([
        (OID_KEY.to_owned(), source.oid.to_string()),
        (MODIFIER_KEY.to_owned(), source.modifier.to_string()),
        (TYPE_KEY.to_owned(), source.name.clone()),
    ])
}
