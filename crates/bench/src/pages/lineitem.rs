//! TPC-H's lineitem, row for row dbgen's, in its key order.
//!
//! Types are those that a replica of the specification's table has: decimals of 15 digits in
//! 128-bit cells, as Arrow keeps them.

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Int32Array, StringArray};
use tpchgen::dates::TPCHDate;
use tpchgen::generators::{LineItem, LineItemGenerator};
use types::ColumnType;

use super::data_set::DataSet;

const PRECISION: u8 = 15;
const SCALE: i8 = 2;
const MONEY: ColumnType = ColumnType::Decimal {
    precision: PRECISION,
    scale: SCALE,
};

const COLUMNS: [(&str, ColumnType); 16] = [
    ("l_orderkey", ColumnType::Int32),
    ("l_partkey", ColumnType::Int32),
    ("l_suppkey", ColumnType::Int32),
    ("l_linenumber", ColumnType::Int32),
    ("l_quantity", MONEY),
    ("l_extendedprice", MONEY),
    ("l_discount", MONEY),
    ("l_tax", MONEY),
    ("l_returnflag", ColumnType::Text),
    ("l_linestatus", ColumnType::Text),
    ("l_shipdate", ColumnType::Date),
    ("l_commitdate", ColumnType::Date),
    ("l_receiptdate", ColumnType::Date),
    ("l_shipinstruct", ColumnType::Text),
    ("l_shipmode", ColumnType::Text),
    ("l_comment", ColumnType::Text),
];

/// Lines of scale 1, about.
const LINES_AT_SCALE_1: f64 = 6_001_215.0;

/// The first `rows` lines of a scale that has a few more.
pub fn data_set(rows: usize) -> Result<DataSet> {
    let scale = rows as f64 * 1.01 / LINES_AT_SCALE_1;
    let generator = LineItemGenerator::new(scale, 1, 1);
    let lines: Vec<LineItem<'_>> = generator.iter().take(rows).collect();
    let arrays = vec![
        int32(&lines, |line| line.l_orderkey)?,
        int32(&lines, |line| line.l_partkey)?,
        int32(&lines, |line| line.l_suppkey)?,
        int32(&lines, |line| i64::from(line.l_linenumber))?,
        money(&lines, |line| line.l_quantity * 100)?,
        money(&lines, |line| line.l_extendedprice.0)?,
        money(&lines, |line| line.l_discount.0)?,
        money(&lines, |line| line.l_tax.0)?,
        text(&lines, |line| line.l_returnflag),
        text(&lines, |line| line.l_linestatus),
        date(&lines, |line| line.l_shipdate),
        date(&lines, |line| line.l_commitdate),
        date(&lines, |line| line.l_receiptdate),
        text(&lines, |line| line.l_shipinstruct),
        text(&lines, |line| line.l_shipmode),
        text(&lines, |line| line.l_comment),
    ];
    DataSet::new("lineitem", &COLUMNS, &[0, 3], "l_shipdate", arrays)
}

fn int32(lines: &[LineItem<'_>], of: fn(&LineItem<'_>) -> i64) -> Result<ArrayRef> {
    let cells: Result<Vec<i32>, _> = lines.iter().map(|line| i32::try_from(of(line))).collect();
    let cells = cells.context("a key of lineitem exceeds 32 bits")?;
    Ok(Arc::new(Int32Array::from(cells)))
}

fn money(lines: &[LineItem<'_>], cents: fn(&LineItem<'_>) -> i64) -> Result<ArrayRef> {
    let cells = lines.iter().map(|line| i128::from(cents(line)));
    let array = Decimal128Array::from_iter_values(cells);
    Ok(Arc::new(array.with_precision_and_scale(PRECISION, SCALE)?))
}

fn date(lines: &[LineItem<'_>], of: fn(&LineItem<'_>) -> TPCHDate) -> ArrayRef {
    let cells = lines.iter().map(|line| of(line).to_unix_epoch());
    Arc::new(Date32Array::from_iter_values(cells))
}

fn text<'a>(lines: &[LineItem<'a>], of: impl Fn(&LineItem<'a>) -> &'a str) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(lines.iter().map(of)))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;

    use super::*;

    #[test]
    fn rows_are_as_many_as_wanted_and_in_key_order() {
        let data = data_set(20_000).unwrap();
        assert_eq!(data.rows(), 20_000);
        let orders = data.arrays[0].as_primitive::<Int32Type>().values();
        let lines = data.arrays[3].as_primitive::<Int32Type>().values();
        assert!(orders.iter().zip(lines.iter()).is_sorted());
    }
}
