//! Every kind and form of index against a sorted map.

use std::collections::BTreeMap;
use std::ops::Bound;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use types::{ColumnType, Value};

use super::*;
use crate::pointer::{EvictedId, TupleId};

fn columns() -> Vec<ColumnDefinition> {
    vec![
        ColumnDefinition::new("a", ColumnType::Int32),
        ColumnDefinition::new("b", ColumnType::Int64),
        ColumnDefinition::new("c", ColumnType::Bytes),
    ]
}

/// An index whose rows are told apart by column `b`.
fn index(kind: IndexKind, is_unique: bool, key: &[usize]) -> Index {
    let definition = IndexDefinition {
        columns: key.to_vec(),
        kind,
        is_unique,
    };
    Index::new(&definition, &[1], &columns(), &RowLayout::new(&columns()))
}

/// The cells of the row of a number.
fn cell(number: i64, column: usize) -> Value<'static> {
    const TEXTS: [&[u8]; 5] = [b"", b"a", b"ab", b"b\0", b"c"];
    match column {
        0 => Value::Int(number / 10),
        1 => Value::Int(number),
        _ => Value::Bytes(TEXTS[number as usize % 5]),
    }
}

/// The row of a number.
fn row(number: i64) -> Vec<u8> {
    let mut row = Vec::new();
    let values: Vec<Value<'_>> = (0..3).map(|column| cell(number, column)).collect();
    let encoded = RowLayout::new(&columns()).encode(&values, &mut row);
    encoded.expect("the values fit");
    row
}

/// Does something with the key of a row.
fn with_key<R>(index: &mut Index, number: i64, act: impl FnOnce(&mut Index, RowKey<'_>) -> R) -> R {
    let (row, mut buffer) = (row(number), Vec::new());
    let (layout, rows) = (index.layout.clone(), RowLayout::new(&columns()));
    let row = rows.split(&row).expect("of this layout");
    let key = layout.of_row(&rows, row, &mut buffer);
    act(index, key)
}

/// The encoding of a row's key.
fn encoded(number: i64, columns: &[usize], is_unique: bool) -> Vec<u8> {
    let more = [1].into_iter();
    let more = more.filter(|column| !is_unique && !columns.contains(column));
    let all: Vec<usize> = columns.iter().copied().chain(more).collect();
    beginning(number, &all)
}

/// The encoding of the cells of some columns.
fn beginning(number: i64, of_key: &[usize]) -> Vec<u8> {
    let values: Vec<Value<'_>> = of_key.iter().map(|column| cell(number, *column)).collect();
    let layout = KeyLayout::new(of_key, &[], &columns(), &RowLayout::new(&columns()));
    let mut key = Vec::new();
    assert!(layout.encode(&values, &mut key));
    key
}

/// A map that does what an index has to do, slowly.
type Model = BTreeMap<Vec<u8>, Pointer>;

fn range(model: &Model, from: &[u8], to: &[u8]) -> Vec<Pointer> {
    let entries = model.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
    let within = entries.take_while(|(key, _)| key.starts_with(to) || key.as_slice() < to);
    within.map(|(_, pointer)| *pointer).collect()
}

fn check_equal(index: &Index, model: &Model, random: &mut StdRng, columns: &[usize]) {
    let at = random.random_range(0..400);
    let looked_for = beginning(at, columns);
    let expected = range(model, &looked_for, &looked_for);
    let mut buffer = Vec::new();
    let mut seek = |number: i64, columns: &[usize]| {
        let values: Vec<_> = columns.iter().map(|column| cell(number, *column)).collect();
        let sought = index.layout.seek(&values, &mut buffer);
        sought.expect("the values fit")
    };
    let some = &columns[..random.random_range(1..=columns.len())];
    let last = at + random.random_range(0..30);
    let (whole, first_key, last_key) = (seek(at, columns), seek(at, some), seek(last, some));
    let mut found = Vec::new();
    index.each_equal(whole.of(&buffer), |_, pointer| found.push(pointer));
    assert_eq!(found, expected);
    if index.is_unique {
        let first = index.first(whole.of(&buffer));
        assert_eq!(first, expected.first().copied());
    }
    if !index.is_ordered() {
        return;
    }
    let (from, to) = (beginning(at, some), beginning(last, some));
    let expected = range(model, &from, &to);
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut found = Vec::new();
        let (first, last) = (first_key.of(&buffer), last_key.of(&buffer));
        index.scan(first, last, direction, |_, pointer| {
            found.push(pointer);
            true
        });
        if direction == Direction::Descending {
            found.reverse();
        }
        assert_eq!(found, expected, "{direction:?} {from:?} {to:?}");
    }
}

/// Rows come, move and go, first more come, then more go, until none is left.
fn compare_with_model(kind: IndexKind, is_unique: bool, columns: &[usize], seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut index = index(kind, is_unique, columns);
    let mut model = Model::new();
    let empty_bytes = index.held_bytes();
    // Keys that rise at first: some leaves are packed then.
    for number in 0..if kind == IndexKind::Ordered { 400 } else { 0 } {
        let pointer = TupleId(number as u32).into();
        with_key(&mut index, number, |index, key| {
            index.insert_new(key, pointer)
        });
        model.insert(encoded(number, columns, is_unique), pointer);
    }
    for step in 0..12_000_u32 {
        let number = random.random_range(0..400);
        let bytes = encoded(number, columns, is_unique);
        let comes = random.random_ratio(if step < 6_000 { 3 } else { 1 }, 4);
        match model.contains_key(&bytes) {
            false if comes => {
                let insert =
                    |index: &mut Index, key: RowKey<'_>| index.insert(key, TupleId(step).into());
                assert!(with_key(&mut index, number, insert));
                model.insert(bytes, TupleId(step).into());
            }
            true if random.random_ratio(1, 5) => {
                with_key(&mut index, number, |index, key| {
                    index.repoint(key, EvictedId(step).into());
                });
                model.insert(bytes, EvictedId(step).into());
            }
            true if comes && random.random_ratio(1, 5) => {
                let insert =
                    |index: &mut Index, key: RowKey<'_>| index.insert(key, TupleId(step).into());
                assert!(!with_key(&mut index, number, insert), "its key is taken");
            }
            true if !comes => {
                with_key(&mut index, number, Index::remove);
                model.remove(&bytes);
            }
            _ => {}
        }
        check_equal(&index, &model, &mut random, columns);
    }
    assert!(index.held_bytes() > empty_bytes);
    while let Some((key, _)) = model.pop_first() {
        let number = (0..400).find(|number| encoded(*number, columns, is_unique) == key);
        let number = number.expect("it was made of one");
        with_key(&mut index, number, Index::remove);
    }
    let mut left = 0;
    index.each_entry(|_, _| left += 1);
    assert_eq!(left, 0);
}

#[test]
fn hash_indexes_do_what_a_map_does() {
    for (seed, columns) in [&[1][..], &[1, 0], &[1, 2]].into_iter().enumerate() {
        compare_with_model(IndexKind::Hash, true, columns, seed as u64);
    }
    for (seed, columns) in [&[0][..], &[2], &[2, 0]].into_iter().enumerate() {
        compare_with_model(IndexKind::Hash, false, columns, seed as u64);
    }
}

#[test]
fn ordered_indexes_do_what_a_map_does() {
    for (seed, columns) in [&[1][..], &[0, 1], &[2, 1]].into_iter().enumerate() {
        compare_with_model(IndexKind::Ordered, true, columns, seed as u64);
    }
    for (seed, columns) in [&[0][..], &[2], &[2, 0]].into_iter().enumerate() {
        compare_with_model(IndexKind::Ordered, false, columns, seed as u64);
    }
}

/// Keys that only rise leave nearly full leaves behind, and packed.
#[test]
fn rising_keys_take_little_room() {
    let mut index = index(IndexKind::Ordered, true, &[1]);
    for number in 0..100_000 {
        with_key(&mut index, number, |index, key| {
            index.insert_new(key, TupleId(number as u32).into());
        });
    }
    let each = index.held_bytes() / 100_000;
    assert!(each < 12, "{each} bytes an entry");
}
