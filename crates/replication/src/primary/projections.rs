//! Projections of the primary's tables: what people want of them is carried out between two batches.
//!
//! The feed has every row as it was before, so any column will do. From the next batch on deletions carry the
//! former cells, and an update that changes one of the ordered columns is a deletion and a put.

use types::{ChangeBatch, CommitPosition, OrderColumn, TableChange, TableId};

use super::images::Images;
use super::table::PrimaryTable;
use crate::projection::request::{Refusal, Wish};
use crate::projection::{Projection, ProjectionState};
use crate::source::Feed;

/// The projections that former cells are told for.
pub(super) struct Projections<'t> {
    tables: &'t [PrimaryTable],
    identity: String,
    next_tree: TableId,
    kept: Vec<Kept>,
}

struct Kept {
    name: String,
    /// The table's number at the primary.
    table: usize,
    columns: Vec<usize>,
}

impl<'t> Projections<'t> {
    /// Those that the apply loop has.
    pub(super) fn new(tables: &'t [PrimaryTable], identity: String, feed: &Feed) -> Self {
        let kept = |projection: &Projection| {
            let is_stopped = matches!(projection.state, ProjectionState::Stopped { .. });
            let name = &feed.catalog.by_id(projection.table)?.schema.name;
            let mut numbered = (0..).zip(tables);
            let (table, _) = numbered.find(|(_, table)| table.schema.name == *name)?;
            (!is_stopped).then(|| Kept {
                name: projection.name.clone(),
                table,
                columns: projection.order_by.iter().map(|each| each.column).collect(),
            })
        };
        let projections = feed.catalog.projections();
        Self {
            tables,
            identity,
            next_tree: feed.store.next_table(),
            kept: projections.iter().filter_map(|each| kept(each)).collect(),
        }
    }

    /// Has batches carry the former cells that all of them need.
    pub(super) fn tell(&self, images: &mut Images) {
        for number in 0..self.tables.len() {
            let of_table = self.kept.iter().filter(|each| each.table == number);
            let columns = of_table.flat_map(|each| each.columns.iter().copied());
            images.keep_former_cells(number, columns.collect());
        }
    }

    /// Carries out what people want, after everything up to `position`; false when the source has to end.
    pub(super) fn see_to(
        &mut self,
        position: CommitPosition,
        feed: &Feed,
        images: &mut Images,
    ) -> bool {
        while let Some(request) = feed.catalog.projection_requests().next() {
            match self.carry_out(&request.wish, position, feed) {
                Err(refusal) => request.answer(Err(refusal)),
                Ok(batch) => {
                    self.tell(images);
                    if !feed.hand_over(batch) {
                        return false;
                    }
                    request.answer(Ok(()));
                }
            }
        }
        true
    }

    fn carry_out(
        &mut self,
        wish: &Wish,
        position: CommitPosition,
        feed: &Feed,
    ) -> Result<ChangeBatch, Refusal> {
        let change = match wish {
            Wish::Drop { name } => {
                self.kept.retain(|each| each.name != *name);
                TableChange::DropProjection { name: name.clone() }
            }
            Wish::Create {
                name,
                table,
                order_by,
            } => {
                let mut numbered = (0..).zip(self.tables);
                let found = numbered.find(|(_, each)| each.schema.name == *table);
                let no_table = || Refusal::because(format!("the source has no table {table}"));
                let (number, of) = found.ok_or_else(no_table)?;
                let order_by = places(of, order_by)?;
                self.project(name, number, order_by, position, feed)
            }
        };
        Ok(ChangeBatch {
            committed: Some(position),
            resume: position.0,
            source: Some(self.identity.clone()),
            changes: vec![change],
            ..ChangeBatch::default()
        })
    }

    fn project(
        &mut self,
        name: &str,
        table: usize,
        order_by: Vec<OrderColumn>,
        position: CommitPosition,
        feed: &Feed,
    ) -> TableChange {
        self.kept.retain(|each| each.name != *name);
        self.kept.push(Kept {
            name: name.to_owned(),
            table,
            columns: order_by.iter().map(|each| each.column).collect(),
        });
        let projection = self.next_tree;
        self.next_tree = TableId(projection.0 + 1);
        let of = &self.tables[table].schema.name;
        let entry = feed.catalog.by_name(&of.schema, &of.name);
        TableChange::Project {
            table: entry.expect("preparing put all tables into the catalog").id,
            projection,
            name: name.to_owned(),
            order_by,
            position,
        }
    }
}

fn places(table: &PrimaryTable, names: &[String]) -> Result<Vec<OrderColumn>, Refusal> {
    let columns = &table.schema.columns;
    let place = |name: &String| {
        let column = columns.iter().position(|column| column.name == *name);
        let no_column = || Refusal::because(format!("there is no column {name}"));
        let column = column.ok_or_else(no_column)?;
        let nullable = columns[column].nullable;
        Ok(OrderColumn { column, nullable })
    };
    names.iter().map(place).collect()
}
