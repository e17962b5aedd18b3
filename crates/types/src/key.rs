//! Order-preserving keys computed from the key columns of a batch.
//!
//! Merges compare keys far more often than they read any other column, so the key columns of a
//! batch are folded once into the narrowest form that orders the same way:
//!
//! 1. all key columns fixed-width, at most 64 bits together: one `u64` a row;
//! 2. at most 128 bits together: one `u128` a row;
//! 3. otherwise: bytes that compare with `memcmp`.
//!
//! Fixed-width values are mapped to unsigned integers (sign bit flipped; floats by their total
//! order, -0.0 folded into 0.0 and every NaN into one above infinity, as PostgreSQL orders
//! them) and laid out big-endian. Text and bytes are escaped: 0x00 becomes 0x00 0xFF, the end
//! is 0x00 0x00, so that a prefix sorts first and no value runs into the next column.
//!
//! Invariant: the form depends on the column types alone, never on the data, so keys of
//! different batches of one table always compare.
//!
//! Does not: handle NULL. A key cell is never NULL.

use std::cmp::Ordering;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef};

use crate::schema::ColumnType;

const SIGN_16: u16 = 1 << 15;
const SIGN_32: u32 = 1 << 31;
const SIGN_64: u64 = 1 << 63;
const SIGN_128: u128 = 1 << 127;

/// The keys of a batch, one a row, in a form that compares fast.
#[derive(Clone, Debug)]
pub enum SortKeys {
    /// Keys of at most 64 bits.
    U64(Vec<u64>),
    /// Keys of at most 128 bits.
    U128(Vec<u128>),
    /// Keys of any length: row `i` is `data[offsets[i]..offsets[i + 1]]`.
    Bytes {
        /// Row boundaries, one more than rows.
        offsets: Vec<u32>,
        /// All keys, end to end.
        data: Vec<u8>,
    },
}

/// One key, detached from its batch: a fence, a bound.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortKey {
    /// See [`SortKeys::U64`].
    U64(u64),
    /// See [`SortKeys::U128`].
    U128(u128),
    /// See [`SortKeys::Bytes`].
    Bytes(Vec<u8>),
}

/// The width in bits of a fixed-width column type's key; `None` where it varies.
pub(crate) fn key_bits(column_type: ColumnType) -> Option<u32> {
    match column_type {
        ColumnType::Bool => Some(8),
        ColumnType::Int16 => Some(16),
        ColumnType::Int32 | ColumnType::Date | ColumnType::Float32 => Some(32),
        ColumnType::Int64
        | ColumnType::UInt64
        | ColumnType::Float64
        | ColumnType::Time
        | ColumnType::Timestamp
        | ColumnType::TimestampTz => Some(64),
        ColumnType::Decimal { .. } => Some(128),
        ColumnType::Text | ColumnType::Bytes => None,
    }
}

/// Orders as a float does: -0.0 is 0.0, every NaN one above infinity.
pub(crate) fn float32_key(value: f32) -> u32 {
    let value = if value.is_nan() {
        f32::NAN
    } else {
        value + 0.0
    };
    let bits = value.to_bits();
    if bits & SIGN_32 == 0 {
        bits | SIGN_32
    } else {
        !bits
    }
}

/// As [`float32_key`].
pub(crate) fn float64_key(value: f64) -> u64 {
    let value = if value.is_nan() {
        f64::NAN
    } else {
        value + 0.0
    };
    let bits = value.to_bits();
    if bits & SIGN_64 == 0 {
        bits | SIGN_64
    } else {
        !bits
    }
}

/// Calls `each(row, key)` with the order-preserving integer of every fixed-width cell.
fn for_each_fixed(array: &ArrayRef, column_type: ColumnType, mut each: impl FnMut(usize, u128)) {
    macro_rules! primitive {
        ($type:ty, $map:expr) => {
            for (row, &value) in array.as_primitive::<$type>().values().iter().enumerate() {
                each(row, u128::from($map(value)));
            }
        };
    }
    match column_type {
        ColumnType::Bool => {
            for (row, value) in array.as_boolean().values().iter().enumerate() {
                each(row, u128::from(value));
            }
        }
        ColumnType::Int16 => primitive!(Int16Type, |v: i16| v as u16 ^ SIGN_16),
        ColumnType::Int32 => primitive!(Int32Type, |v: i32| v as u32 ^ SIGN_32),
        ColumnType::Date => primitive!(Date32Type, |v: i32| v as u32 ^ SIGN_32),
        ColumnType::Float32 => primitive!(Float32Type, float32_key),
        ColumnType::Int64 => primitive!(Int64Type, |v: i64| v as u64 ^ SIGN_64),
        ColumnType::UInt64 => primitive!(UInt64Type, |v: u64| v),
        ColumnType::Float64 => primitive!(Float64Type, float64_key),
        ColumnType::Time => primitive!(Time64MicrosecondType, |v: i64| v as u64 ^ SIGN_64),
        ColumnType::Timestamp | ColumnType::TimestampTz => {
            primitive!(TimestampMicrosecondType, |v: i64| v as u64 ^ SIGN_64)
        }
        ColumnType::Decimal { .. } => primitive!(Decimal128Type, |v: i128| v as u128 ^ SIGN_128),
        ColumnType::Text | ColumnType::Bytes => unreachable!("variable width"),
    }
}

/// The keys of a single integer column: most tables have one. Scans decode them for every page
/// that newer runs overlap.
fn integer_keys(column: &ArrayRef, column_type: ColumnType) -> Option<Vec<u64>> {
    match column_type {
        ColumnType::Int32 => {
            let values = column.as_primitive::<Int32Type>().values();
            Some(
                values
                    .iter()
                    .map(|&value| u64::from(value as u32 ^ SIGN_32))
                    .collect(),
            )
        }
        ColumnType::Int64 => {
            let values = column.as_primitive::<Int64Type>().values();
            Some(values.iter().map(|&value| value as u64 ^ SIGN_64).collect())
        }
        _ => None,
    }
}

/// Puts a column's cells, of `bits` bits, into the keys, from bit `offset` up. Nearly all cells lie
/// within one half of the key: then only that is touched, by arithmetic of 64 bits.
fn put_cells(keys: &mut [u128], array: &ArrayRef, column_type: ColumnType, bits: u32, offset: u32) {
    let keys = &mut keys[..array.len()];
    if offset >= u64::BITS {
        let offset = offset - u64::BITS;
        for_each_fixed(array, column_type, |row, value| {
            keys[row] |= u128::from((value as u64) << offset) << u64::BITS;
        });
    } else if offset + bits <= u64::BITS {
        for_each_fixed(array, column_type, |row, value| {
            keys[row] |= u128::from((value as u64) << offset);
        });
    } else {
        for_each_fixed(array, column_type, |row, value| {
            keys[row] |= value << offset;
        });
    }
}

/// Zeros are marked, and the end, so that no value runs into the next column.
pub(crate) fn append_escaped(value: &[u8], data: &mut Vec<u8>) {
    for &byte in value {
        data.push(byte);
        if byte == 0 {
            data.push(0xFF);
        }
    }
    data.extend_from_slice(&[0, 0]);
}

impl SortKeys {
    /// Computes the keys of a batch. `columns` and `types` are the key columns in key order,
    /// all of one length, without NULLs.
    ///
    /// # Panics
    /// When a column's Arrow type is not that of its column type, or the keys of the batch
    /// exceed 4 GiB.
    pub fn compute(columns: &[ArrayRef], types: &[ColumnType]) -> Self {
        assert_eq!(columns.len(), types.len(), "one type a key column");
        assert!(!columns.is_empty(), "a key has at least one column");
        let bits = types.iter().try_fold(0, |sum, &t| Some(sum + key_bits(t)?));
        match bits {
            Some(bits) if bits <= 64 => Self::compute_u64(columns, types),
            Some(bits) if bits <= 128 => Self::compute_u128(columns, types),
            _ => Self::compute_bytes(columns, types),
        }
    }

    fn compute_u64(columns: &[ArrayRef], types: &[ColumnType]) -> Self {
        if let ([column], [column_type]) = (columns, types)
            && let Some(keys) = integer_keys(column, *column_type)
        {
            return Self::U64(keys);
        }
        let mut keys = vec![0_u64; columns[0].len()];
        for (array, &column_type) in columns.iter().zip(types) {
            let bits = key_bits(column_type).unwrap_or(64);
            for_each_fixed(array, column_type, |row, value| {
                keys[row] = keys[row].checked_shl(bits).unwrap_or(0) | value as u64;
            });
        }
        Self::U64(keys)
    }

    fn compute_u128(columns: &[ArrayRef], types: &[ColumnType]) -> Self {
        let mut keys = vec![0_u128; columns[0].len()];
        let mut offset = 0;
        for (array, &column_type) in columns.iter().zip(types).rev() {
            let bits = key_bits(column_type).unwrap_or(u128::BITS);
            put_cells(&mut keys, array, column_type, bits, offset);
            offset += bits;
        }
        Self::U128(keys)
    }

    fn compute_bytes(columns: &[ArrayRef], types: &[ColumnType]) -> Self {
        let rows = columns[0].len();
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        let mut data = Vec::with_capacity(rows * 16);
        for row in 0..rows {
            for (array, &column_type) in columns.iter().zip(types) {
                append_cell(array, column_type, row, &mut data);
            }
            offsets.push(u32::try_from(data.len()).expect("the keys of a batch fit 4 GiB"));
        }
        Self::Bytes { offsets, data }
    }

    /// No keys, in the form that [`Self::compute`] gives keys of these column types.
    pub fn empty(types: &[ColumnType]) -> Self {
        let bits = types.iter().try_fold(0, |sum, &t| Some(sum + key_bits(t)?));
        match bits {
            Some(bits) if bits <= 64 => Self::U64(Vec::new()),
            Some(bits) if bits <= 128 => Self::U128(Vec::new()),
            _ => Self::Bytes {
                offsets: vec![0],
                data: Vec::new(),
            },
        }
    }

    /// No keys, in the form of these.
    pub fn empty_like(&self) -> Self {
        match self {
            Self::U64(_) => Self::U64(Vec::new()),
            Self::U128(_) => Self::U128(Vec::new()),
            Self::Bytes { .. } => Self::Bytes {
                offsets: vec![0],
                data: Vec::new(),
            },
        }
    }

    /// Appends `range` of another batch's keys.
    ///
    /// # Panics
    /// When the forms differ, which one table's keys never do, or the keys exceed 4 GiB.
    pub fn append(&mut self, other: &Self, range: Range<usize>) {
        match (self, other) {
            (Self::U64(keys), Self::U64(other)) => keys.extend_from_slice(&other[range]),
            (Self::U128(keys), Self::U128(other)) => keys.extend_from_slice(&other[range]),
            (Self::Bytes { offsets, data }, Self::Bytes { .. }) => {
                for row in range {
                    data.extend_from_slice(other.bytes(row));
                    offsets.push(u32::try_from(data.len()).expect("the keys of a batch fit 4 GiB"));
                }
            }
            _ => panic!("keys of one table have one form"),
        }
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        match self {
            Self::U64(keys) => keys.len(),
            Self::U128(keys) => keys.len(),
            Self::Bytes { offsets, .. } => offsets.len() - 1,
        }
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a key in byte form.
    pub fn bytes(&self, row: usize) -> &[u8] {
        match self {
            Self::Bytes { offsets, data } => {
                &data[offsets[row] as usize..offsets[row + 1] as usize]
            }
            _ => panic!("integer keys have no byte form"),
        }
    }

    /// Detaches one key.
    pub fn key(&self, row: usize) -> SortKey {
        match self {
            Self::U64(keys) => SortKey::U64(keys[row]),
            Self::U128(keys) => SortKey::U128(keys[row]),
            Self::Bytes { .. } => SortKey::Bytes(self.bytes(row).to_vec()),
        }
    }

    /// Compares a key of this batch with a key of another batch of the same table.
    ///
    /// # Panics
    /// When the forms differ, which one table's keys never do.
    #[inline]
    pub fn compare(&self, row: usize, other: &Self, other_row: usize) -> Ordering {
        match (self, other) {
            (Self::U64(a), Self::U64(b)) => a[row].cmp(&b[other_row]),
            (Self::U128(a), Self::U128(b)) => a[row].cmp(&b[other_row]),
            (Self::Bytes { .. }, Self::Bytes { .. }) => self.bytes(row).cmp(other.bytes(other_row)),
            _ => panic!("keys of one table have one form"),
        }
    }

    /// Compares a key of this batch with a detached one of the same table.
    ///
    /// # Panics
    /// When the forms differ, which one table's keys never do.
    #[inline]
    pub fn compare_key(&self, row: usize, other: &SortKey) -> Ordering {
        match (self, other) {
            (Self::U64(a), SortKey::U64(b)) => a[row].cmp(b),
            (Self::U128(a), SortKey::U128(b)) => a[row].cmp(b),
            (Self::Bytes { .. }, SortKey::Bytes(b)) => self.bytes(row).cmp(b.as_slice()),
            _ => panic!("keys of one table have one form"),
        }
    }

    /// The first row in `range` whose key is not below `bound`. The keys must be ascending.
    pub fn lower_bound(&self, range: Range<usize>, bound: &SortKey) -> usize {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.compare_key(middle, bound) == Ordering::Less {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::U64(keys) => keys.capacity() * size_of::<u64>(),
            Self::U128(keys) => keys.capacity() * size_of::<u128>(),
            Self::Bytes { offsets, data } => {
                offsets.capacity() * size_of::<u32>() + data.capacity()
            }
        }
    }
}

/// Appends the memcmp form of one cell.
fn append_cell(array: &ArrayRef, column_type: ColumnType, row: usize, data: &mut Vec<u8>) {
    match column_type {
        ColumnType::Text => append_escaped(array.as_string::<i32>().value(row).as_bytes(), data),
        ColumnType::Bytes => append_escaped(array.as_binary::<i32>().value(row), data),
        _ => {
            let bytes = key_bits(column_type).unwrap_or(128) as usize / 8;
            for_each_fixed(&array.slice(row, 1), column_type, |_, value| {
                data.extend_from_slice(&value.to_be_bytes()[16 - bytes..]);
            });
        }
    }
}

impl SortKey {
    /// The half-open range of the keys whose first columns have these values: the smallest
    /// such key and the smallest key after them, `None` where there is none after them.
    ///
    /// `columns` has one array of one cell (not NULL) for each of the first key columns, `types`
    /// the types of all key columns.
    ///
    /// # Panics
    /// When there are more columns than types, or a column's Arrow type is not that of its type.
    pub fn prefix_range(columns: &[ArrayRef], types: &[ColumnType]) -> (Self, Option<Self>) {
        let prefix = &types[..columns.len()];
        let width =
            |types: &[ColumnType]| types.iter().try_fold(0, |sum, &t| Some(sum + key_bits(t)?));
        let Some(bits) = width(types).filter(|&bits| bits <= 128) else {
            let mut first = Vec::new();
            for (array, &column_type) in columns.iter().zip(prefix) {
                append_cell(array, column_type, 0, &mut first);
            }
            let next = successor(&first).map(Self::Bytes);
            return (Self::Bytes(first), next);
        };
        let mut value = 0_u128;
        for (array, &column_type) in columns.iter().zip(prefix) {
            let bits = key_bits(column_type).unwrap_or(128);
            for_each_fixed(array, column_type, |_, cell| {
                value = value.checked_shl(bits).unwrap_or(0) | cell;
            });
        }
        let rest = width(&types[columns.len()..]).unwrap_or(0);
        let first = value.checked_shl(rest).unwrap_or(0);
        let next = 1_u128
            .checked_shl(rest)
            .and_then(|step| first.checked_add(step));
        let next = next.filter(|&next| bits == 128 || next < 1 << bits);
        if bits <= 64 {
            (
                Self::U64(first as u64),
                next.map(|next| Self::U64(next as u64)),
            )
        } else {
            (Self::U128(first), next.map(Self::U128))
        }
    }
}

impl SortKey {
    /// The value of a key column where that is an integer, a date or a time, and those before it are of
    /// fixed width: the integer that its cells are. `types` are those of all key columns.
    pub fn integer_at(&self, place: usize, types: &[ColumnType]) -> Option<i64> {
        let bits = match types.get(place)? {
            ColumnType::Int16 => 16,
            ColumnType::Int32 | ColumnType::Date => 32,
            ColumnType::Int64
            | ColumnType::Time
            | ColumnType::Timestamp
            | ColumnType::TimestampTz => 64,
            _ => return None,
        };
        let width =
            |types: &[ColumnType]| types.iter().try_fold(0, |sum, &t| Some(sum + key_bits(t)?));
        let rest = || width(&types[place + 1..]);
        let cell = match self {
            Self::U64(key) => key >> rest()?,
            Self::U128(key) => (key >> rest()?) as u64,
            Self::Bytes(key) => {
                let start = width(&types[..place])? as usize / 8;
                let cell = key.get(start..start + bits as usize / 8)?;
                cell.iter()
                    .fold(0, |value, &byte| value << 8 | u64::from(byte))
            }
        };
        // From the place where all bits are, so that columns before it are left out and the sign is
        // extended on the way back.
        let high = u64::BITS - bits;
        Some(((cell << high) ^ SIGN_64) as i64 >> high)
    }
}

/// The smallest byte string above every one that starts with `prefix`.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xFF)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int32Array, Int64Array, StringArray};

    use super::*;

    #[test]
    fn integers_can_be_read_back() {
        use ColumnType::{Date, Int16, Int32, Int64, Text};
        let small: ArrayRef = Arc::new(Int32Array::from(vec![i32::MIN, -1, 0, 7, i32::MAX]));
        let large: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, 7, i64::MAX]));
        let text: ArrayRef = Arc::new(StringArray::from(vec!["", "a", "b", "c", "d"]));
        let forms: [(&[ArrayRef], &[ColumnType]); 5] = [
            (std::slice::from_ref(&small), &[Int32]),
            (&[small.clone(), small.clone()], &[Int32, Int32]),
            (&[small.clone(), large.clone()], &[Int32, Int64]),
            (&[large.clone(), small.clone()], &[Int64, Int32]),
            (&[large.clone(), text.clone()], &[Int64, Text]),
        ];
        for (columns, types) in forms {
            let keys = SortKeys::compute(columns, types);
            let read = (0..5).map(|row| keys.key(row).integer_at(0, types));
            let expected = match types[0] {
                Int32 => [i32::MIN, -1, 0, 7, i32::MAX].map(i64::from),
                _ => [i64::MIN, -1, 0, 7, i64::MAX],
            };
            assert!(read.eq(expected.map(Some)), "{types:?}");
        }
        let keys = SortKeys::compute(&[text], &[Text]);
        assert_eq!(keys.key(1).integer_at(0, &[Text, Int16]), None);
        let date = SortKey::U64(u64::from(5_u32 ^ SIGN_32));
        assert_eq!(date.integer_at(0, &[Date]), Some(5));
        let mark: ArrayRef = Arc::new(arrow_array::BooleanArray::from(vec![true]));
        let [day, id]: [ArrayRef; 2] =
            [-3, 4].map(|value| Arc::new(Int32Array::from(vec![value])) as _);
        let name: ArrayRef = Arc::new(StringArray::from(vec!["n"]));
        let columns = [mark, day, id, name];
        for width in [2, 3, 4] {
            let types = &[ColumnType::Bool, Date, Int32, Text][..width];
            let day = columns[1]
                .as_primitive::<Int32Type>()
                .reinterpret_cast::<Date32Type>();
            let mut columns = columns[..width].to_vec();
            columns[1] = Arc::new(day);
            let key = SortKeys::compute(&columns, types).key(0);
            assert_eq!(key.integer_at(1, types), Some(-3), "{types:?}");
        }
    }

    #[test]
    fn integers_order_by_value_and_by_column() {
        let a: ArrayRef = Arc::new(Int32Array::from(vec![-1, 0, 0, i32::MAX]));
        let b: ArrayRef = Arc::new(Int64Array::from(vec![7, i64::MIN, 3, 0]));
        let keys = SortKeys::compute(&[a, b], &[ColumnType::Int32, ColumnType::Int64]);
        assert!(matches!(keys, SortKeys::U128(_)));
        for row in 1..keys.len() {
            assert_eq!(keys.compare(row - 1, &keys, row), Ordering::Less);
        }
    }

    #[test]
    fn text_prefixes_sort_first_and_columns_do_not_run_together() {
        let a: ArrayRef = Arc::new(StringArray::from(vec!["", "a", "a", "a\0", "ab"]));
        let b: ArrayRef = Arc::new(StringArray::from(vec!["z", "", "b", "a", "a"]));
        let keys = SortKeys::compute(&[a, b], &[ColumnType::Text, ColumnType::Text]);
        for row in 1..keys.len() {
            assert_eq!(
                keys.compare(row - 1, &keys, row),
                Ordering::Less,
                "row {row}"
            );
        }
    }

    #[test]
    fn appended_keys_equal_computed_ones() {
        let column: ArrayRef = Arc::new(StringArray::from(vec!["a", "b\0", "", "d"]));
        let keys = SortKeys::compute(&[column], &[ColumnType::Text]);
        let mut copy = SortKeys::empty(&[ColumnType::Text]);
        copy.append(&keys, 1..3);
        copy.append(&keys, 3..4);
        assert_eq!(copy.len(), 3);
        for row in 0..3 {
            assert_eq!(copy.key(row), keys.key(row + 1));
        }
    }

    #[test]
    fn lower_bound_finds_the_first_key_not_below() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 3, 3, 5]));
        let keys = SortKeys::compute(&[column], &[ColumnType::Int64]);
        assert_eq!(keys.lower_bound(0..4, &keys.key(1)), 1);
        assert_eq!(keys.lower_bound(2..4, &keys.key(0)), 2);
        let above: ArrayRef = Arc::new(Int64Array::from(vec![9]));
        let above = SortKeys::compute(&[above], &[ColumnType::Int64]);
        assert_eq!(keys.lower_bound(0..4, &above.key(0)), 4);
    }

    #[test]
    fn a_prefix_bounds_exactly_the_keys_that_start_with_it() {
        let one = |value: i32| -> ArrayRef { Arc::new(Int32Array::from(vec![value])) };
        let types = [ColumnType::Int32, ColumnType::Int32];
        let key = |a, b| SortKeys::compute(&[one(a), one(b)], &types).key(0);
        let (first, next) = SortKey::prefix_range(&[one(7)], &types);
        assert_eq!(first, key(7, i32::MIN));
        assert_eq!(next, Some(key(8, i32::MIN)));
        let (first, next) = SortKey::prefix_range(&[one(7), one(-1)], &types);
        assert_eq!((first, next), (key(7, -1), Some(key(7, 0))));
        assert_eq!(SortKey::prefix_range(&[one(i32::MAX)], &types).1, None);
        let single = SortKey::prefix_range(&[one(i32::MAX)], &types[..1]);
        assert_eq!(single, (SortKey::U64(u64::from(u32::MAX)), None));
    }

    #[test]
    fn a_text_prefix_does_not_take_in_longer_texts() {
        let text = |value: &str| -> ArrayRef { Arc::new(StringArray::from(vec![value])) };
        let types = [ColumnType::Text, ColumnType::Text];
        let key = |a, b| SortKeys::compute(&[text(a), text(b)], &types).key(0);
        let (first, next) = SortKey::prefix_range(&[text("ab")], &types);
        let next = next.expect("there are keys after it");
        assert!(first <= key("ab", "") && key("ab", "zzz") < next);
        assert!(key("aa", "zzz") < first && next <= key("ab\0", "") && next <= key("abc", ""));
    }
}
