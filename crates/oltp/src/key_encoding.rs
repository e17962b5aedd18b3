//! Keys as bytes whose order is the order of the keys.
//!
//! A cell becomes: for a nullable column one byte (0 a value, 1 NULL, so that NULLs come last), then
//! an integer big-endian with its sign bit flipped, text with every 0 byte followed by 255 and two 0 bytes at its end. Cells
//! follow one another. So the encoding of the first columns is a beginning of that of all, and what
//! begins like it lies between it and it followed by bytes of 255.
//!
//! A key without text that takes up to 8 or 16 bytes is kept as one number, filled with zeros.

use types::{ColumnType, Value};

use crate::cell;
use crate::schema::{ColumnDefinition, ColumnNumber};

/// Marks a zero byte within text; two zeros end it.
const ZERO_FOLLOWER: u8 = 255;

/// How the keys of an index are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// A number of 64 bits.
    Word,
    /// A number of 128 bits.
    Wide,
    /// Bytes.
    Bytes,
}

/// The columns of a key as an index keeps it: those that are looked for, then those that tell rows
/// apart which are equal in them.
#[derive(Clone, Debug)]
pub(crate) struct KeyLayout {
    columns: Vec<ColumnNumber>,
    cells: Vec<(ColumnType, bool)>,
    /// Columns that are looked for.
    declared: usize,
    pub(crate) form: KeyForm,
}

impl KeyLayout {
    /// The layout of a key over some columns of a table, followed by others.
    pub(crate) fn new(
        declared: &[ColumnNumber],
        more: &[ColumnNumber],
        table: &[ColumnDefinition],
    ) -> Self {
        let mut columns = declared.to_vec();
        columns.extend(more.iter().filter(|column| !declared.contains(column)));
        let of_key = columns.iter().map(|column| &table[*column]);
        let cells: Vec<_> = of_key.map(|c| (c.column_type, c.is_nullable)).collect();
        let width = cells
            .iter()
            .map(|(column_type, nullable)| {
                Some(cell::width(*column_type)? + usize::from(*nullable))
            })
            .sum::<Option<usize>>();
        let form = match width {
            Some(0..=8) => KeyForm::Word,
            Some(9..=16) => KeyForm::Wide,
            _ => KeyForm::Bytes,
        };
        Self {
            columns,
            cells,
            declared: declared.len(),
            form,
        }
    }

    /// Appends the encoding of values for the first columns; `false` when one does not fit.
    #[must_use]
    pub(crate) fn encode(&self, values: &[Value<'_>], out: &mut Vec<u8>) -> bool {
        let mut cells = self.cells.iter();
        values.iter().all(|value| {
            let cell = cells.next();
            cell.is_some_and(|(column_type, nullable)| {
                encode_value(value, *column_type, *nullable, out)
            })
        })
    }

    /// Makes `out` the encoding of a row's key; `value` tells the cells of columns of the table. Gives
    /// the bytes of the columns that are looked for.
    pub(crate) fn encode_row<'v>(
        &self,
        value: impl Fn(ColumnNumber) -> Value<'v>,
        out: &mut Vec<u8>,
    ) -> usize {
        out.clear();
        let mut declared_bytes = 0;
        let cells = self.columns.iter().zip(&self.cells);
        for (number, (column, (column_type, nullable))) in cells.enumerate() {
            let fits = encode_value(&value(*column), *column_type, *nullable, out);
            debug_assert!(fits, "rows hold what fits their columns");
            if number + 1 == self.declared {
                declared_bytes = out.len();
            }
        }
        declared_bytes
    }

    /// Whether so many values are all that is looked for.
    pub(crate) fn is_whole(&self, values: usize) -> bool {
        values == self.declared
    }

    /// The value of a column of the table in an encoded key; `None` when the key does not have the
    /// column, or it is text or behind text.
    pub(crate) fn decode(&self, key: &[u8], column: ColumnNumber) -> Option<Value<'static>> {
        let mut rest = key;
        for (number, (column_type, nullable)) in self.columns.iter().zip(&self.cells) {
            let is_null = *nullable && rest[0] == 1;
            rest = &rest[usize::from(*nullable)..];
            let width = cell::width(*column_type)?;
            if *number == column {
                return Some(if is_null {
                    Value::Null
                } else {
                    decode_cell(&rest[..width], *column_type)
                });
            }
            if !is_null {
                rest = &rest[width..];
            }
        }
        None
    }
}

#[must_use]
fn encode_value(
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

fn decode_cell(bytes: &[u8], column_type: ColumnType) -> Value<'static> {
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

/// The number that stands for a key of up to 8 bytes; what is missing is filled with `rest`.
#[inline]
pub(crate) fn word(key: &[u8], rest: u8) -> u64 {
    let mut bytes = [rest; 8];
    bytes[..key.len()].copy_from_slice(key);
    u64::from_be_bytes(bytes)
}

/// The number that stands for a key of up to 16 bytes; what is missing is filled with `rest`.
#[inline]
pub(crate) fn wide(key: &[u8], rest: u8) -> u128 {
    let mut bytes = [rest; 16];
    bytes[..key.len()].copy_from_slice(key);
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes order as the values do, and the numbers come back.
    #[test]
    fn encoded_keys_keep_the_order() {
        let columns = [
            ColumnDefinition::new("name", ColumnType::Bytes).nullable(),
            ColumnDefinition::new("number", ColumnType::Int32),
            ColumnDefinition::new("weight", ColumnType::Int64),
        ];
        let layout = KeyLayout::new(&[0, 1], &[], &columns);
        let ordered = [
            [Value::Bytes(b""), Value::Int(5)],
            [Value::Bytes(b"\0"), Value::Int(-1)],
            [Value::Bytes(b"\0\x01"), Value::Int(-1)],
            [Value::Bytes(b"a"), Value::Int(-7)],
            [Value::Bytes(b"a"), Value::Int(3)],
            [Value::Bytes(b"a\0"), Value::Int(-9)],
            [Value::Bytes(b"ab"), Value::Int(-9)],
            [Value::Null, Value::Int(-9)],
        ];
        let keys: Vec<Vec<u8>> = ordered
            .iter()
            .map(|values| {
                let mut key = Vec::new();
                assert!(layout.encode(values, &mut key));
                key
            })
            .collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");

        let layout = KeyLayout::new(&[1], &[2], &columns);
        assert_eq!(layout.form, KeyForm::Wide);
        for (small, large) in [(-5, -1), (7, 3 << 40), (i64::from(i32::MIN), i64::MAX)] {
            let mut key = Vec::new();
            assert!(layout.encode(&[Value::Int(small), Value::Int(large)], &mut key));
            let decoded = (layout.decode(&key, 1), layout.decode(&key, 2));
            assert!(
                matches!(decoded, (Some(Value::Int(a)), Some(Value::Int(b))) if (a, b) == (small, large)),
                "{decoded:?}"
            );
        }
    }
}
