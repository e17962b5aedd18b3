//! Rows appended one by one make the pages that the same rows make as columns.

use arrow_array::ArrayRef;
use arrow_select::concat::concat;
use proptest::prelude::*;
use types::{ColumnType, Value};

use super::{Nulls, Recipe, Shape, TYPES, any_recipe, mix};
use crate::{PageEncoder, PageIdentity, ROWS_MAX, RowAppender, RowError};

fn identity(file: &[u8]) -> PageIdentity {
    PageIdentity {
        file: 3,
        offset: file.len() as u64,
    }
}

fn types(recipes: &[Recipe]) -> Vec<ColumnType> {
    recipes.iter().map(|recipe| recipe.column_type).collect()
}

fn arrays(recipes: &[Recipe], rows: usize) -> Vec<ArrayRef> {
    recipes.iter().map(|recipe| recipe.array(rows)).collect()
}

/// All rows as one batch.
fn whole(types: &[ColumnType], columns: &[ArrayRef], capacity: usize) -> Vec<u8> {
    let mut encoder = PageEncoder::new(types, capacity);
    let (mut file, mut start) = (Vec::new(), 0);
    while start < columns[0].len() {
        let identity = identity(&file);
        start += encoder.encode(columns, start, identity, &mut file);
    }
    file
}

/// The rows in batches, settled pages only until the last batch is there.
fn batched(types: &[ColumnType], columns: &[ArrayRef], capacity: usize, seed: u64) -> Vec<u8> {
    let mut encoder = PageEncoder::new(types, capacity);
    let mut file = Vec::new();
    let mut waiting: Vec<ArrayRef> = columns.iter().map(|array| array.slice(0, 0)).collect();
    let (mut given, rows) = (0, columns[0].len());
    while given < rows {
        let batch = (1 + mix(seed ^ given as u64) as usize % 5000).min(rows - given);
        for (array, column) in waiting.iter_mut().zip(columns) {
            let added = column.slice(given, batch);
            *array = concat(&[array.as_ref(), added.as_ref()]).expect("one type");
        }
        given += batch;
        let mut start = 0;
        while start < waiting[0].len() && (given == rows || encoder.is_settled(&waiting, start)) {
            let identity = identity(&file);
            start += encoder.encode(&waiting, start, identity, &mut file);
        }
        for array in &mut waiting {
            *array = array.slice(start, array.len() - start);
        }
    }
    file
}

/// Row by row.
fn appended(types: &[ColumnType], columns: &[ArrayRef], capacity: usize) -> Vec<u8> {
    let mut appender = RowAppender::new(types, capacity);
    let mut file = Vec::new();
    for row in 0..columns[0].len() {
        let values: Vec<Value<'_>> = columns
            .iter()
            .zip(types)
            .map(|(array, &column_type)| Value::of_cell(array, column_type, row))
            .collect();
        appender.append(&values).expect("a row of the table");
        while appender.has_page() {
            let identity = identity(&file);
            appender.take_page(identity, &mut file);
        }
    }
    while appender.rows() > 0 {
        let identity = identity(&file);
        appender.take_page(identity, &mut file);
    }
    file
}

fn check(recipes: &[Recipe], rows: usize, capacity: usize, seed: u64) {
    let (types, columns) = (types(recipes), arrays(recipes, rows));
    let expected = whole(&types, &columns, capacity);
    assert!(appended(&types, &columns, capacity) == expected, "rows");
    assert!(
        batched(&types, &columns, capacity, seed) == expected,
        "batches"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rows_and_batches_make_the_same_pages(
        recipes in proptest::collection::vec(any_recipe(), 1..5),
        rows in prop_oneof![1_usize..2000, 1_usize..3 * ROWS_MAX],
        capacity in proptest::sample::select(&[512_usize, 4096, 32_768][..]),
        seed in any::<u64>(),
    ) {
        check(&recipes, rows, capacity, seed);
    }
}

#[test]
fn every_type_with_and_without_nulls() {
    for nulls in [Nulls::None, Nulls::Half, Nulls::All] {
        let recipe = |column_type| Recipe {
            column_type,
            shape: Shape::Small,
            nulls,
            seed: 9,
        };
        let recipes = TYPES.map(recipe);
        check(&recipes, 2 * ROWS_MAX + 5000, 32_768, 1);
    }
}

/// Text that compresses without end: how much of it a page may hold decides where it ends.
#[test]
fn pages_that_end_where_their_text_does_are_the_same() {
    let cell = |row: usize| "x".repeat(mix(row as u64) as usize % 700);
    let texts: Vec<String> = (0..20_000).map(cell).collect();
    let columns: [ArrayRef; 1] = [std::sync::Arc::new(arrow_array::StringArray::from(texts))];
    let types = [ColumnType::Text];
    let expected = whole(&types, &columns, 4096);
    assert!(appended(&types, &columns, 4096) == expected);
    assert!(batched(&types, &columns, 4096, 5) == expected);
}

#[test]
fn rows_that_are_not_of_the_table_are_refused_and_leave_nothing() {
    let types = [ColumnType::Text, ColumnType::Int16, ColumnType::Date];
    let mut appender = RowAppender::new(&types, 4096);
    let good = [Value::Bytes(b"a"), Value::Int(-7), Value::Null];
    let wrong_type = |column: usize| {
        Err(RowError::Type {
            column,
            column_type: types[column],
        })
    };
    let count = |found| Err(RowError::Count { expected: 3, found });
    assert_eq!(appender.append(&good[..2]), count(2));
    assert_eq!(appender.append(&[Value::Null; 4]), count(4));
    let with = |column: usize, value| {
        let mut row = good;
        row[column] = value;
        row
    };
    let not_text = with(0, Value::Bytes(b"\xFF"));
    assert_eq!(appender.append(&not_text), wrong_type(0));
    let no_number = with(1, Value::Bytes(b"1"));
    assert_eq!(appender.append(&no_number), wrong_type(1));
    let too_large = with(1, Value::Int(1 << 15));
    assert_eq!(appender.append(&too_large), wrong_type(1));
    let no_date = with(2, Value::Float64(1.0));
    assert_eq!(appender.append(&no_date), wrong_type(2));
    assert_eq!(appender.rows(), 0);

    appender.append(&good).expect("a row of the table");
    assert!(appender.append(&too_large).is_err());
    appender.append(&good).expect("a row of the table");
    assert_eq!(appender.rows(), 2);
    let mut file = Vec::new();
    assert_eq!(appender.take_page(identity(&[]), &mut file), 2);
    assert_eq!(appender.rows(), 0);
}
