//! Parts of a plan that read nothing but tables without rows.
//!
//! Most of PostgreSQL's catalogs are empty here: there are no policies, no partitions, no
//! comments. What clients ask of them goes beyond what DataFusion can plan (subqueries within
//! subqueries about policies), and need not be planned at all. The pass takes such tables,
//! and what only filters or joins them, out of the plan; aggregates of nothing become what
//! they are of no rows.

use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::catalog::empty::EmptyTable;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::logical_plan::{Aggregate, EmptyRelation, TableScan};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::propagate_empty_relation::PropagateEmptyRelation;
use datafusion::optimizer::{OptimizerContext, OptimizerRule};

/// The plan without what reads only tables that have no rows.
pub(crate) fn pruned(plan: LogicalPlan) -> Result<LogicalPlan> {
    let rule = PropagateEmptyRelation::new();
    let context = OptimizerContext::new();
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::TableScan(scan) if is_empty(&scan) => Ok(Transformed::yes(
            LogicalPlan::EmptyRelation(EmptyRelation {
                produce_one_row: false,
                schema: scan.projected_schema,
            }),
        )),
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
            of_nothing(aggregate)
        }
        other => rule.rewrite(other, &context),
    })?;
    Ok(plan.data)
}

fn is_empty(scan: &TableScan) -> bool {
    source_as_provider(&scan.source).is_ok_and(|provider| {
        let provider: &dyn std::any::Any = provider.as_ref();
        provider.is::<EmptyTable>()
    })
}

/// An aggregate of no rows: zero for a count, else NULL.
fn of_nothing(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let nothing = matches!(
        aggregate.input.as_ref(),
        LogicalPlan::EmptyRelation(empty) if !empty.produce_one_row
    );
    if !nothing {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let fields = aggregate.schema.iter();
    let values = fields
        .zip(&aggregate.aggr_expr)
        .map(|((qualifier, field), expr)| {
            let value = if is_count(expr) {
                ScalarValue::new_zero(field.data_type())?
            } else {
                ScalarValue::try_from(field.data_type())?
            };
            Ok(Expr::Literal(value, None).alias_qualified(qualifier.cloned(), field.name()))
        });
    let values = values.collect::<Result<Vec<_>>>()?;
    let row = LogicalPlanBuilder::empty(true).project(values)?.build()?;
    Ok(Transformed::yes(row))
}

fn is_count(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_count(&alias.expr),
        Expr::AggregateFunction(function) => function.func.name() == "count",
        _ => false,
    }
}
