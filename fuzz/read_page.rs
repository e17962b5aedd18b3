//! Reads a hostile page in every way: no panic, no hang, no more memory than the page's bound.
//!
//! Input: number of columns less one (u8, modulo 4) · a type for each (u8) · the page. Magic,
//! version, size, number of columns and checksum are put right, so that what is behind them is
//! reached.

#![no_main]

use std::alloc::System;
use std::ops::Bound;

use arrow_array::Array;
use cap::Cap;
use libfuzzer_sys::{Corpus, fuzz_target};
use page::{Page, PageIdentity};
use types::ColumnType;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const IDENTITY: PageIdentity = PageIdentity { file: 1, offset: 0 };
const COLUMNS_MAX: u8 = 4;
const HEADER_BYTES: usize = 20;

/// Memory at most: a multiple of the page …
const PAGE_MULTIPLE: usize = 16;
/// … for each row the cells, the text that a row may always have, and what is decoded on the way …
const ROW_BYTES: usize = 192;
/// … and tables whose size depends on neither.
const FIXED_BYTES: usize = 16 << 10;

const TYPES: [ColumnType; 14] = [
    ColumnType::Bool,
    ColumnType::Int16,
    ColumnType::Int32,
    ColumnType::Int64,
    ColumnType::UInt64,
    ColumnType::Float32,
    ColumnType::Float64,
    ColumnType::Decimal {
        precision: 38,
        scale: 4,
    },
    ColumnType::Date,
    ColumnType::Time,
    ColumnType::Timestamp,
    ColumnType::TimestampTz,
    ColumnType::Text,
    ColumnType::Bytes,
];

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((types, mut bytes)) = parse(input) else {
        return Corpus::Reject;
    };
    put_right(&mut bytes, types.len());
    let len = bytes.len();
    let Ok(page) = Page::open(bytes.into(), &types, IDENTITY) else {
        return Corpus::Keep;
    };
    let bound = len * PAGE_MULTIPLE + page.rows() * ROW_BYTES + FIXED_BYTES;
    for column in 0..types.len() {
        within(bound, || decode(&page, column));
        within(bound, || look_up(&page, column));
    }
    Corpus::Keep
});

fn parse(input: &[u8]) -> Option<(Vec<ColumnType>, Vec<u8>)> {
    let (&columns, rest) = input.split_first()?;
    let (types, page) = rest.split_at_checked(usize::from(columns % COLUMNS_MAX) + 1)?;
    let types = types
        .iter()
        .map(|&number| TYPES[usize::from(number) % TYPES.len()])
        .collect();
    (page.len() >= HEADER_BYTES).then(|| (types, page.to_vec()))
}

/// See `docs/format/page.md` for the places.
fn put_right(page: &mut [u8], columns: usize) {
    let size = page.len() as u32;
    page[4..8].copy_from_slice(b"HrPg");
    page[8..10].copy_from_slice(&1_u16.to_le_bytes());
    page[10..12].copy_from_slice(&(columns as u16).to_le_bytes());
    page[12..16].copy_from_slice(&size.to_le_bytes());
    let checksum = crc32c::crc32c(&page[4..]);
    let checksum = crc32c::crc32c_append(checksum, &IDENTITY.file.to_le_bytes());
    let checksum = crc32c::crc32c_append(checksum, &IDENTITY.offset.to_le_bytes());
    page[..4].copy_from_slice(&checksum.to_le_bytes());
}

/// An allocation beyond the limit fails, which ends the program.
fn within(bytes: usize, work: impl FnOnce()) {
    ALLOCATOR
        .set_limit(ALLOCATOR.allocated() + bytes)
        .expect("more than what is in use");
    work();
    ALLOCATOR.set_limit(usize::MAX).expect("no limit");
}

/// What decodes as a whole decodes in part, to the same cells.
fn decode(page: &Page, column: usize) {
    let slots: Vec<u32> = (0..page.rows() as u32).step_by(7).collect();
    let some = page.decode_slots(column, &slots);
    let Ok(all) = page.decode(column) else {
        return;
    };
    assert_eq!(all.len(), page.rows());
    let some = some.expect("all slots decode");
    for (index, &slot) in slots.iter().enumerate() {
        let (part, whole) = (some.slice(index, 1), all.slice(slot as usize, 1));
        assert_eq!(part.is_null(0), whole.is_null(0), "slot {slot}");
    }
    let _ = page.constant(column);
}

fn look_up(page: &Page, column: usize) {
    let Ok(opened) = page.column(column) else {
        return;
    };
    let (mut buffer, rows) = (Vec::new(), page.rows());
    for slot in (0..rows).step_by(rows / 16 + 1) {
        let Ok(value) = opened.value(slot, &mut buffer) else {
            continue;
        };
        let _ = page.find([(column, value)]);
        let _ = opened.find(slot..rows, &value);
        let _ = opened.select(Bound::Included(value), Bound::Unbounded);
    }
}
