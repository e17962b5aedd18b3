//! Has the partitions of scans share what is to be read, where nobody minds which of them has a row.
//!
//! A scan first tells the planner how its parts share the key out, so that rows with one value of the key's
//! first column need not be brought together again. Parts that are fixed take unequally long, and all wait
//! for the slowest. So in the end this rule looks at who relies on them: an operator that wants rows of one
//! value in one partition, and whatever is between it and the scans below. An exchange relies on nothing.
//!
//! ```text
//!     AggregateExec: mode=SinglePartitioned       wants it
//!       FilterExec                                may stand between
//!         ScanExec                                stays as it is
//!
//!     AggregateExec: mode=FinalPartitioned        wants it
//!       RepartitionExec                           brings rows together itself
//!         AggregateExec: mode=Partial
//!           ScanExec                              its partitions share
//! ```

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::{Distribution, ExecutionPlan};

use crate::exchange::is_exchange;
use crate::table::scan::ScanExec;

/// The rule. Has to come after those that see to how rows are spread, and before those that put in
/// operators which don't say what they want.
#[derive(Debug)]
pub(crate) struct ScanSharing;

/// Whether somebody above an operator relies on which of its partitions has a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Places {
    Free,
    ReliedOn,
}

impl PhysicalOptimizerRule for ScanSharing {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        sharing(plan, Places::Free)
    }

    fn name(&self) -> &'static str {
        "scan_sharing"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn sharing(plan: Arc<dyn ExecutionPlan>, places: Places) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return Ok(match places {
            Places::Free => scan.sharing()?.map_or(plan, |scan| Arc::new(scan)),
            Places::ReliedOn => plan,
        });
    }
    let children = plan.children().into_iter().enumerate();
    let children: Vec<_> = children
        .map(|(place, child)| sharing(Arc::clone(child), places_in(plan.as_ref(), place, places)))
        .collect::<Result<_>>()?;
    replace_children_if_necessary(plan, children)
}

/// What is relied on in a child, if `places` is what is relied on in `plan`.
fn places_in(plan: &dyn ExecutionPlan, child: usize, places: Places) -> Places {
    if is_exchange(plan) {
        return Places::Free;
    }
    match plan
        .input_distribution_requirements()
        .child_distribution(child)
    {
        None | Some(Distribution::UnspecifiedDistribution | Distribution::SinglePartition) => {
            places
        }
        Some(_) => Places::ReliedOn,
    }
}
