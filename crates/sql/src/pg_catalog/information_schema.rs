//! `information_schema`: the views of the SQL standard that tools ask for.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use replication::catalog::TableEntry;

use super::relations::key_name;
use super::row_batch::{Cell, RowBatch};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::pg_type;
use crate::table::column::visible;
use crate::views::{self, VIEWS};

/// The schema's name.
pub(crate) const SCHEMA: &str = "information_schema";

const INTEGER_COLUMNS: [&str; 6] = [
    "ordinal_position",
    "character_maximum_length",
    "numeric_precision",
    "numeric_precision_radix",
    "numeric_scale",
    "datetime_precision",
];

const SCHEMATA: &[&str] = &["catalog_name", "schema_name", "schema_owner"];
const TABLES: &[&str] = &[
    "table_catalog",
    "table_schema",
    "table_name",
    "table_type",
    "is_insertable_into",
    "is_typed",
];
const VIEW_LIST: &[&str] = &[
    "table_catalog",
    "table_schema",
    "table_name",
    "view_definition",
    "is_updatable",
    "is_insertable_into",
];
const COLUMNS: &[&str] = &[
    "table_catalog",
    "table_schema",
    "table_name",
    "column_name",
    "ordinal_position",
    "column_default",
    "is_nullable",
    "data_type",
    "character_maximum_length",
    "numeric_precision",
    "numeric_precision_radix",
    "numeric_scale",
    "datetime_precision",
    "collation_name",
    "udt_catalog",
    "udt_schema",
    "udt_name",
    "is_identity",
    "is_generated",
    "is_updatable",
];
const TABLE_CONSTRAINTS: &[&str] = &[
    "constraint_catalog",
    "constraint_schema",
    "constraint_name",
    "table_catalog",
    "table_schema",
    "table_name",
    "constraint_type",
    "is_deferrable",
    "initially_deferred",
    "enforced",
];
const KEY_COLUMNS: &[&str] = &[
    "constraint_catalog",
    "constraint_schema",
    "constraint_name",
    "table_catalog",
    "table_schema",
    "table_name",
    "column_name",
    "ordinal_position",
];
const REFERENCES: &[&str] = &[
    "constraint_catalog",
    "constraint_schema",
    "constraint_name",
    "unique_constraint_schema",
    "unique_constraint_name",
];
const ROUTINES: &[&str] = &[
    "specific_schema",
    "specific_name",
    "routine_schema",
    "routine_name",
    "routine_type",
];

/// Fills a view's rows.
type Fill = fn(&Engine, &mut RowBatch) -> Result<(), SqlError>;

/// The view's columns and what fills them.
fn view(name: &str) -> Option<(&'static [&'static str], Fill)> {
    Some(match name {
        "schemata" => (SCHEMATA, schemata as Fill),
        "tables" => (TABLES, tables),
        "views" => (VIEW_LIST, view_list),
        "columns" => (COLUMNS, columns_of_all),
        "table_constraints" => (TABLE_CONSTRAINTS, table_constraints),
        "key_column_usage" => (KEY_COLUMNS, key_columns),
        "referential_constraints" => (REFERENCES, |_, _| Ok(())),
        "routines" => (ROUTINES, |_, _| Ok(())),
        _ => return None,
    })
}

/// Whether there is a view with this name.
pub(crate) fn has(name: &str) -> bool {
    view(name).is_some()
}

/// The rows of the view with this name.
pub(crate) fn batch(engine: &Engine, name: &str) -> Result<Option<RecordBatch>, SqlError> {
    let Some((columns, fill)) = view(name) else {
        return Ok(None);
    };
    let mut rows = RowBatch::new(schema(columns));
    fill(engine, &mut rows)?;
    rows.finish().map(Some)
}

fn schema(columns: &[&str]) -> SchemaRef {
    let field = |name: &&str| {
        let data_type = if INTEGER_COLUMNS.contains(name) {
            DataType::Int32
        } else {
            DataType::Utf8
        };
        Field::new(*name, data_type, true)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

fn schemata(engine: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    for name in super::relations::schemas(engine) {
        rows.push(&[
            ("catalog_name", engine.options.database.as_str().into()),
            ("schema_name", name.as_str().into()),
            ("schema_owner", "hedgerow".into()),
        ])?;
    }
    Ok(())
}

fn tables(engine: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    let mut push = |schema: &str, name: &str, kind: &str| {
        rows.push(&[
            ("table_catalog", engine.options.database.as_str().into()),
            ("table_schema", schema.into()),
            ("table_name", name.into()),
            ("table_type", kind.into()),
            ("is_insertable_into", "NO".into()),
            ("is_typed", "NO".into()),
        ])
    };
    for entry in engine.catalog.tables() {
        push(
            &entry.schema.name.schema,
            &entry.schema.name.name,
            "BASE TABLE",
        )?;
    }
    VIEWS
        .iter()
        .try_for_each(|view| push(views::SCHEMA, view.name, "VIEW"))
}

fn view_list(engine: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    for view in VIEWS {
        rows.push(&[
            ("table_catalog", engine.options.database.as_str().into()),
            ("table_schema", views::SCHEMA.into()),
            ("table_name", view.name.into()),
            ("is_updatable", "NO".into()),
            ("is_insertable_into", "NO".into()),
        ])?;
    }
    Ok(())
}

/// A column, as the view shows it.
struct Described<'a> {
    schema: &'a str,
    table: &'a str,
    name: &'a str,
    place: usize,
    nullable: bool,
    oid: u32,
    modifier: i32,
}

fn columns_of_all(engine: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    for entry in engine.catalog.tables() {
        for (place, (index, column)) in visible(&entry.schema).enumerate() {
            push_column(
                engine,
                rows,
                &Described {
                    schema: &entry.schema.name.schema,
                    table: &entry.schema.name.name,
                    name: &column.name,
                    place,
                    nullable: column.nullable && !entry.schema.key.contains(&index),
                    oid: column.source_type.oid,
                    modifier: column.source_type.modifier,
                },
            )?;
        }
    }
    for view in VIEWS {
        for (place, field) in view.schema().fields().iter().enumerate() {
            push_column(
                engine,
                rows,
                &Described {
                    schema: views::SCHEMA,
                    table: view.name,
                    name: field.name(),
                    place,
                    nullable: true,
                    oid: pg_type::oid(field.data_type()),
                    modifier: -1,
                },
            )?;
        }
    }
    Ok(())
}

fn push_column(
    engine: &Engine,
    rows: &mut RowBatch,
    column: &Described<'_>,
) -> Result<(), SqlError> {
    let (standard_name, own_name) = pg_type::names(column.oid);
    let number = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let mut cells: Vec<(&str, Cell)> = vec![
        ("table_catalog", engine.options.database.as_str().into()),
        ("table_schema", column.schema.into()),
        ("table_name", column.table.into()),
        ("column_name", column.name.into()),
        ("ordinal_position", number(column.place + 1).into()),
        (
            "is_nullable",
            if column.nullable { "YES" } else { "NO" }.into(),
        ),
        ("data_type", standard_name.into()),
        ("udt_catalog", engine.options.database.as_str().into()),
        ("udt_schema", "pg_catalog".into()),
        ("udt_name", own_name.into()),
        ("is_identity", "NO".into()),
        ("is_generated", "NEVER".into()),
        ("is_updatable", "NO".into()),
    ];
    match column.oid {
        1042 | 1043 if column.modifier > 4 => {
            cells.push(("character_maximum_length", (column.modifier - 4).into()));
        }
        pg_type::NUMERIC if column.modifier > 4 => {
            let packed = column.modifier - 4;
            cells.push(("numeric_precision", (packed >> 16).into()));
            cells.push(("numeric_scale", (packed & 0xFFFF).into()));
            cells.push(("numeric_precision_radix", 10.into()));
        }
        20 | 21 | 23 => {
            let bits = match column.oid {
                20 => 64,
                23 => 32,
                _ => 16,
            };
            cells.push(("numeric_precision", bits.into()));
            cells.push(("numeric_scale", 0.into()));
            cells.push(("numeric_precision_radix", 2.into()));
        }
        1083 | 1114 | 1184 | 1266 => cells.push(("datetime_precision", 6.into())),
        1082 => cells.push(("datetime_precision", 0.into())),
        _ => {}
    }
    rows.push(&cells)
}

/// The cells that say whose primary key a row is about.
fn key_of<'a>(engine: &'a Engine, entry: &'a TableEntry) -> Vec<(&'a str, Cell)> {
    let (schema, database) = (
        entry.schema.name.schema.as_str(),
        engine.options.database.as_str(),
    );
    vec![
        ("constraint_catalog", database.into()),
        ("constraint_schema", schema.into()),
        ("constraint_name", key_name(entry).as_str().into()),
        ("table_catalog", database.into()),
        ("table_schema", schema.into()),
        ("table_name", entry.schema.name.name.as_str().into()),
    ]
}

fn table_constraints(engine: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    for entry in super::relations::keyed(engine) {
        let mut cells = key_of(engine, &entry);
        cells.extend([
            ("constraint_type", "PRIMARY KEY".into()),
            ("is_deferrable", "NO".into()),
            ("initially_deferred", "NO".into()),
            ("enforced", "YES".into()),
        ]);
        rows.push(&cells)?;
    }
    Ok(())
}

fn key_columns(engine: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    for entry in super::relations::keyed(engine) {
        for (place, &index) in entry.schema.key.iter().enumerate() {
            let mut cells = key_of(engine, &entry);
            cells.push((
                "column_name",
                entry.schema.columns[index].name.as_str().into(),
            ));
            cells.push((
                "ordinal_position",
                Cell::Number(i64::try_from(place + 1).unwrap_or(i64::MAX)),
            ));
            rows.push(&cells)?;
        }
    }
    Ok(())
}
