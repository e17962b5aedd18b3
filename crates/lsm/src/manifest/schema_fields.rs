//! The bytes of a table's schema.

use types::{Column, ColumnType, SourceType, TableName, TableSchema};

use crate::byte_fields::{FieldReader, Malformed, put_bytes, put_count, put_u8, put_u32};

/// Numbers of the column types. They are on disk: never change them.
const BOOL: u8 = 0;
const INT16: u8 = 1;
const INT32: u8 = 2;
const INT64: u8 = 3;
const UINT64: u8 = 4;
const FLOAT32: u8 = 5;
const FLOAT64: u8 = 6;
const DECIMAL: u8 = 7;
const DATE: u8 = 8;
const TIME: u8 = 9;
const TIMESTAMP: u8 = 10;
const TIMESTAMP_TZ: u8 = 11;
const TEXT: u8 = 12;
const BYTES: u8 = 13;

const FLAG_NULLABLE: u8 = 1;
const FLAG_HIDDEN: u8 = 2;
const FLAGS_KNOWN: u8 = FLAG_NULLABLE | FLAG_HIDDEN;

const DECIMAL_PRECISION_MAX: u8 = 38;

/// Name, type (3), flags, source number, oid, modifier, name.
const COLUMN_BYTES_MIN: usize = 4 + 3 + 1 + 2 + 4 + 4 + 4;

/// Appends a schema.
pub(super) fn put_schema(out: &mut Vec<u8>, schema: &TableSchema) {
    put_bytes(out, schema.name.schema.as_bytes());
    put_bytes(out, schema.name.name.as_bytes());
    put_count(out, schema.columns.len());
    schema
        .columns
        .iter()
        .for_each(|column| put_column(out, column));
    put_count(out, schema.key.len());
    schema.key.iter().for_each(|&column| put_count(out, column));
}

fn put_column(out: &mut Vec<u8>, column: &Column) {
    put_bytes(out, column.name.as_bytes());
    put_type(out, column.column_type);
    let nullable = if column.nullable { FLAG_NULLABLE } else { 0 };
    let hidden = if column.hidden { FLAG_HIDDEN } else { 0 };
    put_u8(out, nullable | hidden);
    out.extend_from_slice(&column.source_number.to_le_bytes());
    put_u32(out, column.source_type.oid);
    out.extend_from_slice(&column.source_type.modifier.to_le_bytes());
    put_bytes(out, column.source_type.name.as_bytes());
}

/// A type's number, precision and scale; the latter two are 0 but for decimals.
fn put_type(out: &mut Vec<u8>, column_type: ColumnType) {
    let (number, precision, scale) = match column_type {
        ColumnType::Bool => (BOOL, 0, 0),
        ColumnType::Int16 => (INT16, 0, 0),
        ColumnType::Int32 => (INT32, 0, 0),
        ColumnType::Int64 => (INT64, 0, 0),
        ColumnType::UInt64 => (UINT64, 0, 0),
        ColumnType::Float32 => (FLOAT32, 0, 0),
        ColumnType::Float64 => (FLOAT64, 0, 0),
        ColumnType::Decimal { precision, scale } => (DECIMAL, precision, scale),
        ColumnType::Date => (DATE, 0, 0),
        ColumnType::Time => (TIME, 0, 0),
        ColumnType::Timestamp => (TIMESTAMP, 0, 0),
        ColumnType::TimestampTz => (TIMESTAMP_TZ, 0, 0),
        ColumnType::Text => (TEXT, 0, 0),
        ColumnType::Bytes => (BYTES, 0, 0),
    };
    put_u8(out, number);
    put_u8(out, precision);
    out.extend_from_slice(&scale.to_le_bytes());
}

/// Reads a schema.
pub(super) fn read_schema(fields: &mut FieldReader<'_>) -> Result<TableSchema, Malformed> {
    let name = TableName {
        schema: fields.text()?,
        name: fields.text()?,
    };
    let count = fields.count(COLUMN_BYTES_MIN)?;
    let columns = (0..count)
        .map(|_| read_column(fields))
        .collect::<Result<Vec<_>, _>>()?;
    let count = fields.count(size_of::<u32>())?;
    let key = (0..count).map(|_| Ok(fields.u32()? as usize));
    let key = key.collect::<Result<Vec<_>, Malformed>>()?;
    if key.is_empty() || key.iter().any(|&column| column >= columns.len()) {
        return Err(Malformed("a table's key is not among its columns"));
    }
    Ok(TableSchema { name, columns, key })
}

fn read_column(fields: &mut FieldReader<'_>) -> Result<Column, Malformed> {
    let name = fields.text()?;
    let column_type = read_type(fields)?;
    let flags = fields.u8()?;
    if flags & !FLAGS_KNOWN != 0 {
        return Err(Malformed("unknown column flags"));
    }
    Ok(Column {
        name,
        column_type,
        nullable: flags & FLAG_NULLABLE != 0,
        hidden: flags & FLAG_HIDDEN != 0,
        source_number: i16::from_le_bytes(fields.array()?),
        source_type: SourceType {
            oid: fields.u32()?,
            modifier: i32::from_le_bytes(fields.array()?),
            name: fields.text()?,
        },
    })
}

fn read_type(fields: &mut FieldReader<'_>) -> Result<ColumnType, Malformed> {
    let number = fields.u8()?;
    let precision = fields.u8()?;
    let scale = i8::from_le_bytes(fields.array()?);
    let column_type = match number {
        BOOL => ColumnType::Bool,
        INT16 => ColumnType::Int16,
        INT32 => ColumnType::Int32,
        INT64 => ColumnType::Int64,
        UINT64 => ColumnType::UInt64,
        FLOAT32 => ColumnType::Float32,
        FLOAT64 => ColumnType::Float64,
        DECIMAL if (1..=DECIMAL_PRECISION_MAX).contains(&precision) => {
            ColumnType::Decimal { precision, scale }
        }
        DATE => ColumnType::Date,
        TIME => ColumnType::Time,
        TIMESTAMP => ColumnType::Timestamp,
        TIMESTAMP_TZ => ColumnType::TimestampTz,
        TEXT => ColumnType::Text,
        BYTES => ColumnType::Bytes,
        _ => return Err(Malformed("unknown column type")),
    };
    Ok(column_type)
}
