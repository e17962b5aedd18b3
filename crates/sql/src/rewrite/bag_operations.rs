//! EXCEPT ALL and INTERSECT ALL: a row that is there m times on the left and n times on the right is there m - n or min(m, n) times.
//!
//! DataFusion makes of them what it makes of EXCEPT and INTERSECT, an anti or semi join of rows in which NULL equals NULL, without
//! DISTINCT on the left: a row that the right has once would go, or stay, as often as it is there. Here both sides number their equal
//! rows, and the number is one more column to join by:
//!
//! ```text
//! left  a a a b    numbered  a1 a2 a3 b1    EXCEPT ALL     a3 b1
//! right a a        numbered  a1 a2          INTERSECT ALL  a1 a2
//! ```

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, NullEquality, Result};
use datafusion::logical_expr::logical_plan::{Join, Window};
use datafusion::logical_expr::{Expr, ExprFunctionExt, JoinType, LogicalPlan, LogicalPlanBuilder};

use crate::functions::window_counts;

/// Names of the numbers, which no column has.
const LEFT: &str = "number among equal rows of the left";
const RIGHT: &str = "number among equal rows of the right";

/// The plan with numbers in its EXCEPT ALL and INTERSECT ALL.
pub(crate) fn numbered(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Join(join) if is_bag_operation(&join) => {
            Ok(Transformed::yes(by_number(join)?))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

/// Over a left without duplicates the operations are those without ALL, so that DISTINCT may be the query's own.
fn is_bag_operation(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && !matches!(*join.left, LogicalPlan::Distinct(_))
}

fn by_number(join: Join) -> Result<LogicalPlan> {
    let columns = join.left.schema().columns();
    let [left, right] = [LEFT, RIGHT].map(|name| Expr::Column(Column::from_name(name)));
    let mut on = join.on;
    on.push((left, right));
    let join = Join::try_new(
        with_numbers(join.left, LEFT)?,
        with_numbers(join.right, RIGHT)?,
        on,
        join.filter,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    let columns = columns.into_iter().map(Expr::Column);
    LogicalPlanBuilder::from(LogicalPlan::Join(join))
        .project(columns)?
        .build()
}

fn with_numbers(input: Arc<LogicalPlan>, name: &str) -> Result<Arc<LogicalPlan>> {
    let columns = input.schema().columns().into_iter().map(Expr::Column);
    let number = window_counts::row_number().call(Vec::new());
    let number = number.partition_by(columns.collect()).build()?;
    let window = Window::try_new(vec![number.alias(name)], input)?;
    Ok(Arc::new(LogicalPlan::Window(window)))
}
