//! INSERT: rows with a value for each column.

use oltp::{Stop, Transaction};
use types::Value;

use super::{Frame, explained};
use crate::datum::Datum;
use crate::expression::Node;

/// See the module.
pub(crate) struct Insert {
    /// The table's place.
    pub(super) table: usize,
    /// A value for each column.
    pub(super) rows: Vec<Vec<Node>>,
}

impl Insert {
    /// Adds the rows; says how many.
    pub(super) fn run(
        &self,
        frame: &Frame<'_>,
        transaction: &mut Transaction<'_>,
    ) -> Result<u64, Stop> {
        for row in &self.rows {
            self.insert(row, frame, transaction)?;
        }
        Ok(self.rows.len() as u64)
    }

    fn insert(
        &self,
        values: &[Node],
        frame: &Frame<'_>,
        transaction: &mut Transaction<'_>,
    ) -> Result<(), Stop> {
        let table = &frame.tables.0[self.table];
        let context = frame.context();
        let mut row = Vec::with_capacity(values.len());
        for (column, value) in values.iter().enumerate() {
            let datum = value.evaluate(&context)?;
            table.check_null(column, &datum)?;
            row.push(datum);
        }
        table.check_row(0..table.checks.len(), &context, &row)?;
        let cells: Vec<Value<'_>> = row.iter().map(Datum::cell).collect();
        let inserted = transaction
            .insert(table.number, &cells)
            .and_then(|_| transaction.execute().map(drop));
        inserted.map_err(|stop| explained(stop, frame.tables, Some(&row)))
    }
}
