//! UPDATE: other values for the rows that a key leads to.
//!
//! All new values are computed from the rows as they were before any of them changes.

use oltp::{RowHandle, Stop, Transaction};
use types::Value;

use super::{Frame, explained};
use crate::access::{Access, Reading};
use crate::datum::Datum;
use crate::expression::Node;
use crate::expression::evaluate::{Context, RowAtHand};
use crate::table::Table;

/// See the module.
pub(crate) struct Update {
    /// The table's place.
    pub(super) table: usize,
    pub(super) access: Access,
    /// Columns with their new values.
    pub(super) changes: Vec<(usize, Node)>,
    /// The conditions of the table that have to be asked.
    pub(super) checks: Vec<usize>,
}

/// A row with its new values, in the order of the changes.
type Changed = (RowHandle, Vec<Datum<'static>>);

impl Update {
    /// Changes the rows; says how many.
    pub(super) fn run(
        &self,
        frame: &Frame<'_>,
        transaction: &mut Transaction<'_>,
    ) -> Result<u64, Stop> {
        let changed = self.compute(frame, transaction)?;
        if changed.is_empty() {
            return Ok(0);
        }
        for (row, values) in &changed {
            let columns = self.changes.iter().map(|(column, _)| *column);
            let cells: Vec<(usize, Value<'_>)> =
                columns.zip(values.iter().map(Datum::cell)).collect();
            transaction
                .update_row(*row, &cells)
                .map_err(|stop| explained(stop, frame.tables, None))?;
        }
        let updated = transaction.execute().map(drop);
        updated.map_err(|stop| explained(stop, frame.tables, None))?;
        Ok(changed.len() as u64)
    }

    fn compute(
        &self,
        frame: &Frame<'_>,
        transaction: &mut Transaction<'_>,
    ) -> Result<Vec<Changed>, Stop> {
        let table = &frame.tables.0[self.table];
        let context = frame.context();
        let reading = Reading::default();
        let Some(found) = self.access.queue(transaction, &context, reading)? else {
            return Ok(Vec::new());
        };
        let mut changed = Vec::new();
        for row in transaction.execute()?.rows(found) {
            if row.is_evicted() {
                continue;
            }
            let context = context.with(RowAtHand::Found(row, &table.types));
            if self.access.is_meant(&context)? {
                changed.push((row.handle()?, self.new_values(table, &context)?));
            }
        }
        Ok(changed)
    }

    fn new_values(
        &self,
        table: &Table,
        context: &Context<'_>,
    ) -> Result<Vec<Datum<'static>>, Stop> {
        let mut values = Vec::with_capacity(self.changes.len());
        for (column, value) in &self.changes {
            let datum = value.evaluate(context)?;
            table.check_null(*column, &datum)?;
            values.push(datum.into_owned());
        }
        if !self.checks.is_empty() {
            let mut row = Vec::with_capacity(table.names.len());
            for column in 0..table.names.len() {
                row.push(context.row.value(column)?);
            }
            for ((column, _), datum) in self.changes.iter().zip(&values) {
                row[*column] = datum.clone();
            }
            table.check_row(self.checks.iter().copied(), context, &row)?;
        }
        Ok(values)
    }
}
