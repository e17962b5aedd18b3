//! Cells by slot, slots by value and slots by range are what looking at every cell finds.

use std::cmp::Ordering;
use std::iter;
use std::ops::Bound;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_buffer::BooleanBuffer;
use proptest::prelude::*;
use types::{ColumnType, Value, ValueRange};

use super::{Nulls, Recipe, Shape, any_recipe, one_page, open};
use crate::{Column, OpenColumn, Page};

/// The rows in the order of their cells.
fn sorted(array: &ArrayRef, column_type: ColumnType) -> ArrayRef {
    let mut rows: Vec<u32> = (0..array.len() as u32).collect();
    rows.sort_by(|&a, &b| {
        let cell = |row: u32| Value::of_cell(array, column_type, row as usize);
        cell(a).order(&cell(b))
    });
    arrow_select::take::take(array, &UInt32Array::from(rows), None).expect("rows of the array")
}

/// Every slot has its cell, and every seventh cell is found in some range of slots.
fn check_sorted(column: &Column<'_>, array: &ArrayRef, column_type: ColumnType) {
    let rows = column.rows();
    let mut buffer = Vec::new();
    for row in 0..rows {
        let value = column.value(row, &mut buffer).expect("intact");
        let expected = Value::of_cell(array, column_type, row);
        assert_eq!(value.order(&expected), Ordering::Equal, "row {row}");
    }
    for wanted in (0..array.len()).step_by(7) {
        let value = Value::of_cell(array, column_type, wanted);
        for slots in [0..rows, rows / 3..rows - rows / 5, rows / 2..rows / 2] {
            let found = column.find(slots.clone(), &value).expect("intact");
            let order = |row: usize| Value::of_cell(array, column_type, row).order(&value);
            let first = slots.clone().find(|&row| order(row).is_ge());
            let end = slots.clone().find(|&row| order(row).is_gt());
            let expected = first.unwrap_or(slots.end)..end.unwrap_or(slots.end);
            assert_eq!(found, expected, "row {wanted} in {slots:?}");
        }
    }
}

/// A page that has distinct cells of a text column has the right ones, NULL among them, and knows their
/// rows.
fn check_distinct(page: &Page, column: usize, array: &ArrayRef) {
    let Some(distinct) = page.distinct_text(column).expect("intact") else {
        return;
    };
    let cells = distinct.cells().as_string::<i32>();
    for wanted in 0..cells.len() {
        let only = BooleanBuffer::collect_bool(cells.len(), |cell| cell == wanted);
        let rows = distinct.rows_of(&only).expect("intact");
        let cell = cells.is_valid(wanted).then(|| cells.value(wanted));
        let expected = array.as_string::<i32>().iter().take(page.rows());
        assert!(rows.iter().eq(expected.map(|row| row == cell)));
    }
    let all = BooleanBuffer::new_set(cells.len());
    let rows = distinct.rows_of(&all).expect("intact");
    assert_eq!(rows.count_set_bits(), page.rows());
    let every_third: Vec<u32> = (0..page.rows() as u32).step_by(3).collect();
    for slots in [None, Some(&every_third)] {
        let codes = distinct.codes(slots.map(Vec::as_slice)).expect("intact");
        let cell = |code: &u16| {
            cells
                .is_valid((*code).into())
                .then(|| cells.value((*code).into()))
        };
        let step = if slots.is_some() { 3 } else { 1 };
        let expected = array.as_string::<i32>().iter().take(page.rows());
        assert!(codes.iter().map(cell).eq(expected.step_by(step)));
    }
}

/// Numbers without NULLs are those of the decoded column.
fn check_integers(page: &Page, column: usize, array: &ArrayRef, column_type: ColumnType) {
    for step in [1, 3, 40] {
        let slots: Vec<u32> = (0..page.rows() as u32).step_by(step).collect();
        let slots = (step > 1).then_some(slots.as_slice());
        let mut numbers = vec![-7];
        let appended = page.append_integers(column, slots, &mut numbers);
        if !appended.expect("intact") {
            assert_eq!(numbers, [-7]);
            continue;
        }
        let rows = (0..page.rows()).step_by(step);
        let expected = rows.map(|row| match Value::of_cell(array, column_type, row) {
            Value::Int(number) => number,
            Value::Decimal(number) => i64::try_from(number).expect("words have 64 bits"),
            other => panic!("{other:?} is no number"),
        });
        assert!(
            numbers.into_iter().eq(iter::once(-7).chain(expected)),
            "every {step}"
        );
    }
}

/// Ranges between cells select what lies between them.
fn check_selection(column: &Column<'_>, array: &ArrayRef, column_type: ColumnType) {
    let rows = column.rows();
    let bounds: Vec<Value<'_>> = [0, array.len() / 3, array.len() - 1]
        .map(|row| Value::of_cell(array, column_type, row))
        .into_iter()
        .filter(|value| !matches!(value, Value::Null))
        .collect();
    for low in &bounds {
        for high in &bounds {
            let selected = column
                .select(ValueRange {
                    low: Bound::Included(*low),
                    high: Bound::Excluded(*high),
                })
                .expect("intact");
            let above = column
                .select(ValueRange {
                    low: Bound::Excluded(*low),
                    high: Bound::Unbounded,
                })
                .expect("intact");
            assert_eq!((selected.len(), above.len()), (rows, rows));
            for row in 0..rows {
                let value = Value::of_cell(array, column_type, row);
                let known = !matches!(value, Value::Null);
                let between = known && value.order(low).is_ge() && value.order(high).is_lt();
                assert_eq!(selected.value(row), between, "row {row}");
                assert_eq!(above.value(row), known && value.order(low).is_gt());
            }
        }
    }
}

fn check(recipe: Recipe, rows: usize) {
    let types = [recipe.column_type];
    let unsorted = recipe.array(rows);
    let sorted = sorted(&unsorted, recipe.column_type);
    for (array, ascends) in [(sorted, true), (unsorted, false)] {
        let (bytes, _) = one_page(&types, std::slice::from_ref(&array), 1 << 20);
        let page = open(&bytes, &types).expect("intact");
        let column = page.column(0).expect("intact");
        check_selection(&column, &array, recipe.column_type);
        if recipe.column_type == ColumnType::Text {
            check_distinct(&page, 0, &array);
        }
        check_integers(&page, 0, &array, recipe.column_type);
        if ascends {
            check_sorted(&column, &array, recipe.column_type);
        }
        let OpenColumn::Passing(column) = column else {
            continue;
        };
        let prepared = column.prepare();
        check_selection(&prepared, &array, recipe.column_type);
        if ascends {
            check_sorted(&prepared, &array, recipe.column_type);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn searches_find_what_looking_finds(recipe in any_recipe(), rows in 1_usize..700) {
        check(recipe, rows);
    }

    /// Three key columns of few values each: every combination is found, or where it would be.
    #[test]
    fn a_key_is_narrowed_column_by_column(seed in any::<u64>(), rows in 1_usize..600) {
        let key = |row: usize| {
            let noise = super::mix(seed ^ row as u64);
            (noise % 5, noise / 5 % 4, noise / 20 % 7)
        };
        let mut keys: Vec<_> = (0..rows).map(key).collect();
        keys.sort_unstable();
        let columns: [ArrayRef; 3] = [
            std::sync::Arc::new(arrow_array::Int32Array::from_iter_values(
                keys.iter().map(|key| key.0 as i32),
            )),
            std::sync::Arc::new(arrow_array::StringArray::from_iter_values(
                keys.iter().map(|key| format!("name {}", key.1)),
            )),
            std::sync::Arc::new(arrow_array::Int64Array::from_iter_values(
                keys.iter().map(|key| key.2 as i64 - 3),
            )),
        ];
        let types = [ColumnType::Int32, ColumnType::Text, ColumnType::Int64];
        let (bytes, _) = one_page(&types, &columns, 1 << 20);
        let page = open(&bytes, &types).expect("intact");
        for wanted in (0..140).map(|number| (number % 5, number / 5 % 4, number / 20)) {
            let name = format!("name {}", wanted.1);
            let found = page.find([
                (0, Value::Int(wanted.0 as i64)),
                (1, Value::Bytes(name.as_bytes())),
                (2, Value::Int(wanted.2 as i64 - 3)),
            ]);
            let first = keys.partition_point(|key| *key < wanted);
            let end = keys.partition_point(|key| *key <= wanted);
            prop_assert_eq!(found.expect("intact"), first..end);
        }
    }
}

#[test]
fn a_column_is_opened_once_for_all_clones_and_counted() {
    let types = [ColumnType::Int64, ColumnType::Text];
    let columns = types.map(|column_type| {
        let recipe = Recipe {
            column_type,
            shape: Shape::Noise,
            nulls: Nulls::None,
            seed: 3,
        };
        recipe.array(3_000)
    });
    let (bytes, rows) = one_page(&types, &columns, 1 << 20);
    let page = open(&bytes, &types).expect("intact");
    let closed = page.memory_bytes();
    assert!(closed >= page.bytes());
    for column in 0..types.len() {
        page.decode(column).expect("intact");
        page.decode_slots(column, &[1, 7]).expect("intact");
    }
    assert_eq!(page.memory_bytes(), closed, "decoding opens nothing");
    let opened: *const Column<'_> = &*page.column(1).expect("intact");
    assert!(std::ptr::eq(opened, &*page.column(1).expect("intact")));
    let one = page.memory_bytes() - closed;
    assert!((1..=2048).contains(&one), "{one} bytes");
    let mut buffer = Vec::new();
    let column = page.column(0).expect("intact");
    let cell = column.value(rows - 1, &mut buffer).expect("intact");
    assert_eq!(page.find([(0, cell)]).map(|_| ()), Ok(()));
    assert_eq!(page.memory_bytes() - closed, 2 * one);
}

#[test]
fn every_type_in_every_shape_is_searched() {
    for column_type in super::TYPES {
        for shape in Shape::ALL {
            for (nulls, seed) in [(Nulls::None, 10), (Nulls::Rare, 11), (Nulls::Mostly, 1)] {
                check(
                    Recipe {
                        column_type,
                        shape,
                        nulls,
                        seed,
                    },
                    500,
                );
            }
        }
    }
}

#[test]
fn a_small_page_keeps_no_opened_column() {
    let types = [ColumnType::Int64];
    let recipe = Recipe {
        column_type: types[0],
        shape: Shape::Noise,
        nulls: Nulls::None,
        seed: 3,
    };
    let (bytes, rows) = one_page(&types, &[recipe.array(50)], 1 << 20);
    let page = open(&bytes, &types).expect("intact");
    let closed = page.memory_bytes();
    assert_eq!(page.column(0).expect("intact").rows(), rows);
    assert_eq!(page.memory_bytes(), closed);
}
