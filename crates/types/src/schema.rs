//! Column types, columns and table schemas, as the trees store them.

use std::fmt;

use arrow_schema::{DataType, Field, Schema, TimeUnit};

/// Identifies a table, and the tree that holds it, within one data directory. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u32);

impl fmt::Display for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A table's name at the source. Ordered by schema, then name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    /// The schema (namespace), such as `public`.
    pub schema: String,
    /// The table's own name.
    pub name: String,
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

/// How a column's cells are stored. What a source type that is not listed here becomes is the
/// source's affair; its exact text is always possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// true or false
    Bool,
    /// 16-bit signed integer
    Int16,
    /// 32-bit signed integer
    Int32,
    /// 64-bit signed integer
    Int64,
    /// Unsigned 64-bit integer: positions and ordinals of hidden columns.
    UInt64,
    /// IEEE 754 single precision
    Float32,
    /// IEEE 754 double precision
    Float64,
    /// A decimal of at most 38 digits, stored as an unscaled 128-bit integer.
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point, 0 to `precision`.
        scale: i8,
    },
    /// Days since 1970-01-01. `i32::MAX` and `i32::MIN` are the infinities.
    Date,
    /// Microseconds since midnight, 24:00:00 included.
    Time,
    /// Microseconds since 1970-01-01 without time zone. The extreme values are the infinities.
    Timestamp,
    /// Microseconds since 1970-01-01 UTC. The extreme values are the infinities.
    TimestampTz,
    /// UTF-8 text
    Text,
    /// Bytes
    Bytes,
}

impl ColumnType {
    /// The Arrow type in which cells of this type travel.
    pub fn arrow_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::UInt64 => DataType::UInt64,
            Self::Float32 => DataType::Float32,
            Self::Float64 => DataType::Float64,
            Self::Decimal { precision, scale } => DataType::Decimal128(precision, scale),
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
            Self::Text => DataType::Utf8,
            Self::Bytes => DataType::Binary,
        }
    }
}

/// What the source calls a column's type: enough to print and describe it exactly.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceType {
    /// The type's object id at the source; 0 where the source has none.
    pub oid: u32,
    /// The type modifier, -1 for none.
    pub modifier: i32,
    /// The type's name, such as `numeric(15,2)`.
    pub name: String,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's name.
    pub name: String,
    /// How its cells are stored.
    pub column_type: ColumnType,
    /// Whether the source allows NULL. (Trees store NULL in any column: a tombstone's
    /// other-than-key cells are NULL.)
    pub nullable: bool,
    /// Not part of the source's table: the row number of a table without a key. Never shown.
    pub hidden: bool,
    /// The column's number at the source (PostgreSQL's `attnum`), stable under renames.
    pub source_number: i16,
    /// The type at the source.
    pub source_type: SourceType,
}

impl Column {
    /// A column that no source has: it may be NULL, and its number and source type say nothing.
    pub fn new(name: &str, column_type: ColumnType) -> Self {
        Self {
            name: name.to_owned(),
            column_type,
            nullable: true,
            hidden: false,
            source_number: 0,
            source_type: SourceType {
                oid: 0,
                modifier: -1,
                name: String::new(),
            },
        }
    }
}

/// A table as its tree stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// The table's name.
    pub name: TableName,
    /// All stored columns, the source's in the source's order, hidden ones last.
    pub columns: Vec<Column>,
    /// Indices into `columns` of the key, in key order. Never empty: a table without a key
    /// gets hidden columns that number its rows.
    pub key: Vec<usize>,
}

impl TableSchema {
    /// The Arrow schema of all stored columns. Every field is nullable (see [`Column`]).
    pub fn arrow_schema(&self) -> Schema {
        Schema::new(self.columns.iter().map(Self::field).collect::<Vec<_>>())
    }

    fn field(column: &Column) -> Field {
        Field::new(&column.name, column.column_type.arrow_type(), true)
    }

    /// Whether the source's table has a key of its own.
    pub fn has_source_key(&self) -> bool {
        self.key.iter().all(|&index| !self.columns[index].hidden)
    }
}
