//! Subqueries in the place of a value as lateral joins.
//!
//! ```text
//! SELECT (SELECT max(y) FROM t WHERE t.x < a.x) FROM a
//! SELECT v FROM a LEFT JOIN LATERAL (SELECT max(y) AS v FROM t WHERE t.x < a.x) s ON true
//! ```
//!
//! Only those that DataFusion makes no joins of by itself, in select lists and conditions. Each has one row, or none
//! ([`scalar_subqueries`](crate::rewrite::scalar_subqueries)). EXISTS and IN become such values
//! ([`subquery_values`]).

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, JoinType, Result};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::optimizer::decorrelate::PullUpCorrelatedExpr;

use super::dependent::outer_columns;
use super::{Lateral, conditions_may_leave};
use crate::rewrite::subquery_values;

/// The first word of a value's name.
const VALUE: &str = "\u{1}value";

impl Lateral {
    /// A projection or filter with columns of joins in the place of such values.
    pub(super) fn of_values(&mut self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let mut values = Vec::new();
        let names = NamePreserver::new(&plan);
        let first = self.values;
        let outer = [Arc::clone(plan.inputs()[0].schema())];
        let plan = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|expr| match &expr {
                Expr::Exists(Exists { subquery, .. })
                | Expr::InSubquery(InSubquery { subquery, .. })
                    if !is_known(subquery, &outer[0])? =>
                {
                    subquery_values::value(expr, &outer)
                }
                _ => Ok(Transformed::no(expr)),
            })?;
            let expr = expr.transform_data(|expr| {
                expr.transform_up(|expr| match expr {
                    Expr::ScalarSubquery(subquery) if !is_known(&subquery, &outer[0])? => {
                        let column = value_column(first + values.len());
                        values.push(subquery);
                        Ok(Transformed::yes(Expr::Column(column)))
                    }
                    other => Ok(Transformed::no(other)),
                })
            })?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })?;
        if values.is_empty() {
            return Ok(plan);
        }
        self.values += values.len();
        let plan = plan.data;
        let columns = plan.schema().columns().into_iter().map(Expr::from);
        let mut input = plan.inputs()[0].clone();
        for (place, value) in values.into_iter().enumerate() {
            input = self.with_value(input, value, value_column(first + place))?;
        }
        let above = plan.with_new_exprs(plan.expressions(), vec![input])?;
        let above = LogicalPlanBuilder::from(above).project(columns)?.build()?;
        Ok(Transformed::yes(above))
    }

    /// The rows of `input`, each with its value.
    fn with_value(
        &mut self,
        input: LogicalPlan,
        value: Subquery,
        column: Column,
    ) -> Result<LogicalPlan> {
        let rows = Arc::unwrap_or_clone(value.subquery);
        let only = Expr::from(rows.schema().qualified_field(0)).alias(column.name);
        let rows = LogicalPlanBuilder::from(rows).project([only])?.build()?;
        let rows = LogicalPlan::Subquery(Subquery {
            subquery: Arc::new(rows),
            ..value
        });
        let joined = LogicalPlanBuilder::from(input)
            .join_on(rows, JoinType::Left, [lit(true)])?
            .build()?;
        match joined {
            LogicalPlan::Join(join) => Ok(self.plain(join)?.data),
            other => Ok(other),
        }
    }
}

fn value_column(place: usize) -> Column {
    Column::from_name(format!("{VALUE} {place}"))
}

/// Whether a column of the subquery is called like one of the query around that it names: in the condition that DataFusion
/// joins by they would be the same.
fn has_name_of_outer(plan: &LogicalPlan, outer: &DFSchema) -> Result<bool> {
    let mut columns = outer_columns(plan)?;
    columns.retain(|column| outer.has_column(column));
    let mut is_there = false;
    plan.apply(|part| {
        is_there |= columns
            .iter()
            .any(|column| part.schema().has_column(column));
        Ok(match part {
            // What is below has another name above.
            LogicalPlan::SubqueryAlias(_) => TreeNodeRecursion::Jump,
            _ => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(is_there)
}

/// Whether DataFusion makes a join of it, or it is the same for all rows of the plan around it.
fn is_known(subquery: &Subquery, outer: &DFSchema) -> Result<bool> {
    let names_outer = |plan: &LogicalPlan| {
        let columns = outer_columns(plan)?;
        Ok::<_, DataFusionError>(columns.iter().any(|column| outer.has_column(column)))
    };
    if !names_outer(&subquery.subquery)? {
        return Ok(true);
    }
    if has_name_of_outer(&subquery.subquery, outer)? {
        return Ok(false);
    }
    let mut pull_up = PullUpCorrelatedExpr::new().with_need_handle_count_bug(true);
    let rewritten = subquery.subquery.as_ref().clone().rewrite(&mut pull_up);
    match rewritten {
        // It leaves subqueries in there alone.
        Ok(rewritten) if pull_up.can_pull_up => {
            Ok(!names_outer(&rewritten.data)? && conditions_may_leave(&subquery.subquery)?)
        }
        _ => Ok(false),
    }
}
