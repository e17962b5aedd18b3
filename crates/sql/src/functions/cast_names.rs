//! Aggregates and window functions of one column under several casts have several names.
//!
//! DataFusion names a call by its arguments without their casts, so that `max(d)` and `max(d::bigint)`
//! would be two columns of one name. Arguments with a cast get a name that tells it.

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawAggregateExpr, RawWindowExpr,
};

/// Names arguments.
#[derive(Debug)]
pub(crate) struct CastNames;

impl ExprPlanner for CastNames {
    fn plan_aggregate(
        &self,
        mut expr: RawAggregateExpr,
    ) -> Result<PlannerResult<RawAggregateExpr>> {
        expr.args = named(expr.args);
        Ok(PlannerResult::Original(expr))
    }

    fn plan_window(&self, mut expr: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        expr.args = named(expr.args);
        Ok(PlannerResult::Original(expr))
    }
}

fn named(args: Vec<Expr>) -> Vec<Expr> {
    args.into_iter().map(named_one).collect()
}

fn named_one(arg: Expr) -> Expr {
    let has_cast = arg.exists(|part| Ok(matches!(part, Expr::Cast(_) | Expr::TryCast(_))));
    match has_cast {
        Ok(true) => {
            let name = arg.to_string();
            arg.alias(name)
        }
        _ => arg,
    }
}
