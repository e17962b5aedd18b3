//! Cells of fixed width as bytes, and what a cell must be to fit its column.

use types::{ColumnType, Value};

/// Bytes of a cell; `None` for text and bytes.
pub(crate) fn width(column_type: ColumnType) -> Option<usize> {
    match column_type {
        ColumnType::Bool => Some(1),
        ColumnType::Int16 => Some(2),
        ColumnType::Int32 | ColumnType::Float32 | ColumnType::Date => Some(4),
        ColumnType::Decimal { .. } => Some(16),
        ColumnType::Text | ColumnType::Bytes => None,
        ColumnType::Int64
        | ColumnType::UInt64
        | ColumnType::Float64
        | ColumnType::Time
        | ColumnType::Timestamp
        | ColumnType::TimestampTz => Some(8),
    }
}

/// Whether the value, which is not NULL, may stand in such a column.
pub(crate) fn fits(value: &Value<'_>, column_type: ColumnType) -> bool {
    match (value, column_type) {
        (Value::Int(_), ColumnType::Int64)
        | (Value::Bool(_), ColumnType::Bool)
        | (Value::UInt(_), ColumnType::UInt64)
        | (Value::Float32(_), ColumnType::Float32)
        | (Value::Float64(_), ColumnType::Float64)
        | (Value::Decimal(_), ColumnType::Decimal { .. })
        | (Value::Bytes(_), ColumnType::Bytes)
        | (Value::Int(_), ColumnType::Time | ColumnType::Timestamp | ColumnType::TimestampTz) => {
            true
        }
        (Value::Int(int), ColumnType::Int16) => i16::try_from(*int).is_ok(),
        (Value::Int(int), ColumnType::Int32 | ColumnType::Date) => i32::try_from(*int).is_ok(),
        (Value::Bytes(text), ColumnType::Text) => std::str::from_utf8(text).is_ok(),
        _ => false,
    }
}

/// Writes a cell of fixed width.
///
/// # Panics
/// When the value does not fit the column, or the column has no fixed width.
pub(crate) fn write(value: &Value<'_>, column_type: ColumnType, out: &mut [u8]) {
    match (*value, column_type) {
        (Value::Bool(bit), _) => out[0] = bit.into(),
        (Value::Int(int), ColumnType::Int16) => out.copy_from_slice(&(int as i16).to_le_bytes()),
        (Value::Int(int), ColumnType::Int32 | ColumnType::Date) => {
            out.copy_from_slice(&(int as i32).to_le_bytes());
        }
        (Value::Int(int), _) => out.copy_from_slice(&int.to_le_bytes()),
        (Value::UInt(int), _) => out.copy_from_slice(&int.to_le_bytes()),
        (Value::Float32(float), _) => out.copy_from_slice(&float.to_le_bytes()),
        (Value::Float64(float), _) => out.copy_from_slice(&float.to_le_bytes()),
        (Value::Decimal(int), _) => out.copy_from_slice(&int.to_le_bytes()),
        (Value::Null | Value::Bytes(_), _) => panic!("a cell without fixed width"),
    }
}

/// Appends a cell of fixed width.
///
/// # Panics
/// When the value does not fit the column, or the column has no fixed width.
#[inline]
pub(crate) fn append(value: &Value<'_>, column_type: ColumnType, out: &mut Vec<u8>) {
    match (*value, column_type) {
        (Value::Bool(bit), _) => out.push(bit.into()),
        (Value::Int(int), ColumnType::Int16) => out.extend_from_slice(&(int as i16).to_le_bytes()),
        (Value::Int(int), ColumnType::Int32 | ColumnType::Date) => {
            out.extend_from_slice(&(int as i32).to_le_bytes());
        }
        (Value::Int(int), _) => out.extend_from_slice(&int.to_le_bytes()),
        (Value::UInt(int), _) => out.extend_from_slice(&int.to_le_bytes()),
        (Value::Float32(float), _) => out.extend_from_slice(&float.to_le_bytes()),
        (Value::Float64(float), _) => out.extend_from_slice(&float.to_le_bytes()),
        (Value::Decimal(int), _) => out.extend_from_slice(&int.to_le_bytes()),
        (Value::Null | Value::Bytes(_), _) => panic!("a cell without fixed width"),
    }
}

/// The number of a cell of an integer, date or time column, by its width.
#[inline]
pub(crate) fn read_int(cell: &[u8]) -> i64 {
    match *cell {
        [a, b] => i16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => unreachable!("integers have two, four or eight bytes"),
    }
}

/// Whether a column's cells are read as integers.
pub(crate) fn is_int(column_type: ColumnType) -> bool {
    matches!(
        column_type,
        ColumnType::Int16
            | ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Date
            | ColumnType::Time
            | ColumnType::Timestamp
            | ColumnType::TimestampTz
    )
}

/// Reads a cell of fixed width.
///
/// # Panics
/// When the bytes are not as wide as the column, or the column has no fixed width.
#[inline]
pub(crate) fn read(bytes: &[u8], column_type: ColumnType) -> Value<'static> {
    macro_rules! number {
        ($type:ty) => {
            <$type>::from_le_bytes(bytes.try_into().expect("as wide as the column"))
        };
    }
    match column_type {
        ColumnType::Bool => Value::Bool(bytes[0] != 0),
        ColumnType::Int16 => Value::Int(number!(i16).into()),
        ColumnType::Int32 | ColumnType::Date => Value::Int(number!(i32).into()),
        ColumnType::Int64 | ColumnType::Time | ColumnType::Timestamp | ColumnType::TimestampTz => {
            Value::Int(number!(i64))
        }
        ColumnType::UInt64 => Value::UInt(number!(u64)),
        ColumnType::Float32 => Value::Float32(number!(f32)),
        ColumnType::Float64 => Value::Float64(number!(f64)),
        ColumnType::Decimal { .. } => Value::Decimal(number!(i128)),
        ColumnType::Text | ColumnType::Bytes => panic!("a column without fixed width"),
    }
}
