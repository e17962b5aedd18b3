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
    Index::new(&definition, &[1], &columns())
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

fn row_key(index: &Index, number: i64) -> (Vec<u8>, usize) {
    let mut key = Vec::new();
    let declared = index
        .layout
        .encode_row(|column| cell(number, column), &mut key);
    (key, declared)
}

/// What is looked for, cut after some columns.
fn beginning(index: &Index, number: i64, columns: &[usize]) -> Vec<u8> {
    let values: Vec<Value<'_>> = columns.iter().map(|column| cell(number, *column)).collect();
    let mut key = Vec::new();
    assert!(index.layout.encode(&values, &mut key));
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
    let looked_for = beginning(index, at, columns);
    let expected = range(model, &looked_for, &looked_for);
    let mut found = Vec::new();
    index.each_equal(&looked_for, |_, pointer| found.push(pointer));
    assert_eq!(found, expected);
    if index.is_unique {
        assert_eq!(index.first(&looked_for), expected.first().copied());
    }
    if !index.is_ordered() {
        return;
    }
    let some = &columns[..random.random_range(1..=columns.len())];
    let from = beginning(index, at, some);
    let to = beginning(index, at + random.random_range(0..30), some);
    let expected = range(model, &from, &to);
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut found = Vec::new();
        index.scan(&from, &to, direction, |_, pointer| {
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
    for step in 0..12_000_u32 {
        let number = random.random_range(0..400);
        let (bytes, declared_bytes) = row_key(&index, number);
        let key = RowKey {
            bytes: &bytes,
            declared_bytes,
        };
        let comes = random.random_ratio(if step < 6_000 { 3 } else { 1 }, 4);
        match model.contains_key(&bytes) {
            false if comes => {
                assert!(index.insert(key, TupleId(step).into()));
                model.insert(bytes, TupleId(step).into());
            }
            true if random.random_ratio(1, 5) => {
                index.repoint(key, EvictedId(step).into());
                model.insert(bytes, EvictedId(step).into());
            }
            true if comes && random.random_ratio(1, 5) => {
                assert!(!index.insert(key, TupleId(step).into()), "its key is taken");
            }
            true if !comes => {
                index.remove(key);
                model.remove(&bytes);
            }
            _ => {}
        }
        check_equal(&index, &model, &mut random, columns);
    }
    assert!(index.held_bytes() > empty_bytes);
    while let Some((key, _)) = model.pop_first() {
        let number = (0..400).find(|number| row_key(&index, *number).0 == key);
        let (bytes, declared_bytes) = row_key(&index, number.expect("it was made of one"));
        index.remove(RowKey {
            bytes: &bytes,
            declared_bytes,
        });
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

/// Keys that only rise leave nearly full nodes behind.
#[test]
fn rising_keys_take_little_room() {
    let mut index = index(IndexKind::Ordered, true, &[1]);
    for number in 0..100_000 {
        let (bytes, declared_bytes) = row_key(&index, number);
        let key = RowKey {
            bytes: &bytes,
            declared_bytes,
        };
        index.insert_new(key, TupleId(number as u32).into());
    }
    let each = index.held_bytes() / 100_000;
    assert!(each < 30, "{each} bytes an entry");
}
