//! `x < ALL (SELECT y …)` and `x < ANY (SELECT y …)`, as EXISTS.
//!
//! ```text
//! x < ANY (…)   true if a row compares so, else NULL if one compares as NULL, else false
//! x < ALL (…)   false if a row compares otherwise, else NULL if one compares as NULL, else true
//! ```
//!
//! DataFusion (55.2) has a rule of its own that does so for conditions, but takes columns of one name for one column: of
//! a query of t, `id > ALL (SELECT id FROM t)` became `NOT EXISTS (SELECT FROM t WHERE NOT t.id > t.id)`. Here the
//! subquery's column gets a name that nothing else has, and what becomes of EXISTS as a value is
//! [`subquery_values`](super::subquery_values)'s affair.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ExprSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{BinaryExpr, Exists, SetComparison, SetQuantifier};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit, when};

/// The name of a subquery's only column.
const COMPARED: &str = "\u{1}compared";

/// The plan with EXISTS in the place of every such comparison.
pub(crate) fn as_exists(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|plan| {
        let names = NamePreserver::new(&plan);
        let outer = merge_schema(&plan.inputs());
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|expr| match expr {
                Expr::SetComparison(comparison) => {
                    Ok(Transformed::yes(exists(comparison, &outer)?))
                }
                other => Ok(Transformed::no(other)),
            })?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(plan.data)
}

fn exists(comparison: SetComparison, outer: &DFSchema) -> Result<Expr> {
    let SetComparison {
        expr,
        subquery,
        op,
        quantifier,
    } = comparison;
    let rows = Arc::unwrap_or_clone(subquery.subquery);
    let column = Expr::from(rows.schema().qualified_field(0)).alias(COMPARED);
    let rows = LogicalPlanBuilder::from(rows).project([column])?.build()?;
    let column = Expr::from(rows.schema().qualified_field(0));
    let value = Box::new(of_outer_query(*expr, outer)?);
    let compares = Expr::BinaryExpr(BinaryExpr::new(value, op, Box::new(column)));
    let one_compares = |as_wanted: Expr| {
        let rows = LogicalPlanBuilder::from(rows.clone())
            .filter(as_wanted)?
            .build()?;
        let subquery = Subquery {
            outer_ref_columns: rows.all_out_ref_exprs(),
            subquery: Arc::new(rows),
            spans: subquery.spans.clone(),
        };
        Ok::<_, datafusion::common::DataFusionError>(Expr::Exists(Exists::new(subquery, false)))
    };
    let (decides, decided) = match quantifier {
        SetQuantifier::Any => (compares.clone().is_true(), true),
        SetQuantifier::All => (compares.clone().is_false(), false),
    };
    when(one_compares(decides)?, lit(decided))
        .when(
            one_compares(compares.is_null())?,
            lit(ScalarValue::Boolean(None)),
        )
        .otherwise(lit(!decided))
}

/// An expression of the query around a subquery as it stands in the subquery.
fn of_outer_query(expr: Expr, outer: &DFSchema) -> Result<Expr> {
    let expr = expr.transform_up(|expr| match expr {
        Expr::Column(column) => {
            let field = Arc::clone(outer.field_from_column(&column)?);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(expr.data)
}
