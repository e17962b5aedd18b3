//! Writes pages of ordinary columns to a folder, for `read_page` to begin with.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, StringArray};
use page::{PageEncoder, PageIdentity};
use types::ColumnType;

const IDENTITY: PageIdentity = PageIdentity { file: 1, offset: 0 };
const DECIMAL: ColumnType = ColumnType::Decimal {
    precision: 38,
    scale: 4,
};
/// Numbers that `read_page` gives the types below.
const INT64: u8 = 3;
const FLOAT64: u8 = 6;
const DECIMAL_NUMBER: u8 = 7;
const TEXT: u8 = 12;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).expect("usage: seeds FOLDER");
    std::fs::create_dir_all(&folder)?;
    for rows in [1, 70, 700] {
        for (number, shape) in SHAPES.iter().enumerate() {
            let values: Vec<u64> = (0..rows).map(shape).collect();
            let folder = Path::new(&folder);
            let name = |kind| folder.join(format!("{kind}-{number}-{rows}"));
            std::fs::write(name("integers"), integers(&values))?;
            std::fs::write(name("fractions"), fractions(&values))?;
            std::fs::write(name("text"), text(&values, 1))?;
            std::fs::write(name("grammar"), text(&values, PAGES_UNTIL_GRAMMAR))?;
        }
    }
    Ok(())
}

/// What values look like from row to row.
const SHAPES: [fn(u64) -> u64; 9] = [
    |_| 7,
    |row| mix(row) % 13,
    |row| row * 5 + mix(row) % 4,
    |row| mix(row / 37) % 5000,
    |row| mix(row) >> if mix(row).is_multiple_of(50) { 0 } else { 57 },
    |row| mix(mix(row) % 20),
    |row| 60 * (mix(row) % 300) + 15,
    |row| 60 * (row * 61 + mix(row) % 300),
    mix,
];

fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

fn integers(values: &[u64]) -> Vec<u8> {
    let whole = Int64Array::from_iter_values(values.iter().map(|&value| value as i64));
    let holes = Int64Array::from_iter(
        values
            .iter()
            .map(|&value| (value % 3 > 0).then_some(value as i64)),
    );
    let columns: Vec<ArrayRef> = vec![Arc::new(whole), Arc::new(holes)];
    seed_after(1, &[INT64, INT64], &[ColumnType::Int64; 2], &columns)
}

fn fractions(values: &[u64]) -> Vec<u8> {
    let floats = values.iter().map(|&value| value as f64 / 100.0);
    let decimals = values
        .iter()
        .map(|&value| i128::from(value) << (value % 50));
    let decimals = Decimal128Array::from_iter_values(decimals);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Float64Array::from_iter_values(floats)),
        Arc::new(decimals.with_data_type(DECIMAL.arrow_type())),
    ];
    seed_after(
        1,
        &[FLOAT64, DECIMAL_NUMBER],
        &[ColumnType::Float64, DECIMAL],
        &columns,
    )
}

fn text(values: &[u64], pages: usize) -> Vec<u8> {
    let short = values.iter().map(|value| format!("{value:09}"));
    let long = values
        .iter()
        .map(|value| format!("the quick brown fox {value} jumps over {}", value % 9));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(short)),
        Arc::new(StringArray::from_iter_values(long)),
    ];
    seed_after(pages, &[TEXT, TEXT], &[ColumnType::Text; 2], &columns)
}

/// Pages after which a column of long text has a grammar.
const PAGES_UNTIL_GRAMMAR: usize = 64;

/// An input of `read_page`: so many times the same page, of which the last one counts.
fn seed_after(pages: usize, numbers: &[u8], types: &[ColumnType], columns: &[ArrayRef]) -> Vec<u8> {
    let (mut encoder, mut input) = (PageEncoder::new(types, 1 << 16), Vec::new());
    for _ in 0..pages {
        input = vec![numbers.len() as u8 - 1];
        input.extend_from_slice(numbers);
        encoder.encode(columns, 0, IDENTITY, &mut input);
    }
    input
}
