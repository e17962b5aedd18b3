//! Tells the number of the next order; the reply is empty when the shop has not been filled yet.

use oltp::parameters::Writer;
use oltp::{Columns, Procedure, Stop, Transaction};
use types::Value;

use super::tables::{Table, shops};

/// See the module.
pub(super) struct ShopStatus;

/// The key of the only shop.
pub(super) const SHOP: Value<'static> = Value::Int(1);

impl Procedure for ShopStatus {
    fn name(&self) -> &str {
        "orders.shop_status.1"
    }

    fn may_grow(&self) -> bool {
        false
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        _parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        if let Some(next) = next_order(transaction)? {
            Writer(reply).i64(next);
        }
        Ok(())
    }
}

fn next_order(transaction: &mut Transaction<'_>) -> Result<Option<i64>, Stop> {
    let get = transaction.get(Table::Shops.key(), &[SHOP], Columns::Numbers)?;
    let row = transaction.execute()?.row(get);
    row.map(|row| row.int(shops::NEXT_ORDER)).transpose()
}

/// Stops unless the shop expects this order. So orders neither come twice nor are left out.
pub(super) fn expect_next(transaction: &mut Transaction<'_>, order: i64) -> Result<(), Stop> {
    match next_order(transaction)? {
        Some(next) if next == order => Ok(()),
        next => Err(Stop::Abort(format!(
            "order {order} is not the next one, which is {next:?}"
        ))),
    }
}
