//! `pg_class`, `pg_attribute`, `pg_index` and their like, from the replicated tables and the
//! views of this process.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use replication::catalog::TableEntry;
use types::Column;

use super::oids;
use super::row_batch::{Cell, RowBatch};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::pg_type;
use crate::table::column::{OID_KEY, visible};
use crate::views::{self, VIEWS};

/// The rows of a system table that depends on what there is; `None` for other tables.
pub(crate) fn batch(
    engine: &Engine,
    table: &str,
    schema: &SchemaRef,
    system_tables: &[String],
) -> Option<Result<RecordBatch, SqlError>> {
    let fill: fn(&Engine, &mut RowBatch) -> Result<(), SqlError> = match table {
        "pg_class" => {
            let mut rows = RowBatch::new(schema.clone());
            let filled = classes(engine, system_tables, &mut rows);
            return Some(filled.and_then(|()| rows.finish()));
        }
        "pg_attribute" => attributes,
        "pg_namespace" => namespaces,
        "pg_database" => databases,
        "pg_index" => indexes,
        "pg_constraint" => constraints,
        "pg_tables" => tables,
        "pg_views" => view_list,
        "pg_roles" | "pg_authid" => roles,
        "pg_extension" => |_, _| Ok(()),
        _ => return None,
    };
    let mut rows = RowBatch::new(schema.clone());
    Some(fill(engine, &mut rows).and_then(|()| rows.finish()))
}

/// The columns of a system table, with those that the crate lacks or gives another type than
/// PostgreSQL: lists are lists here, of text where they are rights and options.
pub(crate) fn columns(table: &str, schema: &SchemaRef) -> SchemaRef {
    let text: &[&str] = match table {
        "pg_class" => &["relacl", "reloptions"],
        "pg_attribute" => &["attacl", "attoptions", "attfdwoptions"],
        "pg_namespace" => &["nspacl"],
        "pg_database" => &["datacl"],
        "pg_extension" => &["extcondition"],
        "pg_statistic_ext" => &["stxkind"],
        _ => &[],
    };
    let numbers: &[&str] = match table {
        "pg_constraint" => &["conkey", "confkey"],
        _ => &[],
    };
    let vectors: &[&str] = match table {
        // The last two are vectors of ids at PostgreSQL; here they have nothing but zeros.
        "pg_index" => &["indkey", "indoption", "indcollation", "indclass"],
        _ => &[],
    };
    let ids: &[&str] = match table {
        "pg_extension" => &["extconfig"],
        _ => &[],
    };
    let list = |name: &str, item| Field::new(name, DataType::new_list(item, true), true);
    let vector = |name: &&str| {
        let metadata = [(OID_KEY.to_owned(), pg_type::INT2_VECTOR.to_string())];
        list(name, DataType::Int16).with_metadata(metadata.into())
    };
    let mut added: Vec<Field> = text.iter().map(|name| list(name, DataType::Utf8)).collect();
    added.extend(numbers.iter().map(|name| list(name, DataType::Int16)));
    added.extend(vectors.iter().map(vector));
    added.extend(ids.iter().map(|name| list(name, DataType::Int64)));
    if added.is_empty() {
        return schema.clone();
    }
    let known = schema
        .fields()
        .iter()
        .filter(|field| added.iter().all(|list| list.name() != field.name()))
        .cloned()
        .collect::<Vec<_>>();
    let added = added.into_iter().map(FieldRef::new);
    Arc::new(Schema::new(
        known.into_iter().chain(added).collect::<Vec<_>>(),
    ))
}

/// All schemas, system ones first.
pub(crate) fn schemas(engine: &Engine) -> Vec<String> {
    let mut names: Vec<String> = engine
        .catalog
        .tables()
        .iter()
        .map(|entry| entry.schema.name.schema.clone())
        .chain(["public".to_owned()])
        .collect();
    names.sort();
    names.dedup();
    let system = ["pg_catalog", "information_schema", views::SCHEMA].map(str::to_owned);
    system.into_iter().chain(names).collect()
}

fn namespaces(engine: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    for name in schemas(engine) {
        rows.push(&[
            ("oid", oids::schema(&name).into()),
            ("nspname", name.as_str().into()),
            ("nspowner", oids::OWNER.into()),
        ])?;
    }
    Ok(())
}

fn databases(engine: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    rows.push(&[
        ("oid", oids::DATABASE.into()),
        ("datname", engine.options.database.as_str().into()),
        ("datdba", oids::OWNER.into()),
        ("encoding", 6.into()),
        ("datlocprovider", "c".into()),
        ("datistemplate", false.into()),
        ("datallowconn", true.into()),
        ("datconnlimit", (-1).into()),
        ("dattablespace", 1663.into()),
        ("datcollate", "C".into()),
        ("datctype", "C".into()),
    ])
}

fn roles(_: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    rows.push(&[
        ("oid", oids::OWNER.into()),
        ("rolname", "hedgerow".into()),
        ("rolinherit", true.into()),
        ("rolcanlogin", true.into()),
        ("rolconnlimit", (-1).into()),
    ])
}

fn classes(engine: &Engine, system_tables: &[String], rows: &mut RowBatch) -> Result<(), SqlError> {
    for entry in engine.catalog.tables() {
        table_class(engine, &entry, rows)?;
        if entry.schema.has_source_key() {
            rows.push(&[
                ("oid", oids::primary_key(entry.id).into()),
                ("relname", key_name(&entry).as_str().into()),
                (
                    "relnamespace",
                    oids::schema(&entry.schema.name.schema).into(),
                ),
                ("relowner", oids::OWNER.into()),
                ("relam", oids::BTREE.into()),
                ("relpersistence", "p".into()),
                ("relkind", "i".into()),
                ("relnatts", small(entry.schema.key.len()).into()),
                ("relreplident", "n".into()),
                ("relispopulated", true.into()),
            ])?;
        }
    }
    for (n, view) in VIEWS.iter().enumerate() {
        class(
            rows,
            oids::view(n),
            view.name,
            views::SCHEMA,
            "v",
            view.schema().fields().len(),
        )?;
    }
    for (n, name) in system_tables.iter().enumerate() {
        class(
            rows,
            oids::system_table(name, n),
            name,
            "pg_catalog",
            "r",
            0,
        )?;
    }
    Ok(())
}

fn table_class(engine: &Engine, entry: &TableEntry, rows: &mut RowBatch) -> Result<(), SqlError> {
    let stats = engine.store.table_stats(entry.id);
    let estimate = stats.as_ref().map_or(-1, |stats| {
        i64::try_from(stats.versions).unwrap_or(i64::MAX)
    });
    let bytes = stats.map_or(0, |stats| stats.bytes_on_disk + stats.bytes_in_memory);
    let oid = oids::table(entry.id);
    rows.push(&[
        ("oid", oid.into()),
        ("relname", entry.schema.name.name.as_str().into()),
        (
            "relnamespace",
            oids::schema(&entry.schema.name.schema).into(),
        ),
        ("relowner", oids::OWNER.into()),
        ("relam", oids::HEAP.into()),
        ("relfilenode", oid.into()),
        (
            "relpages",
            Cell::Number(
                i64::try_from(bytes / 8192)
                    .unwrap_or(0)
                    .min(i64::from(i32::MAX)),
            ),
        ),
        ("reltuples", Cell::Number(estimate.min(i64::from(i32::MAX)))),
        ("relhasindex", entry.schema.has_source_key().into()),
        ("relpersistence", "p".into()),
        ("relkind", "r".into()),
        ("relnatts", small(visible(&entry.schema).count()).into()),
        ("relreplident", "d".into()),
        ("relispopulated", true.into()),
    ])
}

fn class(
    rows: &mut RowBatch,
    oid: u32,
    name: &str,
    schema: &str,
    kind: &str,
    columns: usize,
) -> Result<(), SqlError> {
    rows.push(&[
        ("oid", oid.into()),
        ("relname", name.into()),
        ("relnamespace", oids::schema(schema).into()),
        ("relowner", oids::OWNER.into()),
        ("relam", if kind == "r" { oids::HEAP } else { 0 }.into()),
        ("relpersistence", "p".into()),
        ("relkind", kind.into()),
        ("relnatts", small(columns).into()),
        ("relreplident", "n".into()),
        ("relispopulated", true.into()),
    ])
}

fn small(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// The name that PostgreSQL gives a primary key.
pub(crate) fn key_name(entry: &TableEntry) -> String {
    format!("{}_pkey", entry.schema.name.name)
}

/// A column's number: the source's, where it has one.
fn number(column: &Column, index: usize) -> i32 {
    if column.source_number > 0 {
        i32::from(column.source_number)
    } else {
        small(index + 1)
    }
}

/// Ids from here on are the source's own types (enums, domains, extensions), which only the
/// source can look up; here they are text.
const FIRST_USER_TYPE: u32 = 16_384;

fn attributes(engine: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    for entry in engine.catalog.tables() {
        for (index, column) in visible(&entry.schema) {
            let source = &column.source_type;
            let known = source.oid != 0 && source.oid < FIRST_USER_TYPE;
            let (oid, modifier) = if known {
                (source.oid, source.modifier)
            } else {
                (pg_type::TEXT, -1)
            };
            let not_null = !column.nullable || entry.schema.key.contains(&index);
            let number = number(column, index);
            attribute(
                rows,
                oids::table(entry.id),
                &column.name,
                (oid, modifier),
                number,
                not_null,
            )?;
        }
        if entry.schema.has_source_key() {
            for (place, &index) in entry.schema.key.iter().enumerate() {
                let column = &entry.schema.columns[index];
                let source = (column.source_type.oid, column.source_type.modifier);
                let key = oids::primary_key(entry.id);
                attribute(rows, key, &column.name, source, small(place + 1), false)?;
            }
        }
    }
    for (n, view) in VIEWS.iter().enumerate() {
        for (index, field) in view.schema().fields().iter().enumerate() {
            let data_type = (pg_type::oid(field.data_type()), -1);
            attribute(
                rows,
                oids::view(n),
                field.name(),
                data_type,
                small(index + 1),
                false,
            )?;
        }
    }
    Ok(())
}

fn attribute(
    rows: &mut RowBatch,
    relation: u32,
    name: &str,
    (oid, modifier): (u32, i32),
    number: i32,
    not_null: bool,
) -> Result<(), SqlError> {
    let (length, by_value, align, storage) = pg_type::storage(oid);
    rows.push(&[
        ("attrelid", relation.into()),
        ("attname", name.into()),
        ("atttypid", oid.into()),
        ("attstattarget", (-1).into()),
        ("attlen", i32::from(length).into()),
        ("attnum", number.into()),
        ("attndims", i32::from(pg_type::is_array(oid)).into()),
        ("attcacheoff", (-1).into()),
        ("atttypmod", modifier.into()),
        ("attbyval", by_value.into()),
        ("attalign", align.into()),
        ("attstorage", storage.into()),
        ("attnotnull", not_null.into()),
        ("attislocal", true.into()),
        ("attcompression", "".into()),
    ])
}

/// The numbers of a table's key columns, in key order.
fn key_numbers(entry: &TableEntry) -> Vec<i16> {
    let key = entry.schema.key.iter();
    key.map(|&index| i16::try_from(number(&entry.schema.columns[index], index)).unwrap_or(i16::MAX))
        .collect()
}

/// Tables with a key of their own.
pub(crate) fn keyed(engine: &Engine) -> Vec<Arc<TableEntry>> {
    engine
        .catalog
        .tables()
        .into_iter()
        .filter(|entry| entry.schema.has_source_key())
        .collect()
}

fn indexes(engine: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    for entry in keyed(engine) {
        let numbers = key_numbers(&entry);
        let count = small(numbers.len());
        let zeros = vec![0_i16; numbers.len()];
        rows.push(&[
            ("indexrelid", oids::primary_key(entry.id).into()),
            ("indrelid", oids::table(entry.id).into()),
            ("indnatts", count.into()),
            ("indnkeyatts", count.into()),
            ("indisunique", true.into()),
            ("indisprimary", true.into()),
            ("indimmediate", true.into()),
            ("indisvalid", true.into()),
            ("indisready", true.into()),
            ("indislive", true.into()),
            ("indkey", Cell::Numbers(numbers)),
            ("indcollation", Cell::Numbers(zeros.clone())),
            ("indclass", Cell::Numbers(zeros.clone())),
            ("indoption", Cell::Numbers(zeros)),
        ])?;
    }
    Ok(())
}

fn constraints(engine: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    for entry in keyed(engine) {
        rows.push(&[
            ("oid", oids::primary_key(entry.id).into()),
            ("conname", key_name(&entry).as_str().into()),
            (
                "connamespace",
                oids::schema(&entry.schema.name.schema).into(),
            ),
            ("contype", "p".into()),
            ("convalidated", true.into()),
            ("conrelid", oids::table(entry.id).into()),
            ("conindid", oids::primary_key(entry.id).into()),
            ("conislocal", true.into()),
            ("connoinherit", true.into()),
            ("conkey", Cell::Numbers(key_numbers(&entry))),
        ])?;
    }
    Ok(())
}

fn tables(engine: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    for entry in engine.catalog.tables() {
        rows.push(&[
            ("schemaname", entry.schema.name.schema.as_str().into()),
            ("tablename", entry.schema.name.name.as_str().into()),
            ("tableowner", "hedgerow".into()),
            ("hasindexes", entry.schema.has_source_key().into()),
        ])?;
    }
    Ok(())
}

fn view_list(_: &Engine, rows: &mut RowBatch) -> Result<(), SqlError> {
    for view in VIEWS {
        rows.push(&[
            ("schemaname", views::SCHEMA.into()),
            ("viewname", view.name.into()),
            ("viewowner", "hedgerow".into()),
            ("definition", "".into()),
        ])?;
    }
    Ok(())
}
