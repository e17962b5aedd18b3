//! Which cells of an array lie in a range of values, for rows that are not encoded.
//!
//! Numbers are compared as numbers of their width, a vector of them at a time; everything else value
//! by value. NULLs lie in no range.

use std::ops::Bound;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, ArrowNativeTypeOp};
use arrow_buffer::BooleanBuffer;
use types::{ColumnType, Value, ValueRange};

/// The rows whose cell lies in the range.
///
/// # Panics
/// When a bound is not a value of the column's type.
pub(crate) fn rows_in_range(
    array: &ArrayRef,
    column_type: ColumnType,
    range: ValueRange<'_>,
) -> BooleanBuffer {
    let rows = match column_type {
        ColumnType::Int16 => integers_in::<Int16Type>(array, range),
        ColumnType::Int32 => integers_in::<Int32Type>(array, range),
        ColumnType::Int64 => integers_in::<Int64Type>(array, range),
        ColumnType::Date => integers_in::<Date32Type>(array, range),
        ColumnType::Time => integers_in::<Time64MicrosecondType>(array, range),
        ColumnType::Timestamp | ColumnType::TimestampTz => {
            integers_in::<TimestampMicrosecondType>(array, range)
        }
        ColumnType::Decimal { .. } => integers_in::<Decimal128Type>(array, range),
        ColumnType::Bool
        | ColumnType::UInt64
        | ColumnType::Float32
        | ColumnType::Float64
        | ColumnType::Text
        | ColumnType::Bytes => BooleanBuffer::collect_bool(array.len(), |row| {
            array.is_valid(row) && range.contains(&Value::of_cell(array, column_type, row))
        }),
    };
    match array.nulls() {
        Some(nulls) => &rows & nulls.inner(),
        None => rows,
    }
}

fn integers_in<T: ArrowPrimitiveType>(array: &ArrayRef, range: ValueRange<'_>) -> BooleanBuffer
where
    T::Native: TryFrom<i128>,
{
    let cells = array.as_primitive::<T>().values();
    let (low, high) = integer_bounds(range);
    let is_above_all = |bound| T::Native::try_from(bound).is_err() && bound > 0;
    let is_below_all = |bound| T::Native::try_from(bound).is_err() && bound < 0;
    if low > high || is_above_all(low) || is_below_all(high) {
        return BooleanBuffer::new_unset(cells.len());
    }
    let low = T::Native::try_from(low).unwrap_or(T::Native::MIN_TOTAL_ORDER);
    let high = T::Native::try_from(high).unwrap_or(T::Native::MAX_TOTAL_ORDER);
    BooleanBuffer::collect_bool(cells.len(), |row| low <= cells[row] && cells[row] <= high)
}

/// The smallest and the largest number in the range; if there is none, the smallest is above the largest.
///
/// # Panics
/// When a bound is no number.
pub(crate) fn integer_bounds(range: ValueRange<'_>) -> (i128, i128) {
    let number = |value: &Value<'_>| match *value {
        Value::Int(value) => i128::from(value),
        Value::Decimal(value) => value,
        _ => panic!("a bound has the column's type"),
    };
    let low = match &range.low {
        Bound::Unbounded => i128::MIN,
        Bound::Included(low) => number(low),
        Bound::Excluded(low) => match number(low).checked_add(1) {
            Some(low) => low,
            None => return NO_NUMBER,
        },
    };
    let high = match &range.high {
        Bound::Unbounded => i128::MAX,
        Bound::Included(high) => number(high),
        Bound::Excluded(high) => match number(high).checked_sub(1) {
            Some(high) => high,
            None => return NO_NUMBER,
        },
    };
    (low, high)
}

/// Bounds between which nothing lies.
const NO_NUMBER: (i128, i128) = (1, 0);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Decimal128Array, Int16Array, StringArray};
    use proptest::prelude::*;

    use super::*;

    fn bound(values: impl Strategy<Value = i64>) -> impl Strategy<Value = Bound<i64>> {
        (values, 0..3).prop_map(|(value, kind)| match kind {
            0 => Bound::Unbounded,
            1 => Bound::Included(value),
            _ => Bound::Excluded(value),
        })
    }

    fn near_the_ends() -> impl Strategy<Value = i64> {
        let ends = [i16::MIN, 0, i16::MAX].map(i64::from);
        (0..3_usize, -3..=3_i64).prop_map(move |(end, step)| ends[end] + step)
    }

    proptest! {
        #[test]
        fn cells_are_in_a_range_if_each_by_itself_is(
            cells in prop::collection::vec(prop::option::of(near_the_ends()), 1..40),
            low in bound(near_the_ends()),
            high in bound(near_the_ends()),
        ) {
            let narrow: Int16Array = cells.iter()
                .map(|cell| cell.map(|cell| cell.clamp(i16::MIN.into(), i16::MAX.into()) as i16))
                .collect();
            let text: StringArray = cells.iter()
                .map(|cell| cell.map(|cell| format!("{:06}", cell + 100_000)))
                .collect();
            let wide: Decimal128Array = cells.iter().map(|cell| cell.map(i128::from)).collect();
            let decimal = ColumnType::Decimal { precision: 38, scale: 0 };
            let words = [low, high].map(|bound| bound.map(|value| format!("{:06}", value + 100_000)));
            let of = |value: i64| Value::Int(value);
            let of_decimal = |value: i64| Value::Decimal(value.into());
            let ranges = [
                (Arc::new(narrow) as ArrayRef, ColumnType::Int16, low.map(of), high.map(of)),
                (Arc::new(wide), decimal, low.map(of_decimal), high.map(of_decimal)),
                (
                    Arc::new(text),
                    ColumnType::Text,
                    words[0].as_ref().map(|word| Value::Bytes(word.as_bytes())),
                    words[1].as_ref().map(|word| Value::Bytes(word.as_bytes())),
                ),
            ];
            for (array, column_type, low, high) in ranges {
                let range = ValueRange { low, high };
                let rows = rows_in_range(&array, column_type, range);
                for row in 0..array.len() {
                    let cell = Value::of_cell(&array, column_type, row);
                    let expected = array.is_valid(row) && range.contains(&cell);
                    prop_assert_eq!(rows.value(row), expected, "row {} of {:?}", row, column_type);
                }
            }
        }
    }
}
