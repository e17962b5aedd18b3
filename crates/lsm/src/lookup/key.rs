//! A key to look up: the values of its columns and the sort key that they fold into.
//!
//! The fold is that of [`types::SortKeys`], for one key without arrays.

use page::Value;
use types::key::SortKey;
use types::{ColumnType, SortKeys};

use crate::layout::Layout;
use crate::segment::KeyHash;

/// A key that a row may have.
pub(super) struct LookupKey<'a> {
    /// The values of the key columns, in key order.
    pub values: &'a [Value<'a>],
    /// What they fold into.
    pub sort_key: SortKey,
    /// The hash by which filters know the key.
    pub hash: KeyHash,
}

impl<'a> LookupKey<'a> {
    /// The key with these values; `None` when no row can have it, because a value is NULL or
    /// outside its column's type.
    ///
    /// # Panics
    /// When a value is of another kind than its column, or there are more or fewer values than
    /// key columns.
    pub fn new(layout: &Layout, values: &'a [Value<'a>]) -> Option<Self> {
        let types = layout.key_types();
        assert_eq!(values.len(), types.len(), "one value a key column");
        let cells = values.iter().zip(types.iter().copied());
        let sort_key = match layout.no_keys() {
            SortKeys::U64(_) => SortKey::U64(fold_number(cells)? as u64),
            SortKeys::U128(_) => SortKey::U128(fold_number(cells)?),
            SortKeys::Bytes { .. } => SortKey::Bytes(fold_bytes(cells)?),
        };
        Some(Self {
            values,
            hash: KeyHash::of(&sort_key),
            sort_key,
        })
    }
}

/// A cell of fixed width as an integer that orders alike.
struct Fixed {
    number: u128,
    bits: u32,
}

fn fold_number<'v>(cells: impl Iterator<Item = (&'v Value<'v>, ColumnType)>) -> Option<u128> {
    let mut key = 0_u128;
    for (value, column_type) in cells {
        let Fixed { number, bits } = fixed(value, column_type)?;
        key = key.checked_shl(bits).unwrap_or(0) | number;
    }
    Some(key)
}

fn fold_bytes<'v>(cells: impl Iterator<Item = (&'v Value<'v>, ColumnType)>) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    for (value, column_type) in cells {
        match (value, column_type) {
            (Value::Null, _) => return None,
            (&Value::Bytes(bytes), ColumnType::Text | ColumnType::Bytes) => {
                append_escaped(bytes, &mut key);
            }
            _ => {
                let Fixed { number, bits } = fixed(value, column_type)?;
                let bytes = number.to_be_bytes();
                key.extend_from_slice(&bytes[bytes.len() - bits as usize / 8..]);
            }
        }
    }
    Some(key)
}

/// Zeros are marked, and the end, so that no value runs into the next column.
fn append_escaped(bytes: &[u8], key: &mut Vec<u8>) {
    for &byte in bytes {
        key.push(byte);
        if byte == 0 {
            key.push(0xFF);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

fn fixed(value: &Value<'_>, column_type: ColumnType) -> Option<Fixed> {
    let of = |number: u128, bits| Some(Fixed { number, bits });
    let signed = |number: i128, bits: u32| {
        // Flipped sign: negative numbers come first.
        let number = number.wrapping_add(1 << (bits - 1)) as u128;
        (bits == 128 || number >> bits == 0).then_some(Fixed { number, bits })
    };
    match (*value, column_type) {
        (Value::Null, _) => None,
        (Value::Bool(value), ColumnType::Bool) => of(value.into(), 8),
        (Value::Int(value), ColumnType::Int16) => signed(value.into(), 16),
        (Value::Int(value), ColumnType::Int32 | ColumnType::Date) => signed(value.into(), 32),
        (
            Value::Int(value),
            ColumnType::Int64 | ColumnType::Time | ColumnType::Timestamp | ColumnType::TimestampTz,
        ) => signed(value.into(), 64),
        (Value::UInt(value), ColumnType::UInt64) => of(value.into(), 64),
        (Value::Float32(value), ColumnType::Float32) => of(float32(value).into(), 32),
        (Value::Float64(value), ColumnType::Float64) => of(float64(value).into(), 64),
        (Value::Decimal(value), ColumnType::Decimal { .. }) => signed(value, 128),
        (value, column_type) => panic!("{value:?} is not a value of a {column_type:?} column"),
    }
}

/// The total order of floats: -0.0 is 0.0, every NaN one above infinity.
fn float32(value: f32) -> u32 {
    const SIGN: u32 = 1 << 31;
    let bits = if value.is_nan() {
        f32::NAN
    } else {
        value + 0.0
    }
    .to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// As [`float32`].
fn float64(value: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = if value.is_nan() {
        f64::NAN
    } else {
        value + 0.0
    }
    .to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

#[cfg(test)]
mod tests;
