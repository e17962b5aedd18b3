//! Reading everything back, a page of rows a transaction. The database must stand still meanwhile.

use anyhow::Result;
use contender::tpcc::rows::Row;
use contender::tpcc::{DISTRICTS, Scale};
use oltp::{
    Call, Columns, PartitionSet, Procedure, Scan, StatementNumber, Stop, TableNumber, Transaction,
};
use types::Value;

use crate::calls::{DUMP, home};
use crate::load::Run;
use crate::row_cells;
use crate::schema::{
    CUSTOMER, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, WAREHOUSE, key_of,
    partition_of,
};
use oltp::parameters::{Reader, Writer};

/// Keys of a page.
const PAGE: i64 = 50;

/// A page of a table: the keys whose last number is from `from` on, [`PAGE`] of them; of HISTORY so
/// many rows.
struct Page {
    warehouse: i16,
    district: i16,
    table: TableNumber,
    from: i64,
}

impl Page {
    fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        let mut out = Writer(out);
        out.i16(self.warehouse)
            .i16(self.district)
            .i16(self.table.0 as i16);
        out.i64(self.from);
    }

    fn decode(parameters: &[u8]) -> Self {
        let mut reader = Reader(parameters);
        Self {
            warehouse: reader.i16(),
            district: reader.i16(),
            table: TableNumber(reader.i16() as u16),
            from: reader.i64(),
        }
    }
}

/// Answers with the rows of a [`Page`].
pub(crate) struct Dump;

impl Procedure for Dump {
    fn name(&self) -> &str {
        "dump"
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
        let page = Page::decode(parameters);
        let partition = partition_of(page.warehouse, transaction.partitions());
        let transaction = transaction.on(partition)?;
        let statements = queue(transaction, &page)?;
        let batch = transaction.execute()?;
        for row in statements
            .into_iter()
            .flat_map(|statement| batch.rows(statement))
        {
            for column in 0..row_cells::columns(page.table) {
                Writer(reply).value(&row.value(column)?);
            }
        }
        Ok(())
    }
}

fn queue(transaction: &mut Transaction<'_>, page: &Page) -> Result<Vec<StatementNumber>, Stop> {
    let (w, d) = (
        Value::Int(page.warehouse.into()),
        Value::Int(page.district.into()),
    );
    let (from, last) = (page.from, page.from + PAGE - 1);
    let key = key_of(page.table);
    let scan =
        |transaction: &mut Transaction<'_>, from: &[Value<'_>], to: &[Value<'_>], rows_max| {
            let options = Scan {
                rows_max,
                ..Scan::default()
            };
            Ok(vec![transaction.scan(key, from, to, options)?])
        };
    let (first, end) = (Value::Int(from), Value::Int(last));
    match page.table {
        HISTORY => {
            let all = Value::Int(i64::MAX);
            return scan(transaction, &[first], &[all], PAGE as usize);
        }
        ORDERS | NEW_ORDER | ORDER_LINE => {
            return scan(transaction, &[w, d, first], &[w, d, end], usize::MAX);
        }
        _ => {}
    }
    let numbers = (from..=last).map(Value::Int);
    let mut get = |key_values: &[Value<'_>]| transaction.get(key, key_values, Columns::All);
    match page.table {
        WAREHOUSE => Ok(vec![get(&[w])?]),
        DISTRICT => Ok(vec![get(&[w, d])?]),
        CUSTOMER => numbers.map(|number| get(&[w, d, number])).collect(),
        ITEM => numbers.map(|number| get(&[number])).collect(),
        STOCK => numbers.map(|number| get(&[w, number])).collect(),
        other => unreachable!("there is no table {other:?}"),
    }
}

/// Calls `add` with every row of the database, in an order that does not depend on where rows are.
pub fn dump_all(
    scale: &Scale,
    partitions: u16,
    run: &mut impl Run,
    mut add: impl FnMut(Row),
) -> Result<()> {
    let mut read = |warehouse, district, table, from| -> Result<(Vec<Row>, i64)> {
        let page = Page {
            warehouse,
            district,
            table,
            from,
        };
        read_page(&page, run)
    };
    for warehouse in 1..=scale.warehouses.min(partitions as i16) {
        let mut from = i64::MIN;
        loop {
            let (rows, last) = read(warehouse, 0, HISTORY, from)?;
            if rows.is_empty() {
                break;
            }
            from = last + 1;
            rows.into_iter().for_each(&mut add);
        }
        for from in (1..=i64::from(scale.items)).step_by(PAGE as usize) {
            read(warehouse, 0, ITEM, from)?
                .0
                .into_iter()
                .for_each(&mut add);
        }
    }
    for warehouse in 1..=scale.warehouses {
        read(warehouse, 0, WAREHOUSE, 1)?
            .0
            .into_iter()
            .for_each(&mut add);
        for from in (1..=i64::from(scale.items)).step_by(PAGE as usize) {
            read(warehouse, 0, STOCK, from)?
                .0
                .into_iter()
                .for_each(&mut add);
        }
        for district in 1..=DISTRICTS {
            let (rows, _) = read(warehouse, district, DISTRICT, 1)?;
            let Some(Row::District(found)) = rows.first() else {
                anyhow::bail!("there is no district {district} of warehouse {warehouse}");
            };
            // Beyond the last order: what should not be there is found, too.
            let orders = i64::from(found.next_order) + PAGE;
            rows.into_iter().for_each(&mut add);
            let customers = i64::from(scale.customers);
            let numbered = [
                (CUSTOMER, customers),
                (ORDERS, orders),
                (NEW_ORDER, orders),
                (ORDER_LINE, orders),
            ];
            for (table, last) in numbered {
                for from in (1..=last).step_by(PAGE as usize) {
                    let (rows, _) = read(warehouse, district, table, from)?;
                    rows.into_iter().for_each(&mut add);
                }
            }
        }
    }
    Ok(())
}

/// The rows of a page, and the number of the last one if it is one of HISTORY.
fn read_page(page: &Page, run: &mut impl Run) -> Result<(Vec<Row>, i64)> {
    let (mut parameters, mut reply) = (Vec::new(), Vec::new());
    page.encode(&mut parameters);
    let call = Call {
        procedure: DUMP,
        parameters: &parameters,
    };
    run(call, &mut reply)?;
    let mut reader = Reader(&reply);
    let (mut rows, mut number) = (Vec::new(), 0);
    while !reader.0.is_empty() {
        if let Value::Int(first) = Reader(reader.0).value() {
            number = first;
        }
        rows.push(row_cells::decode(page.table, &mut reader));
    }
    Ok((rows, number))
}
