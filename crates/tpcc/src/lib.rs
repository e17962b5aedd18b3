//! TPC-C on the primary.
//!
//! * [`schema`]: the nine tables. [`calls`]: transactions as calls, and which partitions they name.
//! * [`new_order`], [`payment`], [`order_status`], [`delivery`], [`stock_level`]: the procedures;
//!   [`customer_search`]: customers by last name.
//! * [`load`]: the rows that a database begins with; [`dump`]: all rows back, for the conditions.
//! * [`row_cells`]: rows as cells.
//!
//! Data, mix and conditions are in `contender::tpcc`, which the peers use, too. A crate of its own, so that
//! it is tested and tried out without building what the other experiments need.
//!
//! A warehouse and what belongs to it is in one partition; every partition has all items.

pub mod calls;
mod customer_search;
mod delivery;
pub mod dump;
pub mod load;
mod new_order;
mod order_status;
mod payment;
mod row_cells;
pub mod schema;
mod stock_level;
