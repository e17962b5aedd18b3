//! Keys folded one by one against keys folded by arrays.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int16Array, Int32Array, Int64Array, StringArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, UInt64Array,
};

use super::*;
use crate::SortKeys;

/// A column of each type, with its extremes.
fn columns() -> Vec<(ColumnType, ArrayRef)> {
    let int64 = [i64::MIN, -1, 0, 1, i64::MAX];
    let decimal = ColumnType::Decimal {
        precision: 38,
        scale: 2,
    };
    let decimals = Decimal128Array::from(vec![i128::MIN, -1, 0, 1, i128::MAX]);
    vec![
        (
            ColumnType::Bool,
            Arc::new(BooleanArray::from(vec![false, true, false, true, true])),
        ),
        (
            ColumnType::Int16,
            Arc::new(Int16Array::from(vec![i16::MIN, -1, 0, 1, i16::MAX])),
        ),
        (
            ColumnType::Int32,
            Arc::new(Int32Array::from(vec![i32::MIN, -1, 0, 1, i32::MAX])),
        ),
        (
            ColumnType::Int64,
            Arc::new(Int64Array::from(int64.to_vec())),
        ),
        (
            ColumnType::UInt64,
            Arc::new(UInt64Array::from(vec![0, 1, 2, 1 << 63, u64::MAX])),
        ),
        (
            ColumnType::Float32,
            Arc::new(Float32Array::from(vec![
                f32::NEG_INFINITY,
                -0.0,
                0.0,
                1.5,
                -f32::NAN,
            ])),
        ),
        (
            ColumnType::Float64,
            Arc::new(Float64Array::from(vec![
                f64::NEG_INFINITY,
                -0.0,
                0.0,
                -1.5,
                f64::NAN,
            ])),
        ),
        (
            decimal,
            Arc::new(decimals.with_precision_and_scale(38, 2).expect("a decimal")),
        ),
        (
            ColumnType::Date,
            Arc::new(Date32Array::from(vec![i32::MIN, -1, 0, 1, i32::MAX])),
        ),
        (
            ColumnType::Time,
            Arc::new(Time64MicrosecondArray::from(int64.to_vec())),
        ),
        (
            ColumnType::Timestamp,
            Arc::new(TimestampMicrosecondArray::from(int64.to_vec())),
        ),
        (
            ColumnType::Text,
            Arc::new(StringArray::from(vec!["", "a", "a\0", "ab", "é"])),
        ),
        (
            ColumnType::Bytes,
            Arc::new(BinaryArray::from(vec![
                &b""[..],
                b"\0",
                b"\0\0",
                b"\xFF",
                b"\0\xFF",
            ])),
        ),
    ]
}

fn check(columns: &[(ColumnType, ArrayRef)]) {
    let (types, arrays): (Vec<_>, Vec<_>) = columns.iter().cloned().unzip();
    let computed = SortKeys::compute(&arrays, &types);
    for row in 0..computed.len() {
        let values: Vec<_> = columns
            .iter()
            .map(|(column_type, array)| Value::of_cell(array, *column_type, row))
            .collect();
        let key = SortKey::of_values(&values, &types).expect("values of the columns' types");
        assert_eq!(key, computed.key(row), "{types:?}, row {row}");
    }
}

#[test]
fn a_key_folds_as_the_keys_of_arrays_do() {
    let columns = columns();
    for first in &columns {
        check(std::slice::from_ref(first));
        for second in &columns {
            check(&[first.clone(), second.clone()]);
            check(&[first.clone(), second.clone(), columns[1].clone()]);
        }
    }
}

#[test]
fn values_that_no_row_can_have_are_no_key() {
    let none = |column_type, value| {
        assert_eq!(SortKey::of_values(&[value], &[column_type]), None);
    };
    none(ColumnType::Int16, Value::Int(70_000));
    none(ColumnType::Int16, Value::Int(-32_769));
    none(ColumnType::Int32, Value::Int(1 << 31));
    none(ColumnType::Date, Value::Int(i64::MIN));
    none(ColumnType::Int64, Value::Null);
    none(ColumnType::Text, Value::Null);
    let types = [ColumnType::Text, ColumnType::Int16];
    let values = [Value::Bytes(b"a"), Value::Int(1 << 40)];
    assert_eq!(SortKey::of_values(&values, &types), None);
}
