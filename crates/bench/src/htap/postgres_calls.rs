//! A writer's connection to PostgreSQL: each transaction is one call of a function (`transactions.sql`), which leaves
//! the time in the stopwatch as its last act.

use anyhow::Result;
use contender::tpcc::transactions::{Delivery, Line, NewOrder, Payment, Who};
use postgres::types::ToSql;
use postgres::{Client, Statement};

use super::calls::{Calls, Done, distinct};

/// See the module.
pub struct PostgresCalls {
    client: Client,
    writer: i32,
    new_order: Statement,
    payment: Statement,
    delivery: Statement,
}

impl PostgresCalls {
    /// The calls of a writer.
    pub fn new(mut client: Client, writer: i32) -> Result<Self> {
        // The plans do not depend on who orders what.
        client.batch_execute("set plan_cache_mode = force_generic_plan")?;
        let mut prepare = |call| client.prepare(&format!("select changes, stamped from {call}"));
        Ok(Self {
            new_order: prepare("new_order($1, $2, $3, $4, $5, $6, $7)")?,
            payment: prepare("payment($1, $2, $3, $4, $5, $6, $7, $8::bigint * 0.01)")?,
            delivery: prepare("delivery($1, $2, $3)")?,
            client,
            writer,
        })
    }
}

impl Calls for PostgresCalls {
    fn new_order(&mut self, order: NewOrder) -> Result<Done> {
        let lines = distinct(order.lines);
        let column = |of: fn(&Line) -> i32| lines.iter().map(of).collect::<Vec<_>>();
        let parameters: [&(dyn ToSql + Sync); 7] = [
            &self.writer,
            &i32::from(order.warehouse),
            &i32::from(order.district),
            &order.customer,
            &column(|line| line.item),
            &column(|line| line.supply_warehouse.into()),
            &column(|line| line.quantity.into()),
        ];
        call(&mut self.client, &self.new_order, &parameters)
    }

    fn payment(&mut self, payment: &Payment) -> Result<Done> {
        let (id, name) = match &payment.customer {
            Who::Id(id) => (Some(*id), None),
            Who::Last(name) => (None, Some(name)),
        };
        let parameters: [&(dyn ToSql + Sync); 8] = [
            &self.writer,
            &i32::from(payment.warehouse),
            &i32::from(payment.district),
            &i32::from(payment.customer_warehouse),
            &i32::from(payment.customer_district),
            &id,
            &name,
            &payment.amount,
        ];
        call(&mut self.client, &self.payment, &parameters)
    }

    fn delivery(&mut self, delivery: &Delivery) -> Result<Done> {
        let parameters: [&(dyn ToSql + Sync); 3] = [
            &self.writer,
            &i32::from(delivery.warehouse),
            &i32::from(delivery.carrier),
        ];
        call(&mut self.client, &self.delivery, &parameters)
    }
}

fn call(
    client: &mut Client,
    statement: &Statement,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Done> {
    let row = client.query_one(statement, parameters)?;
    Ok(Done {
        changes: u64::try_from(row.get::<_, i32>(0))?,
        stamp: row.get(1),
    })
}
