//! `FETCH FIRST n ROWS WITH TIES`: the first rows, and all that are sorted like the last of them.
//!
//! ```text
//! ORDER BY a OFFSET m FETCH FIRST n ROWS WITH TIES      Limit skip m
//!                                                         Sort a
//!                                                           Filter rank <= m + n
//!                                                             Window rank() over (order by a)
//! ```
//!
//! The rank of the row at place m + n is at most m + n, and that of the first one that is sorted behind it is more.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DataFusionError, Result};
use datafusion::logical_expr::logical_plan::{Limit, Projection, Sort, Window};
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, Operator, SortExpr, binary_expr, lit,
};

use crate::error::{SqlError, code};
use crate::functions::window_counts;
use crate::functions::with_ties::WITH_TIES;

/// The name of the ranks, which no column has.
const RANK: &str = "rank among the sorted rows";

/// The plan with ranks in the place of ties.
pub(crate) fn ranked(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Limit(limit) => match marked(&limit) {
            Some(count) => Ok(Transformed::yes(by_rank(limit, count)?)),
            None => Ok(Transformed::no(LogicalPlan::Limit(limit))),
        },
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

/// How many rows are fetched with their ties.
fn marked(limit: &Limit) -> Option<Expr> {
    match limit.fetch.as_deref()? {
        Expr::ScalarFunction(call) if call.name() == WITH_TIES => call.args.first().cloned(),
        _ => None,
    }
}

fn by_rank(limit: Limit, count: Expr) -> Result<LogicalPlan> {
    let up_to = match &limit.skip {
        Some(skip) => binary_expr((**skip).clone(), Operator::Plus, count.clone()),
        None => count.clone(),
    };
    let is_first = Expr::Column(Column::from_name(RANK)).lt_eq(up_to);
    // OFFSET 1 FETCH FIRST 0 ROWS: the tie of a row that is not fetched.
    let wanted = count.gt(lit(0_i64)).and(is_first);
    let plan = match Arc::unwrap_or_clone(limit.input) {
        LogicalPlan::Sort(sort) => sorted(sort, wanted)?,
        // What is sorted by and not selected is taken away behind the sort.
        LogicalPlan::Projection(Projection { expr, input, .. }) => match input.as_ref() {
            LogicalPlan::Sort(sort) => {
                let sorted = sorted(sort.clone(), wanted)?;
                LogicalPlanBuilder::from(sorted).project(expr)?.build()?
            }
            _ => return Err(without_order()),
        },
        _ => return Err(without_order()),
    };
    Ok(match limit.skip {
        Some(skip) => LogicalPlan::Limit(Limit {
            skip: Some(skip),
            fetch: None,
            input: Arc::new(plan),
        }),
        None => plan,
    })
}

/// The sorted rows that are wanted by their rank.
fn sorted(sort: Sort, wanted: Expr) -> Result<LogicalPlan> {
    let columns: Vec<Expr> = sort
        .input
        .schema()
        .columns()
        .into_iter()
        .map(Expr::Column)
        .collect();
    let rank = rank(sort.expr.clone())?.alias(RANK);
    let window = Window::try_new(vec![rank], sort.input)?;
    LogicalPlanBuilder::from(LogicalPlan::Window(window))
        .filter(wanted)?
        .project(columns)?
        .sort(sort.expr)?
        .build()
}

fn rank(order: Vec<SortExpr>) -> Result<Expr> {
    let rank = window_counts::rank().call(Vec::new());
    rank.order_by(order).build()
}

fn without_order() -> DataFusionError {
    let message = "WITH TIES cannot be specified without ORDER BY clause";
    SqlError::new(code::SYNTAX_ERROR, message).into()
}
