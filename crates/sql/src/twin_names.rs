//! Conditions are not handed down through operators whose columns have the same names.
//!
//! DataFusion (55.2) finds a column of a condition in the operator below by its name, and takes the first one
//! of that name:
//!
//! ```text
//!     semi join, on t4.b = t1.b        tells which t1.b it looks for
//!         |
//!     right join                       has columns k, a, b of t0, then k, a, b of t1
//!         |
//!     join of t0 and t1                is told the same of t0.b
//! ```
//!
//! So rows would be lost. Where that may happen the rules that hand conditions down work on the parts of a
//! plan below, each by itself: what is above stays where it is, and joins above tell scans nothing.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;

/// The rule that hands conditions of the query down.
const OF_QUERY: &str = "FilterPushdown";
/// The one that hands down what operators learn while they run.
const LEARNED: &str = "FilterPushdown(Post)";

/// A rule that hands conditions down, where names tell columns apart.
#[derive(Debug)]
pub(crate) struct WithoutTwins(Arc<dyn PhysicalOptimizerRule + Send + Sync>);

/// The rules, those among them that hand conditions down with care.
pub(crate) fn careful(
    rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>,
) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let careful = |rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>| match rule.name() {
        OF_QUERY | LEARNED => Arc::new(WithoutTwins(rule)) as _,
        _ => rule,
    };
    rules.into_iter().map(careful).collect()
}

impl PhysicalOptimizerRule for WithoutTwins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let is_unsafe = match self.0.name() {
            LEARNED => has_twins_below(&plan),
            _ => has_condition_above_twins(&plan),
        };
        if !is_unsafe {
            return self.0.optimize(plan, config);
        }
        let children = plan.children().into_iter();
        let children = children.map(|child| self.optimize(Arc::clone(child), config));
        let children = children.collect::<Result<_>>()?;
        replace_children_if_necessary(plan, children)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Whether an operator below this one has two columns of one name.
fn has_twins_below(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let mut children = plan.children().into_iter();
    children.any(|child| has_twins(&child.schema()) || has_twins_below(child))
}

fn has_condition_above_twins(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if plan.is::<FilterExec>() && has_twins_below(plan) {
        return true;
    }
    plan.children().into_iter().any(has_condition_above_twins)
}

fn has_twins(schema: &Schema) -> bool {
    let mut seen = HashSet::new();
    let mut fields = schema.fields().iter();
    fields.any(|field| !seen.insert(field.name()))
}
