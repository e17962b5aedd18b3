//! The built-in order entry: customers, items, orders and their lines, after the TPC-C/H workload of Rose
//! section 4.4, on the built-in primary.
//!
//! * [`workload`]: what happens at each step, as a function of a seed; [`Totals`]: what it sums up to.
//! * [`tables`]: the five tables. [`calls`]: the procedures, and how they are called.
//! * [`desk`]: calls them step by step, at a pace; [`primary_lookup`]: asks after lines.
//!   [`positions`]: where in the primary's log a step is.
//!
//! Three sums are equal at every position, across all tables: the amounts of all order lines,
//! the totals of all orders, the balances of all customers (and the revenues of all items).

mod calendar;
pub mod calls;
mod deliver;
mod deliveries;
pub mod desk;
mod draw;
mod ledger;
mod line_status;
mod load;
mod names;
mod pace;
mod place_order;
pub mod positions;
pub mod primary_lookup;
mod rows;
mod shop_status;
pub mod tables;
pub mod workload;

#[cfg(test)]
mod tests;

pub use desk::{DeskError, OrderDesk, OrderOptions, OrderProgress};
pub use ledger::Totals;
pub use tables::Table;
pub use workload::Workload;

use serde_json::{Value, json};

/// Grows when the same seed begins to mean other orders.
const GENERATION: u64 = 2;

/// What a data directory remembers of its orders.
pub fn identity(seed: u64) -> Value {
    json!({ "name": "orders", "generation": GENERATION, "seed": seed })
}
