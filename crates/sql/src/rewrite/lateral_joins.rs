//! Lateral joins: subqueries in FROM that name columns of what stands before them.
//!
//! DataFusion knows those whose outer columns are compared in a condition, and nothing more. The pass makes plain joins
//! of all others (Neumann and Kemper, *Unnesting Arbitrary Queries*, BTW 2015):
//!
//! ```text
//! a, LATERAL (SELECT max(y) AS m FROM t WHERE t.x < a.x) s
//!
//! 1. the domain: each value that the subquery is asked for, once      d = SELECT DISTINCT a.x FROM a
//! 2. the subquery for all of them, each row with its value of d       s = SELECT max(y) AS m, d.x FROM t, d
//!    ([`dependent`])                                                      WHERE t.x < d.x GROUP BY d.x
//! 3. back to the rows                                                 a JOIN s ON a.x IS NOT DISTINCT FROM s.x
//! ```
//!
//! A subquery that goes over no table (`unnest(a.list)`, `SELECT a.x + 1`) needs no 1 and 3: it is asked for
//! the rows of `a` themselves.
//!
//! Subqueries in the place of a value that DataFusion knows as little are such joins, too ([`values`]).
//!
//! What is asked of the rows before a lateral join is asked of them before 1: conditions above it that name their columns
//! alone go below it.
//!
//! Does not: right and full joins, in which PostgreSQL allows no such names either.

mod dependent;
mod values;

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DataFusionError, JoinType, Result, not_impl_err};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{
    BinaryExpr, Expr, Filter, Join, LogicalPlan, LogicalPlanBuilder, Operator,
};
use datafusion::optimizer::decorrelate_lateral_join::DecorrelateLateralJoin;
use datafusion::optimizer::{OptimizerContext, OptimizerRule};

use super::subquery_values::has_subquery;
use dependent::{Domain, has_outer_columns};
pub(super) use dependent::{outer_columns, subquery_of};

/// The plan with plain joins in the place of lateral ones that DataFusion does not know.
pub(crate) fn plain(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_down_with_subqueries(|plan| match plan {
        LogicalPlan::Filter(filter) => asked_before(filter),
        other => Ok(Transformed::no(other)),
    })?;
    let mut lateral = Lateral::default();
    let plan = plan.data.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Join(join) => lateral.plain(join),
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) => lateral.of_values(plan),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

/// What has been rewritten so far: columns have names of their own.
#[derive(Default)]
struct Lateral {
    joins: usize,
    values: usize,
}

impl Lateral {
    fn plain(&mut self, join: Join) -> Result<Transformed<LogicalPlan>> {
        let named = named_by_right(&join)?;
        if named.is_empty() {
            return not_lateral(join);
        }
        if is_known(&join) {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        self.joins += 1;
        let plan = match join.join_type {
            JoinType::Inner if is_of_the_row(&join.right)? => of_rows(join, &named)?,
            // Its rows would be others when they are asked for again.
            _ if is_volatile(&join.left)? => {
                return not_impl_err!("a subquery that names columns of a table of random values");
            }
            _ => self.of_domain(join, &named)?,
        };
        Ok(Transformed::yes(plan))
    }

    fn of_domain(&self, join: Join, named: &[Column]) -> Result<LogicalPlan> {
        let all = all_columns(&join);
        let own = |place| Column::from_name(format!("\u{1}outer {} {place}", self.joins));
        let own: Vec<Column> = (0..named.len()).map(own).collect();
        let values = named.iter().zip(&own);
        let values = values.map(|(column, own)| Expr::from(column.clone()).alias(&own.name));
        let domain = LogicalPlanBuilder::from(join.left.as_ref().clone())
            .project(values)?
            .distinct()?
            .build()?;
        let domain = Domain {
            plan: domain,
            named: named.iter().cloned().zip(own.iter().cloned()).collect(),
            kept: own.clone(),
        };
        let right = domain.dependent(join.right.as_ref().clone())?;
        let of_row = named.iter().zip(&own).map(|(named, own)| {
            let (named, own) = (Expr::from(named.clone()), Expr::from(own.clone()));
            let op = Operator::IsNotDistinctFrom;
            Expr::BinaryExpr(BinaryExpr::new(Box::new(named), op, Box::new(own)))
        });
        let conditions = conditions(&join);
        // The condition of an inner join stays outside: alone, the columns are what rows are joined by.
        let (inside, outside) = match join.join_type {
            JoinType::Inner => (Vec::new(), conditions),
            _ => (conditions, Vec::new()),
        };
        let joined = LogicalPlanBuilder::from(Arc::unwrap_or_clone(join.left)).join_on(
            right,
            join.join_type,
            of_row.chain(inside),
        )?;
        filtered(joined, outside)?.project(all)?.build()
    }
}

/// A join whose right side names nothing of the left. DataFusion takes it for lateral even so where a subquery in there names columns of
/// another table that is called like one on the left.
fn not_lateral(join: Join) -> Result<Transformed<LogicalPlan>> {
    let right = Arc::unwrap_or_clone(join.right);
    let right = right.transform_down(|plan| match plan {
        LogicalPlan::Subquery(subquery) if outer_columns(&subquery.subquery)?.is_empty() => {
            let plan = Arc::unwrap_or_clone(subquery.subquery);
            Ok(Transformed::new(plan, true, TreeNodeRecursion::Stop))
        }
        alias @ LogicalPlan::SubqueryAlias(_) => Ok(Transformed::no(alias)),
        other => Ok(Transformed::new(other, false, TreeNodeRecursion::Stop)),
    })?;
    let transformed = right.transformed;
    let right = Arc::new(right.data);
    let join = LogicalPlan::Join(Join { right, ..join });
    Ok(Transformed::new(
        join,
        transformed,
        TreeNodeRecursion::Continue,
    ))
}

/// The columns of the left that the subquery on the right names.
fn named_by_right(join: &Join) -> Result<Vec<Column>> {
    let named = outer_columns(&join.right)?.into_iter();
    let of_left = |column: &Column| join.left.schema().has_column(column);
    Ok(named.filter(of_left).collect())
}

/// A filter whose conditions are asked below lateral joins, as far as these have nothing to do with them.
fn asked_before(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    if !has_lateral(&filter.input)? {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let mut rows = Arc::unwrap_or_clone(filter.input);
    let mut above = Vec::new();
    for condition in split_conjunction_owned(filter.predicate) {
        if condition.is_volatile() || has_subquery(&condition)? {
            above.push(condition);
        } else if is_of_left(&rows, &condition) {
            rows = below(rows, condition)?;
        } else {
            above.push(condition);
        }
    }
    let rows = filtered(LogicalPlanBuilder::from(rows), above)?.build()?;
    Ok(Transformed::yes(rows))
}

fn has_lateral(plan: &LogicalPlan) -> Result<bool> {
    match plan {
        LogicalPlan::Join(join) => {
            Ok(!named_by_right(join)?.is_empty() || has_lateral(&join.left)?)
        }
        _ => Ok(false),
    }
}

/// Whether a plan is a join that keeps its left rows as they are, of which a condition is.
fn is_of_left(plan: &LogicalPlan, condition: &Expr) -> bool {
    match plan {
        LogicalPlan::Join(join) => {
            let of_left = |column: &&Column| join.left.schema().has_column(column);
            matches!(join.join_type, JoinType::Inner | JoinType::Left)
                && condition.column_refs().iter().all(of_left)
        }
        _ => false,
    }
}

/// The condition as far down on the left as it has all its columns.
fn below(plan: LogicalPlan, condition: Expr) -> Result<LogicalPlan> {
    match plan {
        plan @ LogicalPlan::Join(_) if !is_of_left(&plan, &condition) => {
            LogicalPlanBuilder::from(plan).filter(condition)?.build()
        }
        LogicalPlan::Join(mut join) => {
            join.left = Arc::new(below(Arc::unwrap_or_clone(join.left), condition)?);
            Ok(LogicalPlan::Join(join))
        }
        plan => LogicalPlanBuilder::from(plan).filter(condition)?.build(),
    }
}

/// A join whose subquery is asked for the rows on the left.
fn of_rows(join: Join, named: &[Column]) -> Result<LogicalPlan> {
    let (all, conditions) = (all_columns(&join), conditions(&join));
    let kept = join.left.schema().columns();
    let domain = Domain {
        plan: Arc::unwrap_or_clone(join.left),
        named: named
            .iter()
            .map(|column| (column.clone(), column.clone()))
            .collect(),
        kept,
    };
    let rows = domain.dependent(Arc::unwrap_or_clone(join.right))?;
    filtered(LogicalPlanBuilder::from(rows), conditions)?
        .project(all)?
        .build()
}

fn filtered(rows: LogicalPlanBuilder, conditions: Vec<Expr>) -> Result<LogicalPlanBuilder> {
    match conditions.into_iter().reduce(Expr::and) {
        Some(condition) => rows.filter(condition),
        None => Ok(rows),
    }
}

fn all_columns(join: &Join) -> Vec<Expr> {
    let columns = join.schema.columns().into_iter();
    columns.map(Expr::from).collect()
}

fn conditions(join: &Join) -> Vec<Expr> {
    let equal = join
        .on
        .iter()
        .map(|(left, right)| left.clone().eq(right.clone()));
    equal.chain(join.filter.clone()).collect()
}

pub(super) fn is_volatile(plan: &LogicalPlan) -> Result<bool> {
    let mut is_volatile = false;
    plan.apply_with_subqueries(|plan| {
        plan.apply_expressions(|expr| {
            is_volatile |= expr.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(is_volatile)
}

/// Whether DataFusion makes a plain join of it, and the right one.
fn is_known(join: &Join) -> bool {
    let rule = DecorrelateLateralJoin::new();
    let plan = LogicalPlan::Join(join.clone());
    let rewritten = rule.rewrite(plan, &OptimizerContext::new());
    let is_plain = rewritten.is_ok_and(|plan| {
        // It leaves subqueries of expressions alone.
        plan.transformed && !has_outer_columns(&plan.data).unwrap_or(true)
    });
    is_plain && conditions_may_leave(&join.right).unwrap_or(false)
}

/// Whether conditions that name outer columns may be asked above all of the plan instead. DataFusion (55.2) asks them there
/// whatever they have to pass: the side of an outer join whose rows may be missing, windows, DISTINCT.
fn conditions_may_leave(plan: &LogicalPlan) -> Result<bool> {
    let has_some = |plan: &LogicalPlan| Ok::<_, DataFusionError>(!outer_columns(plan)?.is_empty());
    let mut may_leave = true;
    plan.apply(|plan| {
        may_leave &= match plan {
            LogicalPlan::Join(join) => match join.join_type {
                JoinType::Inner => true,
                JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {
                    !has_some(&join.right)?
                }
                JoinType::Right
                | JoinType::RightSemi
                | JoinType::RightAnti
                | JoinType::RightMark => !has_some(&join.left)?,
                JoinType::Full => !has_some(plan)?,
            },
            LogicalPlan::Filter(_)
            | LogicalPlan::Projection(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Subquery(_)
            | LogicalPlan::SubqueryAlias(_) => true,
            other => !has_some(other)?,
        };
        Ok(match may_leave {
            true => TreeNodeRecursion::Continue,
            false => TreeNodeRecursion::Stop,
        })
    })?;
    Ok(may_leave)
}

/// Whether a subquery's rows are made of the row that it is asked for alone.
fn is_of_the_row(plan: &LogicalPlan) -> Result<bool> {
    let mut is_of_the_row = true;
    plan.apply(|plan| {
        let goes_on = match plan {
            LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Subquery(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Unnest(_) => true,
            LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
            _ => false,
        };
        is_of_the_row &= goes_on;
        Ok(match goes_on {
            true => TreeNodeRecursion::Continue,
            false => TreeNodeRecursion::Stop,
        })
    })?;
    Ok(is_of_the_row)
}

/// Columns without those that come again.
fn once(columns: Vec<Column>) -> Vec<Column> {
    let mut seen = HashSet::new();
    columns
        .into_iter()
        .filter(|column| seen.insert(column.clone()))
        .collect()
}
