//! Delivery, clause 2.7: the oldest new order of each district, all in one transaction.

use contender::tpcc::DISTRICTS;
use oltp::{Columns, PartitionSet, Procedure, RowHandle, Scan, StatementNumber, Stop, Transaction};
use types::Value;

use crate::calls::{LINES_MAX, home};
use crate::schema::{
    CUSTOMER, NEW_ORDER, ORDER_LINE, ORDERS, customer, key_of, new_order, order_line, orders,
    partition_of,
};
use oltp::parameters::{Reader, Writer};

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
}

/// A customer's row, and what becomes of it.
type Credited = (RowHandle, [(usize, Value<'static>); 2]);

/// The rows of one table that change; one of each due order, of lines all.
type Rows = Vec<RowHandle>;

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
        let (count, new_orders) = find_oldest(transaction, warehouse, &mut due)?;
        let due = &mut due[..count];
        let (order_rows, lines) = read_orders(transaction, warehouse, due)?;
        let customers = read_customers(transaction, warehouse, due)?;
        for row in new_orders {
            transaction.delete_row(row)?;
        }
        for row in order_rows {
            let carrier = Value::Int(carrier.into());
            transaction.update_row(row, &[(orders::CARRIER, carrier)])?;
        }
        let date = Value::Int(transaction.time_us());
        for row in lines {
            transaction.update_row(row, &[(order_line::DELIVERY_DATE, date)])?;
        }
        for (row, changes) in customers {
            transaction.update_row(row, &changes)?;
        }
        transaction.execute()?;
        for due in &*due {
            Writer(reply).i64(due.district).i64(due.order);
        }
        Ok(())
    }
}

/// The keys of the orders: how many districts have one, and the rows that say so.
fn find_oldest(
    transaction: &mut Transaction<'_>,
    warehouse: i16,
    due: &mut [Due],
) -> Result<(usize, Rows), Stop> {
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
    let mut rows = Rows::with_capacity(due.len());
    for (district, statement) in (1..).zip(statements.into_iter().flatten()) {
        if let Some(row) = batch.row(statement) {
            due[rows.len()].district = district;
            due[rows.len()].order = row.int(new_order::ORDER)?;
            rows.push(row.handle()?);
        }
    }
    Ok((rows.len(), rows))
}

/// Whose the orders are and what they cost: their rows, and those of their lines.
fn read_orders(
    transaction: &mut Transaction<'_>,
    warehouse: i16,
    due: &mut [Due],
) -> Result<(Rows, Rows), Stop> {
    let numbers = Scan {
        columns: Columns::Numbers,
        ..Scan::default()
    };
    let mut statements = Vec::with_capacity(due.len());
    for due in &*due {
        let key = [warehouse.into(), due.district, due.order].map(Value::Int);
        let of_order = transaction.get(key_of(ORDERS), &key, Columns::Numbers)?;
        let of_lines = transaction.scan(key_of(ORDER_LINE), &key, &key, numbers)?;
        statements.push((of_order, of_lines));
    }
    let batch = transaction.execute()?;
    let mut order_rows = Rows::with_capacity(due.len());
    let mut lines = Rows::with_capacity(due.len() * LINES_MAX);
    for ((of_order, of_lines), due) in statements.into_iter().zip(due) {
        let row = batch.row(of_order);
        let row = row.ok_or_else(|| Stop::Abort("no such order".into()))?;
        due.customer = row.int(orders::CUSTOMER)?;
        order_rows.push(row.handle()?);
        for row in batch.rows(of_lines) {
            due.amount += row.int(order_line::AMOUNT)?;
            lines.push(row.handle()?);
        }
    }
    Ok((order_rows, lines))
}

/// The customers' rows, and what becomes of them.
fn read_customers(
    transaction: &mut Transaction<'_>,
    warehouse: i16,
    due: &[Due],
) -> Result<Vec<Credited>, Stop> {
    let mut statements = Vec::with_capacity(due.len());
    for due in due {
        let key = [warehouse.into(), due.district, due.customer].map(Value::Int);
        statements.push(transaction.get(key_of(CUSTOMER), &key, Columns::Numbers)?);
    }
    let batch = transaction.execute()?;
    let mut changed = Vec::with_capacity(due.len());
    for (statement, due) in statements.into_iter().zip(due) {
        let row = batch.row(statement);
        let row = row.ok_or_else(|| Stop::Abort("no such customer".into()))?;
        let balance = row.int(customer::BALANCE)? + due.amount;
        let deliveries = row.int(customer::DELIVERIES)? + 1;
        let changes = [
            (customer::BALANCE, Value::Int(balance)),
            (customer::DELIVERIES, Value::Int(deliveries)),
        ];
        changed.push((row.handle()?, changes));
    }
    Ok(changed)
}
