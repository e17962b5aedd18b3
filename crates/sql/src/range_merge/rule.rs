//! Finds merges of a scan's partitions.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;

use super::operator::RangeMergeExec;
use crate::exchange::is_exchange;
use crate::table::scan::ScanExec;

/// The rule. Has to come after the one that has scans share what they read: it leaves alone those of which somebody
/// relies on which partition has a row, as an aggregate below the merge may.
#[derive(Debug)]
pub(crate) struct RangeMerges;

impl PhysicalOptimizerRule for RangeMerges {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = plan.transform_up(|plan| {
            let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() else {
                return Ok(Transformed::no(plan));
            };
            let Some(input) = in_turns(merge.input())? else {
                return Ok(Transformed::no(plan));
            };
            let merge = replace_children_if_necessary(plan, vec![input])?;
            Ok(Transformed::yes(Arc::new(RangeMergeExec::new(merge))))
        });
        replaced.data()
    }

    fn name(&self) -> &'static str {
        "range_merges"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The same rows from a scan that reads its ranges in turns, if they are those of a scan, partition by partition and in
/// its order.
fn in_turns(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        let scan = scan.in_turns()?;
        return Ok(scan.map(|scan| Arc::new(scan) as Arc<dyn ExecutionPlan>));
    }
    let ([input], [true]) = (&plan.children()[..], &plan.maintains_input_order()[..]) else {
        return Ok(None);
    };
    if is_exchange(plan.as_ref()) {
        return Ok(None);
    }
    let Some(input) = in_turns(input)? else {
        return Ok(None);
    };
    replace_children_if_necessary(Arc::clone(plan), vec![input]).map(Some)
}
