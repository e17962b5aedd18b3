//! SELECT: rows for the client, or values for variables.
//!
//! Rows come in the order that is asked for; where none is, in that of the key by which they were found, or of
//! the primary key. It follows from the rows alone, so that a procedure does the same when it runs again.

use std::cmp::Ordering;

use oltp::{Rejection, Stop, Transaction};

use super::Frame;
use crate::access::{Access, Reading};
use crate::datum::Datum;
use crate::expression::Node;
use crate::expression::evaluate::{Context, RowAtHand};
use crate::fault::code;
use crate::reply::Reply;

/// See the module.
pub(crate) struct Select {
    pub(super) items: Vec<Node>,
    /// The variables that get the values of the one row.
    pub(super) into: Option<Vec<usize>>,
    pub(super) from: Option<From>,
}

/// What is selected from.
pub(crate) struct From {
    /// The table's place.
    pub(super) table: usize,
    pub(super) access: Access,
    /// Columns, and whether the largest comes first. Empty: in the order in which rows are found.
    pub(super) order_by: Vec<(usize, bool)>,
    /// Whether rows are found in this order, from the largest on if that is true.
    pub(super) direction: Option<bool>,
    pub(super) limit: Option<Node>,
}

/// A row of the result with what it is ordered by.
struct Selected {
    order: Vec<Datum<'static>>,
    values: Vec<Datum<'static>>,
}

impl Select {
    /// The way to its rows, if it has a table.
    pub(super) fn access(&self) -> Option<&Access> {
        self.from.as_ref().map(|from| &from.access)
    }

    /// Answers with the rows, or sets the variables.
    pub(super) fn run(
        &self,
        frame: &mut Frame<'_>,
        transaction: &mut Transaction<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<(), Stop> {
        let mut rows = match &self.from {
            Some(from) => self.select(from, frame, transaction)?,
            None => vec![Selected {
                order: Vec::new(),
                values: values(&self.items, &frame.context())?,
            }],
        };
        let Some(into) = &self.into else {
            rows.iter().for_each(|row| reply.row(&row.values));
            return Ok(());
        };
        if rows.len() > 1 {
            let message = "SELECT INTO has found more than one row";
            return Err(Rejection::new(code::CARDINALITY_VIOLATION, message).into());
        }
        let found = rows.pop();
        let values = found.map_or_else(|| vec![Datum::Null; into.len()], |row| row.values);
        for (slot, datum) in into.iter().zip(values) {
            frame.slots[*slot] = datum;
        }
        Ok(())
    }

    fn select(
        &self,
        from: &From,
        frame: &Frame<'_>,
        transaction: &mut Transaction<'_>,
    ) -> Result<Vec<Selected>, Stop> {
        let table = &frame.tables.0[from.table];
        let context = frame.context();
        let limit = from.limit(&context)?;
        let is_in_order = from.direction.is_some();
        let reading = Reading {
            is_descending: from.direction == Some(true),
            rows_max: limit.filter(|_| is_in_order && from.access.is_exact()),
        };
        let Some(found) = from.access.queue(transaction, &context, reading)? else {
            return Ok(Vec::new());
        };
        let mut rows = Vec::new();
        for row in transaction.execute()?.rows(found) {
            if row.is_evicted() {
                continue;
            }
            let context = context.with(RowAtHand::Found(row, &table.types));
            if from.access.is_meant(&context)? {
                rows.push(self.selected(from, &context)?);
            }
        }
        if !is_in_order {
            rows.sort_by(|a, b| from.compare(a, b));
        }
        rows.truncate(limit.unwrap_or(usize::MAX));
        Ok(rows)
    }

    fn selected(&self, from: &From, context: &Context<'_>) -> Result<Selected, Stop> {
        let mut order = Vec::new();
        if from.direction.is_none() {
            for (column, _) in &from.order_by {
                order.push(context.row.value(*column)?.into_owned());
            }
        }
        Ok(Selected {
            order,
            values: values(&self.items, context)?,
        })
    }
}

fn values(items: &[Node], context: &Context<'_>) -> Result<Vec<Datum<'static>>, Stop> {
    let each = items.iter();
    each.map(|item| item.evaluate(context).map(Datum::into_owned))
        .collect()
}

impl From {
    fn limit(&self, context: &Context<'_>) -> Result<Option<usize>, Stop> {
        let Some(limit) = &self.limit else {
            return Ok(None);
        };
        match limit.evaluate(context)? {
            Datum::Int(rows) if rows >= 0 => Ok(Some(usize::try_from(rows).unwrap_or(usize::MAX))),
            Datum::Int(_) => {
                let message = "LIMIT must not be negative";
                Err(Rejection::new(code::INVALID_ROW_COUNT_IN_LIMIT, message).into())
            }
            _ => Ok(None),
        }
    }

    /// NULL is behind all values, so it comes first where the largest does.
    fn compare(&self, a: &Selected, b: &Selected) -> Ordering {
        let columns = self.order_by.iter().zip(a.order.iter().zip(&b.order));
        let orders = columns.map(|((_, is_descending), (a, b))| match is_descending {
            true => b.order(a),
            false => a.order(b),
        });
        orders.fold(Ordering::Equal, Ordering::then)
    }
}
