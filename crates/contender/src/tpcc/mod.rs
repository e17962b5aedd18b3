//! TPC-C, revision 5.11: its data, its transactions and its consistency, whatever engine runs them.
//!
//! * [`rows`]: the rows of the nine tables; [`load`]: the rows that a database begins with.
//! * [`transactions`]: what the five transactions are asked, in the standard mix.
//! * [`random`]: the distributions of the specification, clauses 2.1.6 and 4.3.2.
//! * [`conditions`]: the twelve consistency conditions, over all rows.
//!
//! Money is in cents, taxes and discounts in ten-thousandths: integers, so that sums are exact. Keying
//! and thinking times are left out: the experiments ask for as much as an engine can do.

pub mod conditions;
pub mod load;
pub mod random;
pub mod rows;
#[cfg(test)]
mod tests;
pub mod transactions;

/// Districts of a warehouse.
pub const DISTRICTS: i16 = 10;

/// How large the database is. Only the number of warehouses is left open by the specification; tests have
/// fewer of everything else, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Warehouses.
    pub warehouses: i16,
    /// Items, and stock rows of a warehouse.
    pub items: i32,
    /// Customers of a district, and orders that it begins with.
    pub customers: i32,
}

impl Scale {
    /// The specification's, with so many warehouses: about 100 MB each.
    pub fn standard(warehouses: i16) -> Self {
        Self {
            warehouses,
            items: 100_000,
            customers: 3_000,
        }
    }

    /// The first order of a district that is not delivered when the database is loaded: 2,101 of 3,000.
    pub fn first_new_order(&self) -> i32 {
        self.customers * 7 / 10 + 1
    }

    /// Last names that are in use.
    pub fn last_names(&self) -> i32 {
        self.customers.min(1_000)
    }
}
