//! Delivery, clause 2.7: the oldest new order of each district, all in one transaction.

use contender::tpcc::DISTRICTS;
use oltp::{Columns, PartitionSet, Procedure, Scan, StatementNumber, Stop, Transaction};
use types::Value;

use crate::calls::home;
use crate::cells::{Reader, Writer};
use crate::schema::{
    CUSTOMER, NEW_ORDER, ORDER_LINE, ORDERS, customer, key_of, new_order, order_line, orders,
    partition_of,
};

/// See the module.
pub(crate) struct Delivery;

/// An order to be delivered.
#[derive(Clone, Copy, Default)]
struct Due {
    district: i64,
    order: i64,
    customer: i64,
    /// Cents.
    amount: i64,
    lines: i64,
    balance: i64,
    deliveries: i64,
}

impl Procedure for Delivery {
    fn name(&self) -> &str {
        "delivery"
    }

    fn partitions(&self, parameters: &[u8], partitions: u16) -> PartitionSet {
        home(parameters, partitions)
    }

    fn may_grow(&self) -> bool {
        false
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let mut reader = Reader(parameters);
        let (warehouse, carrier) = (reader.i16(), reader.i16());
        let transaction = transaction.on(partition_of(warehouse, transaction.partitions()))?;
        let mut due = [Due::default(); DISTRICTS as usize];
        let count = find_oldest(transaction, warehouse, &mut due)?;
        let due = &mut due[..count];
        read_orders(transaction, warehouse, due)?;
        read_customers(transaction, warehouse, due)?;
        for due in &*due {
            Writer(reply).i64(due.district).i64(due.order);
            deliver(transaction, warehouse, carrier, due)?;
        }
        transaction.execute()?;
        Ok(())
    }
}

/// The keys of the orders: how many districts have one.
fn find_oldest(
    transaction: &mut Transaction<'_>,
    warehouse: i16,
    due: &mut [Due],
) -> Result<usize, Stop> {
    let first = Scan {
        rows_max: 1,
        ..Scan::default()
    };
    let mut statements: [Option<StatementNumber>; DISTRICTS as usize] = Default::default();
    for (district, statement) in (1..).zip(&mut statements) {
        let key = [Value::Int(warehouse.into()), Value::Int(district)];
        *statement = Some(transaction.scan(key_of(NEW_ORDER), &key, &key, first)?);
    }
    let batch = transaction.execute()?;
    let mut count = 0;
    for (district, statement) in (1..).zip(statements.into_iter().flatten()) {
        if let Some(row) = batch.row(statement) {
            due[count].district = district;
            due[count].order = row.int(new_order::ORDER)?;
            count += 1;
        }
    }
    Ok(count)
}

fn read_orders(
    transaction: &mut Transaction<'_>,
    warehouse: i16,
    due: &mut [Due],
) -> Result<(), Stop> {
    let mut statements = Vec::with_capacity(due.len());
    for due in &*due {
        let key = [warehouse.into(), due.district, due.order].map(Value::Int);
        let of_order = transaction.get(key_of(ORDERS), &key, Columns::All)?;
        let of_lines = transaction.scan(key_of(ORDER_LINE), &key, &key, Scan::default())?;
        statements.push((of_order, of_lines));
    }
    let batch = transaction.execute()?;
    for ((of_order, of_lines), due) in statements.into_iter().zip(due) {
        let row = batch.row(of_order);
        let row = row.ok_or_else(|| Stop::Abort("no such order".into()))?;
        due.customer = row.int(orders::CUSTOMER)?;
        due.lines = batch.count(of_lines) as i64;
        for row in batch.rows(of_lines) {
            due.amount += row.int(order_line::AMOUNT)?;
        }
    }
    Ok(())
}

fn read_customers(
    transaction: &mut Transaction<'_>,
    warehouse: i16,
    due: &mut [Due],
) -> Result<(), Stop> {
    let mut statements = Vec::with_capacity(due.len());
    for due in &*due {
        let key = [warehouse.into(), due.district, due.customer].map(Value::Int);
        statements.push(transaction.get(key_of(CUSTOMER), &key, Columns::All)?);
    }
    let batch = transaction.execute()?;
    for (statement, due) in statements.into_iter().zip(due) {
        let row = batch.row(statement);
        let row = row.ok_or_else(|| Stop::Abort("no such customer".into()))?;
        due.balance = row.int(customer::BALANCE)?;
        due.deliveries = row.int(customer::DELIVERIES)?;
    }
    Ok(())
}

/// Queues the changes for an order.
fn deliver(
    transaction: &mut Transaction<'_>,
    warehouse: i16,
    carrier: i16,
    due: &Due,
) -> Result<(), Stop> {
    let key = [warehouse.into(), due.district, due.order].map(Value::Int);
    transaction.delete(key_of(NEW_ORDER), &key)?;
    let carrier = [(orders::CARRIER, Value::Int(carrier.into()))];
    transaction.update(key_of(ORDERS), &key, &carrier)?;
    let date = [(order_line::DELIVERY_DATE, Value::Int(transaction.time_us()))];
    for number in 1..=due.lines {
        let key = [key[0], key[1], key[2], Value::Int(number)];
        transaction.update(key_of(ORDER_LINE), &key, &date)?;
    }
    let key = [key[0], key[1], Value::Int(due.customer)];
    let changes = [
        (customer::BALANCE, Value::Int(due.balance + due.amount)),
        (customer::DELIVERIES, Value::Int(due.deliveries + 1)),
    ];
    transaction.update(key_of(CUSTOMER), &key, &changes)?;
    Ok(())
}
