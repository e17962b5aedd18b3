//! Cells as long as a page and far longer: a row that does not fit gets a page of its own.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, StringArray};
use types::{ColumnType, Value};

use super::{IDENTITY, assert_same, mix, open};
use crate::header::{Header, reseal};
use crate::{Page, PageEncoder, RowAppender};

const CAPACITY: usize = 4096;
const TYPES: [ColumnType; 3] = [ColumnType::Int64, ColumnType::Text, ColumnType::Bytes];

/// Text that no codec makes shorter by much.
fn noise(length: usize) -> String {
    (0..length as u64)
        .map(|number| char::from(1 + (mix(number) % 127) as u8))
        .collect()
}

/// Three short rows, a row with this cell, three short rows.
fn columns(long: &str) -> [ArrayRef; 3] {
    let cells = ["a", "b", "", long, "c", "d", "e"];
    let bytes = cells.map(|cell| match cell.len() {
        0..2 => Some(cell.as_bytes()),
        _ => None,
    });
    [
        Arc::new(Int64Array::from_iter_values(0..7)),
        Arc::new(StringArray::from(cells.to_vec())),
        Arc::new(BinaryArray::from(bytes.to_vec())),
    ]
}

/// The pages of all rows, and where each one's rows start.
fn pages(columns: &[ArrayRef]) -> Vec<(usize, Vec<u8>)> {
    let mut encoder = PageEncoder::new(&TYPES, CAPACITY);
    let (mut pages, mut start) = (Vec::new(), 0);
    while start < columns[0].len() {
        let mut bytes = Vec::new();
        let rows = encoder.encode(columns, start, IDENTITY, &mut bytes);
        pages.push((start, bytes));
        start += rows;
    }
    pages
}

fn check_rows(page: &Page, columns: &[ArrayRef], start: usize, long: &str) {
    for (column, array) in columns.iter().enumerate() {
        let expected = array.slice(start, page.rows());
        assert_same(&page.decode(column).expect("intact"), &expected);
        let last = page.rows() - 1;
        let picked = page.decode_slots(column, &[last as u32]).expect("intact");
        assert_same(&picked, &expected.slice(last, 1));
    }
    let mut buffer = Vec::new();
    for slot in 0..page.rows() {
        let number = Value::Int((start + slot) as i64);
        assert_eq!(page.find([(0, number)]), Ok(slot..slot + 1));
        let column = page.column(1).expect("intact");
        let text = column.value(slot, &mut buffer);
        let Ok(Value::Bytes(text)) = text else {
            panic!("a cell of text")
        };
        if start + slot == 3 {
            assert!(text == long.as_bytes());
        }
    }
}

#[test]
fn cells_around_and_far_above_the_capacity_come_back() {
    let lengths = [CAPACITY - 1, CAPACITY, CAPACITY + 1, 1 << 20, 100_000_000];
    let (shortest, all) = (noise(CAPACITY / 2), lengths.map(noise));
    for long in std::iter::once(&shortest).chain(&all) {
        let columns = columns(long);
        let pages = pages(&columns);
        let mut with_long = 0;
        for (start, bytes) in &pages {
            let page = open(bytes, &TYPES).expect("intact");
            check_rows(&page, &columns, *start, long);
            assert!(bytes.len() <= CAPACITY || page.rows() == 1);
            if bytes.len() > CAPACITY {
                with_long = page.memory_bytes();
                assert!(bytes.len() < long.len() + 200, "{} bytes", bytes.len());
            }
        }
        let fits = long.len() < CAPACITY - 1;
        assert_eq!(
            pages.len(),
            if fits { 1 } else { 3 },
            "{} bytes",
            long.len()
        );
        assert!(fits || with_long > long.len());
    }
}

#[test]
fn a_flipped_bit_in_a_long_cell_is_found() {
    let columns = columns(&noise(1 << 20));
    let (_, mut bytes) = pages(&columns).swap_remove(1);
    for at in [0, 30, 1 << 10, 1 << 19, bytes.len() - 1] {
        bytes[at] ^= 4;
        assert!(open(&bytes, &TYPES).is_err(), "byte {at}");
        bytes[at] ^= 4;
    }
    assert!(open(&bytes, &TYPES).is_ok());
}

/// A column that nobody asks for may be anything: its codec is not even looked at.
#[test]
fn columns_beside_a_long_cell_are_read_without_it() {
    let columns = columns(&noise(1 << 20));
    let (start, mut bytes) = pages(&columns).swap_remove(1);
    let header = Header::open(&bytes, TYPES.len(), IDENTITY).expect("intact");
    assert!(header.segment(&bytes, 1).len() >= 1 << 20);
    let entry_at = header.segment(&bytes, 0).start - (TYPES.len() - 1) * 5;
    bytes[entry_at] = 31;
    reseal(&mut bytes, IDENTITY);
    let page = open(&bytes, &TYPES).expect("the frame is right");
    assert!(page.decode(1).is_err() && page.column(1).is_err());
    assert_same(
        &page.decode(0).expect("intact"),
        &columns[0].slice(start, 1),
    );
    let number = Value::Int(start as i64);
    assert_eq!(page.find([(0, number)]), Ok(0..1));
}

#[test]
fn appended_rows_with_long_cells_make_the_same_pages() {
    let long = noise(3 << 20);
    let columns = columns(&long);
    let expected: Vec<u8> = pages(&columns)
        .into_iter()
        .flat_map(|page| page.1)
        .collect();
    let mut appender = RowAppender::new(&TYPES, CAPACITY);
    let mut file = Vec::new();
    for row in 0..7 {
        let cells = [0, 1, 2].map(|column| Value::of_cell(&columns[column], TYPES[column], row));
        appender.append(&cells).expect("a row of the table");
        while appender.has_page() {
            appender.take_page(IDENTITY, &mut file);
        }
    }
    assert!(appender.rows() < 7, "long rows do not wait for others");
    while appender.rows() > 0 {
        appender.take_page(IDENTITY, &mut file);
    }
    assert!(file == expected);
}
