//! What the orders of the workload sum up to: balances, sales, totals.
//!
//! Two ways to the same state: [`Ledger::record`] adds one order; [`Ledger::before`] computes
//! it for any step in bounded time, from the number of times that each basket has been ordered
//! (see [`super::workload`]). The first runs with the stream, the second starts it again.

use super::names::{Names, SHOP};
use super::tables::{OPEN, Table, WAITING};
use super::workload::{BASKETS, Basket, CUSTOMERS, ITEMS, Order, SLOTS, Workload};

/// A customer's orders so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) orders: i32,
    /// Cents.
    pub(crate) balance: i64,
    /// When the last one was placed, microseconds since 1970-01-01.
    pub(crate) last_order_at_us: Option<i64>,
}

/// An item's sales so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sales {
    /// Pieces.
    pub(crate) sold: i64,
    /// Cents.
    pub(crate) revenue: i64,
}

/// What all tables hold after a step: what a correct replica must answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Rows of `orders`.
    pub orders: u64,
    /// Rows of `order_lines`.
    pub lines: u64,
    /// Cents: the sum of all lines, of all orders, of all balances and of all revenues.
    pub amount: i64,
    /// Bytes of all rows' cells, uncompressed: fixed-width values and text, without any
    /// overhead of rows, keys or pages.
    pub raw_bytes: u64,
}

impl Totals {
    /// Rows of all five tables.
    pub fn rows(&self) -> u64 {
        self.orders + self.lines + u64::from(CUSTOMERS) + u64::from(ITEMS) + 1
    }
}

/// All sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ledger {
    accounts: Vec<Account>,
    sales: Vec<Sales>,
    pub(crate) totals: Totals,
}

impl Ledger {
    /// Before the first order.
    pub(crate) fn new(workload: Workload) -> Self {
        let raw_bytes = static_bytes(Names::new(workload.draw()));
        Self {
            accounts: vec![Account::default(); CUSTOMERS as usize],
            sales: vec![Sales::default(); ITEMS as usize],
            totals: Totals {
                raw_bytes,
                ..Totals::default()
            },
        }
    }

    /// After all steps before `step`.
    pub(crate) fn before(workload: Workload, step: u64) -> Self {
        let mut ledger = Self::new(workload);
        let ordered = workload.committed_before(step);
        let (epoch, index) = (ordered / SLOTS, ordered % SLOTS);
        let mut epochs_of_slot = vec![epoch; SLOTS as usize];
        for ordinal in ordered - index..ordered {
            epochs_of_slot[workload.slot_of_ordinal(ordinal) as usize] += 1;
        }
        for (slot, &epochs) in (0..).zip(&epochs_of_slot) {
            ledger.add_slot(workload, slot, epochs);
        }
        // Each slot's last order is in this epoch or the one before.
        for ordinal in (ordered - index).saturating_sub(SLOTS)..ordered {
            let customer = workload.customer_of_slot(workload.slot_of_ordinal(ordinal));
            let placed_at = workload.moment_us(workload.step_of_ordinal(ordinal));
            ledger.account_mut(customer).last_order_at_us = Some(placed_at);
        }
        ledger
    }

    /// Adds the orders of a slot in its first `epochs` epochs.
    fn add_slot(&mut self, workload: Workload, slot: u64, epochs: u64) {
        let customer = workload.customer_of_slot(slot);
        for index in 0..epochs.min(BASKETS) {
            let times = epochs / BASKETS + u64::from(index < epochs % BASKETS);
            self.add_basket(workload, customer, Basket::of(slot, index), times);
        }
    }

    /// Adds an order that is not rolled back. Returns its total in cents.
    pub(crate) fn record(&mut self, workload: Workload, order: &Order) -> i64 {
        let total = self.add_basket(workload, order.customer, order.basket, 1);
        self.account_mut(order.customer).last_order_at_us = Some(order.placed_at_us);
        total
    }

    /// Adds a basket ordered `times` times. Returns its total in cents, once.
    fn add_basket(&mut self, workload: Workload, customer: i32, basket: Basket, times: u64) -> i64 {
        let names = Names::new(workload.draw());
        let mut total = 0;
        let mut bytes = order_bytes(names, basket);
        for line in workload.lines(basket) {
            total += line.amount;
            bytes += line_bytes(names, basket, line.number);
            let sales = &mut self.sales[line.item as usize - 1];
            sales.sold += i64::from(line.quantity) * times as i64;
            sales.revenue += line.amount * times as i64;
        }
        let account = self.account_mut(customer);
        account.orders += times as i32;
        account.balance += total * times as i64;
        self.totals.orders += times;
        self.totals.lines += workload.line_count(basket) * times;
        self.totals.amount += total * times as i64;
        self.totals.raw_bytes += bytes * times;
        total
    }

    fn account_mut(&mut self, customer: i32) -> &mut Account {
        &mut self.accounts[customer as usize - 1]
    }
}

/// Bytes of the rows of customers, items and the shop: they are updated, but no update changes a length.
fn static_bytes(names: Names) -> u64 {
    let customers = (1..=CUSTOMERS as i32).map(|customer| {
        let texts = names.city(customer).len() + names.segment(customer).len();
        Table::Customers.fixed_bytes() + texts as u64 + written(|out| names.customer(customer, out))
    });
    let items = (1..=ITEMS as i32).map(|item| {
        let category = names.category(item).len() as u64;
        Table::Items.fixed_bytes() + category + written(|out| names.item(item, out))
    });
    let shop = Table::Shops.fixed_bytes() + SHOP.len() as u64;
    customers.sum::<u64>() + items.sum::<u64>() + shop
}

/// Bytes of a row of `orders`. Its two statuses have equally many letters.
fn order_bytes(names: Names, basket: Basket) -> u64 {
    let clerk = written(|out| names.clerk(0, out));
    let status = OPEN.len() as u64;
    Table::Orders.fixed_bytes() + clerk + status + written(|out| names.remark(basket, out))
}

/// Bytes of a row of `order_lines`. Its two statuses have equally many letters.
fn line_bytes(names: Names, basket: Basket, line: i16) -> u64 {
    let texts = WAITING.len() + names.carrier(basket, line).len();
    Table::OrderLines.fixed_bytes() + texts as u64
}

/// The length of what `write` writes.
fn written(write: impl FnOnce(&mut Length)) -> u64 {
    let mut length = Length(0);
    write(&mut length);
    length.0
}

/// Counts bytes instead of keeping them.
struct Length(u64);

impl std::fmt::Write for Length {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 += text.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_equals_recorded() {
        let workload = Workload::new(42);
        let mut recorded = Ledger::new(workload);
        let all_baskets = BASKETS * SLOTS * 100 / 99;
        let stops = [0, 1, 99, 100, 33_500, 70_001, all_baskets + 50_000];
        let mut next = 0;
        for stop in stops {
            for step in next..stop {
                let order = workload.order(step);
                if !order.rolled_back {
                    recorded.record(workload, &order);
                }
            }
            next = stop;
            assert!(
                Ledger::before(workload, stop) == recorded,
                "after {stop} steps"
            );
        }
    }

    #[test]
    fn sums_agree_far_along_where_baskets_repeat() {
        let ledger = Ledger::before(Workload::new(7), 2_000_000);
        let balances: i64 = ledger.accounts.iter().map(|a| a.balance).sum();
        let revenues: i64 = ledger.sales.iter().map(|s| s.revenue).sum();
        let orders: i64 = ledger.accounts.iter().map(|a| i64::from(a.orders)).sum();
        assert_eq!(balances, ledger.totals.amount);
        assert_eq!(revenues, ledger.totals.amount);
        assert_eq!(orders, 1_980_000);
        assert_eq!(ledger.totals.orders, 1_980_000);
    }
}
