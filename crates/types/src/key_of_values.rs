//! One key from the values of its columns: the fold of [`SortKeys`](crate::SortKeys), for one key
//! without arrays.

use crate::key::{SortKey, append_escaped, float32_key, float64_key, key_bits};
use crate::schema::ColumnType;
use crate::value::Value;

impl SortKey {
    /// The key with these values, in key order; `None` when no row can have it, because a value is
    /// NULL or outside its column's type.
    ///
    /// # Panics
    /// When a value is of another kind than its column, or there are more or fewer values than
    /// types.
    pub fn of_values(values: &[Value<'_>], types: &[ColumnType]) -> Option<Self> {
        assert_eq!(values.len(), types.len(), "one value a key column");
        let bits = types.iter().try_fold(0, |sum, &t| Some(sum + key_bits(t)?));
        Some(match bits {
            Some(bits) if bits <= 64 => Self::U64(fold_number(values, types)? as u64),
            Some(bits) if bits <= 128 => Self::U128(fold_number(values, types)?),
            _ => Self::Bytes(fold_bytes(values, types)?),
        })
    }
}

/// A cell of fixed width as an integer that orders alike.
struct Fixed {
    number: u128,
    bits: u32,
}

fn fold_number(values: &[Value<'_>], types: &[ColumnType]) -> Option<u128> {
    let mut key = 0_u128;
    for (value, &column_type) in values.iter().zip(types) {
        let Fixed { number, bits } = fixed(value, column_type)?;
        key = key.checked_shl(bits).unwrap_or(0) | number;
    }
    Some(key)
}

fn fold_bytes(values: &[Value<'_>], types: &[ColumnType]) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    for (value, &column_type) in values.iter().zip(types) {
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

fn fixed(value: &Value<'_>, column_type: ColumnType) -> Option<Fixed> {
    let bits = key_bits(column_type).unwrap_or(0);
    let of = |number: u128| Some(Fixed { number, bits });
    let signed = |number: i128| {
        // Flipped sign: negative numbers come first.
        let number = number.wrapping_add(1 << (bits - 1)) as u128;
        (bits == 128 || number >> bits == 0).then_some(Fixed { number, bits })
    };
    match (*value, column_type) {
        (Value::Null, _) => None,
        (Value::Bool(value), ColumnType::Bool) => of(value.into()),
        (
            Value::Int(value),
            ColumnType::Int16
            | ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Date
            | ColumnType::Time
            | ColumnType::Timestamp
            | ColumnType::TimestampTz,
        ) => signed(value.into()),
        (Value::UInt(value), ColumnType::UInt64) => of(value.into()),
        (Value::Float32(value), ColumnType::Float32) => of(float32_key(value).into()),
        (Value::Float64(value), ColumnType::Float64) => of(float64_key(value).into()),
        (Value::Decimal(value), ColumnType::Decimal { .. }) => signed(value),
        (value, column_type) => panic!("{value:?} is not a value of a {column_type:?} column"),
    }
}

#[cfg(test)]
mod tests;
