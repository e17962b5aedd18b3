//! One column of rows that come one by one.
//!
//! Cells go into typed memory as they come; the array of all of them is there without a copy.
//! Whether a cell can be added is asked first, so that a row is added whole or not at all.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, PrimitiveBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{ArrayRef, StringArray};
use types::ColumnType;

use crate::value::Value;

/// Cells of one type.
#[derive(Debug)]
pub(crate) enum CellBuilder {
    Bool(BooleanBuilder),
    Int16(PrimitiveBuilder<Int16Type>),
    Int32(PrimitiveBuilder<Int32Type>),
    Int64(PrimitiveBuilder<Int64Type>),
    UInt64(PrimitiveBuilder<UInt64Type>),
    Float32(PrimitiveBuilder<Float32Type>),
    Float64(PrimitiveBuilder<Float64Type>),
    Decimal(PrimitiveBuilder<Decimal128Type>),
    Date(PrimitiveBuilder<Date32Type>),
    Time(PrimitiveBuilder<Time64MicrosecondType>),
    Timestamp(PrimitiveBuilder<TimestampMicrosecondType>),
    Text(BinaryBuilder),
    Bytes(BinaryBuilder),
}

/// Runs the same expression on whichever builder there is.
macro_rules! each_builder {
    ($cells:expr, $builder:ident => $body:expr, bytes $bytes:ident => $of_bytes:expr) => {
        match $cells {
            CellBuilder::Bool($builder) => $body,
            CellBuilder::Int16($builder) => $body,
            CellBuilder::Int32($builder) => $body,
            CellBuilder::Int64($builder) => $body,
            CellBuilder::UInt64($builder) => $body,
            CellBuilder::Float32($builder) => $body,
            CellBuilder::Float64($builder) => $body,
            CellBuilder::Decimal($builder) => $body,
            CellBuilder::Date($builder) => $body,
            CellBuilder::Time($builder) => $body,
            CellBuilder::Timestamp($builder) => $body,
            CellBuilder::Text($bytes) | CellBuilder::Bytes($bytes) => $of_bytes,
        }
    };
}

impl CellBuilder {
    pub(crate) fn new(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::Bool => Self::Bool(BooleanBuilder::new()),
            ColumnType::Int16 => Self::Int16(builder(column_type)),
            ColumnType::Int32 => Self::Int32(builder(column_type)),
            ColumnType::Int64 => Self::Int64(builder(column_type)),
            ColumnType::UInt64 => Self::UInt64(builder(column_type)),
            ColumnType::Float32 => Self::Float32(builder(column_type)),
            ColumnType::Float64 => Self::Float64(builder(column_type)),
            ColumnType::Decimal { .. } => Self::Decimal(builder(column_type)),
            ColumnType::Date => Self::Date(builder(column_type)),
            ColumnType::Time => Self::Time(builder(column_type)),
            ColumnType::Timestamp | ColumnType::TimestampTz => {
                Self::Timestamp(builder(column_type))
            }
            ColumnType::Text => Self::Text(BinaryBuilder::new()),
            ColumnType::Bytes => Self::Bytes(BinaryBuilder::new()),
        }
    }

    /// Whether the value can be a cell of the column.
    #[inline]
    pub(crate) fn accepts(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (_, Value::Null)
            | (Self::Bool(_), Value::Bool(_))
            | (Self::Int64(_) | Self::Time(_) | Self::Timestamp(_), Value::Int(_))
            | (Self::UInt64(_), Value::UInt(_))
            | (Self::Float32(_), Value::Float32(_))
            | (Self::Float64(_), Value::Float64(_))
            | (Self::Decimal(_), Value::Decimal(_))
            | (Self::Bytes(_), Value::Bytes(_)) => true,
            (Self::Int16(_), Value::Int(value)) => i16::try_from(*value).is_ok(),
            (Self::Int32(_) | Self::Date(_), Value::Int(value)) => i32::try_from(*value).is_ok(),
            (Self::Text(_), Value::Bytes(value)) => str::from_utf8(value).is_ok(),
            _ => false,
        }
    }

    /// Adds a cell.
    ///
    /// # Panics
    /// When the column does not accept the value.
    #[inline]
    pub(crate) fn push(&mut self, value: &Value<'_>) {
        match (self, *value) {
            (cells, Value::Null) => cells.push_null(),
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
            (Self::Text(cells) | Self::Bytes(cells), Value::Bytes(value)) => {
                cells.append_value(value);
            }
            _ => panic!("a value that the column does not accept was added"),
        }
    }

    fn push_null(&mut self) {
        each_builder!(self, cells => cells.append_null(), bytes cells => cells.append_null());
    }

    /// Bytes of text so far; 0 for other types.
    #[inline]
    pub(crate) fn text_bytes(&self) -> usize {
        match self {
            Self::Text(cells) | Self::Bytes(cells) => cells.values_slice().len(),
            _ => 0,
        }
    }

    /// The array of all cells; none are left here.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        if let Self::Text(cells) = self {
            let text = StringArray::try_from_binary(cells.finish());
            return Arc::new(text.expect("each cell was found to be UTF-8"));
        }
        each_builder!(self, cells => Arc::new(cells.finish()), bytes cells => Arc::new(cells.finish()))
    }

    /// Adds the cells of an array that [`finish`](Self::finish) gave, from one row on.
    pub(crate) fn push_rest(&mut self, array: &ArrayRef, start: usize) {
        let rest = array.slice(start, array.len() - start);
        match self {
            Self::Bool(cells) => cells.append_array(rest.as_boolean()),
            Self::Int16(cells) => cells.append_array(rest.as_primitive()),
            Self::Int32(cells) => cells.append_array(rest.as_primitive()),
            Self::Int64(cells) => cells.append_array(rest.as_primitive()),
            Self::UInt64(cells) => cells.append_array(rest.as_primitive()),
            Self::Float32(cells) => cells.append_array(rest.as_primitive()),
            Self::Float64(cells) => cells.append_array(rest.as_primitive()),
            Self::Decimal(cells) => cells.append_array(rest.as_primitive()),
            Self::Date(cells) => cells.append_array(rest.as_primitive()),
            Self::Time(cells) => cells.append_array(rest.as_primitive()),
            Self::Timestamp(cells) => cells.append_array(rest.as_primitive()),
            Self::Text(cells) => {
                for cell in rest.as_string::<i32>() {
                    cells.append_option(cell);
                }
            }
            Self::Bytes(cells) => {
                for cell in rest.as_binary::<i32>() {
                    cells.append_option(cell);
                }
            }
        }
    }
}

fn builder<P: ArrowPrimitiveType>(column_type: ColumnType) -> PrimitiveBuilder<P> {
    PrimitiveBuilder::new().with_data_type(column_type.arrow_type())
}
