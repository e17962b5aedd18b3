//! The orders schema (Table 5): lines of orders, keyed by product and date.
//!
//! Distributions are TPC-H's, as the paper says: 200,000 parts at scale 1 with four suppliers
//! each, one to seven lines an order, quantities 1 to 50, order dates over seven years; as the
//! paper adds, dates are clustered on weekdays, around Mother's Day and in the last weeks of a
//! year. Orders arrive in order of time, so their numbers ascend with it. Most are delivered.
//!
//! Types are Table 5's. Pages have no 8-bit type: columns of `int8` are 16-bit here, and
//! count 16 bits uncompressed for every contender.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::{ArrayRef, Int16Array, Int32Array, Int64Array};
use types::ColumnType;

use super::data_set::DataSet;
use super::draw::Draw;

const COLUMNS: [(&str, ColumnType); 7] = [
    ("part_supplier", ColumnType::Int32),
    ("year", ColumnType::Int16),
    ("week", ColumnType::Int16),
    ("day_of_week", ColumnType::Int16),
    ("order_number", ColumnType::Int64),
    ("quantity", ColumnType::Int16),
    ("delivery_status", ColumnType::Int16),
];

const FIRST_YEAR: i32 = 1992;
const YEARS: i32 = 7;
const WEEKS: i32 = 52;
/// Lines of a scale of 1, and its parts: the parts grow with the lines.
const LINES_AT_SCALE_1: usize = 6_000_000;
const PARTS_AT_SCALE_1: usize = 200_000;
const SUPPLIERS_A_PART: u32 = 4;
const MOTHERS_DAY_WEEK: i32 = 19;
const DELIVERED: f64 = 0.97;

/// A line in the order of its fields, which is the key's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    part_supplier: i32,
    day: Day,
    order: i64,
    quantity: i16,
    delivered: i16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Day {
    year: i16,
    week: i16,
    day_of_week: i16,
}

/// `rows` lines.
pub fn data_set(rows: usize) -> Result<DataSet> {
    let lines = lines(rows);
    let int16 =
        |of: fn(&Line) -> i16| Arc::new(lines.iter().map(of).collect::<Int16Array>()) as ArrayRef;
    let part: Int32Array = lines.iter().map(|line| line.part_supplier).collect();
    let order: Int64Array = lines.iter().map(|line| line.order).collect();
    let arrays = vec![
        Arc::new(part) as ArrayRef,
        int16(|line| line.day.year),
        int16(|line| line.day.week),
        int16(|line| line.day.day_of_week),
        Arc::new(order),
        int16(|line| line.quantity),
        int16(|line| line.delivered),
    ];
    DataSet::new("orders", &COLUMNS, &[0, 1, 2, 3, 4], "quantity", arrays)
}

fn lines(rows: usize) -> Vec<Line> {
    let mut draw = Draw::new(1992);
    let parts = (rows * PARTS_AT_SCALE_1 / LINES_AT_SCALE_1).max(1);
    let part_suppliers =
        u32::try_from(parts).unwrap_or(u32::MAX / SUPPLIERS_A_PART) * SUPPLIERS_A_PART;
    let days = days(rows.div_ceil(4), &mut draw);
    let mut lines = Vec::with_capacity(rows + 7);
    for (order, &day) in (0..).zip(days.iter().cycle()) {
        for _ in 0..=draw.below(7) {
            lines.push(Line {
                part_supplier: draw.below(part_suppliers).cast_signed(),
                day,
                order,
                quantity: draw.between(1, 50) as i16,
                delivered: i16::from(draw.chance(DELIVERED)),
            });
        }
        if lines.len() >= rows {
            break;
        }
    }
    lines.truncate(rows);
    lines.sort_unstable();
    lines
}

/// The days of so many orders, in order of time.
fn days(orders: usize, draw: &mut Draw) -> Vec<Day> {
    let mut days: Vec<Day> = (0..orders).map(|_| day(draw)).collect();
    days.sort_unstable();
    days
}

fn day(draw: &mut Draw) -> Day {
    let week = match draw.below(100) {
        0..6 => draw.between(MOTHERS_DAY_WEEK - 1, MOTHERS_DAY_WEEK),
        6..18 => draw.between(WEEKS - 3, WEEKS),
        _ => draw.between(1, WEEKS),
    };
    let day_of_week = if draw.chance(0.9) {
        draw.between(1, 5)
    } else {
        draw.between(6, 7)
    };
    Day {
        year: (FIRST_YEAR + draw.between(0, YEARS - 1)) as i16,
        week: week as i16,
        day_of_week: day_of_week as i16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_in_key_order_and_orders_in_order_of_time() {
        let lines = lines(10_000);
        assert_eq!(lines.len(), 10_000);
        assert!(lines.is_sorted());
        let mut by_order = lines;
        by_order.sort_unstable_by_key(|line| (line.order, line.day));
        assert!(by_order.is_sorted_by_key(|line| line.day));
    }

    #[test]
    fn a_part_has_about_thirty_lines() {
        let lines = lines(60_000);
        let mut parts: Vec<i32> = lines
            .iter()
            .map(|line| line.part_supplier / SUPPLIERS_A_PART.cast_signed())
            .collect();
        parts.dedup();
        assert!((25..35).contains(&(lines.len() / parts.len())));
    }
}
