//! Conditions that a scan checks itself, on the columns that they mention.
//!
//! The planner hands them down: those of a `where`, and those that become known while a statement
//! runs (*dynamic*): what a `limit` with an order, a `min` or a `max` has no more use for. How they are
//! checked is [`super::row_check`]'s. Of joins that tell which keys they look for, the keys may be known as well
//! ([`crate::join_keys`]).

use std::sync::Arc;

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use types::TableSchema;

use crate::join_keys::JoinKeys;

/// Conditions, all of which have to hold.
#[derive(Clone, Debug)]
pub(super) struct RowFilters {
    /// Stored columns that they mention.
    columns: Vec<usize>,
    /// Those columns: what `conditions` are about.
    schema: SchemaRef,
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    /// By condition: the keys of the join that it comes from, in the order of its children.
    join_keys: Vec<Option<Arc<JoinKeys>>>,
}

impl RowFilters {
    /// No condition.
    pub(super) fn none() -> Self {
        Self {
            columns: Vec::new(),
            schema: Arc::new(Schema::empty()),
            conditions: Vec::new(),
            join_keys: Vec::new(),
        }
    }

    /// These and further conditions about the columns of `schema`, which are the `stored` ones of
    /// `table`.
    pub(super) fn with(
        &self,
        conditions: &[Arc<dyn PhysicalExpr>],
        schema: &Schema,
        stored: &[usize],
        table: &TableSchema,
    ) -> Result<Self> {
        let mut columns = self.columns.clone();
        let mut fields = self.schema.fields().to_vec();
        let mut moved = self.conditions.clone();
        for condition in conditions {
            let condition = Arc::clone(condition).transform_up(|expression| {
                let Some(column) = expression.downcast_ref::<Column>() else {
                    return Ok(Transformed::no(expression));
                };
                let mentioned = stored[column.index()];
                let known = columns.iter().position(|&known| known == mentioned);
                let place = known.unwrap_or_else(|| {
                    columns.push(mentioned);
                    // The planner may call it otherwise, and another one so.
                    let name = &table.columns[mentioned].name;
                    fields.push(Arc::new(
                        schema.field(column.index()).clone().with_name(name),
                    ));
                    columns.len() - 1
                });
                let moved: Arc<dyn PhysicalExpr> =
                    Arc::new(Column::new(fields[place].name(), place));
                Ok(Transformed::yes(moved))
            });
            moved.push(condition.data()?);
        }
        let mut join_keys = self.join_keys.clone();
        join_keys.resize(moved.len(), None);
        Ok(Self {
            columns,
            schema: Arc::new(Schema::new(fields)),
            conditions: moved,
            join_keys,
        })
    }

    /// The same conditions with the keys of joins, which are found by the identity of a condition; `None`, if there are
    /// none.
    pub(super) fn with_join_keys(
        &self,
        find: impl Fn(u64) -> Option<Arc<JoinKeys>>,
    ) -> Option<Self> {
        let of = |condition: &Arc<dyn PhysicalExpr>| find(condition.expression_id()?);
        let join_keys: Vec<_> = self.conditions.iter().map(of).collect();
        let is_told = join_keys.iter().any(Option::is_some);
        is_told.then(|| Self {
            join_keys,
            ..self.clone()
        })
    }

    /// Stored columns that they mention.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Those columns, as conditions name them.
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The conditions, about [`Self::columns`].
    pub(super) fn conditions(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.conditions
    }

    /// By condition: the keys of the join that it comes from, one for each of its children.
    pub(super) fn join_keys(&self) -> &[Option<Arc<JoinKeys>>] {
        &self.join_keys
    }
}
