//! Tells the status of a line, as customers ask for it: parameters are its key, the reply is its status and its
//! amount in cents.

use oltp::parameters::{Reader, Writer};
use oltp::{Columns, DeclaredKeys, Procedure, Stop, Transaction};
use types::Value;

use super::calls::LineKey;
use super::tables::{Table, order_lines};

/// See the module.
pub(super) struct LineStatus;

impl Procedure for LineStatus {
    fn name(&self) -> &str {
        "orders.line_status.1"
    }

    fn may_grow(&self) -> bool {
        false
    }

    fn declare(&self, parameters: &[u8], keys: &mut DeclaredKeys<'_>) -> Result<(), Stop> {
        let line = LineKey::read(&mut Reader(parameters));
        Ok(keys.key(Table::OrderLines.key(), &line.values())?)
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let line = LineKey::read(&mut Reader(parameters));
        let key = line.values();
        let get = transaction.get(Table::OrderLines.key(), &key, Columns::All)?;
        let row = transaction.execute()?.row(get);
        let row = row.ok_or_else(|| Stop::Abort("there is no such line".into()))?;
        let Value::Decimal(amount) = row.value(order_lines::AMOUNT)? else {
            unreachable!("amounts are sums of money");
        };
        Writer(reply)
            .text(row.bytes(order_lines::STATUS)?)
            .i64(amount as i64);
        Ok(())
    }
}
