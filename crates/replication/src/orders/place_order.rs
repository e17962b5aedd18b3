//! Takes an order: it and its lines are added, the customer's balance and the items' sales grow. The reply is
//! the total in cents.
//!
//! Orders come in the order of their numbers: the shop knows the next one. An order that the customer thinks
//! better of is rolled back when it is there already, as in TPC-C and Rose's section 4.4.

use oltp::parameters::Writer;
use oltp::{Columns, DeclaredKeys, Procedure, RowHandle, Stop, Transaction};
use types::Value;

use super::calls::{Lines, NewLine, NewOrder};
use super::rows::{RESTOCK, money};
use super::shop_status;
use super::tables::{OPEN, Table, WAITING, customers, items};

/// See the module.
pub(super) struct PlaceOrder;

/// What an order changes of an item.
#[derive(Clone, Copy)]
struct Sale {
    item: i32,
    row: RowHandle,
    /// Pieces, with those of the order.
    sold: i64,
    /// Cents, with those of the order.
    revenue: i64,
}

/// What a line comes to.
#[derive(Clone, Copy, Default)]
struct Price {
    /// Cents.
    unit: i64,
    /// Cents.
    amount: i64,
}

impl Procedure for PlaceOrder {
    fn name(&self) -> &str {
        "orders.place.1"
    }

    fn declare(&self, parameters: &[u8], keys: &mut DeclaredKeys<'_>) -> Result<(), Stop> {
        let order = NewOrder::decode(parameters);
        keys.key(Table::Customers.key(), &[Value::Int(order.customer.into())])?;
        for line in order.lines.iter() {
            keys.key(Table::Items.key(), &[Value::Int(line.item.into())])?;
        }
        Ok(())
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let order = NewOrder::decode(parameters);
        shop_status::expect_next(transaction, order.order)?;
        let mut sales = Lines::<Option<Sale>>::new();
        let mut prices = Lines::new();
        let (customer, orders, balance) = look_up(transaction, &order, &mut sales, &mut prices)?;
        let total = prices.iter().map(|price| price.amount).sum::<i64>();
        insert(transaction, &order, &prices, total)?;
        if order.is_cancelled {
            return Err(Stop::Abort("the customer thinks better of it".into()));
        }
        let placed_at = Value::Int(order.placed_at_us);
        let account = [
            (customers::ORDERS, Value::Int(orders + 1)),
            (customers::BALANCE, money(balance + total)),
            (customers::LAST_ORDER_AT, placed_at),
        ];
        transaction.update_row(customer, &account)?;
        for sale in sales.iter().flatten() {
            let figures = [
                (items::IN_STOCK, Value::Int(RESTOCK - sale.sold % RESTOCK)),
                (items::SOLD, Value::Int(sale.sold)),
                (items::REVENUE, money(sale.revenue)),
            ];
            transaction.update_row(sale.row, &figures)?;
        }
        transaction.execute()?;
        Writer(reply).i64(total);
        Ok(())
    }
}

/// Finds the customer, with orders and balance so far, and what the lines cost.
fn look_up(
    transaction: &mut Transaction<'_>,
    order: &NewOrder<'_>,
    sales: &mut Lines<Option<Sale>>,
    prices: &mut Lines<Price>,
) -> Result<(RowHandle, i64, i64), Stop> {
    let key = [Value::Int(order.customer.into())];
    let customer = transaction.get(Table::Customers.key(), &key, Columns::Numbers)?;
    let mut gets = Lines::new();
    for line in order.lines.iter() {
        let key = [Value::Int(line.item.into())];
        gets.push(Some(transaction.get(
            Table::Items.key(),
            &key,
            Columns::Numbers,
        )?));
    }
    let batch = transaction.execute()?;
    for (line, get) in order.lines.iter().zip(gets.iter().flatten()) {
        let item = batch.row(*get).ok_or_else(|| no_such("item"))?;
        let price = price(line, cents(item.value(items::UNIT_PRICE)?));
        prices.push(price);
        let (quantity, amount) = (i64::from(line.quantity), price.amount);
        match sales
            .iter_mut()
            .flatten()
            .find(|sale| sale.item == line.item)
        {
            Some(sale) => {
                sale.sold += quantity;
                sale.revenue += amount;
            }
            None => sales.push(Some(Sale {
                item: line.item,
                row: item.handle()?,
                sold: item.int(items::SOLD)? + quantity,
                revenue: cents(item.value(items::REVENUE)?) + amount,
            })),
        }
    }
    let customer = batch.row(customer).ok_or_else(|| no_such("customer"))?;
    let balance = cents(customer.value(customers::BALANCE)?);
    Ok((
        customer.handle()?,
        customer.int(customers::ORDERS)?,
        balance,
    ))
}

fn price(line: &NewLine<'_>, unit: i64) -> Price {
    let full = i64::from(line.quantity) * unit;
    let amount = (full * i64::from(100 - line.discount) + 50) / 100;
    Price { unit, amount }
}

/// Adds the order and its lines.
fn insert(
    transaction: &mut Transaction<'_>,
    order: &NewOrder<'_>,
    prices: &Lines<Price>,
    total: i64,
) -> Result<(), Stop> {
    let row = [
        Value::Int(order.order),
        Value::Int(order.customer.into()),
        Value::Int(order.placed_at_us),
        Value::Bytes(OPEN.as_bytes()),
        Value::Int(order.lines.len() as i64),
        money(total),
        Value::Null,
        Value::Bytes(order.clerk),
        Value::Bytes(order.remark),
    ];
    transaction.insert(Table::Orders.number(), &row)?;
    for (number, (line, price)) in (1..).zip(order.lines.iter().zip(prices.iter())) {
        let row = [
            Value::Int(line.item.into()),
            Value::Int(order.order),
            Value::Int(number),
            Value::Int(line.quantity.into()),
            money(price.unit),
            Value::Decimal(line.discount.into()),
            money(price.amount),
            Value::Bytes(WAITING.as_bytes()),
            Value::Int(order.promised_on.into()),
            Value::Null,
            Value::Bytes(line.carrier),
        ];
        transaction.insert(Table::OrderLines.number(), &row)?;
    }
    transaction.execute()?;
    Ok(())
}

/// A sum of money in cents.
fn cents(value: Value<'_>) -> i64 {
    match value {
        Value::Decimal(cents) => cents as i64,
        other => unreachable!("{other:?} is no sum of money"),
    }
}

fn no_such(what: &str) -> Stop {
    Stop::Abort(format!("there is no such {what}"))
}
