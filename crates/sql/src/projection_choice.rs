//! Which order of a table a scan reads, where what is done with its rows wants one.
//!
//! A scan knows of the projections that have its table's rows in other orders (see
//! [`crate::table::orders`]). From the operators above it this rule learns which order would save work:
//!
//! * a sort by columns, or a window function that wants one: rows that come in that order need none, and a
//!   limit ends the scan early;
//! * an aggregation by columns: groups that come one after the other need no table of all groups.
//!
//! It goes down through operators that keep the order of rows, and has the scan below read another tree.
//! The rules after it see how the rows of that are ordered, and leave out sorts and tables.
//!
//! Has to come before the rules that hand filters down to scans and those that see to orders.

use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr, PhysicalSortRequirement};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use crate::table::scan::ScanExec;
use crate::table::tree_key::TreeKey;

/// The rule.
#[derive(Debug)]
pub(crate) struct ProjectionChoice;

/// What order of its input's rows an operator has a use for: columns by their places.
#[derive(Clone, Debug)]
enum Wanted {
    /// Nothing.
    None,
    /// Ascending by these, NULLs last.
    Ascending(Vec<usize>),
    /// Rows with the same values in these come one after the other.
    Together(Vec<usize>),
}

impl Wanted {
    /// The same for an operator below, in which a column has another place, if any.
    fn below(self, place: impl Fn(usize) -> Option<usize>) -> Self {
        let moved = |columns: Vec<usize>| columns.into_iter().map(place).collect::<Option<_>>();
        match self {
            Self::None => Self::None,
            Self::Ascending(columns) => moved(columns).map_or(Self::None, Self::Ascending),
            Self::Together(columns) => moved(columns).map_or(Self::None, Self::Together),
        }
    }

    /// Whether rows that ascend by a key are so; `stored` tells which of the table's columns one is.
    fn suits(&self, key: &TreeKey, stored: impl Fn(usize) -> usize) -> bool {
        match self {
            Self::None => true,
            Self::Ascending(columns) => {
                let wanted: Vec<usize> = columns.iter().map(|&column| stored(column)).collect();
                key.ordering().take(wanted.len()).eq(wanted)
            }
            Self::Together(columns) => {
                let mut wanted: Vec<usize> = columns.iter().map(|&column| stored(column)).collect();
                let mut first: Vec<usize> = key.ordering().take(wanted.len()).collect();
                wanted.sort_unstable();
                first.sort_unstable();
                first == wanted
            }
        }
    }
}

fn column(expression: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expression.downcast_ref::<Column>().map(Column::index)
}

fn sorted_by<'a>(expressions: impl IntoIterator<Item = &'a PhysicalSortExpr>) -> Wanted {
    let ascending = |by: &PhysicalSortExpr| {
        let last = !by.options.descending && !by.options.nulls_first;
        column(&by.expr).filter(|_| last)
    };
    let columns: Option<Vec<usize>> = expressions.into_iter().map(ascending).collect();
    columns.map_or(Wanted::None, Wanted::Ascending)
}

fn grouped_by(aggregate: &AggregateExec) -> Wanted {
    let groups = aggregate.group_expr();
    let first = matches!(
        aggregate.mode(),
        AggregateMode::Partial | AggregateMode::Single | AggregateMode::SinglePartitioned
    );
    if !first || !groups.is_single() || groups.expr().is_empty() {
        return Wanted::None;
    }
    let columns: Option<Vec<usize>> = groups.expr().iter().map(|(each, _)| column(each)).collect();
    columns.map_or(Wanted::None, Wanted::Together)
}

/// What the input of `plan` is wanted like, where that of its own rows is `wanted`.
fn wanted_of_input(plan: &dyn ExecutionPlan, wanted: Wanted) -> Wanted {
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        return sorted_by(sort.expr().iter());
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return grouped_by(aggregate);
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return wanted.below(|place| column(&projection.expr().get(place)?.expr));
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return match filter.projection() {
            None => wanted,
            Some(places) => wanted.below(|place| places.get(place).copied()),
        };
    }
    let is_limit = plan.downcast_ref::<GlobalLimitExec>().is_some()
        || plan.downcast_ref::<LocalLimitExec>().is_some();
    if is_limit {
        return wanted;
    }
    match plan.required_input_ordering().as_slice() {
        [Some(required)] => required_order(required.first()),
        _ => Wanted::None,
    }
}

/// What a window function, above all, cannot work without.
fn required_order(required: &[PhysicalSortRequirement]) -> Wanted {
    let ascending = |by: &PhysicalSortRequirement| {
        let is_last = |options: SortOptions| !options.descending && !options.nulls_first;
        column(&by.expr).filter(|_| by.options.is_none_or(is_last))
    };
    let columns: Option<Vec<usize>> = required.iter().map(ascending).collect();
    columns.map_or(Wanted::None, Wanted::Ascending)
}

fn choose(plan: Arc<dyn ExecutionPlan>, wanted: Wanted) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        let chosen = scan.in_order(|key| wanted.suits(key, |place| scan.stored(place)))?;
        return Ok(chosen.map_or(plan.clone(), |scan| Arc::new(scan)));
    }
    let wanted = wanted_of_input(plan.as_ref(), wanted);
    let inputs: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    let inputs = inputs.into_iter();
    let chosen: Vec<Arc<dyn ExecutionPlan>> = inputs
        .map(|input| choose(input, wanted.clone()))
        .collect::<Result<_>>()?;
    replace_children_if_necessary(plan, chosen)
}

impl PhysicalOptimizerRule for ProjectionChoice {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        choose(plan, Wanted::None)
    }

    fn name(&self) -> &'static str {
        "projection_choice"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
