//! Finds the windows whose functions are all counts.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowUDFExpr};
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

use super::changes::Changes;
use super::counts::Count;
use super::operator::{NumberingExec, Window};

/// The rule. Has to come after those that see to orders: the operator that it puts in wants its input as
/// the one before did, and does not say so.
#[derive(Debug)]
pub(crate) struct Numberings;

impl PhysicalOptimizerRule for Numberings {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = plan.transform_up(|plan| {
            Ok(match window(plan.as_ref())? {
                Some(window) => {
                    let numbering = NumberingExec::new(plan, Arc::new(window));
                    Transformed::yes(Arc::new(numbering) as Arc<dyn ExecutionPlan>)
                }
                None => Transformed::no(plan),
            })
        });
        replaced.data()
    }

    fn name(&self) -> &'static str {
        "numberings"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// What an operator counts, if it does nothing else and its rows come in the order of the window.
fn window(plan: &dyn ExecutionPlan) -> Result<Option<Window>> {
    let Some(windows) = plan.downcast_ref::<BoundedWindowAggExec>() else {
        return Ok(None);
    };
    if windows.input_order_mode != InputOrderMode::Sorted {
        return Ok(None);
    }
    let functions = windows.window_expr();
    let Some(counts) = functions.iter().map(count).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let first = &functions[0];
    let is_alike = |other: &Arc<dyn WindowExpr>| {
        other.partition_by() == first.partition_by() && other.order_by() == first.order_by()
    };
    if !functions.iter().all(is_alike) {
        return Ok(None);
    }
    let order_by = first.order_by().iter();
    let window = Window {
        partition_by: first.partition_by().to_vec(),
        order_by: order_by.map(|by| Arc::clone(&by.expr)).collect(),
        counts,
    };
    let schema = windows.input().schema();
    for compared in window.partition_by.iter().chain(&window.order_by) {
        if !Changes::are_known_of(&compared.data_type(&schema)?) {
            return Ok(None);
        }
    }
    Ok(Some(window))
}

fn count(function: &Arc<dyn WindowExpr>) -> Option<Count> {
    let function = function.as_any().downcast_ref::<StandardWindowExpr>()?;
    let function = function.get_standard_func_expr().as_any();
    Count::of_function(function.downcast_ref::<WindowUDFExpr>()?.fun().name())
}
