//! The built-in order-entry source: customers, items, orders and their lines, after the
//! TPC-C/H workload of Rose section 4.4.
//!
//! It feeds the same apply loop as PostgreSQL does and needs nothing installed.
//!
//! * [`workload`]: what happens at each step, as a function of a seed.
//! * [`tables`]: the four tables.
//! * [`stream`]: the workload as change batches, from any command on.
//! * [`source`]: the stream at a pace, into the apply loop.
//!
//! Three sums are equal at every position, across all tables: the amounts of all order lines,
//! the totals of all orders, the balances of all customers (and the revenues of all items).

mod calendar;
mod deliveries;
mod draw;
mod ledger;
mod names;
mod rows;
pub mod source;
pub mod stream;
pub mod tables;
pub mod workload;

#[cfg(test)]
mod tests;

pub use ledger::Totals;
pub use source::{OrderOptions, OrderProgress, OrderSource};
pub use stream::OrderStream;
pub use tables::Table;
pub use workload::Workload;
