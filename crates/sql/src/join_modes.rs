//! Joins put their whole first side into one table, where few threads share the work.
//!
//! The other way is to bring the rows of both sides into as many parts as there are threads, by the
//! hash of their keys: it spreads the making of the table, but every row of the second side, which
//! [`crate::join_order`] sees to be the larger one, is hashed, copied and handed to another thread. With
//! few threads that costs more than it gives.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};

/// Up to so many threads the first side is put into one table, however large it is.
const THREADS_MAX: usize = 4;

/// The rule. Has to come before the one that chooses by size.
#[derive(Debug)]
pub(crate) struct JoinModes;

impl PhysicalOptimizerRule for JoinModes {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if config.execution.target_partitions > THREADS_MAX {
            return Ok(plan);
        }
        let collected = |plan: Arc<dyn ExecutionPlan>| {
            let Some(join) = plan.downcast_ref::<HashJoinExec>() else {
                return Ok(Transformed::no(plan));
            };
            if *join.partition_mode() != PartitionMode::Auto {
                return Ok(Transformed::no(plan));
            }
            let join = join
                .builder()
                .with_partition_mode(PartitionMode::CollectLeft);
            Ok(Transformed::yes(join.build_exec()?))
        };
        plan.transform_up(collected).data()
    }

    fn name(&self) -> &'static str {
        "join_modes"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
