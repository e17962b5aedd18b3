//! The twelve consistency conditions, clause 3.3.2.
//!
//! 1. All rows of the database are shown to [`Totals::add`], in any order: sums and counts by warehouse,
//!    district, customer and order are kept.
//! 2. [`Totals::check`] compares them.
//!
//! Condition 11 of the specification counts the orders that were delivered when the database was
//! loaded, and holds until the first delivery. Here those that were delivered since are added: the sum
//! of the customers' counts of deliveries.

use std::collections::HashMap;

use super::Scale;
use super::rows::{Order, OrderLine, Row};

type DistrictKey = (i16, i16);
type NumberKey = (i16, i16, i32);

/// A condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// 1 to 12.
    pub condition: u8,
    /// Where, and what was found.
    pub detail: String,
}

#[derive(Default)]
struct WarehouseTotals {
    rows: u32,
    ytd: i64,
    districts_ytd: i64,
    paid: i64,
}

#[derive(Default)]
struct DistrictTotals {
    rows: u32,
    ytd: i64,
    paid: i64,
    next_order: i32,
    orders: i64,
    last_order: i32,
    new_orders: i64,
    first_new_order: Option<i32>,
    last_new_order: Option<i32>,
    lines_of_orders: i64,
    lines: i64,
    deliveries: i64,
}

#[derive(Default)]
struct CustomerTotals {
    rows: u32,
    balance: i64,
    ytd_payment: i64,
    paid: i64,
    delivered: i64,
}

#[derive(Default)]
struct OrderTotals {
    order: Option<(i32, bool, i16)>,
    is_new: bool,
    lines: i16,
    delivered_lines: i16,
    delivered: i64,
}

/// Sums and counts over all rows; see the module.
#[derive(Default)]
pub struct Totals {
    warehouses: HashMap<i16, WarehouseTotals>,
    districts: HashMap<DistrictKey, DistrictTotals>,
    customers: HashMap<NumberKey, CustomerTotals>,
    orders: HashMap<NumberKey, OrderTotals>,
}

impl Totals {
    /// Counts a row.
    pub fn add(&mut self, row: &Row) {
        match row {
            Row::Warehouse(row) => {
                let totals = self.warehouses.entry(row.id).or_default();
                totals.rows += 1;
                totals.ytd = row.ytd;
            }
            Row::District(row) => {
                self.warehouses
                    .entry(row.warehouse)
                    .or_default()
                    .districts_ytd += row.ytd;
                let totals = self.district(row.warehouse, row.id);
                totals.rows += 1;
                (totals.ytd, totals.next_order) = (row.ytd, row.next_order);
            }
            Row::Customer(row) => {
                self.district(row.warehouse, row.district).deliveries += i64::from(row.deliveries);
                let key = (row.warehouse, row.district, row.id);
                let totals = self.customers.entry(key).or_default();
                totals.rows += 1;
                (totals.balance, totals.ytd_payment) = (row.balance, row.ytd_payment);
            }
            Row::History(row) => {
                self.warehouses.entry(row.warehouse).or_default().paid += row.amount;
                self.district(row.warehouse, row.district).paid += row.amount;
                let key = (row.customer_warehouse, row.customer_district, row.customer);
                self.customers.entry(key).or_default().paid += row.amount;
            }
            Row::Order(row) => self.add_order(row),
            Row::NewOrder(row) => {
                let totals = self.district(row.warehouse, row.district);
                totals.new_orders += 1;
                let first = totals.first_new_order.unwrap_or(i32::MAX);
                totals.first_new_order = Some(first.min(row.order));
                totals.last_new_order = totals.last_new_order.max(Some(row.order));
                self.order(row.warehouse, row.district, row.order).is_new = true;
            }
            Row::OrderLine(row) => self.add_line(row),
            Row::Item(_) | Row::Stock(_) => {}
        }
    }

    fn add_order(&mut self, row: &Order) {
        let totals = self.district(row.warehouse, row.district);
        totals.orders += 1;
        totals.last_order = totals.last_order.max(row.id);
        totals.lines_of_orders += i64::from(row.lines);
        let totals = self.order(row.warehouse, row.district, row.id);
        totals.order = Some((row.customer, row.carrier.is_some(), row.lines));
    }

    fn add_line(&mut self, row: &OrderLine) {
        self.district(row.warehouse, row.district).lines += 1;
        let totals = self.order(row.warehouse, row.district, row.order);
        totals.lines += 1;
        if row.delivery_date.is_some() {
            totals.delivered_lines += 1;
            totals.delivered += row.amount;
        }
    }

    fn district(&mut self, warehouse: i16, district: i16) -> &mut DistrictTotals {
        self.districts.entry((warehouse, district)).or_default()
    }

    fn order(&mut self, warehouse: i16, district: i16, order: i32) -> &mut OrderTotals {
        self.orders.entry((warehouse, district, order)).or_default()
    }

    /// The conditions that do not hold. `scale` is that of the loaded database.
    pub fn check(mut self, scale: &Scale) -> Vec<Broken> {
        let mut broken = Vec::new();
        self.check_warehouses(&mut broken);
        self.check_districts(scale, &mut broken);
        self.check_orders(&mut broken);
        self.check_customers(&mut broken);
        broken
    }

    fn check_warehouses(&self, broken: &mut Vec<Broken>) {
        for (id, totals) in &self.warehouses {
            let mut expect = expecting(broken, format!("warehouse {id}"));
            expect(1, "rows", totals.rows.into(), 1);
            expect(1, "sum of D_YTD", totals.districts_ytd, totals.ytd);
            expect(8, "sum of H_AMOUNT", totals.paid, totals.ytd);
        }
    }

    fn check_districts(&self, scale: &Scale, broken: &mut Vec<Broken>) {
        for (key, totals) in &self.districts {
            let mut expect = expecting(broken, format!("district {key:?}"));
            let last_order = i64::from(totals.next_order) - 1;
            expect(2, "rows", totals.rows.into(), 1);
            expect(2, "last order", totals.last_order.into(), last_order);
            if let (Some(first), Some(last)) = (totals.first_new_order, totals.last_new_order) {
                expect(2, "last new order", last.into(), last_order);
                let span = i64::from(last) - i64::from(first) + 1;
                expect(3, "new orders", totals.new_orders, span);
            }
            expect(4, "order lines", totals.lines, totals.lines_of_orders);
            expect(9, "sum of H_AMOUNT", totals.paid, totals.ytd);
            let delivered = i64::from(scale.first_new_order() - 1) + totals.deliveries;
            let old = totals.orders - totals.new_orders;
            expect(11, "orders that are not new", old, delivered);
        }
    }

    /// Leaves the sums of delivered lines with the customers.
    fn check_orders(&mut self, broken: &mut Vec<Broken>) {
        for (key, totals) in &self.orders {
            let mut expect = expecting(broken, format!("order {key:?}"));
            let Some((customer, is_delivered, lines)) = totals.order else {
                expect(6, "orders", 0, 1);
                continue;
            };
            expect(
                5,
                "new orders",
                totals.is_new.into(),
                (!is_delivered).into(),
            );
            expect(6, "order lines", totals.lines.into(), lines.into());
            let delivered_lines = if is_delivered { lines } else { 0 };
            let found = totals.delivered_lines;
            expect(7, "delivered lines", found.into(), delivered_lines.into());
            let of_customer = self.customers.entry((key.0, key.1, customer)).or_default();
            of_customer.delivered += totals.delivered;
        }
    }

    fn check_customers(&self, broken: &mut Vec<Broken>) {
        for (key, totals) in &self.customers {
            let mut expect = expecting(broken, format!("customer {key:?}"));
            expect(10, "rows", totals.rows.into(), 1);
            let owed = totals.delivered - totals.paid;
            expect(10, "C_BALANCE", totals.balance, owed);
            let both = totals.balance + totals.ytd_payment;
            expect(12, "C_BALANCE + C_YTD_PAYMENT", both, totals.delivered);
        }
    }
}

/// Notes what is not as it should be.
fn expecting(broken: &mut Vec<Broken>, of: String) -> impl FnMut(u8, &str, i64, i64) {
    move |condition, what, found, expected| {
        if found != expected {
            let detail = format!("{of}: {what} is {found}, not {expected}");
            broken.push(Broken { condition, detail });
        }
    }
}
