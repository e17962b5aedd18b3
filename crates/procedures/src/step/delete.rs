//! DELETE: the rows that a key leads to go.

use oltp::{RowHandle, Stop, Transaction};

use super::Frame;
use crate::access::{Access, Reading};
use crate::expression::evaluate::RowAtHand;

/// See the module.
pub(crate) struct Delete {
    /// The table's place.
    pub(super) table: usize,
    pub(super) access: Access,
}

impl Delete {
    /// Removes the rows; says how many.
    pub(super) fn run(
        &self,
        frame: &Frame<'_>,
        transaction: &mut Transaction<'_>,
    ) -> Result<u64, Stop> {
        let table = &frame.tables.0[self.table];
        let context = frame.context();
        let reading = Reading::default();
        let Some(found) = self.access.queue(transaction, &context, reading)? else {
            return Ok(0);
        };
        let mut rows: Vec<RowHandle> = Vec::new();
        for row in transaction.execute()?.rows(found) {
            if row.is_evicted() {
                continue;
            }
            let context = context.with(RowAtHand::Found(row, &table.types));
            if self.access.is_meant(&context)? {
                rows.push(row.handle()?);
            }
        }
        for row in &rows {
            transaction.delete_row(*row)?;
        }
        if !rows.is_empty() {
            transaction.execute()?;
        }
        Ok(rows.len() as u64)
    }
}
