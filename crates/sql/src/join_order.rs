//! Joins in the order that leaves few rows to join, whatever order they are written in.
//!
//! 1. Inner joins, semi joins and anti joins below one another are taken apart: [`group`]. What equalities say about
//!    columns holds for all that they connect: [`equal_columns`].
//! 2. [`cardinality`] tells how many rows each relation gives, and [`steps`] how many a join of them; [`joins`] puts
//!    them together again, in an order that [`exhaustive`] or [`greedy`] finds.
//! 3. An outer join stays where it is, but the smaller side comes first.
//!
//! The first side of a join is put into a hash table. DataFusion's own choice of that side, which it
//! makes from how many rows scans have at most, is off ([`crate::engine`]).
//!
//! Does not: take a subquery or an outer join apart.

mod cardinality;
mod equal_columns;
mod exhaustive;
mod greedy;
mod group;
mod joins;
mod steps;

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result};
use datafusion::logical_expr::{Join, LogicalPlan, Projection};
use datafusion::optimizer::{Optimizer, OptimizerConfig, OptimizerRule};

use group::Group;

/// The rule.
#[derive(Debug)]
struct JoinOrder;

/// DataFusion's rules with this one, before the last of them: it leaves out columns, also those that
/// this rule does away with no more.
pub(crate) fn optimizer() -> Optimizer {
    let mut optimizer = Optimizer::new();
    let last = optimizer.rules.len() - 1;
    optimizer.rules.insert(last, Arc::new(JoinOrder));
    optimizer
}

impl OptimizerRule for JoinOrder {
    fn name(&self) -> &'static str {
        "join_order"
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if !has_join(&plan)? {
            return Ok(Transformed::no(plan));
        }
        Ok(Transformed::yes(ordered(&plan)?))
    }
}

fn has_join(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|plan| {
        found |= matches!(plan, LogicalPlan::Join(_));
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

/// `plan` with all joins in it in order.
fn ordered(plan: &LogicalPlan) -> Result<LogicalPlan> {
    if group::is_group(plan)
        && let Some(group) = Group::of(plan, ordered)?
    {
        return with_schema_of(plan, joins::joined(group)?);
    }
    let inner = |inner: LogicalPlan| Ok(Transformed::yes(ordered(&inner)?));
    let plan = plan.clone().map_uncorrelated_subqueries(inner)?.data;
    let plan = plan.map_children(inner)?.data;
    match plan {
        LogicalPlan::Join(join) => smaller_side_first(join),
        other => Ok(other),
    }
}

/// The outer join with its sides turned, if the second is the smaller one.
fn smaller_side_first(join: Join) -> Result<LogicalPlan> {
    let turned = match join.join_type {
        JoinType::Left => JoinType::Right,
        JoinType::Right => JoinType::Left,
        JoinType::Full => JoinType::Full,
        _ => return Ok(LogicalPlan::Join(join)),
    };
    let rows = |plan| cardinality::estimate(plan).rows;
    match rows(&join.right) < rows(&join.left) {
        true => {
            let original = LogicalPlan::Join(join.clone());
            let on = join.on.into_iter().map(|(left, right)| (right, left));
            let join = Join::try_new(
                join.right,
                join.left,
                on.collect(),
                join.filter,
                turned,
                join.join_constraint,
                join.null_equality,
                join.null_aware,
            )?;
            with_schema_of(&original, LogicalPlan::Join(join))
        }
        false => Ok(LogicalPlan::Join(join)),
    }
}

/// `plan` with the columns of `original`, in their order.
fn with_schema_of(original: &LogicalPlan, plan: LogicalPlan) -> Result<LogicalPlan> {
    let schema = original.schema();
    Ok(match plan.schema() == schema {
        true => plan,
        false => {
            LogicalPlan::Projection(Projection::new_from_schema(Arc::new(plan), schema.clone()))
        }
    })
}
