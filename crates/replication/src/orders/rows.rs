//! Rows of the four tables as versions.
//!
//! Each function writes one full row, as a source's log carries it: an update has all cells of
//! the new row and nothing of the old one.

use types::position::CommitPosition;
use types::rows::{ColumnBuilder, RowsBuilder, VersionKind};

use super::ledger::{Account, Sales};
use super::names::Names;
use super::tables::{ARRIVED, DONE, OPEN, WAITING};
use super::workload::{Line, Order, Workload};
use super::{calendar, draw::Purpose};

/// An item is restocked to this many pieces when it has run out.
const RESTOCK: i64 = 1_000;
/// The oldest customers came this many days before the first day of business.
const SINCE_DAYS: u64 = 3_650;

/// Writes the cells of one version from left to right.
struct Cells<'a> {
    builder: &'a mut RowsBuilder,
    next: usize,
}

/// Defines a method that appends one cell of a kind.
macro_rules! append {
    ($method:ident, $variant:ident, $value:ty) => {
        fn $method(mut self, value: $value) -> Self {
            match self.column() {
                ColumnBuilder::$variant(builder) => builder.append_value(value),
                other => unreachable!("the row follows its schema, which has {other:?} here"),
            }
            self
        }
    };
}

impl<'a> Cells<'a> {
    fn new(builder: &'a mut RowsBuilder) -> Self {
        Self { builder, next: 0 }
    }

    fn column(&mut self) -> &mut ColumnBuilder {
        self.next += 1;
        &mut self.builder.columns_mut()[self.next - 1]
    }

    append!(int16, Int16, i16);
    append!(int32, Int32, i32);
    append!(int64, Int64, i64);
    append!(decimal, Decimal, i128);
    append!(date, Date, i32);
    append!(timestamp, Timestamp, i64);
    append!(text, Text, &str);

    /// A sum of money in cents; all such columns have two digits after the point.
    fn money(self, cents: i64) -> Self {
        self.decimal(i128::from(cents))
    }

    fn timestamp_or_null(mut self, value: Option<i64>) -> Self {
        match value {
            Some(value) => self.timestamp(value),
            None => {
                self.column().append_null();
                self
            }
        }
    }

    /// A text that is written in place.
    fn text_by(mut self, write: impl FnOnce(&mut arrow_array::builder::StringBuilder)) -> Self {
        match self.column() {
            ColumnBuilder::Text(builder) => {
                write(builder);
                builder.append_value("");
            }
            other => unreachable!("the row follows its schema, which has {other:?} here"),
        }
        self
    }

    fn put(self, position: CommitPosition) {
        self.builder.finish_version(position, VersionKind::Put);
    }

    /// Ends a tombstone, of which the key cells are written.
    fn delete(self, position: CommitPosition) {
        for column in &mut self.builder.columns_mut()[self.next..] {
            column.append_null();
        }
        self.builder.finish_version(position, VersionKind::Delete);
    }
}

/// Writes rows of one workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    workload: Workload,
    names: Names,
}

impl Rows {
    pub(crate) fn new(workload: Workload) -> Self {
        Self {
            workload,
            names: Names::new(workload.draw()),
        }
    }

    pub(crate) fn customer(
        self,
        builder: &mut RowsBuilder,
        position: CommitPosition,
        customer: i32,
        account: Account,
    ) {
        let age = self
            .workload
            .draw()
            .at(Purpose::CustomerSince, customer as u64, 0);
        Cells::new(builder)
            .int32(customer)
            .text_by(|out| self.names.customer(customer, out))
            .text(self.names.city(customer))
            .text(self.names.segment(customer))
            .date(calendar::FIRST_DAY - 1 - age.below(SINCE_DAYS) as i32)
            .int32(account.orders)
            .money(account.balance)
            .timestamp_or_null(account.last_order_at_us)
            .put(position);
    }

    pub(crate) fn item(
        self,
        builder: &mut RowsBuilder,
        position: CommitPosition,
        item: i32,
        sales: Sales,
    ) {
        Cells::new(builder)
            .int32(item)
            .text_by(|out| self.names.item(item, out))
            .text(self.names.category(item))
            .money(self.workload.unit_price(item))
            .int32((RESTOCK - sales.sold % RESTOCK) as i32)
            .int64(sales.sold)
            .money(sales.revenue)
            .put(position);
    }

    pub(crate) fn order(
        self,
        builder: &mut RowsBuilder,
        position: CommitPosition,
        order: &Order,
        completed_at_us: Option<i64>,
    ) {
        let total = self
            .workload
            .lines(order.basket)
            .map(|line| line.amount)
            .sum();
        Cells::new(builder)
            .int64(order.id)
            .int32(order.customer)
            .timestamp(order.placed_at_us)
            .text(if completed_at_us.is_some() {
                DONE
            } else {
                OPEN
            })
            .int16(self.workload.line_count(order.basket) as i16)
            .money(total)
            .timestamp_or_null(completed_at_us)
            .text_by(|out| self.names.clerk(order.step, out))
            .text_by(|out| self.names.remark(order.basket, out))
            .put(position);
    }

    pub(crate) fn order_tombstone(
        self,
        builder: &mut RowsBuilder,
        position: CommitPosition,
        order: &Order,
    ) {
        Cells::new(builder).int64(order.id).delete(position);
    }

    pub(crate) fn line(
        self,
        builder: &mut RowsBuilder,
        position: CommitPosition,
        order: &Order,
        line: &Line,
        delivered_at_us: Option<i64>,
    ) {
        Cells::new(builder)
            .int32(line.item)
            .int64(order.id)
            .int16(line.number)
            .int32(line.quantity)
            .money(line.unit_price)
            .decimal(i128::from(line.discount))
            .money(line.amount)
            .text(if delivered_at_us.is_some() {
                ARRIVED
            } else {
                WAITING
            })
            .date(order.promised_on())
            .timestamp_or_null(delivered_at_us)
            .text(self.names.carrier(order.basket, line.number))
            .put(position);
    }

    pub(crate) fn line_tombstone(
        self,
        builder: &mut RowsBuilder,
        position: CommitPosition,
        order: &Order,
        line: &Line,
    ) {
        Cells::new(builder)
            .int32(line.item)
            .int64(order.id)
            .int16(line.number)
            .delete(position);
    }
}
