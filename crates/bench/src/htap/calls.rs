//! The transactions that change rows, as calls of a source on one connection.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use contender::tpcc::transactions::{Delivery, Line, NewOrder, Payment};

/// What came of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows that it has changed, the stopwatch's not counted.
    pub changes: u64,
    /// What it has left in its writer's row of the stopwatch: microseconds since 1970.
    pub stamp: i64,
}

/// A writer's connection to a source. What changes no row leaves no stamp.
pub trait Calls: Send {
    /// Lines that name an item twice are taken for one.
    fn new_order(&mut self, order: NewOrder) -> Result<Done>;
    /// A customer without a number is the middle one of those with the last name, if there is any.
    fn payment(&mut self, payment: &Payment) -> Result<Done>;
    /// The oldest order of each district of a warehouse.
    fn delivery(&mut self, delivery: &Delivery) -> Result<Done>;
}

/// Microseconds since 1970.
pub fn now_us() -> Result<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.context("a clock before 1970")?;
    Ok(i64::try_from(since.as_micros())?)
}

/// The lines of an order with each item once, in an order in which no two orders can wait for each other.
pub fn distinct(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_unstable_by_key(|line| (line.supply_warehouse, line.item));
    lines.dedup_by_key(|line| (line.supply_warehouse, line.item));
    lines
}
