//! Cells of arrays as values.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use page::Value;
use types::ColumnType;

/// The cell of a row.
///
/// # Panics
/// When the array is not of the column's Arrow type, or has no such row.
pub(super) fn value(array: &ArrayRef, column_type: ColumnType, row: usize) -> Value<'_> {
    macro_rules! primitive {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row)
        };
    }
    if array.is_null(row) {
        return Value::Null;
    }
    match column_type {
        ColumnType::Bool => Value::Bool(array.as_boolean().value(row)),
        ColumnType::Int16 => Value::Int(primitive!(Int16Type).into()),
        ColumnType::Int32 => Value::Int(primitive!(Int32Type).into()),
        ColumnType::Int64 => Value::Int(primitive!(Int64Type)),
        ColumnType::UInt64 => Value::UInt(primitive!(UInt64Type)),
        ColumnType::Float32 => Value::Float32(primitive!(Float32Type)),
        ColumnType::Float64 => Value::Float64(primitive!(Float64Type)),
        ColumnType::Decimal { .. } => Value::Decimal(primitive!(Decimal128Type)),
        ColumnType::Date => Value::Int(primitive!(Date32Type).into()),
        ColumnType::Time => Value::Int(primitive!(Time64MicrosecondType)),
        ColumnType::Timestamp | ColumnType::TimestampTz => {
            Value::Int(primitive!(TimestampMicrosecondType))
        }
        ColumnType::Text => Value::Bytes(array.as_string::<i32>().value(row).as_bytes()),
        ColumnType::Bytes => Value::Bytes(array.as_binary::<i32>().value(row)),
    }
}
