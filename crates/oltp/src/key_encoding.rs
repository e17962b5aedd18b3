//! Keys as bytes whose order is the order of the keys.
//!
//! A cell becomes: for a nullable column one byte (0 a value, 1 NULL, so that NULLs come last), then
//! an integer big-endian with its sign bit flipped, text with every 0 byte followed by 255 and two 0 bytes at its end. Cells
//! follow one another. So the encoding of the first columns is a beginning of that of all, and what
//! begins like it lies between it and it followed by bytes of 255.
//!
//! A key without text that takes up to 8 or 16 bytes is kept as one number, filled with zeros: the first
//! byte is the most significant.

use types::{ColumnType, Value};

use crate::cell;

/// Marks a zero byte within text; two zeros end it.
const ZERO_FOLLOWER: u8 = 255;

/// Appends a cell; `false` when the value does not fit the column.
#[must_use]
pub(crate) fn encode_value(
    value: &Value<'_>,
    column_type: ColumnType,
    is_nullable: bool,
    out: &mut Vec<u8>,
) -> bool {
    if matches!(value, Value::Null) {
        out.push(1);
        return is_nullable;
    }
    if is_nullable {
        out.push(0);
    }
    let fits = cell::fits(value, column_type);
    if fits {
        encode_cell(value, column_type, out);
    }
    fits
}

fn encode_cell(value: &Value<'_>, column_type: ColumnType, out: &mut Vec<u8>) {
    match (*value, column_type) {
        (Value::Int(int), ColumnType::Int16) => {
            out.extend_from_slice(&((int as i16) ^ i16::MIN).to_be_bytes());
        }
        (Value::Int(int), ColumnType::Int32 | ColumnType::Date) => {
            out.extend_from_slice(&((int as i32) ^ i32::MIN).to_be_bytes());
        }
        (Value::Int(int), _) => out.extend_from_slice(&(int ^ i64::MIN).to_be_bytes()),
        (Value::Bool(bit), _) => out.push(bit.into()),
        (Value::UInt(int), _) => out.extend_from_slice(&int.to_be_bytes()),
        (Value::Decimal(int), _) => out.extend_from_slice(&(int ^ i128::MIN).to_be_bytes()),
        (Value::Bytes(text), _) => {
            for &byte in text {
                out.push(byte);
                if byte == 0 {
                    out.push(ZERO_FOLLOWER);
                }
            }
            out.extend_from_slice(&[0, 0]);
        }
        (Value::Null, _) => unreachable!("NULL is a byte before the cell"),
        (Value::Float32(_) | Value::Float64(_), _) => unreachable!("no index has floats"),
    }
}

/// The value of a cell of fixed width.
pub(crate) fn decode_cell(bytes: &[u8], column_type: ColumnType) -> Value<'static> {
    macro_rules! number {
        ($type:ty) => {
            <$type>::from_be_bytes(bytes.try_into().expect("as wide as the column"))
        };
    }
    match column_type {
        ColumnType::Bool => Value::Bool(bytes[0] != 0),
        ColumnType::Int16 => Value::Int((number!(i16) ^ i16::MIN).into()),
        ColumnType::Int32 | ColumnType::Date => Value::Int((number!(i32) ^ i32::MIN).into()),
        ColumnType::UInt64 => Value::UInt(number!(u64)),
        ColumnType::Decimal { .. } => Value::Decimal(number!(i128) ^ i128::MIN),
        ColumnType::Float32 | ColumnType::Float64 => unreachable!("no index has floats"),
        ColumnType::Text | ColumnType::Bytes => unreachable!("text has no width"),
        ColumnType::Int64 | ColumnType::Time | ColumnType::Timestamp | ColumnType::TimestampTz => {
            Value::Int(number!(i64) ^ i64::MIN)
        }
    }
}

/// The number of so many bits that stands for an encoded key, and how many of its bits are missing.
pub(crate) fn number_of(key: &[u8], bits: u32) -> (u128, u32) {
    let number = key
        .iter()
        .fold(0, |number, byte| (number << 8) | u128::from(*byte));
    let missing_bits = bits - 8 * key.len() as u32;
    (number.checked_shl(missing_bits).unwrap_or(0), missing_bits)
}
