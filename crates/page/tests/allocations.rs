//! Look-ups in an opened page take no memory. A program of its own, because it counts what the
//! whole process allocates.

use std::alloc::System;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array};
use cap::Cap;
use page::{Page, PageEncoder, PageError, PageIdentity};
use types::{ColumnType, Value};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Stations that report about once an hour: the key is a place and a time. Cells between them take
/// every codec of words that a page of readings has.
fn readings() -> (Vec<ColumnType>, Vec<ArrayRef>) {
    let int32 = |cell: fn(i32) -> i32| Arc::new(Int32Array::from_iter_values((0..6_000).map(cell)));
    let columns: Vec<ArrayRef> = vec![
        int32(|row| -12_000 + row / 2_000),
        int32(|row| 100 * (row % 2_000) + row * row % 7),
        int32(|row| 20 * (row * 31 % 90)),
        int32(|row| {
            if row % 50 == 7 {
                1_000_000
            } else {
                row * 17 % 60
            }
        }),
        Arc::new(Int64Array::from_iter_values(
            (0..6_000).map(|row| row / 100 * 1_000_003),
        )),
    ];
    let mut types = vec![ColumnType::Int32; 4];
    types.push(ColumnType::Int64);
    (types, columns)
}

/// Finds every seventh row by its key and reads its cells; their sum.
fn look_up(page: &Page, rows: &[[i64; 2]], buffer: &mut Vec<u8>) -> Result<i64, PageError> {
    let mut sum = 0_i64;
    for (slot, key) in rows.iter().enumerate().step_by(7) {
        let found = page.find([(0, Value::Int(key[0])), (1, Value::Int(key[1]))])?;
        assert_eq!(found, slot..slot + 1);
        for column in 0..5 {
            if let Value::Int(cell) = page.column(column)?.value(slot, buffer)? {
                sum = sum.wrapping_add(cell);
            }
        }
    }
    Ok(sum)
}

#[test]
fn a_row_is_found_by_its_key_without_allocating() -> Result<(), PageError> {
    let (types, columns) = readings();
    let identity = PageIdentity { file: 1, offset: 0 };
    let mut bytes = Vec::new();
    let encoded = PageEncoder::new(&types, 32 << 10).encode(&columns, 0, identity, &mut bytes);
    let page = Page::open(bytes.into(), &Arc::from(&types[..]), identity)?;
    assert!(page.rows() > 1_000, "a full page: {encoded:?}");
    let place = |row: usize| (row / 2_000) as i64 - 12_000;
    let time = |row: usize| (100 * (row % 2_000) + row * row % 7) as i64;
    let rows: Vec<[i64; 2]> = (0..page.rows())
        .map(|row| [place(row), time(row)])
        .collect();

    let mut buffer = Vec::new();
    let before = ALLOCATOR.total_allocated();
    let sum = look_up(&page, &rows, &mut buffer)?;
    let opened = ALLOCATOR.total_allocated() - before;
    assert!(opened > 0, "opening columns takes memory, once");
    let mut allocated = Vec::new();
    for _ in 0..3 {
        let before = ALLOCATOR.total_allocated();
        assert_eq!(look_up(&page, &rows, &mut buffer)?, sum);
        allocated.push(ALLOCATOR.total_allocated() - before);
    }
    // The harness has a thread, too, that may allocate at any time.
    assert!(allocated.contains(&0), "bytes: {allocated:?}");
    Ok(())
}
