//! Writes pages of any cells and reads them again: every cell comes back, bit by bit.
//!
//! Input: number of columns less one (u8, modulo 4) · a type for each (u8) · capacity (u8) ·
//! cells, row by row: how a cell differs from the one above it (u8) and what that needs.

#![no_main]

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, Decimal128Builder, Float64Builder, Int32Builder, Int64Builder, StringBuilder,
};
use arrow_array::{Array, ArrayRef};
use libfuzzer_sys::{Corpus, fuzz_target};
use page::{Page, PageEncoder, PageIdentity};
use types::ColumnType;

const IDENTITY: PageIdentity = PageIdentity { file: 1, offset: 0 };
const COLUMNS_MAX: u8 = 4;
const ROWS_MAX: usize = 40_000;
/// Rows that one instruction may repeat a cell for.
const REPEAT_MAX: usize = 512;

const TYPES: [ColumnType; 6] = [
    ColumnType::Int32,
    ColumnType::Int64,
    ColumnType::Float64,
    ColumnType::Decimal {
        precision: 38,
        scale: 4,
    },
    ColumnType::Text,
    ColumnType::Bytes,
];

fuzz_target!(|input: &[u8]| -> Corpus {
    let mut input = Input(input);
    let columns = usize::from(input.byte() % COLUMNS_MAX) + 1;
    let types: Vec<ColumnType> = (0..columns)
        .map(|_| TYPES[usize::from(input.byte()) % TYPES.len()])
        .collect();
    let capacity = 512 << (input.byte() % 8);
    let arrays = arrays(&types, &mut input);
    if arrays[0].is_empty() {
        return Corpus::Reject;
    }
    let mut encoder = PageEncoder::new(&types, capacity);
    let mut start = 0;
    while start < arrays[0].len() {
        let mut bytes = Vec::new();
        let rows = encoder.encode(&arrays, start, IDENTITY, &mut bytes);
        check(bytes, &types, &arrays, start, rows);
        start += rows;
    }
    Corpus::Keep
});

/// Bytes, and zeros without end behind them.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        byte
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A cell of any type: text is made of the number.
#[derive(Clone, Debug, Default)]
struct Cell {
    null: bool,
    number: u64,
    text: Vec<u8>,
}

impl Cell {
    /// The next cell, from the one above.
    fn next(&self, input: &mut Input<'_>) -> (Self, usize) {
        let mut cell = Self {
            null: false,
            ..self.clone()
        };
        let mut repeat = 1;
        match input.byte() % 8 {
            0 => cell.null = true,
            1 => cell.number = cell.number.wrapping_add(u64::from(input.byte())),
            2 => cell.number = cell.number.wrapping_sub(u64::from(input.byte())),
            3 => cell.number = input.word(),
            4 => cell.text.push(input.byte() % 0x80),
            5 => cell.text.truncate(usize::from(input.byte())),
            6 => {
                let piece = usize::from(input.byte());
                cell.text = cell.text.repeat(2);
                cell.text.truncate(piece * 4);
            }
            _ => repeat = usize::from(input.byte()) * REPEAT_MAX / 255 + 1,
        }
        (cell, repeat)
    }
}

fn arrays(types: &[ColumnType], input: &mut Input<'_>) -> Vec<ArrayRef> {
    let mut columns = vec![vec![Cell::default()]; types.len()];
    while !input.is_empty() && columns[0].len() < ROWS_MAX {
        let next: Vec<(Cell, usize)> = columns
            .iter()
            .map(|cells| cells.last().expect("there is a first").next(input))
            .collect();
        let repeat = next.iter().map(|(_, repeat)| *repeat).max().unwrap_or(1);
        for (cells, (cell, _)) in columns.iter_mut().zip(next) {
            cells.extend(std::iter::repeat_n(cell, repeat));
        }
    }
    types
        .iter()
        .zip(&columns)
        .map(|(&column_type, cells)| array(column_type, cells))
        .collect()
}

fn array(column_type: ColumnType, cells: &[Cell]) -> ArrayRef {
    macro_rules! build {
        ($builder:expr, $value:expr) => {{
            let mut builder = $builder;
            for cell in cells {
                builder.append_option((!cell.null).then(|| $value(cell)));
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    match column_type {
        ColumnType::Int32 => build!(Int32Builder::new(), |cell: &Cell| cell.number as i32),
        ColumnType::Int64 => build!(Int64Builder::new(), |cell: &Cell| cell.number as i64),
        ColumnType::Float64 => build!(Float64Builder::new(), float),
        ColumnType::Text => build!(StringBuilder::new(), |cell: &Cell| {
            String::from_utf8_lossy(&cell.text).into_owned()
        }),
        ColumnType::Bytes => build!(BinaryBuilder::new(), |cell: &Cell| cell.text.clone()),
        _ => build!(
            Decimal128Builder::new().with_data_type(column_type.arrow_type()),
            |cell: &Cell| i128::from(cell.number) * i128::from(cell.number >> 40)
        ),
    }
}

/// Some numbers as decimal fractions, the others as any bits.
fn float(cell: &Cell) -> f64 {
    match cell.number {
        number if number < 1 << 50 => number as f64 / 100.0,
        number => f64::from_bits(number),
    }
}

fn check(bytes: Vec<u8>, types: &[ColumnType], arrays: &[ArrayRef], start: usize, rows: usize) {
    let page = Page::open(bytes.into(), &types.into(), IDENTITY).expect("a page opens");
    let slots: Vec<u32> = (0..rows as u32).step_by(3).collect();
    for (column, array) in arrays.iter().enumerate() {
        let expected = array.slice(start, rows);
        let decoded = page.decode(column).expect("a page decodes");
        let some = page.decode_slots(column, &slots).expect("slots decode");
        for row in 0..rows {
            assert_same(&decoded, row, &expected, row);
        }
        for (index, &slot) in slots.iter().enumerate() {
            assert_same(&some, index, &expected, slot as usize);
        }
    }
}

/// Cells are equal bit by bit, NaNs included.
fn assert_same(actual: &ArrayRef, index: usize, expected: &ArrayRef, row: usize) {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Float64Type;
    let (actual, expected) = (actual.slice(index, 1), expected.slice(row, 1));
    match (
        actual.as_primitive_opt::<Float64Type>(),
        expected.as_primitive_opt::<Float64Type>(),
    ) {
        (Some(actual), Some(expected)) => {
            assert_eq!(actual.is_null(0), expected.is_null(0), "row {row}");
            let bits = actual.value(0).to_bits();
            assert!(
                expected.is_null(0) || bits == expected.value(0).to_bits(),
                "row {row}"
            );
        }
        _ => assert_eq!(&actual, &expected, "row {row}"),
    }
}
