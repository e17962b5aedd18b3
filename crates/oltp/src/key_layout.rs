//! The columns of a key as an index keeps it, and keys made of values and of rows.
//!
//! A key whose columns have fixed width, none of them nullable, and take up to 16 bytes is made as one
//! number, cell by cell, without a buffer: its cells' places in a row's body are known beforehand. Any other
//! key is encoded as bytes first ([`crate::key_encoding`]).

use types::{ColumnType, Value};

use crate::cell;
use crate::index::{Key, RowKey, SoughtKey};
use crate::key_encoding::{decode_cell, encode_value, number_of};
use crate::row_layout::{RowBytes, RowLayout};
use crate::schema::{ColumnDefinition, ColumnNumber};

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

/// A cell of a key that is a number.
#[derive(Clone, Copy, Debug)]
struct Part {
    column_type: ColumnType,
    is_int: bool,
    bits: u32,
    /// Flipped, so that numbers order as their cells do.
    sign: u128,
    /// Where it is in a row's body.
    at: usize,
}

/// The columns of a key as an index keeps it: those that are looked for, then those that tell rows
/// apart which are equal in them.
#[derive(Clone, Debug)]
pub(crate) struct KeyLayout {
    columns: Vec<ColumnNumber>,
    cells: Vec<(ColumnType, bool)>,
    /// The same, if the number is made without a buffer.
    parts: Option<Vec<Part>>,
    /// Columns that are looked for.
    declared: usize,
    form: KeyForm,
}

impl KeyForm {
    /// Bits of a number.
    fn bits(self) -> u32 {
        match self {
            Self::Word => u64::BITS,
            Self::Wide | Self::Bytes => u128::BITS,
        }
    }
}

impl KeyLayout {
    /// The layout of a key over some columns of a table, followed by others.
    pub(crate) fn new(
        declared: &[ColumnNumber],
        more: &[ColumnNumber],
        table: &[ColumnDefinition],
        rows: &RowLayout,
    ) -> Self {
        let mut columns = declared.to_vec();
        columns.extend(more.iter().filter(|column| !declared.contains(column)));
        let of_key = columns.iter().map(|column| &table[*column]);
        let cells: Vec<_> = of_key.map(|c| (c.column_type, c.is_nullable)).collect();
        let widths = cells.iter().map(|(column_type, is_nullable)| {
            Some(cell::width(*column_type)? + usize::from(*is_nullable))
        });
        let form = match widths.sum::<Option<usize>>() {
            Some(0..=8) => KeyForm::Word,
            Some(9..=16) => KeyForm::Wide,
            _ => KeyForm::Bytes,
        };
        let parts = columns.iter().zip(&cells).map(|(column, cell)| {
            let (column_type, is_nullable) = *cell;
            (!is_nullable).then(|| Part::new(column_type, rows.fixed_at(*column)?))?
        });
        Self {
            parts: parts
                .collect::<Option<_>>()
                .filter(|_| form != KeyForm::Bytes),
            columns,
            cells,
            declared: declared.len(),
            form,
        }
    }

    /// The same, kept as bytes.
    #[must_use]
    pub(crate) fn kept_as_bytes(mut self) -> Self {
        self.form = KeyForm::Bytes;
        self.parts = None;
        self
    }

    /// How it is kept.
    pub(crate) fn form(&self) -> KeyForm {
        self.form
    }

    /// The key of values for the first columns; `None` when one does not fit. One that is bytes is appended
    /// to `buffer`.
    #[inline]
    pub(crate) fn seek(&self, values: &[Value<'_>], buffer: &mut Vec<u8>) -> Option<SoughtKey> {
        match &self.parts {
            Some(parts) => seek_number(parts, values, self.form.bits()),
            None => self.seek_encoded(values, buffer),
        }
    }

    fn seek_encoded(&self, values: &[Value<'_>], buffer: &mut Vec<u8>) -> Option<SoughtKey> {
        let start = buffer.len();
        if !self.encode(values, buffer) {
            return None;
        }
        if self.form == KeyForm::Bytes {
            return Some(SoughtKey::Bytes(start..buffer.len()));
        }
        let (number, missing_bits) = number_of(&buffer[start..], self.form.bits());
        buffer.truncate(start);
        Some(SoughtKey::Number {
            number,
            missing_bits,
        })
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

    /// The key of a row. One that is not made as a number is made in `buffer`.
    #[inline]
    pub(crate) fn of_row<'k>(
        &self,
        rows: &RowLayout,
        row: RowBytes<'_>,
        buffer: &'k mut Vec<u8>,
    ) -> RowKey<'k> {
        let Some(parts) = &self.parts else {
            return self.encode_row(rows, row, buffer);
        };
        let (mut number, mut missing_bits) = (0, self.form.bits());
        for part in parts {
            missing_bits -= part.bits;
            number |= (part.read(row.body) ^ part.sign) << missing_bits;
        }
        RowKey {
            key: Key::Number {
                number,
                missing_bits,
            },
            declared_bytes: 0,
        }
    }

    fn encode_row<'k>(
        &self,
        rows: &RowLayout,
        row: RowBytes<'_>,
        out: &'k mut Vec<u8>,
    ) -> RowKey<'k> {
        out.clear();
        let mut declared_bytes = 0;
        let cells = self.columns.iter().zip(&self.cells);
        for (number, (column, (column_type, nullable))) in cells.enumerate() {
            let fits = encode_value(&rows.value(row, *column), *column_type, *nullable, out);
            debug_assert!(fits, "rows hold what fits their columns");
            if number + 1 == self.declared {
                declared_bytes = out.len();
            }
        }
        let key = if self.form == KeyForm::Bytes {
            Key::Bytes(out)
        } else {
            let (number, missing_bits) = number_of(out, self.form.bits());
            Key::Number {
                number,
                missing_bits,
            }
        };
        RowKey {
            key,
            declared_bytes,
        }
    }

    /// Shows the bytes of a key, filled up where they are those of a number.
    #[inline]
    pub(crate) fn with_encoded<R>(&self, key: Key<'_>, show: impl FnOnce(&[u8]) -> R) -> R {
        match key {
            Key::Number { number, .. } => {
                let bytes = number.to_be_bytes();
                show(&bytes[bytes.len() - self.form.bits() as usize / 8..])
            }
            Key::Bytes(bytes) => show(bytes),
        }
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

impl Part {
    fn new(column_type: ColumnType, at: usize) -> Option<Self> {
        let bits = 8 * cell::width(column_type)? as u32;
        let is_signed = !matches!(column_type, ColumnType::Bool | ColumnType::UInt64);
        Some(Self {
            column_type,
            is_int: cell::is_int(column_type),
            bits,
            sign: if is_signed { 1 << (bits - 1) } else { 0 },
            at,
        })
    }

    /// The cell's bits, in a row's body.
    #[inline]
    fn read(&self, body: &[u8]) -> u128 {
        macro_rules! number {
            ($type:ty) => {{
                let bytes = &body[self.at..self.at + size_of::<$type>()];
                <$type>::from_le_bytes(bytes.try_into().expect("as wide as the column")).into()
            }};
        }
        match self.bits {
            8 => number!(u8),
            16 => number!(u16),
            32 => number!(u32),
            64 => number!(u64),
            _ => number!(u128),
        }
    }

    /// The value's bits; `None` when it does not fit the column.
    #[inline]
    fn bits_of(&self, value: &Value<'_>) -> Option<u128> {
        let Value::Int(int) = *value else {
            return self.bits_of_any(value);
        };
        let beyond = i64::BITS.saturating_sub(self.bits);
        let fits = self.is_int && (int << beyond) >> beyond == int;
        fits.then_some(u128::from((int as u64) << beyond >> beyond))
    }

    fn bits_of_any(&self, value: &Value<'_>) -> Option<u128> {
        if !cell::fits(value, self.column_type) {
            return None;
        }
        let bits = match *value {
            Value::Int(int) => int as u128,
            Value::UInt(int) => int.into(),
            Value::Bool(bit) => bit.into(),
            Value::Decimal(int) => int as u128,
            Value::Null | Value::Bytes(_) | Value::Float32(_) | Value::Float64(_) => return None,
        };
        Some(bits & (u128::MAX >> (u128::BITS - self.bits)))
    }
}

#[inline]
fn seek_number(parts: &[Part], values: &[Value<'_>], bits: u32) -> Option<SoughtKey> {
    if values.len() > parts.len() {
        return None;
    }
    let (mut number, mut missing_bits) = (0, bits);
    for (value, part) in values.iter().zip(parts) {
        missing_bits -= part.bits;
        number |= (part.bits_of(value)? ^ part.sign) << missing_bits;
    }
    Some(SoughtKey::Number {
        number,
        missing_bits,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ColumnDefinition;

    /// The bytes order as the values do, and the numbers come back.
    #[test]
    fn encoded_keys_keep_the_order() {
        let columns = [
            ColumnDefinition::new("name", ColumnType::Bytes).nullable(),
            ColumnDefinition::new("number", ColumnType::Int32),
            ColumnDefinition::new("weight", ColumnType::Int64),
        ];
        let layout = KeyLayout::new(&[0, 1], &[], &columns, &RowLayout::new(&columns));
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

        let layout = KeyLayout::new(&[1], &[2], &columns, &RowLayout::new(&columns));
        assert_eq!(layout.form(), KeyForm::Wide);
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

    /// A key is made of integers that fit their columns, up to the last one that does.
    #[test]
    fn integers_that_do_not_fit_make_no_key() {
        let columns = [
            ColumnDefinition::new("small", ColumnType::Int16),
            ColumnDefinition::new("middle", ColumnType::Int32),
            ColumnDefinition::new("is", ColumnType::Bool),
        ];
        let layout = KeyLayout::new(&[0, 1, 2], &[], &columns, &RowLayout::new(&columns));
        let mut buffer = Vec::new();
        let mut seek = |small, middle, last| {
            let values = [Value::Int(small), Value::Int(middle), last];
            layout.seek(&values, &mut buffer).map(|key| match key {
                SoughtKey::Number { number, .. } => number,
                SoughtKey::Bytes(_) => panic!("it is a number"),
            })
        };
        let bit = Value::Bool(true);
        let least = seek(i16::MIN.into(), i32::MIN.into(), bit).expect("they fit");
        let most = seek(i16::MAX.into(), i32::MAX.into(), bit).expect("they fit");
        let between = seek(-1, 0, bit).expect("they fit");
        assert!(least < between && between < most);
        assert!(seek(i64::from(i16::MAX) + 1, 0, bit).is_none());
        assert!(seek(0, i64::from(i32::MIN) - 1, bit).is_none());
        assert!(seek(0, 0, Value::Int(1)).is_none(), "an integer is no bit");
    }
}
