//! Where projections begin in the log, begin again, and cannot be carried any further.
//!
//! A projection begins between two transactions, after a step of its own: from there on the table's sink
//! keeps the former cells of the columns that it is ordered by. Where a table goes on in another tree,
//! its projections begin again, with that tree.
//!
//! The log has former cells of columns outside of the key only under `REPLICA IDENTITY FULL`. Whether it
//! has them is seen with each change: one that comes without stops the projections that need them, before
//! its transaction. So it does not matter when and how the identity is changed.
//!
//! What a change had with it was decided when it was written. A projection that is asked for right after
//! the identity was changed begins where the log has passed the place at which the catalog was looked at.

use types::{CommitPosition, OrderColumn, TableChange, TableName, TableSchema};

use super::super::catalog::PublishedTable;
use super::super::table_sink::Place;
use super::tables::Step;
use super::{Changes, ChangesError, Table};
use crate::projection::request::{Refusal, Wish};
use crate::projection::{Projection, ProjectionState, column_numbered};

/// A projection that the log is followed for.
#[derive(Clone, Debug)]
pub(super) struct Projected {
    name: String,
    /// The numbers at the source of the columns that it is ordered by.
    numbers: Vec<i16>,
    /// Those that may be NULL, as the catalog said last.
    nullable: Vec<i16>,
}

impl Projected {
    /// What it is ordered by in a table of this schema; `None` where that is not possible.
    fn order_by(&self, schema: &TableSchema) -> Option<Vec<OrderColumn>> {
        let order = |number: &i16| {
            let column = column_numbered(schema, *number)?;
            let nullable = schema.columns[column].nullable || self.nullable.contains(number);
            Some(OrderColumn { column, nullable })
        };
        self.numbers.iter().map(order).collect()
    }
}

impl Table {
    /// Has the sink keep what the projections need.
    pub(super) fn keep_cells(&mut self) {
        let schema = &self.replicated.schema;
        let numbers = self.projections.iter().flat_map(|each| &each.numbers);
        let columns = numbers.filter_map(|&number| column_numbered(schema, number));
        self.sink.keep(columns);
    }

    /// Whether a projection is ordered by columns outside of the key.
    fn needs_cells(&self, projected: &Projected) -> bool {
        let schema = &self.replicated.schema;
        let mut numbers = projected.numbers.iter();
        numbers.any(|&number| {
            column_numbered(schema, number).is_none_or(|column| !schema.key.contains(&column))
        })
    }
}

impl Changes {
    /// Follows the log for these projections, too, which the apply loop has.
    pub fn maintain(&mut self, projections: &[std::sync::Arc<Projection>]) {
        for projection in projections {
            let is_its = |t: &&mut Table| t.replicated.id == projection.table;
            let Some(table) = self.tables.iter_mut().find(is_its) else {
                continue;
            };
            if matches!(projection.state, ProjectionState::Stopped { .. }) {
                continue;
            }
            let columns = &table.replicated.schema.columns;
            let number = |order: &OrderColumn| columns[order.column].source_number;
            let nullable = projection.order_by.iter().filter(|order| order.nullable);
            table.projections.push(Projected {
                name: projection.name.clone(),
                numbers: projection.order_by.iter().map(number).collect(),
                nullable: nullable.map(number).collect(),
            });
            table.keep_cells();
        }
    }

    /// Whether a projection may begin or end here.
    pub fn is_between_transactions(&self) -> bool {
        self.transaction.is_none() && self.steps.is_empty()
    }

    /// Looks whether the source gives what a wish needs; returns the place that the log must have passed
    /// before it is carried out.
    pub fn check_wish(
        &mut self,
        wish: &Wish,
    ) -> Result<Result<CommitPosition, Refusal>, ChangesError> {
        let Wish::Create {
            table, order_by, ..
        } = wish
        else {
            return Ok(Ok(CommitPosition::ZERO));
        };
        let described = self.described_by_name(table)?;
        let Some(described) = described else {
            let reason = format!("table {table} is not in the publication any more");
            return Ok(Err(Refusal::because(reason)));
        };
        match identity_refusal(&described, order_by) {
            Some(refusal) => Ok(Err(refusal)),
            None => Ok(Ok(self.describe.log_end()?)),
        }
    }

    /// Takes the step that a wish asks for.
    pub fn carry_out_wish(&mut self, wish: &Wish) -> Result<Result<(), Refusal>, ChangesError> {
        match wish {
            Wish::Drop { name } => {
                self.step(Step::DropProjection { name: name.clone() });
                Ok(Ok(()))
            }
            Wish::Create {
                name,
                table,
                order_by,
            } => self.order_projection(name, table, order_by),
        }
    }

    fn described_by_name(
        &mut self,
        name: &TableName,
    ) -> Result<Option<PublishedTable>, ChangesError> {
        let is_named = |t: &&Table| t.replicated.schema.name == *name && !t.gone;
        let relation = self.tables.iter().find(is_named);
        match relation.map(|t| t.replicated.wire.relation) {
            Some(relation) => Ok(self.describe.table(relation)?),
            None => Ok(None),
        }
    }

    fn order_projection(
        &mut self,
        name: &str,
        table: &TableName,
        order_by: &[String],
    ) -> Result<Result<(), Refusal>, ChangesError> {
        let described = self.described_by_name(table)?;
        let is_named = |t: &Table| t.replicated.schema.name == *table && !t.gone;
        let place = self.tables.iter().position(is_named);
        let (Some(index), Some(described)) = (place, described) else {
            let reason = format!("table {table} is not replicated any more");
            return Ok(Err(Refusal::because(reason)));
        };
        let replicated = &self.tables[index].replicated;
        if replicated.copying || replicated.stopped {
            let state = if replicated.stopped {
                "stopped"
            } else {
                "being copied"
            };
            return Ok(Err(Refusal::because(format!("table {table} is {state}"))));
        }
        let columns = &replicated.schema.columns;
        let number = |name: &String| {
            let column = columns.iter().find(|c| !c.hidden && c.name == *name)?;
            column_numbered(&replicated.schema, column.source_number)?;
            Some(column.source_number)
        };
        let Some(numbers) = order_by.iter().map(number).collect::<Option<Vec<_>>>() else {
            let reason = format!("the columns of table {table} have changed");
            return Ok(Err(Refusal::because(reason)));
        };
        let nullable = described.columns.iter().filter(|column| !column.not_null);
        let projected = Projected {
            name: name.to_owned(),
            numbers,
            nullable: nullable.map(|column| column.number).collect(),
        };
        self.step(Step::Project { index, projected });
        Ok(Ok(()))
    }

    /// Begins a projection of a table.
    pub(super) fn begin_projection(&mut self, index: usize, projected: Projected) {
        let table = &mut self.tables[index];
        table.projections.retain(|each| each.name != projected.name);
        table.projections.push(projected.clone());
        table.keep_cells();
        self.project(index, &projected);
    }

    /// The table goes on in another tree: its projections begin again.
    pub(super) fn project_again(&mut self, index: usize) {
        for projected in self.tables[index].projections.clone() {
            self.project(index, &projected);
        }
        self.tables[index].keep_cells();
    }

    fn project(&mut self, index: usize, projected: &Projected) {
        let replicated = &self.tables[index].replicated;
        let (table, name) = (replicated.id, projected.name.clone());
        let Some(order_by) = projected.order_by(&replicated.schema) else {
            return self.drop_projection(name);
        };
        // Of a transaction that is open nothing has come into this tree.
        let open = self.transaction.as_ref();
        let before = |open: &super::Transaction| CommitPosition(open.position.0.saturating_sub(1));
        let position = open.map_or(self.last, before);
        let projection = self.new_id();
        self.batch.changes.push(TableChange::Project {
            table,
            projection,
            name,
            order_by,
            position,
        });
    }

    pub(super) fn drop_projection(&mut self, name: String) {
        for table in &mut self.tables {
            table.projections.retain(|each| each.name != name);
            table.keep_cells();
        }
        self.batch
            .changes
            .push(TableChange::DropProjection { name });
    }

    /// After a change without former cells that projections need: they are stopped before it.
    pub(super) fn stop_projections_without_cells(&mut self, index: usize, place: Place) {
        if !self.tables[index].sink.take_lost() {
            return;
        }
        let table = &mut self.tables[index];
        let all = std::mem::take(&mut table.projections);
        let (stopped, kept): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|each| table.needs_cells(each));
        table.projections = kept;
        table.keep_cells();
        let table = &table.replicated.schema.name;
        let reason = format!(
            "an UPDATE or DELETE came without the row's former cells. At the source: ALTER TABLE {table} \
             REPLICA IDENTITY FULL; then drop the projection and create it again"
        );
        let stop = |projected: Projected| TableChange::StopProjection {
            name: projected.name,
            position: CommitPosition(place.position.0.saturating_sub(1)),
            reason: reason.clone(),
        };
        self.batch.changes.extend(stopped.into_iter().map(stop));
    }
}

/// Why the log of the source does not have what a projection needs.
fn identity_refusal(table: &PublishedTable, order_by: &[String]) -> Option<Refusal> {
    let in_key = |name: &String| {
        let key = table.key.iter().flatten();
        let mut names = key.map(|&place| &table.columns[place].name);
        names.any(|column| column == name)
    };
    // Rows without a key are updated and deleted with their whole old rows, or not at all.
    let needs_none = table.key.is_none() || order_by.iter().all(in_key);
    if table.identity == 'f' || needs_none {
        return None;
    }
    Some(Refusal {
        reason: format!(
            "the log of the source does not have the former cells of table {}",
            table.name
        ),
        hint: Some(format!(
            "At the source: ALTER TABLE {} REPLICA IDENTITY FULL;",
            table.sql_name()
        )),
    })
}
