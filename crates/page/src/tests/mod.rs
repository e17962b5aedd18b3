//! Tests of whole pages, on columns of every type in the shapes that tables have.

mod corpus;
mod damage;
mod golden;
mod hostile;
mod long_values;
mod round_trip;
mod rows;
mod search;

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use proptest::prelude::*;
use types::ColumnType;

use crate::{Page, PageEncoder, PageError, PageIdentity};
use hostile::{DECIMAL, TYPES};

/// Merges encode and scans decode on threads of their own.
const _: () = {
    const fn crosses_threads<T: Send + Sync>() {}
    crosses_threads::<PageEncoder>();
    crosses_threads::<Page>();
};

const IDENTITY: PageIdentity = PageIdentity {
    file: 7,
    offset: 1 << 33,
};

/// What the values of a column look like from row to row.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Constant,
    Small,
    Ascending,
    Runs,
    Outliers,
    /// Few distinct values, far apart.
    Few,
    /// In steps of 60, ascending or not.
    Multiples,
    Noise,
}

impl Shape {
    const ALL: [Self; 8] = [
        Self::Constant,
        Self::Small,
        Self::Ascending,
        Self::Runs,
        Self::Outliers,
        Self::Few,
        Self::Multiples,
        Self::Noise,
    ];
}

/// Which cells are NULL.
#[derive(Clone, Copy, Debug)]
enum Nulls {
    None,
    Rare,
    Half,
    Mostly,
    All,
}

/// A column to be made up.
#[derive(Clone, Copy, Debug)]
struct Recipe {
    column_type: ColumnType,
    shape: Shape,
    nulls: Nulls,
    seed: u64,
}

fn any_recipe() -> impl Strategy<Value = Recipe> {
    let nulls = [
        Nulls::None,
        Nulls::None,
        Nulls::Rare,
        Nulls::Half,
        Nulls::Mostly,
        Nulls::All,
    ];
    let parts = (
        proptest::sample::select(&TYPES[..]),
        proptest::sample::select(&Shape::ALL[..]),
        proptest::sample::select(nulls.to_vec()),
        any::<u64>(),
    );
    parts.prop_map(|(column_type, shape, nulls, seed)| Recipe {
        column_type,
        shape,
        nulls,
        seed,
    })
}

/// Mixes bits, so that consecutive numbers become noise.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl Recipe {
    fn number(&self, row: usize) -> u64 {
        let noise = mix(self.seed ^ row as u64);
        match self.shape {
            Shape::Constant => self.seed,
            Shape::Small => (self.seed % 1000) + noise % 13,
            Shape::Ascending => self.seed % 100_000 + (row as u64) * 5 + noise % 4,
            Shape::Runs => mix(self.seed ^ (row as u64 / 37)) % 5000,
            Shape::Outliers if noise.is_multiple_of(50) => noise,
            Shape::Outliers => noise % 100,
            Shape::Few => mix(noise % 20),
            Shape::Multiples => {
                let minutes = (row as u64 * 61) * (self.seed & 1) + noise % 300;
                (self.seed % 60 + 60 * minutes).wrapping_sub(9000)
            }
            Shape::Noise => noise,
        }
    }

    fn is_null(&self, row: usize) -> bool {
        let noise = mix(!self.seed ^ row as u64);
        match self.nulls {
            Nulls::None => false,
            Nulls::Rare => noise.is_multiple_of(200),
            Nulls::Half => noise.is_multiple_of(2),
            Nulls::Mostly => !noise.is_multiple_of(200),
            Nulls::All => true,
        }
    }

    fn text(&self, row: usize) -> String {
        let number = self.number(row);
        match self.shape {
            Shape::Constant if number.is_multiple_of(3) => String::new(),
            Shape::Outliers if number > 100 => "äöü long €".repeat(number as usize % 40),
            Shape::Ascending if self.seed.is_multiple_of(5) => format!("customer {number:09}"),
            Shape::Ascending if self.seed % 5 == 1 => {
                let folder = "deep/".repeat(self.seed as usize % 60);
                format!("{folder}{:07}/{}", number / 8, number % 2)
            }
            Shape::Noise if self.seed % 10 == 2 => {
                let letters = 2 + self.seed / 10 % 15;
                let digit = |place: usize| mix(number ^ place as u64) % letters;
                let digits = (0..row % 23).map(digit);
                digits.map(|digit| format!("{digit:x}")).collect()
            }
            Shape::Noise if self.seed % 10 == 6 => {
                let line =
                    |line: u64| format!("{line}: {} of {number}\n", mix(number ^ line) % 500);
                (0..40).map(line).collect()
            }
            Shape::Noise => format!("the number {number} and then {}", "z".repeat(row % 23)),
            _ => format!("value {number}"),
        }
    }

    fn cell<T>(&self, row: usize, cell: impl Fn(u64) -> T) -> Option<T> {
        (!self.is_null(row)).then(|| cell(self.number(row)))
    }

    fn primitive<P: ArrowPrimitiveType>(
        &self,
        rows: usize,
        cell: impl Fn(u64) -> P::Native + Copy,
    ) -> ArrayRef {
        let mut builder = PrimitiveBuilder::<P>::with_capacity(rows)
            .with_data_type(self.column_type.arrow_type());
        (0..rows).for_each(|row| builder.append_option(self.cell(row, cell)));
        Arc::new(builder.finish())
    }

    fn decimal(&self, number: u64) -> i128 {
        match self.seed % 3 {
            0 => i128::from(number as i64),
            1 => (1 << 90) + i128::from(number),
            _ => i128::from(number as i64) * i128::from(mix(number) >> 3),
        }
    }

    /// Decimal fractions, fractions of both signs without an end, or anything.
    fn double(&self, number: u64) -> f64 {
        match self.seed % 3 {
            0 => f64::from_bits(number),
            1 if number < 1 << 40 => number as f64 / 100.0 - 3.0,
            1 => f64::from_bits(number),
            _ => (number as f64).sin(),
        }
    }

    fn single(&self, number: u64) -> f32 {
        match self.seed % 3 {
            0 if number < 1 << 40 => number as f32 / 8.0,
            0 => f32::from_bits(number as u32),
            1 => (number as f32).sin(),
            _ => number as f32 / 7.0,
        }
    }

    fn array(&self, rows: usize) -> ArrayRef {
        match self.column_type {
            ColumnType::Bool => {
                let mut builder = BooleanBuilder::new();
                (0..rows)
                    .for_each(|row| builder.append_option(self.cell(row, |n| n.is_multiple_of(2))));
                Arc::new(builder.finish())
            }
            ColumnType::Int16 => self.primitive::<Int16Type>(rows, |n| n as i16),
            ColumnType::Int32 => self.primitive::<Int32Type>(rows, |n| n as i32),
            ColumnType::Int64 => self.primitive::<Int64Type>(rows, |n| n as i64),
            ColumnType::UInt64 => self.primitive::<UInt64Type>(rows, |n| n),
            ColumnType::Float32 => self.primitive::<Float32Type>(rows, |n| self.single(n)),
            ColumnType::Float64 => self.primitive::<Float64Type>(rows, |n| self.double(n)),
            ColumnType::Decimal { .. } => {
                self.primitive::<Decimal128Type>(rows, |n| self.decimal(n))
            }
            ColumnType::Date => self.primitive::<Date32Type>(rows, |n| n as i32),
            ColumnType::Time => self.primitive::<Time64MicrosecondType>(rows, |n| n as i64),
            ColumnType::Timestamp | ColumnType::TimestampTz => {
                self.primitive::<TimestampMicrosecondType>(rows, |n| n as i64)
            }
            ColumnType::Text => {
                let mut builder = StringBuilder::new();
                (0..rows).for_each(|row| {
                    builder.append_option((!self.is_null(row)).then(|| self.text(row)));
                });
                Arc::new(builder.finish())
            }
            ColumnType::Bytes => {
                let mut builder = BinaryBuilder::new();
                (0..rows).for_each(|row| {
                    builder.append_option((!self.is_null(row)).then(|| self.text(row)));
                });
                Arc::new(builder.finish())
            }
        }
    }
}

/// Arrays are equal cell by cell and bit by bit: floats too, NaNs included.
fn assert_same(actual: &dyn Array, expected: &dyn Array) {
    assert_eq!(actual.data_type(), expected.data_type());
    match actual.data_type() {
        arrow_schema::DataType::Float64 => {
            let bits = |array: &dyn Array| -> Vec<Option<u64>> {
                array
                    .as_primitive::<Float64Type>()
                    .iter()
                    .map(|v| v.map(f64::to_bits))
                    .collect()
            };
            assert_eq!(bits(actual), bits(expected));
        }
        arrow_schema::DataType::Float32 => {
            let bits = |array: &dyn Array| -> Vec<Option<u32>> {
                array
                    .as_primitive::<Float32Type>()
                    .iter()
                    .map(|v| v.map(f32::to_bits))
                    .collect()
            };
            assert_eq!(bits(actual), bits(expected));
        }
        _ => assert_eq!(actual.to_data(), expected.to_data()),
    }
}

/// Encodes one page of the arrays' first rows.
fn one_page(types: &[ColumnType], columns: &[ArrayRef], capacity: usize) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    let rows = PageEncoder::new(types, capacity).encode(columns, 0, IDENTITY, &mut bytes);
    (bytes, rows)
}

fn open(bytes: &[u8], types: &[ColumnType]) -> Result<Page, PageError> {
    Page::open(bytes.into(), &Arc::from(types), IDENTITY)
}
