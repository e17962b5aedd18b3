//! Fills an empty shop: customers, items, and the shop itself. The parameters are the seed.

use oltp::parameters::Reader;
use oltp::{Procedure, Stop, Transaction};
use types::Value;

use super::rows::Rows;
use super::tables::Table;
use super::workload::{CUSTOMERS, ITEMS, Workload};

/// Rows in a batch.
const BATCH_ROWS: usize = 500;

/// See the module.
pub(super) struct Load;

impl Procedure for Load {
    fn name(&self) -> &str {
        "orders.load.1"
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        _reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let rows = Rows::new(Workload::new(Reader(parameters).i64() as u64));
        let mut queued = 0;
        let mut insert = |transaction: &mut Transaction<'_>, table: Table, row: &[Value<'_>]| {
            transaction.insert(table.number(), row)?;
            queued += 1;
            if queued % BATCH_ROWS == 0 {
                transaction.execute()?;
            }
            Ok::<(), Stop>(())
        };
        // Of a shop that is full already this is a duplicate.
        insert(transaction, Table::Shops, &rows.shop())?;
        let mut text = String::new();
        for customer in 1..=CUSTOMERS as i32 {
            insert(
                transaction,
                Table::Customers,
                &rows.customer(customer, &mut text),
            )?;
        }
        for item in 1..=ITEMS as i32 {
            insert(transaction, Table::Items, &rows.item(item, &mut text))?;
        }
        transaction.execute()?;
        Ok(())
    }
}
