//! What goes into pages comes out of them: all types, shapes, NULLs, slices and page sizes.

use arrow_array::{Array, ArrayRef, Int64Array, UInt32Array, UInt64Array};
use proptest::prelude::*;
use std::sync::Arc;
use types::ColumnType;

use super::{
    DECIMAL, IDENTITY, Nulls, Recipe, Shape, any_recipe, assert_same, mix, one_page, open,
};
use crate::{PageEncoder, PageIdentity, ROWS_MAX};

/// Encodes all rows into pages and checks each page against the rows it was made from.
fn check(recipes: &[Recipe], rows: usize, skipped: usize, capacity: usize) {
    let types: Vec<ColumnType> = recipes.iter().map(|r| r.column_type).collect();
    let columns: Vec<ArrayRef> = recipes
        .iter()
        .map(|r| r.array(rows + skipped).slice(skipped, rows))
        .collect();
    let mut encoder = PageEncoder::new(&types, capacity);
    let mut file = Vec::new();
    let mut start = 0;
    while start < rows {
        let offset = file.len();
        let identity = PageIdentity {
            file: 3,
            offset: offset as u64,
        };
        let count = encoder.encode(&columns, start, identity, &mut file);
        assert!(count >= 1);
        assert!(
            count == 1 || file.len() - offset <= capacity,
            "only one row may exceed a page"
        );
        let page = crate::Page::open(file[offset..].into(), &Arc::from(&types[..]), identity)
            .expect("intact");
        assert_eq!(page.rows(), count);
        assert_eq!(page.bytes(), file.len() - offset);
        for (column, array) in columns.iter().enumerate() {
            check_column(&page, column, &array.slice(start, count));
        }
        start += count;
    }
}

fn check_column(page: &crate::Page, column: usize, expected: &ArrayRef) {
    let decoded = page.decode(column).expect("intact");
    assert_same(&decoded, expected);
    for spread in [1, 2, 7, 150] {
        let slots: Vec<u32> = (0..page.rows() as u32)
            .filter(|&slot| mix(u64::from(slot)).is_multiple_of(spread))
            .collect();
        let picked = page.decode_slots(column, &slots).expect("intact");
        let taken = arrow_select::take::take(expected, &UInt32Array::from(slots), None);
        assert_same(&picked, &taken.expect("slots are rows"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn pages_give_back_their_rows(
        recipes in proptest::collection::vec(any_recipe(), 1..6),
        rows in 1_usize..3000,
        skipped in 0_usize..70,
        capacity in proptest::sample::select(&[512_usize, 4096, 32_768, 200_000][..]),
    ) {
        check(&recipes, rows, skipped, capacity);
    }
}

#[test]
fn every_type_in_every_shape() {
    for column_type in super::TYPES {
        for shape in Shape::ALL {
            for nulls in [
                Nulls::None,
                Nulls::Rare,
                Nulls::Half,
                Nulls::Mostly,
                Nulls::All,
            ] {
                check(
                    &[Recipe {
                        column_type,
                        shape,
                        nulls,
                        seed: 11,
                    }],
                    700,
                    3,
                    8192,
                );
            }
        }
    }
}

#[test]
fn extreme_integers_survive() {
    let cells = [
        i64::MIN,
        i64::MAX,
        0,
        -1,
        1,
        i64::MIN,
        i64::MAX,
        i64::MIN + 1,
    ];
    for repeat in [1, 40] {
        let array: ArrayRef = Arc::new(Int64Array::from(cells.repeat(repeat)));
        let (bytes, rows) = one_page(&[ColumnType::Int64], std::slice::from_ref(&array), 32_768);
        let page = open(&bytes, &[ColumnType::Int64]).expect("intact");
        assert_same(&page.decode(0).expect("intact"), &array.slice(0, rows));
    }
}

/// Versions carry a position, a kind and an unchanged mask; most pages have one value of each.
#[test]
fn constant_columns_cost_a_few_bytes_and_say_their_value() {
    let types = [
        ColumnType::UInt64,
        ColumnType::Int16,
        ColumnType::Bytes,
        ColumnType::Int64,
    ];
    let columns: [ArrayRef; 4] = [
        Arc::new(UInt64Array::from(vec![u64::MAX - 3; 20_000])),
        Arc::new(arrow_array::Int16Array::from(vec![2; 20_000])),
        Arc::new(arrow_array::BinaryArray::from(vec![b"".as_slice(); 20_000])),
        Arc::new(Int64Array::from(vec![-5; 20_000])),
    ];
    let (bytes, rows) = one_page(&types, &columns, 32_768);
    assert_eq!(rows, ROWS_MAX);
    assert!(bytes.len() < 20 + 4 * 3 + 8, "{} bytes", bytes.len());
    let page = open(&bytes, &types).expect("intact");
    assert_eq!(page.constant(0), Some(u64::MAX - 3));
    assert_eq!(page.constant(1), Some(2));
    assert_eq!(page.constant(2), None);
    assert_eq!(page.constant(3), None, "negative");
}

#[test]
fn a_row_larger_than_a_page_gets_its_own() {
    let types = [ColumnType::Text];
    let noise: String = (0..50_000_u64)
        .map(|i| char::from(b' ' + (mix(i) % 90) as u8))
        .collect();
    let cells = vec!["small", noise.as_str(), "small"];
    let columns: [ArrayRef; 1] = [Arc::new(arrow_array::StringArray::from(cells))];
    let mut encoder = PageEncoder::new(&types, 4096);
    let mut bytes = Vec::new();
    assert_eq!(encoder.encode(&columns, 0, IDENTITY, &mut bytes), 1);
    bytes.clear();
    assert_eq!(encoder.encode(&columns, 1, IDENTITY, &mut bytes), 1);
    let page = open(&bytes, &types).expect("intact");
    assert_same(&page.decode(0).expect("intact"), &columns[0].slice(1, 1));
}

#[test]
fn pages_are_nearly_full() {
    let recipes: Vec<Recipe> = [
        Shape::Ascending,
        Shape::Small,
        Shape::Outliers,
        Shape::Noise,
    ]
    .into_iter()
    .zip([
        ColumnType::Int64,
        ColumnType::Int32,
        DECIMAL,
        ColumnType::Text,
    ])
    .map(|(shape, column_type)| Recipe {
        column_type,
        shape,
        nulls: Nulls::None,
        seed: 5,
    })
    .collect();
    let types: Vec<ColumnType> = recipes.iter().map(|r| r.column_type).collect();
    let columns: Vec<ArrayRef> = recipes.iter().map(|r| r.array(20_000)).collect();
    let mut encoder = PageEncoder::new(&types, 16_384);
    let mut start = 0;
    while start < 15_000 {
        let mut bytes = Vec::new();
        start += encoder.encode(&columns, start, IDENTITY, &mut bytes);
        assert!(bytes.len() * 100 >= 16_384 * 92, "{} bytes", bytes.len());
    }
}
