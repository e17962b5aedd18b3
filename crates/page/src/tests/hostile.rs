//! Hostile pages: an input that a fuzzer makes up becomes a page, which is read in every way.
//!
//! Input: number of columns less one (u8, modulo 4) · a type for each (u8, modulo 14) · the page.
//! Magic, version, size, number of columns and checksum are put right, so that what is behind
//! them is reached. `fuzz/read_page.rs` is built from this file, too.

use std::ops::Bound;

use arrow_array::Array;
use types::{ColumnType, ValueRange};

use super::{Page, PageIdentity};
use crate::{Column, OpenColumn};

pub(super) const IDENTITY: PageIdentity = PageIdentity { file: 1, offset: 0 };
const COLUMNS_MAX: u8 = 4;
const HEADER_BYTES: usize = 20;

pub(super) const DECIMAL: ColumnType = ColumnType::Decimal {
    precision: 38,
    scale: 4,
};

/// Every type that a column may have.
pub(super) const TYPES: [ColumnType; 14] = [
    ColumnType::Bool,
    ColumnType::Int16,
    ColumnType::Int32,
    ColumnType::Int64,
    ColumnType::UInt64,
    ColumnType::Float32,
    ColumnType::Float64,
    DECIMAL,
    ColumnType::Date,
    ColumnType::Time,
    ColumnType::Timestamp,
    ColumnType::TimestampTz,
    ColumnType::Text,
    ColumnType::Bytes,
];

/// The types of the columns and the page, if the input is long enough.
pub(super) fn parse(input: &[u8]) -> Option<(Vec<ColumnType>, Vec<u8>)> {
    let (&columns, rest) = input.split_first()?;
    let (types, page) = rest.split_at_checked(usize::from(columns % COLUMNS_MAX) + 1)?;
    let types: Vec<ColumnType> = types
        .iter()
        .map(|&number| TYPES[usize::from(number) % TYPES.len()])
        .collect();
    let mut page = page.to_vec();
    (page.len() >= HEADER_BYTES).then(|| {
        put_right(&mut page, types.len());
        (types, page)
    })
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

/// What decodes as a whole decodes in part, to the same cells.
pub(super) fn decode(page: &Page, column: usize) {
    let slots: Vec<u32> = (0..page.rows() as u32).step_by(7).collect();
    let some = page.decode_slots(column, &slots);
    let Ok(all) = page.decode(column) else {
        return;
    };
    assert_eq!(all.len(), page.rows());
    let some = some.expect("all slots decode");
    for (index, &slot) in slots.iter().enumerate() {
        let (part, whole) = (some.slice(index, 1), all.slice(slot as usize, 1));
        assert_eq!(&part, &whole, "slot {slot}");
    }
    let _ = page.constant(column);
}

/// What encoded cells are asked for all rows at once.
pub(super) fn ask(page: &Page, column: usize) {
    let slots: Vec<u32> = (0..page.rows() as u32).step_by(7).collect();
    let _ = page.append_integers(column, Some(&slots), &mut Vec::new());
    let Ok(Some(distinct)) = page.distinct_text(column) else {
        return;
    };
    let wanted = (0..distinct.cells().len()).map(|cell| cell % 2 == 0);
    let rows = distinct.rows_of(&wanted.collect());
    if let (Ok(rows), Ok(codes)) = (rows, distinct.codes(None)) {
        let of_codes = codes.iter().map(|code| code % 2 == 0);
        assert!(rows.iter().eq(of_codes), "both tell the same of a row");
    }
}

/// Cells by slot, and slots by value.
pub(super) fn look_up(page: &Page, column: usize) {
    let Ok(opened) = page.column(column) else {
        return;
    };
    look_up_in(page, column, &opened);
    if let OpenColumn::Passing(opened) = opened {
        look_up_in(page, column, &opened.prepare());
    }
}

fn look_up_in(page: &Page, column: usize, opened: &Column<'_>) {
    let (mut buffer, rows) = (Vec::new(), page.rows());
    for slot in (0..rows).step_by(rows / 16 + 1) {
        let Ok(value) = opened.value(slot, &mut buffer) else {
            continue;
        };
        let _ = page.find([(column, value)]);
        let _ = opened.find(slot..rows, &value);
        let _ = opened.select(ValueRange {
            low: Bound::Included(value),
            high: Bound::Unbounded,
        });
    }
}
