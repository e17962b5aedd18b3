//! New-Order, clause 2.4.
//!
//! 1. Warehouse, district, customer and items are read, in the home partition. An item that does not
//!    exist ends the transaction: one order in a hundred.
//! 2. For each partition that supplies, the stock is read and changed. A line whose item an earlier line has,
//!    too, takes from what that one has left.
//! 3. The order and its lines are added at home.

use contender::tpcc::random::ORIGINAL;
use contender::tpcc::transactions::Line;
use oltp::{Columns, PartitionSet, Procedure, Row, RowHandle, Stop, Transaction};
use types::Value;

use crate::calls::{LINES_MAX, decode_lines};
use crate::schema::{
    CUSTOMER, DISTRICT, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, WAREHOUSE, customer, district,
    item, key_of, partition_of, stock, warehouse,
};
use oltp::parameters::{Reader, Writer};

/// See the module.
pub(crate) struct NewOrder;

/// Characters of a stock row's text for a district.
const INFO_BYTES: usize = 24;

#[derive(Clone, Copy)]
struct Head {
    warehouse: i16,
    district: i16,
    customer: i32,
}

/// A line, and what was found for it.
#[derive(Clone, Copy, Default)]
struct Found {
    line: Line,
    price: i64,
    is_original_item: bool,
    is_original: bool,
    stock: i64,
    info: [u8; INFO_BYTES],
}

/// A stock row: where it is, and what becomes of it.
#[derive(Clone, Copy)]
struct Taken {
    supply_warehouse: i16,
    item: i32,
    row: RowHandle,
    quantity: i64,
    ytd: i64,
    orders: i64,
    remote_orders: i64,
}

/// What step 1 finds beside the items.
struct Terms {
    district: RowHandle,
    order: i64,
    discount: i64,
    taxes: i64,
}

impl Procedure for NewOrder {
    fn name(&self) -> &str {
        "new-order"
    }

    fn partitions(&self, parameters: &[u8], partitions: u16) -> PartitionSet {
        let (head, lines) = decode(parameters);
        let home = PartitionSet::only(partition_of(head.warehouse, partitions));
        lines.fold(home, |set, line| {
            set.with(partition_of(line.supply_warehouse, partitions))
        })
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let (head, lines) = decode(parameters);
        let mut found = [Found::default(); LINES_MAX];
        let mut count = 0;
        for line in lines {
            found[count].line = line;
            count += 1;
        }
        let found = &mut found[..count];
        let partitions = transaction.partitions();
        let home = partition_of(head.warehouse, partitions);
        let terms = read_terms(transaction.on(home)?, head, found, reply)?;
        for partition in self.partitions(parameters, partitions).iter() {
            let there = transaction.on(partition)?;
            let is_there =
                |line: &Line| partition_of(line.supply_warehouse, partitions) == partition;
            supply(there, head, found, is_there)?;
        }
        add_order(transaction.on(home)?, head, &terms, found)?;
        answer(&terms, found, reply);
        Ok(())
    }
}

fn decode(parameters: &[u8]) -> (Head, impl Iterator<Item = Line>) {
    let mut reader = Reader(parameters);
    let head = Head {
        warehouse: reader.i16(),
        district: reader.i16(),
        customer: reader.i32(),
    };
    (head, decode_lines(reader))
}

fn int(number: impl Into<i64>) -> Value<'static> {
    Value::Int(number.into())
}

fn is_original(row: &Row<'_>, column: usize) -> Result<bool, Stop> {
    // As arrays the parts are compared as one number each.
    let mut parts = row.bytes(column)?.array_windows();
    Ok(parts.any(|part: &[u8; ORIGINAL.len()]| part == ORIGINAL.as_bytes()))
}

fn read_terms(
    transaction: &mut Transaction<'_>,
    head: Head,
    found: &mut [Found],
    reply: &mut Vec<u8>,
) -> Result<Terms, Stop> {
    let (w, d) = (int(head.warehouse), int(head.district));
    let of_warehouse = transaction.get(key_of(WAREHOUSE), &[w], Columns::All)?;
    let of_district = transaction.get(key_of(DISTRICT), &[w, d], Columns::All)?;
    let key = [w, d, int(head.customer)];
    let of_customer = transaction.get(key_of(CUSTOMER), &key, Columns::All)?;
    let mut of_items = [of_customer; LINES_MAX];
    for (statement, found) in of_items.iter_mut().zip(&*found) {
        *statement = transaction.get(key_of(ITEM), &[int(found.line.item)], Columns::All)?;
    }
    let batch = transaction.execute()?;
    for (statement, found) in of_items.iter().zip(&mut *found) {
        let Some(row) = batch.row(*statement) else {
            return Err(Stop::Abort("item number is not valid".into()));
        };
        found.price = row.int(item::PRICE)?;
        found.is_original_item = is_original(&row, item::DATA)?;
        Writer(reply).text(row.bytes(item::NAME)?);
    }
    let rows = (
        batch.row(of_warehouse),
        batch.row(of_district),
        batch.row(of_customer),
    );
    let (Some(of_warehouse), Some(of_district), Some(of_customer)) = rows else {
        return Err(Stop::Abort("no such customer".into()));
    };
    Writer(reply)
        .text(of_customer.bytes(customer::LAST)?)
        .text(of_customer.bytes(customer::CREDIT)?);
    Ok(Terms {
        district: of_district.handle()?,
        order: of_district.int(district::NEXT_ORDER)?,
        discount: of_customer.int(customer::DISCOUNT)?,
        taxes: of_warehouse.int(warehouse::TAX)? + of_district.int(district::TAX)?,
    })
}

/// Takes the pieces of the lines that a partition supplies.
fn supply(
    transaction: &mut Transaction<'_>,
    head: Head,
    found: &mut [Found],
    is_there: impl Fn(&Line) -> bool,
) -> Result<(), Stop> {
    let mut statements = [None; LINES_MAX];
    for (statement, found) in statements.iter_mut().zip(&*found) {
        if is_there(&found.line) {
            let key = [int(found.line.supply_warehouse), int(found.line.item)];
            *statement = Some(transaction.get(key_of(STOCK), &key, Columns::All)?);
        }
    }
    let batch = transaction.execute()?;
    let mut taken = [None; LINES_MAX];
    for (at, (statement, found)) in statements.iter().zip(&mut *found).enumerate() {
        if let Some(statement) = statement {
            let row = batch.row(*statement);
            let row = row.ok_or_else(|| Stop::Abort("no stock of the item".into()))?;
            let before = taken[..at].iter().rev().flatten();
            taken[at] = Some(take(&row, head, found, before)?);
        }
    }
    for taken in taken.iter().flatten() {
        let changes = [
            (stock::QUANTITY, int(taken.quantity)),
            (stock::YTD, int(taken.ytd)),
            (stock::ORDERS, int(taken.orders)),
            (stock::REMOTE_ORDERS, int(taken.remote_orders)),
        ];
        transaction.update_row(taken.row, &changes)?;
    }
    transaction.execute()?;
    Ok(())
}

/// Takes a line's pieces from the stock, from what lines before it, last first, have left.
fn take<'t>(
    row: &Row<'_>,
    head: Head,
    found: &mut Found,
    mut before: impl Iterator<Item = &'t Taken>,
) -> Result<Taken, Stop> {
    let Line {
        item,
        supply_warehouse,
        quantity: wanted,
    } = found.line;
    let mut taken = match before.find(|t| (t.supply_warehouse, t.item) == (supply_warehouse, item))
    {
        Some(left) => *left,
        None => Taken {
            supply_warehouse,
            item,
            row: row.handle()?,
            quantity: row.int(stock::QUANTITY)?,
            ytd: row.int(stock::YTD)?,
            orders: row.int(stock::ORDERS)?,
            remote_orders: row.int(stock::REMOTE_ORDERS)?,
        },
    };
    taken.quantity = match taken.quantity - i64::from(wanted) {
        left if left >= 10 => left,
        left => left + 91,
    };
    taken.ytd += i64::from(wanted);
    taken.orders += 1;
    taken.remote_orders += i64::from(supply_warehouse != head.warehouse);
    found.stock = taken.quantity;
    let info = stock::DISTRICT_INFOS + head.district as usize - 1;
    found.info.copy_from_slice(row.bytes(info)?);
    found.is_original = found.is_original_item && is_original(row, stock::DATA)?;
    Ok(taken)
}

fn add_order(
    transaction: &mut Transaction<'_>,
    head: Head,
    terms: &Terms,
    found: &[Found],
) -> Result<(), Stop> {
    let (w, d, o) = (int(head.warehouse), int(head.district), int(terms.order));
    let next = [(district::NEXT_ORDER, int(terms.order + 1))];
    transaction.update_row(terms.district, &next)?;
    let is_local = |found: &Found| found.line.supply_warehouse == head.warehouse;
    let time = Value::Int(transaction.time_us());
    let order = [
        w,
        d,
        o,
        int(head.customer),
        time,
        Value::Null,
        Value::Int(found.len() as i64),
        Value::Bool(found.iter().all(is_local)),
    ];
    transaction.insert(ORDERS, &order)?;
    transaction.insert(NEW_ORDER, &[w, d, o])?;
    for (number, found) in (1_i64..).zip(found) {
        let line = [
            w,
            d,
            o,
            Value::Int(number),
            int(found.line.item),
            int(found.line.supply_warehouse),
            Value::Null,
            int(found.line.quantity),
            Value::Int(amount(found)),
            Value::Bytes(&found.info),
        ];
        transaction.insert(ORDER_LINE, &line)?;
    }
    transaction.execute()?;
    Ok(())
}

/// Cents.
fn amount(found: &Found) -> i64 {
    i64::from(found.line.quantity) * found.price
}

fn answer(terms: &Terms, found: &[Found], reply: &mut Vec<u8>) {
    let sum: i64 = found.iter().map(amount).sum();
    let total = sum * (10_000 - terms.discount) / 10_000 * (10_000 + terms.taxes) / 10_000;
    let mut reply = Writer(reply);
    reply.i64(terms.order).i64(total);
    for found in found {
        reply.i64(found.price).i64(amount(found)).i64(found.stock);
        reply.0.push(if found.is_original { b'B' } else { b'G' });
    }
}
