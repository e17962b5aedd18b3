//! Transactions as calls: the procedures in their order, and their parameters.

use std::sync::Arc;

use contender::tpcc::transactions::{Line, Transaction, Who};
use oltp::{PartitionSet, Procedure, ProcedureNumber};

use crate::delivery::Delivery;
use crate::dump::Dump;
use crate::load::Load;
use crate::new_order::NewOrder;
use crate::order_status::OrderStatus;
use crate::payment::Payment;
use crate::schema::partition_of;
use crate::stock_level::StockLevel;
use oltp::parameters::{Reader, Writer};

pub(crate) const LOAD: ProcedureNumber = ProcedureNumber(5);
pub(crate) const DUMP: ProcedureNumber = ProcedureNumber(6);

/// Names of the five transactions, by the numbers of their procedures.
pub const NAMES: [&str; 5] = [
    "new-order",
    "payment",
    "order-status",
    "delivery",
    "stock-level",
];

/// Lines of an order at most.
pub(crate) const LINES_MAX: usize = 15;

/// All procedures.
pub fn procedures() -> Vec<Arc<dyn Procedure>> {
    vec![
        Arc::new(NewOrder),
        Arc::new(Payment),
        Arc::new(OrderStatus),
        Arc::new(Delivery),
        Arc::new(StockLevel),
        Arc::new(Load),
        Arc::new(Dump),
    ]
}

/// Makes `out` the parameters of a transaction. The home warehouse comes first in all of them.
pub fn encode(transaction: &Transaction, out: &mut Vec<u8>) -> ProcedureNumber {
    out.clear();
    let mut out = Writer(out);
    match transaction {
        Transaction::NewOrder(order) => {
            out.i16(order.warehouse)
                .i16(order.district)
                .i32(order.customer);
            for line in &order.lines {
                out.i32(line.item)
                    .i16(line.supply_warehouse)
                    .i16(line.quantity);
            }
            ProcedureNumber(0)
        }
        Transaction::Payment(payment) => {
            out.i16(payment.warehouse)
                .i16(payment.customer_warehouse)
                .i16(payment.district)
                .i16(payment.customer_district)
                .i64(payment.amount);
            encode_who(&payment.customer, &mut out);
            ProcedureNumber(1)
        }
        Transaction::OrderStatus(status) => {
            out.i16(status.warehouse).i16(status.district);
            encode_who(&status.customer, &mut out);
            ProcedureNumber(2)
        }
        Transaction::Delivery(delivery) => {
            out.i16(delivery.warehouse).i16(delivery.carrier);
            ProcedureNumber(3)
        }
        Transaction::StockLevel(level) => {
            out.i16(level.warehouse)
                .i16(level.district)
                .i16(level.threshold);
            ProcedureNumber(4)
        }
    }
}

fn encode_who(who: &Who, out: &mut Writer<'_>) {
    match who {
        Who::Id(id) => out.i32(*id),
        Who::Last(name) => out.i32(0).text(name.as_bytes()),
    };
}

/// A customer as parameters name one.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'p> {
    Id(i32),
    Last(&'p [u8]),
}

impl<'p> Wanted<'p> {
    pub(crate) fn decode(parameters: &mut Reader<'p>) -> Self {
        match parameters.i32() {
            0 => Self::Last(parameters.text()),
            id => Self::Id(id),
        }
    }
}

/// The lines of an order, to the end of its parameters.
pub(crate) fn decode_lines(mut parameters: Reader<'_>) -> impl Iterator<Item = Line> {
    std::iter::from_fn(move || {
        (!parameters.0.is_empty()).then(|| Line {
            item: parameters.i32(),
            supply_warehouse: parameters.i16(),
            quantity: parameters.i16(),
        })
    })
}

/// The partition of the home warehouse.
pub(crate) fn home(parameters: &[u8], partitions: u16) -> PartitionSet {
    PartitionSet::only(partition_of(Reader(parameters).i16(), partitions))
}
