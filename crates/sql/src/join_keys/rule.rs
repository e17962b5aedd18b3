//! Finds joins that tell of their keys, and the scans that are told.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::common::{NullEquality, Result};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::JoinKeys;
use super::key_set::KeySet;
use super::operator::JoinKeysExec;
use crate::table::scan::ScanExec;

/// The rule. Has to come after those that make, take and hand down the filters of joins.
#[derive(Debug)]
pub(crate) struct JoinKeySets;

/// The keys of joins, by the identity of the filters that they tell scans with.
type ByFilter = BTreeMap<u64, Arc<JoinKeys>>;

impl PhysicalOptimizerRule for JoinKeySets {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        told(plan, &mut ByFilter::new())
    }

    fn name(&self) -> &'static str {
        "join_key_sets"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan with all joins' first sides noted; scans are told of those of `known` and of joins above them.
fn told(plan: Arc<dyn ExecutionPlan>, known: &mut ByFilter) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        let told = scan.with_join_keys(|filter| known.get(&filter).cloned());
        return Ok(told.map_or(plan, |scan| Arc::new(scan)));
    }
    let noted = plan.downcast_ref::<HashJoinExec>().and_then(NotedJoin::of);
    if let Some(noted) = &noted {
        known.insert(noted.filter, Arc::clone(&noted.keys));
    }
    let children = plan.children().into_iter();
    let mut children: Vec<_> = children
        .map(|child| told(Arc::clone(child), known))
        .collect::<Result<_>>()?;
    if let Some(NotedJoin { places, keys, .. }) = noted {
        let first = Arc::clone(&children[0]);
        children[0] = Arc::new(JoinKeysExec::new(first, places, keys));
    }
    replace_children_if_necessary(plan, children)
}

/// A join whose keys will be known.
struct NotedJoin {
    /// The identity of the filter that it tells scans with.
    filter: u64,
    /// By column of the join: its place on the first side, if its keys can be a set.
    places: Arc<[Option<usize>]>,
    keys: Arc<JoinKeys>,
}

impl NotedJoin {
    fn of(join: &HashJoinExec) -> Option<Self> {
        let filter = join.dynamic_expressions_produced();
        let filter = filter.first()?.expression_id()?;
        // Else a row without a key may be wanted, too.
        if join.null_equality() != NullEquality::NullEqualsNothing || join.null_aware {
            return None;
        }
        let schema = join.left().schema();
        let place = |key: &Arc<dyn PhysicalExpr>| {
            let place = key.downcast_ref::<Column>()?.index();
            KeySet::is_of(schema.field(place).data_type()).then_some(place)
        };
        let places: Arc<[_]> = join.on().iter().map(|(first, _)| place(first)).collect();
        if places.iter().all(Option::is_none) {
            return None;
        }
        let partitions = join.left().output_partitioning().partition_count();
        let keys = Arc::new(JoinKeys::new(places.len(), partitions));
        Some(Self {
            filter,
            places,
            keys,
        })
    }
}
