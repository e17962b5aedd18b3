//! Rows that the shop begins with, and numbers that they share with those of orders.

use types::Value;

use super::names::Names;
use super::shop_status::SHOP;
use super::workload::Workload;
use super::{calendar, draw::Purpose};

/// An item is restocked to this many pieces when it has run out.
pub(super) const RESTOCK: i64 = 1_000;
/// The oldest customers came this many days before the first day of business.
const SINCE_DAYS: u64 = 3_650;

/// A sum of money in cents; all such columns have two digits after the point.
pub(super) fn money(cents: i64) -> Value<'static> {
    Value::Decimal(cents.into())
}

/// The rows of one workload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    workload: Workload,
    names: Names,
}

impl Rows {
    pub(super) fn new(workload: Workload) -> Self {
        Self {
            workload,
            names: Names::new(workload.draw()),
        }
    }

    /// The shop, which expects order 1.
    pub(super) fn shop(self) -> [Value<'static>; 4] {
        let name = Value::Bytes(super::names::SHOP.as_bytes());
        [SHOP, name, Value::Int(1), Value::Null]
    }

    /// A customer who has not ordered yet. The name goes into `text`.
    pub(super) fn customer(self, customer: i32, text: &mut String) -> [Value<'_>; 8] {
        let age = self
            .workload
            .draw()
            .at(Purpose::CustomerSince, customer as u64, 0);
        text.clear();
        self.names.customer(customer, text);
        let since = calendar::FIRST_DAY - 1 - age.below(SINCE_DAYS) as i32;
        [
            Value::Int(customer.into()),
            Value::Bytes(text.as_bytes()),
            Value::Bytes(self.names.city(customer).as_bytes()),
            Value::Bytes(self.names.segment(customer).as_bytes()),
            Value::Int(since.into()),
            Value::Int(0),
            money(0),
            Value::Null,
        ]
    }

    /// An item that has not been sold yet. The name goes into `text`.
    pub(super) fn item(self, item: i32, text: &mut String) -> [Value<'_>; 7] {
        text.clear();
        self.names.item(item, text);
        [
            Value::Int(item.into()),
            Value::Bytes(text.as_bytes()),
            Value::Bytes(self.names.category(item).as_bytes()),
            money(self.workload.unit_price(item)),
            Value::Int(RESTOCK),
            Value::Int(0),
            money(0),
        ]
    }
}
