//! Delivers what is due, and closes the step: the shop goes on to the next order.

use oltp::{Columns, DeclaredKeys, IndexId, Procedure, Stop, Transaction};
use types::Value;

use super::calls::DeliveryRun;
use super::shop_status;
use super::tables::{ARRIVED, DONE, Table, order_lines, orders, shops};

/// See the module.
pub(super) struct Deliver;

impl Procedure for Deliver {
    fn name(&self) -> &str {
        "orders.deliver.1"
    }

    /// Texts that change do not change their lengths.
    fn may_grow(&self) -> bool {
        false
    }

    fn declare(&self, parameters: &[u8], keys: &mut DeclaredKeys<'_>) -> Result<(), Stop> {
        let run = DeliveryRun::decode(parameters);
        for line in &run.lines {
            keys.key(Table::OrderLines.key(), &line.values())?;
        }
        for &order in &run.completed {
            keys.key(Table::Orders.key(), &[Value::Int(order)])?;
        }
        Ok(())
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        _reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let run = DeliveryRun::decode(parameters);
        shop_status::expect_next(transaction, run.order)?;
        if !run.is_cancelled {
            let key = [Value::Int(run.order)];
            let placed = transaction.get(Table::Orders.key(), &key, Columns::OfKey)?;
            if transaction.execute()?.count(placed) == 0 {
                let reason = format!("order {} was not placed", run.order);
                return Err(Stop::Abort(reason));
            }
        }
        let now = Value::Int(run.now_us);
        for line in &run.lines {
            let changes = [
                (order_lines::STATUS, Value::Bytes(ARRIVED.as_bytes())),
                (order_lines::DELIVERED_AT, now),
            ];
            update(
                transaction,
                Table::OrderLines.key(),
                &line.values(),
                &changes,
            )?;
        }
        for &order in &run.completed {
            let changes = [
                (orders::STATUS, Value::Bytes(DONE.as_bytes())),
                (orders::COMPLETED_AT, now),
            ];
            update(
                transaction,
                Table::Orders.key(),
                &[Value::Int(order)],
                &changes,
            )?;
        }
        let next = [
            (shops::NEXT_ORDER, Value::Int(run.order + 1)),
            (shops::LAST_RUN_AT, now),
        ];
        update(transaction, Table::Shops.key(), &[shop_status::SHOP], &next)
    }
}

/// Changes a row that must be there.
fn update(
    transaction: &mut Transaction<'_>,
    index: IndexId,
    key: &[Value<'_>],
    changes: &[(usize, Value<'_>)],
) -> Result<(), Stop> {
    let changed = transaction.update(index, key, changes)?;
    if transaction.execute()?.count(changed) == 0 {
        return Err(Stop::Abort(format!("there is no row {key:?}")));
    }
    Ok(())
}
