//! Versions of rows as columns: the unit in which changes travel and trees store.
//!
//! [`RowsBuilder`] collects versions in arrival order, [`VersionRows`] is the finished batch.
//! A version is put, delete or patch; its cells live in one Arrow array a column, with NULL in
//! every non-key cell of a delete (but for those that the table's projections are ordered by) and in
//! every unchanged cell of a patch.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BinaryArray};

use crate::position::CommitPosition;
use crate::schema::{ColumnType, TableSchema};
use crate::value::Value;

/// What a version says about its row. The numbers are on disk: never change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum VersionKind {
    /// The row has exactly these cells from this position on.
    Put = 0,
    /// The row does not exist from this position on (a tombstone).
    Delete = 1,
    /// The row has these cells, and those marked unchanged keep what the next older version
    /// has (an unchanged TOAST value, a column that the log left out).
    Patch = 2,
}

impl VersionKind {
    /// The kind of a stored number, if there is one.
    pub fn from_u8(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Put),
            1 => Some(Self::Delete),
            2 => Some(Self::Patch),
            _ => None,
        }
    }
}

/// A batch of versions of one table's rows.
#[derive(Clone, Debug)]
pub struct VersionRows {
    /// One array a stored column, in schema order, all of the same length.
    pub columns: Vec<ArrayRef>,
    /// Each version's commit position.
    pub positions: Vec<u64>,
    /// Each version's [`VersionKind`] as its number.
    pub kinds: Vec<u8>,
    /// For patches: one bit a stored column, least significant first, 1 = unchanged; empty for
    /// other versions. `None` where the batch has no patch.
    pub unchanged: Option<BinaryArray>,
}

impl VersionRows {
    /// The number of versions.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there is no version.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The versions of a range. Cells are shared, not copied.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let (start, length) = (range.start, range.len());
        let columns = self.columns.iter();
        Self {
            columns: columns.map(|column| column.slice(start, length)).collect(),
            positions: self.positions[range.clone()].to_vec(),
            kinds: self.kinds[range].to_vec(),
            unchanged: self
                .unchanged
                .as_ref()
                .map(|bits| bits.slice(start, length)),
        }
    }

    /// Bytes of memory held by the arrays.
    pub fn memory_bytes(&self) -> usize {
        let arrays: usize = self
            .columns
            .iter()
            .map(|c| c.get_buffer_memory_size())
            .sum();
        let unchanged = self
            .unchanged
            .as_ref()
            .map_or(0, Array::get_buffer_memory_size);
        arrays + unchanged + self.positions.capacity() * size_of::<u64>() + self.kinds.capacity()
    }
}

/// Collects the cells of one column.
#[derive(Debug)]
pub enum ColumnBuilder {
    /// See [`ColumnType::Bool`].
    Bool(BooleanBuilder),
    /// See [`ColumnType::Int16`].
    Int16(PrimitiveBuilder<Int16Type>),
    /// See [`ColumnType::Int32`].
    Int32(PrimitiveBuilder<Int32Type>),
    /// See [`ColumnType::Int64`].
    Int64(PrimitiveBuilder<Int64Type>),
    /// See [`ColumnType::UInt64`].
    UInt64(PrimitiveBuilder<UInt64Type>),
    /// See [`ColumnType::Float32`].
    Float32(PrimitiveBuilder<Float32Type>),
    /// See [`ColumnType::Float64`].
    Float64(PrimitiveBuilder<Float64Type>),
    /// See [`ColumnType::Decimal`]; cells are unscaled integers.
    Decimal(PrimitiveBuilder<Decimal128Type>),
    /// See [`ColumnType::Date`].
    Date(PrimitiveBuilder<Date32Type>),
    /// See [`ColumnType::Time`].
    Time(PrimitiveBuilder<Time64MicrosecondType>),
    /// See [`ColumnType::Timestamp`] and [`ColumnType::TimestampTz`].
    Timestamp(PrimitiveBuilder<TimestampMicrosecondType>),
    /// See [`ColumnType::Text`].
    Text(StringBuilder),
    /// See [`ColumnType::Bytes`].
    Bytes(BinaryBuilder),
}

/// Runs the same expression on whichever builder there is.
macro_rules! each_builder {
    ($self:expr, $builder:ident => $body:expr) => {
        match $self {
            ColumnBuilder::Bool($builder) => $body,
            ColumnBuilder::Int16($builder) => $body,
            ColumnBuilder::Int32($builder) => $body,
            ColumnBuilder::Int64($builder) => $body,
            ColumnBuilder::UInt64($builder) => $body,
            ColumnBuilder::Float32($builder) => $body,
            ColumnBuilder::Float64($builder) => $body,
            ColumnBuilder::Decimal($builder) => $body,
            ColumnBuilder::Date($builder) => $body,
            ColumnBuilder::Time($builder) => $body,
            ColumnBuilder::Timestamp($builder) => $body,
            ColumnBuilder::Text($builder) => $body,
            ColumnBuilder::Bytes($builder) => $body,
        }
    };
}

impl ColumnBuilder {
    /// An empty builder for cells of `column_type`.
    pub fn new(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::Bool => Self::Bool(BooleanBuilder::new()),
            ColumnType::Int16 => Self::Int16(PrimitiveBuilder::new()),
            ColumnType::Int32 => Self::Int32(PrimitiveBuilder::new()),
            ColumnType::Int64 => Self::Int64(PrimitiveBuilder::new()),
            ColumnType::UInt64 => Self::UInt64(PrimitiveBuilder::new()),
            ColumnType::Float32 => Self::Float32(PrimitiveBuilder::new()),
            ColumnType::Float64 => Self::Float64(PrimitiveBuilder::new()),
            ColumnType::Decimal { .. } => {
                Self::Decimal(PrimitiveBuilder::new().with_data_type(column_type.arrow_type()))
            }
            ColumnType::Date => Self::Date(PrimitiveBuilder::new()),
            ColumnType::Time => Self::Time(PrimitiveBuilder::new()),
            ColumnType::Timestamp | ColumnType::TimestampTz => {
                Self::Timestamp(PrimitiveBuilder::new().with_data_type(column_type.arrow_type()))
            }
            ColumnType::Text => Self::Text(StringBuilder::new()),
            ColumnType::Bytes => Self::Bytes(BinaryBuilder::new()),
        }
    }

    /// Appends a NULL cell.
    pub fn append_null(&mut self) {
        each_builder!(self, builder => builder.append_null());
    }

    /// Appends a cell.
    ///
    /// # Panics
    /// When the value is not one of the column's type. (One beyond its range is cut.)
    #[inline]
    pub fn append(&mut self, value: &Value<'_>) {
        match (self, *value) {
            (cells, Value::Null) => cells.append_null(),
            (Self::Bool(cells), Value::Bool(value)) => cells.append_value(value),
            (Self::Int16(cells), Value::Int(value)) => cells.append_value(value as i16),
            (Self::Int32(cells), Value::Int(value)) => cells.append_value(value as i32),
            (Self::Int64(cells), Value::Int(value)) => cells.append_value(value),
            (Self::UInt64(cells), Value::UInt(value)) => cells.append_value(value),
            (Self::Float32(cells), Value::Float32(value)) => cells.append_value(value),
            (Self::Float64(cells), Value::Float64(value)) => cells.append_value(value),
            (Self::Decimal(cells), Value::Decimal(value)) => cells.append_value(value),
            (Self::Date(cells), Value::Int(value)) => cells.append_value(value as i32),
            (Self::Time(cells), Value::Int(value)) => cells.append_value(value),
            (Self::Timestamp(cells), Value::Int(value)) => cells.append_value(value),
            (Self::Text(cells), Value::Bytes(value)) => {
                cells.append_value(str::from_utf8(value).expect("text is UTF-8"));
            }
            (Self::Bytes(cells), Value::Bytes(value)) => cells.append_value(value),
            (cells, value) => panic!("{value:?} is no cell of {cells:?}"),
        }
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        use arrow_array::builder::ArrayBuilder;
        each_builder!(self, builder => builder.len())
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Hands out the cells as an array and starts again empty.
    pub fn finish(&mut self) -> ArrayRef {
        each_builder!(self, builder => Arc::new(builder.finish()))
    }
}

/// Collects versions of one table's rows in arrival order.
///
/// For each version append exactly one cell to every column of [`Self::columns_mut`], then call
/// [`Self::finish_version`].
#[derive(Debug)]
pub struct RowsBuilder {
    columns: Vec<ColumnBuilder>,
    positions: Vec<u64>,
    kinds: Vec<u8>,
    unchanged: BinaryBuilder,
    has_patch: bool,
}

impl RowsBuilder {
    /// An empty builder for rows of `schema`.
    pub fn new(schema: &TableSchema) -> Self {
        let columns = schema
            .columns
            .iter()
            .map(|c| ColumnBuilder::new(c.column_type))
            .collect();
        Self {
            columns,
            positions: Vec::new(),
            kinds: Vec::new(),
            unchanged: BinaryBuilder::new(),
            has_patch: false,
        }
    }

    /// The columns, to append one cell each.
    pub fn columns_mut(&mut self) -> &mut [ColumnBuilder] {
        &mut self.columns
    }

    /// Ends a put or delete whose cells have been appended.
    pub fn finish_version(&mut self, position: CommitPosition, kind: VersionKind) {
        debug_assert!(
            kind != VersionKind::Patch,
            "a patch needs its unchanged columns"
        );
        self.finish(position, kind, &[]);
    }

    /// Ends a patch: `unchanged` has one bit a stored column, least significant first; those
    /// cells were appended as NULL.
    pub fn finish_patch(&mut self, position: CommitPosition, unchanged: &[u8]) {
        self.has_patch = true;
        self.finish(position, VersionKind::Patch, unchanged);
    }

    fn finish(&mut self, position: CommitPosition, kind: VersionKind, unchanged: &[u8]) {
        self.positions.push(position.0);
        self.kinds.push(kind as u8);
        self.unchanged.append_value(unchanged);
        debug_assert!(
            self.columns.iter().all(|c| c.len() == self.positions.len()),
            "one cell a column and version"
        );
    }

    /// The number of versions.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there is no version.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The number of versions at the end that carry exactly this position.
    pub fn trailing_at(&self, position: CommitPosition) -> usize {
        self.positions
            .iter()
            .rev()
            .take_while(|&&p| p == position.0)
            .count()
    }

    /// Hands out the versions and starts again empty.
    pub fn build(&mut self) -> VersionRows {
        let unchanged = self.unchanged.finish();
        VersionRows {
            columns: self.columns.iter_mut().map(ColumnBuilder::finish).collect(),
            positions: std::mem::take(&mut self.positions),
            kinds: std::mem::take(&mut self.kinds),
            unchanged: std::mem::take(&mut self.has_patch).then_some(unchanged),
        }
    }
}
