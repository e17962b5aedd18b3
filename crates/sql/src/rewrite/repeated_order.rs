//! Sorting by the same expression twice.
//!
//! `array_agg(x ORDER BY y, y DESC)` is sorted by y alone: rows that the second one compares are equal. DataFusion (55.2)
//! leaves the second one out of the columns that such an aggregate reads, and then expects as many columns as there are
//! expressions. So it does with DISTINCT ON; and a sort that a correlated subquery is cut off after becomes an aggregate of it.
//!
//! Does not: windows, which it does so for itself.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan, SortExpr};

/// The plan without such repetitions.
pub(crate) fn once(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
            distinct.sort_expr = distinct.sort_expr.map(sorted_once);
            let mut on: Vec<Expr> = Vec::new();
            for expr in distinct.on_expr {
                if !on.contains(&expr) {
                    on.push(expr);
                }
            }
            distinct.on_expr = on;
            Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(
                distinct,
            ))))
        }
        LogicalPlan::Sort(mut sort) => {
            let before = sort.expr.len();
            sort.expr = sorted_once(sort.expr);
            let changed = sort.expr.len() != before;
            let sort = LogicalPlan::Sort(sort);
            Ok(Transformed::new(sort, changed, TreeNodeRecursion::Continue))
        }
        LogicalPlan::Aggregate(_) => aggregated(plan),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

fn aggregated(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let expr = expr.transform_up(|part| match part {
            Expr::AggregateFunction(mut function) => {
                let before = function.params.order_by.len();
                function.params.order_by = sorted_once(function.params.order_by);
                let after = function.params.order_by.len();
                let part = Expr::AggregateFunction(function);
                Ok(match before == after {
                    true => Transformed::no(part),
                    false => Transformed::yes(part),
                })
            }
            part => Ok(Transformed::no(part)),
        })?;
        Ok(expr.update_data(|expr| name.restore(expr)))
    })
}

/// What is sorted by, each expression where it comes first.
fn sorted_once(order: Vec<SortExpr>) -> Vec<SortExpr> {
    let mut once: Vec<SortExpr> = Vec::with_capacity(order.len());
    for by in order {
        if once.iter().all(|earlier| earlier.expr != by.expr) {
            once.push(by);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::col;

    use super::*;

    #[test]
    fn what_comes_first_is_sorted_by() {
        let order = vec![
            col("a").sort(true, false),
            col("b").sort(false, true),
            col("a").sort(false, true),
        ];
        let expected = [col("a").sort(true, false), col("b").sort(false, true)];
        assert_eq!(sorted_once(order), expected);
    }
}
