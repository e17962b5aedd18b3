//! Order-Status, clause 2.6.

use oltp::{Columns, Direction, PartitionSet, Procedure, Scan, Stop, Transaction};
use types::Value;

use crate::calls::{Wanted, home};
use crate::customer_search;
use crate::schema::{
    CUSTOMER, ORDER_LINE, ORDERS_BY_CUSTOMER, customer, key_of, order_line, orders, partition_of,
};
use oltp::parameters::{Reader, Writer};

/// See the module.
pub(crate) struct OrderStatus;

impl Procedure for OrderStatus {
    fn name(&self) -> &str {
        "order-status"
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
        let (warehouse, district) = (reader.i16(), reader.i16());
        let wanted = Wanted::decode(&mut reader);
        let transaction = transaction.on(partition_of(warehouse, transaction.partitions()))?;
        let id = customer_search::find(transaction, (warehouse, district), wanted)?;
        let key = [warehouse.into(), district.into(), id.into()].map(Value::Int);
        let of_customer = transaction.get(key_of(CUSTOMER), &key, Columns::All)?;
        let last_one = Scan {
            direction: Direction::Descending,
            rows_max: 1,
            columns: Columns::All,
        };
        let of_order = transaction.scan(ORDERS_BY_CUSTOMER, &key, &key, last_one)?;
        let batch = transaction.execute()?;
        let row = batch.row(of_customer);
        let row = row.ok_or_else(|| Stop::Abort("no such customer".into()))?;
        let balance = row.int(customer::BALANCE)?;
        Writer(reply)
            .i32(id)
            .i64(balance)
            .text(row.bytes(customer::FIRST)?)
            .text(row.bytes(customer::LAST)?);
        let Some(row) = batch.row(of_order) else {
            return Ok(());
        };
        let order = row.int(orders::ID)?;
        let (entry_date, carrier) = (row.int(orders::ENTRY_DATE)?, row.value(orders::CARRIER)?);
        Writer(reply).i64(order).i64(entry_date).value(&carrier);
        show_lines(transaction, [key[0], key[1], Value::Int(order)], reply)
    }
}

fn show_lines(
    transaction: &mut Transaction<'_>,
    key: [Value<'_>; 3],
    reply: &mut Vec<u8>,
) -> Result<(), Stop> {
    let scan = transaction.scan(key_of(ORDER_LINE), &key, &key, Scan::default())?;
    let batch = transaction.execute()?;
    for row in batch.rows(scan) {
        for column in [
            order_line::ITEM,
            order_line::SUPPLY_WAREHOUSE,
            order_line::QUANTITY,
            order_line::AMOUNT,
            order_line::DELIVERY_DATE,
        ] {
            Writer(reply).value(&row.value(column)?);
        }
    }
    Ok(())
}
