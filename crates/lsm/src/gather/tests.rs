//! Gathered arrays equal arrays built cell by cell.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Int32Array, StringArray,
    UInt64Array,
};
use types::{ColumnType, SortKeys};

use super::*;

fn span(source: u32, start: u32, rows: u32) -> Span {
    Span {
        source,
        start,
        rows,
    }
}

const SPANS: [Span; 5] = [
    Span {
        source: 0,
        start: 1,
        rows: 2,
    },
    Span {
        source: 2,
        start: 0,
        rows: 1,
    },
    Span {
        source: 0,
        start: 3,
        rows: 1,
    },
    Span {
        source: 2,
        start: 1,
        rows: 3,
    },
    Span {
        source: 0,
        start: 0,
        rows: 1,
    },
];

/// Gathers [`SPANS`] of `a` (source 0) and `b` (source 2).
fn gathered(a: impl Array + 'static, b: impl Array + 'static) -> ArrayRef {
    let sources: [Option<ArrayRef>; 3] = [Some(Arc::new(a)), None, Some(Arc::new(b))];
    gather(&sources, &Spans::new(SPANS.to_vec())).expect("few bytes")
}

#[test]
fn values_and_nulls_come_in_the_order_of_the_spans() {
    let a = Int32Array::from(vec![Some(0), Some(1), None, Some(3)]);
    let b = Int32Array::from(vec![10, 11, 12, 13]);
    let expected = Int32Array::from(vec![
        Some(1),
        None,
        Some(10),
        Some(3),
        Some(11),
        Some(12),
        Some(13),
        Some(0),
    ]);
    assert_eq!(gathered(a, b).as_ref(), &expected as &dyn Array);
}

#[test]
fn text_and_bytes_keep_their_boundaries() {
    let a = StringArray::from(vec![Some("zero"), Some(""), None, Some("three")]);
    let b = StringArray::from(vec!["ä", "eleven", "", "thirteen"]);
    let expected: StringArray = [
        Some(""),
        None,
        Some("ä"),
        Some("three"),
        Some("eleven"),
        Some(""),
        Some("thirteen"),
        Some("zero"),
    ]
    .into_iter()
    .collect();
    assert_eq!(gathered(a, b).as_ref(), &expected as &dyn Array);
    let a = BinaryArray::from_vec(vec![&[0], &[1, 1], &[], &[3]]);
    let b = BinaryArray::from_vec(vec![&[10], &[], &[12, 12], &[13]]);
    let expected =
        BinaryArray::from_vec(vec![&[1, 1], &[], &[10], &[3], &[], &[12, 12], &[13], &[0]]);
    assert_eq!(gathered(a, b).as_ref(), &expected as &dyn Array);
}

#[test]
fn sliced_sources_are_gathered_from_their_slice() {
    let a = StringArray::from(vec!["x", "zero", "one", "two", "three"]).slice(1, 4);
    let b = BooleanArray::from(vec![true, false, true, true, false]).slice(1, 4);
    let texts = gathered(a, StringArray::from(vec!["10", "11", "12", "13"]));
    let expected = StringArray::from(vec!["one", "two", "10", "three", "11", "12", "13", "zero"]);
    assert_eq!(texts.as_ref(), &expected as &dyn Array);
    let flags = gathered(b, BooleanArray::from(vec![false, true, true, false]));
    let expected = BooleanArray::from(vec![true, true, false, false, true, true, false, false]);
    assert_eq!(flags.as_ref(), &expected as &dyn Array);
}

#[test]
fn a_single_span_is_a_slice_and_types_keep_their_parameters() {
    let decimals = Decimal128Array::from(vec![1, 2, 3]).with_precision_and_scale(9, 2);
    let decimals: ArrayRef = Arc::new(decimals.expect("a valid scale"));
    let one = gather(
        &[Some(Arc::clone(&decimals))],
        &Spans::new(vec![span(0, 1, 2)]),
    )
    .expect("few bytes");
    assert_eq!(one.as_ref(), decimals.slice(1, 2).as_ref());
    let two = gather(
        &[Some(Arc::clone(&decimals))],
        &Spans::new(vec![span(0, 2, 1), span(0, 0, 1)]),
    );
    assert_eq!(two.expect("few bytes").data_type(), decimals.data_type());
}

#[test]
fn keys_follow_their_rows() {
    let texts = |cells: &[&str]| -> SortKeys {
        let cells: ArrayRef = Arc::new(StringArray::from(cells.to_vec()));
        SortKeys::compute(&[cells], &[ColumnType::Text])
    };
    let (a, b) = (texts(&["a", "b", "c"]), texts(&["x", "y"]));
    let spans = Spans::new(vec![span(1, 1, 1), span(0, 0, 2)]);
    let keys = gather_keys(&[&a, &b], &spans).expect("few bytes");
    let expected = texts(&["y", "a", "b"]);
    assert!((0..3).all(|row| keys.compare(row, &expected, row).is_eq()));
    let numbers = |cells: Vec<u64>| {
        let cells: ArrayRef = Arc::new(UInt64Array::from(cells));
        SortKeys::compute(&[cells], &[ColumnType::UInt64])
    };
    let (a, b) = (numbers(vec![1, 2, 3]), numbers(vec![7, 8]));
    let keys = gather_keys(&[&a, &b], &spans).expect("few bytes");
    assert!(matches!(keys, SortKeys::U64(keys) if keys == [8, 1, 2]));
}

#[test]
fn long_spans_and_short_ones_give_the_same() {
    let numbers: Vec<i32> = (0..1_000).collect();
    let source: ArrayRef = Arc::new(Int32Array::from(numbers.clone()));
    for rows in [1, 3, 7, 8, 9, 100] {
        let starts = (0..1_000 - rows).rev().step_by(37);
        let spans: Vec<Span> = starts.map(|start| span(0, start, rows)).collect();
        let expected = spans.iter().flat_map(|span| &numbers[span.range()]);
        let expected = Int32Array::from_iter_values(expected.copied());
        let spans = Spans::new(spans.clone());
        assert_eq!(spans.rows(), expected.len());
        let found = gather(&[Some(Arc::clone(&source))], &spans).expect("few bytes");
        assert_eq!(found.as_ref(), &expected as &dyn Array, "spans of {rows}");
    }
}
