//! One cell outside an array, and how cells order.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef};

use crate::key::{float32_key, float64_key};
use crate::schema::ColumnType;

/// A cell's value.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// The cell is NULL.
    Null,
    /// Of a boolean column.
    Bool(bool),
    /// Of an integer, date, time or timestamp column.
    Int(i64),
    /// Of an unsigned integer column.
    UInt(u64),
    /// Of a column of 32-bit floats.
    Float32(f32),
    /// Of a column of 64-bit floats.
    Float64(f64),
    /// Of a decimal column, without its scale.
    Decimal(i128),
    /// Of a text (UTF-8, if the page is what a writer made) or bytes column.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The cell of an array's row.
    ///
    /// # Panics
    /// When the array is not of the column's Arrow type, or has no such row.
    pub fn of_cell(array: &'a ArrayRef, column_type: ColumnType, row: usize) -> Self {
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

    /// The order of sort keys: numbers by size, NaNs equal and above all others, -0.0 as 0.0,
    /// text and bytes by their bytes, NULLs last. Values of different types do not compare.
    ///
    /// # Panics
    /// When the values are of different types.
    pub fn order(&self, other: &Value<'_>) -> Ordering {
        match (self, other) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Greater,
            (_, Value::Null) => Ordering::Less,
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
            (Value::Float32(a), Value::Float32(b)) => float32_key(*a).cmp(&float32_key(*b)),
            (Value::Float64(a), Value::Float64(b)) => float64_key(*a).cmp(&float64_key(*b)),
            (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            _ => panic!("values of different types were compared"),
        }
    }
}
