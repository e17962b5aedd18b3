//! What joins tell the scans below them of the keys that they look for, where that is safe.
//!
//! A hash join knows, once its first side has been read, which keys the second side's rows need to be
//! of use, and scans leave out other rows. It tells so when all parts of it have their first side: each
//! waits for the others. A part that nobody asks for a row is waited for without end (DataFusion 55.2):
//!
//! ```text
//!     join, partitioned       part 2 has no rows on its first side, and asks for none
//!      /           \          of the second
//!   first        join          part 1 waits for part 2 of this one
//! ```
//!
//! This rule takes the filter from such joins: those below the second side of a partitioned join, up to
//! the next exchange, which asks all parts by itself.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode, SortMergeJoinExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use crate::exchange::is_exchange;

/// The rule. Has to come after the one that makes the filters.
#[derive(Debug)]
pub(crate) struct JoinFilters;

/// Whether all parts of an operator are asked for rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    AllParts,
    PerhapsNotAll,
}

impl PhysicalOptimizerRule for JoinFilters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        safe(plan, Asked::AllParts)
    }

    fn name(&self) -> &'static str {
        "join_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn safe(plan: Arc<dyn ExecutionPlan>, asked: Asked) -> Result<Arc<dyn ExecutionPlan>> {
    let children = plan.children().into_iter().enumerate();
    let safe_children: Vec<_> = children
        .map(|(place, child)| safe(Arc::clone(child), asked_of(plan.as_ref(), place, asked)))
        .collect::<Result<_>>()?;
    let plan = replace_children_if_necessary(plan, safe_children)?;
    match plan.downcast_ref::<HashJoinExec>() {
        Some(join)
            if asked == Asked::PerhapsNotAll && !join.dynamic_expressions_produced().is_empty() =>
        {
            join.builder().reset_state().build_exec()
        }
        _ => Ok(plan),
    }
}

/// Whether all parts of a child are asked, if `plan` is as `asked` says.
fn asked_of(plan: &dyn ExecutionPlan, child: usize, asked: Asked) -> Asked {
    if is_exchange(plan) {
        return Asked::AllParts;
    }
    if plan.is::<SortMergeJoinExec>() {
        return Asked::PerhapsNotAll;
    }
    match plan
        .downcast_ref::<HashJoinExec>()
        .map(HashJoinExec::partition_mode)
    {
        // Whichever part comes first reads the whole first side.
        Some(PartitionMode::CollectLeft) if child == 0 => Asked::AllParts,
        Some(PartitionMode::CollectLeft) | None => asked,
        Some(_) if child == 0 => asked,
        Some(_) => match plan.output_partitioning().partition_count() {
            1 => asked,
            _ => Asked::PerhapsNotAll,
        },
    }
}
