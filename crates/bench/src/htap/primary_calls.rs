//! A writer's connection to the built-in primary: each transaction is one call of a procedure (`primary.sql`).
//!
//! The stamp is the time before the call, so that how fresh answers are includes the transaction and making it durable.

use anyhow::Result;
use contender::tpcc::transactions::{Delivery, Line, NewOrder, Payment, Who};
use postgres::types::ToSql;
use postgres::{Client, Statement};

use super::calls::{Calls, Done, distinct, now_us};

/// Lines of an order at most.
const LINES_MAX: usize = 15;

/// See the module.
pub struct PrimaryCalls {
    client: Client,
    writer: i32,
    /// The last key of history.
    payments: i64,
    new_order: Statement,
    customers_named: Statement,
    payment: Statement,
    delivery: Statement,
}

impl PrimaryCalls {
    /// The calls of a writer, whose payments have numbers that follow from the seed.
    pub fn new(mut client: Client, writer: i32, seed: u64) -> Result<Self> {
        let mut prepare = |procedure, parameters| {
            let each: Vec<String> = (1..=parameters)
                .map(|number| format!("${number}"))
                .collect();
            client.prepare(&format!("call {procedure}({})", each.join(", ")))
        };
        Ok(Self {
            new_order: prepare("new_order", 7 + 3 * LINES_MAX)?,
            customers_named: prepare("customers_named", 3)?,
            payment: prepare("payment", 9)?,
            delivery: prepare("delivery", 4)?,
            client,
            writer,
            payments: (i64::try_from(seed)? << 40) + (i64::from(writer) << 32),
        })
    }

    /// The number of a payment's customer.
    fn customer(&mut self, payment: &Payment) -> Result<Option<i32>> {
        let name = match &payment.customer {
            Who::Id(id) => return Ok(Some(*id)),
            Who::Last(name) => name,
        };
        let district = i32::from(payment.customer_district);
        let parameters: [&(dyn ToSql + Sync); 3] =
            [&i32::from(payment.customer_warehouse), &district, name];
        let named = self.client.query(&self.customers_named, &parameters)?;
        let middle = named.len().div_ceil(2).checked_sub(1);
        Ok(middle.map(|middle| named[middle].get(0)))
    }
}

impl Calls for PrimaryCalls {
    fn new_order(&mut self, order: NewOrder) -> Result<Done> {
        let lines = distinct(order.lines);
        let is_local = |line: &Line| line.supply_warehouse == order.warehouse;
        let stamp = now_us()?;
        let head = [
            i32::from(order.warehouse),
            order.district.into(),
            order.customer,
            i32::try_from(lines.len())?,
            i32::from(lines.iter().all(is_local)),
        ];
        let mut cells = vec![None; 3 * LINES_MAX];
        for (line, cells) in lines.iter().zip(cells.as_chunks_mut::<3>().0) {
            let supply = line.supply_warehouse.into();
            *cells = [line.item, supply, line.quantity.into()].map(Some);
        }
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&self.writer, &stamp];
        parameters.extend(head.iter().map(|cell| -> &(dyn ToSql + Sync) { cell }));
        parameters.extend(cells.iter().map(|cell| -> &(dyn ToSql + Sync) { cell }));
        self.client.execute(&self.new_order, &parameters)?;
        Ok(Done {
            changes: 3 + 2 * lines.len() as u64,
            stamp,
        })
    }

    fn payment(&mut self, payment: &Payment) -> Result<Done> {
        let Some(customer) = self.customer(payment)? else {
            return Ok(Done::default());
        };
        self.payments += 1;
        let stamp = now_us()?;
        let parameters: [&(dyn ToSql + Sync); 9] = [
            &self.writer,
            &stamp,
            &self.payments,
            &i32::from(payment.warehouse),
            &i32::from(payment.district),
            &i32::from(payment.customer_warehouse),
            &i32::from(payment.customer_district),
            &customer,
            &payment.amount,
        ];
        self.client.execute(&self.payment, &parameters)?;
        Ok(Done { changes: 4, stamp })
    }

    fn delivery(&mut self, delivery: &Delivery) -> Result<Done> {
        let stamp = now_us()?;
        let parameters: [&(dyn ToSql + Sync); 4] = [
            &self.writer,
            &stamp,
            &i32::from(delivery.warehouse),
            &i32::from(delivery.carrier),
        ];
        let row = self.client.query_one(&self.delivery, &parameters)?;
        let mut changes = 0;
        for district in 1..row.len() {
            let lines: Option<i32> = row.get(district);
            changes += lines.map_or(Ok(0), |lines| u64::try_from(3 + lines))?;
        }
        Ok(Done { changes, stamp })
    }
}
