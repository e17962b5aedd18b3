//! Plans statements with equal subplans.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use parking_lot::Mutex;

use super::operator::{SharedExec, SharedRows};
use super::rule::{self, SharedSubplan};
use crate::unnested_rows::UnnestedRows;

/// DataFusion's planner, and before it the rule.
#[derive(Debug)]
pub(crate) struct SharingPlanner;

#[async_trait]
impl QueryPlanner for SharingPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let operators = Arc::new(Operators::default());
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![operators]);
        // What has no room for a hash table has none for a result either.
        match session.config_options().optimizer.prefer_hash_join {
            true => {
                let plan = rule::marked(plan)?;
                planner.create_physical_plan(&plan, session).await
            }
            false => planner.create_physical_plan(plan, session).await,
        }
    }
}

/// Plans the marked subplans of one statement.
#[derive(Default)]
struct Operators {
    /// By a subplan's number.
    rows: Mutex<HashMap<usize, Arc<SharedRows>>>,
}

#[async_trait]
impl ExtensionPlanner for Operators {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(subplan) = SharedSubplan::of(node) else {
            return Ok(UnnestedRows::is(node).then(|| Arc::clone(&inputs[0])));
        };
        let rows = Arc::clone(self.rows.lock().entry(subplan.number).or_default());
        let partitions = session.config_options().execution.target_partitions;
        Ok(Some(Arc::new(SharedExec::new(
            Arc::clone(&inputs[0]),
            subplan.number,
            partitions,
            rows,
        ))))
    }
}
