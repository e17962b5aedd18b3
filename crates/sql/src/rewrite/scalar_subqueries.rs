//! Subqueries in the place of a value.
//!
//! PostgreSQL takes any subquery with one column for a value, and fails when it meets a second
//! row. DataFusion takes a correlated one only if it can tell that there is no second row. The
//! pass collects the rows of every other one in a list, which
//! [`OnlyElement`](crate::functions::only_element) takes the value from: outside of the
//! subquery, so that only rows that are asked for can fail. One that is limited to a row takes the first.
//!
//! One that names nothing around it is NULL if it has no row. DataFusion takes it for what its column is, NOT NULL if it comes from a key:
//! `(SELECT id FROM t WHERE id = 0) IS NULL` would be false. So the pass lets it be NULL.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, ScalarUDF};

use crate::functions::only_element::OnlyElement;
use crate::functions::retyped::Retyped;

/// The plan with every subquery in the place of a value giving one row or NULL.
pub(crate) fn single(plan: LogicalPlan) -> Result<LogicalPlan> {
    let only = Arc::new(ScalarUDF::from(OnlyElement::new()));
    let plan = plan.transform_up_with_subqueries(|plan| {
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|expr| one(expr, &only))?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(plan.data)
}

fn one(expr: Expr, only: &Arc<ScalarUDF>) -> Result<Transformed<Expr>> {
    let Expr::ScalarSubquery(subquery) = expr else {
        return Ok(Transformed::no(expr));
    };
    if subquery.outer_ref_columns.is_empty() {
        let nullable = may_be_missing(&subquery.subquery);
        let value = Expr::ScalarSubquery(subquery);
        return Ok(match nullable {
            Some(retyped) => Transformed::yes(retyped.call(vec![value])),
            None => Transformed::no(value),
        });
    }
    if let Some(first) = first_row(&subquery.subquery)? {
        let subquery = Subquery {
            subquery: Arc::new(first),
            ..subquery
        };
        return Ok(Transformed::yes(Expr::ScalarSubquery(subquery)));
    }
    if has_one_row(&subquery.subquery) {
        return Ok(Transformed::no(Expr::ScalarSubquery(subquery)));
    }
    let inner = Arc::unwrap_or_clone(subquery.subquery);
    let column = Expr::from(inner.schema().qualified_field(0));
    let list =
        AggregateFunction::new_udf(array_agg_udaf(), vec![column], false, None, vec![], None);
    let inner = LogicalPlanBuilder::from(inner)
        .aggregate(Vec::<Expr>::new(), vec![Expr::AggregateFunction(list)])?
        .build()?;
    let subquery = Expr::ScalarSubquery(Subquery {
        subquery: Arc::new(inner),
        outer_ref_columns: subquery.outer_ref_columns,
        spans: subquery.spans,
    });
    let value = ScalarFunction::new_udf(only.clone(), vec![subquery]);
    Ok(Transformed::yes(Expr::ScalarFunction(value)))
}

/// `SELECT x … ORDER BY y LIMIT 1` as the first x by y: DataFusion cannot limit the rows of a correlated
/// subquery, but aggregates them. `None`: the plan is none of this form.
fn first_row(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::Limit(limit) = plan else {
        return Ok(None);
    };
    if !is_literal(limit.fetch.as_deref(), 1) || !is_literal(limit.skip.as_deref(), 0) {
        return Ok(None);
    }
    // The planner projects again where it orders by what is not selected.
    let (value, sorted) = match limit.input.as_ref() {
        LogicalPlan::Projection(projection)
            if matches!(projection.input.as_ref(), LogicalPlan::Sort(_)) =>
        {
            (projection.expr[0].clone().unalias(), &projection.input)
        }
        other => (Expr::from(other.schema().qualified_field(0)), &limit.input),
    };
    let (rows, order) = match sorted.as_ref() {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => (&sort.input, sort.expr.clone()),
        _ => (sorted, Vec::new()),
    };
    let first =
        AggregateFunction::new_udf(first_value_udaf(), vec![value], false, None, order, None);
    let first = LogicalPlanBuilder::from(rows.as_ref().clone())
        .aggregate(Vec::<Expr>::new(), vec![Expr::AggregateFunction(first)])?
        .build()?;
    Ok(Some(first))
}

/// What lets a subquery's value be NULL; `None` if it may be already, or if there always is a row.
fn may_be_missing(plan: &LogicalPlan) -> Option<ScalarUDF> {
    let (_, field) = plan.schema().qualified_field(0);
    let is_there = field.is_nullable() || always_has_row(plan);
    (!is_there).then(|| ScalarUDF::from(Retyped::new(field.metadata().clone(), true)))
}

fn always_has_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(projection) => always_has_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => always_has_row(&alias.input),
        LogicalPlan::Sort(sort) => always_has_row(&sort.input),
        LogicalPlan::EmptyRelation(relation) => relation.produce_one_row,
        _ => false,
    }
}

/// Whether a limit, or an offset that is 0 where it is not there, is this number.
fn is_literal(expr: Option<&Expr>, number: i64) -> bool {
    match expr {
        None => number == 0,
        Some(Expr::Literal(ScalarValue::Int64(Some(value)), _)) => *value == number,
        Some(Expr::Literal(ScalarValue::Int32(Some(value)), _)) => i64::from(*value) == number,
        Some(_) => false,
    }
}

/// Whether a plan gives no more than one row, as far as DataFusion can tell.
fn has_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(projection) => has_one_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_one_row(&alias.input),
        LogicalPlan::Filter(filter) => has_one_row(&filter.input),
        LogicalPlan::Sort(sort) => has_one_row(&sort.input),
        other => other.max_rows().is_some_and(|rows| rows <= 1),
    }
}
