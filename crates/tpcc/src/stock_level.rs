//! Stock-Level, clause 2.8: of the items of the last twenty orders of a district, how many are few.

use oltp::{Columns, PartitionSet, Procedure, Scan, Stop, Transaction};
use types::Value;

use crate::calls::home;
use crate::schema::{DISTRICT, ORDER_LINE, STOCK, key_of, order_line, partition_of, stock};
use oltp::parameters::{Reader, Writer};

/// See the module.
pub(crate) struct StockLevel;

/// Orders that are looked at.
const ORDERS: i64 = 20;

impl Procedure for StockLevel {
    fn name(&self) -> &str {
        "stock-level"
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
        let (warehouse, district, threshold) = (reader.i16(), reader.i16(), reader.i16());
        let transaction = transaction.on(partition_of(warehouse, transaction.partitions()))?;
        let items = last_items(transaction, warehouse, district)?;
        let mut statements = Vec::with_capacity(items.len());
        for item in items {
            let key = [warehouse.into(), item].map(Value::Int);
            statements.push(transaction.get(key_of(STOCK), &key, Columns::Numbers)?);
        }
        let batch = transaction.execute()?;
        let mut few = 0;
        for row in statements.into_iter().filter_map(|get| batch.row(get)) {
            few += i32::from(row.int(stock::QUANTITY)? < threshold.into());
        }
        Writer(reply).i32(few);
        Ok(())
    }
}

/// Each item once.
fn last_items(
    transaction: &mut Transaction<'_>,
    warehouse: i16,
    district: i16,
) -> Result<Vec<i64>, Stop> {
    let key = [Value::Int(warehouse.into()), Value::Int(district.into())];
    let get = transaction.get(key_of(DISTRICT), &key, Columns::Numbers)?;
    let row = transaction.execute()?.row(get);
    let row = row.ok_or_else(|| Stop::Abort("no such district".into()))?;
    let next = row.int(crate::schema::district::NEXT_ORDER)?;
    let order = |order: i64| [key[0], key[1], Value::Int(order)];
    let (from, to) = (order(next - ORDERS), order(next - 1));
    let numbers = Scan {
        columns: Columns::Numbers,
        ..Scan::default()
    };
    let scan = transaction.scan(key_of(ORDER_LINE), &from, &to, numbers)?;
    let batch = transaction.execute()?;
    let mut items = Vec::with_capacity(batch.count(scan));
    for row in batch.rows(scan) {
        items.push(row.int(order_line::ITEM)?);
    }
    items.sort_unstable();
    items.dedup();
    Ok(items)
}
