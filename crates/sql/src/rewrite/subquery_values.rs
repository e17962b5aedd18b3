//! `EXISTS (…)` and `x IN (SELECT …)` in the place of a value: in a select list, a CASE, an aggregate.
//!
//! DataFusion knows them as conditions only, which it joins by. As values they become subqueries that
//! count rows, which it knows in a select list:
//!
//! * EXISTS: whether there is any.
//! * IN: true if one is equal; else false if there are none at all; else NULL if x, or a row, is NULL; else
//!   false.
//!
//! In a condition DataFusion (55.2) joins by IN wherever it stands, and says false for NULL. That is right where nothing
//! but AND and OR is around it, and wrong elsewhere: there IN is a value, too. NOT IN is joined by only alone, among
//! columns of a subquery that names nothing of the query around it. One that does is
//! `NOT EXISTS (SELECT FROM … WHERE (x = y) IS NOT FALSE)`, which is false instead of NULL.
//!
//! [`computed_below`](super::computed_below) has brought them where they are conditions or values of a select list.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchemaRef, Result, ScalarValue};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::{BinaryExpr, Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{
    Expr, ExprSchemable, Filter, LogicalPlan, LogicalPlanBuilder, Operator, lit, when,
};

use super::lateral_joins::subquery_of;

/// The name of the rows that IN looks among, or of their column: they may have that of a table or column around them.
/// No identifier has such a character unless it is quoted.
const AMONG: &str = "\u{1}among";

/// The plan with a value in the place of every such condition that nothing is filtered or joined by.
pub(crate) fn counted(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Projection(_) => values(plan),
        LogicalPlan::Filter(filter) => conditions(filter),
        // Elsewhere DataFusion has no subqueries but conditions.
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

fn values(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    let inputs = plan.inputs().into_iter();
    let inputs: Vec<DFSchemaRef> = inputs.map(|input| input.schema().clone()).collect();
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let expr = expr.transform_up(|expr| value(expr, &inputs))?;
        Ok(expr.update_data(|expr| name.restore(expr)))
    })
}

/// A filter with conditions that DataFusion answers as PostgreSQL does.
fn conditions(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    if !has_subquery(&filter.predicate)? {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let inputs = [filter.input.schema().clone()];
    let conditions = split_conjunction_owned(filter.predicate).into_iter();
    let conditions = conditions.map(|condition| match condition {
        Expr::Not(inner) => match *inner {
            Expr::InSubquery(mut among) => {
                among.negated = !among.negated;
                alone(among, &inputs)
            }
            inner => condition_among(Expr::Not(Box::new(inner)), &inputs),
        },
        Expr::InSubquery(among) => alone(among, &inputs),
        other => condition_among(other, &inputs),
    });
    let conditions = conditions.collect::<Result<Vec<_>>>()?.into_iter();
    let condition = conditions.reduce(Expr::and).unwrap_or_else(|| lit(true));
    let filter = Filter::try_new(condition, filter.input)?;
    Ok(Transformed::yes(LogicalPlan::Filter(filter)))
}

/// IN or NOT IN as a condition by itself: DataFusion's joins know of NULLs in a column, and in nothing else. An expression
/// may become a constant later, as `coalesce(2, a)` does.
fn alone(among: InSubquery, inputs: &[DFSchemaRef]) -> Result<Expr> {
    if !among.negated || (!is_correlated(&among.subquery) && is_column(&among.expr)) {
        return Ok(Expr::InSubquery(among));
    }
    condition_among(Expr::InSubquery(among), inputs)
}

fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) => true,
        Expr::Cast(cast) => is_column(&cast.expr),
        _ => false,
    }
}

/// A condition that counts as false where it is NULL.
fn condition_among(expr: Expr, inputs: &[DFSchemaRef]) -> Result<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if matches!(op, Operator::And | Operator::Or) =>
        {
            let left = condition_among(*left, inputs)?;
            let right = condition_among(*right, inputs)?;
            let both = BinaryExpr::new(Box::new(left), op, Box::new(right));
            Ok(Expr::BinaryExpr(both))
        }
        Expr::InSubquery(among) if !among.negated => Ok(Expr::InSubquery(among)),
        Expr::InSubquery(among) if is_correlated(&among.subquery) => is_none(among, inputs),
        other => {
            let expr = other.transform_up(|part| match part {
                Expr::InSubquery(_) => value(part, inputs),
                Expr::Exists(exists) => {
                    let rows = with_column(&exists.subquery)?;
                    let exists = Exists::new(rows, exists.negated);
                    Ok(Transformed::yes(Expr::Exists(exists)))
                }
                part => Ok(Transformed::no(part)),
            })?;
            Ok(expr.data)
        }
    }
}

fn is_correlated(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty()
}

/// `x NOT IN (…)` as NOT EXISTS.
fn is_none(among: InSubquery, inputs: &[DFSchemaRef]) -> Result<Expr> {
    let (rows, cell) = cells(&among.expr, &among.subquery)?;
    let mut outer = among.subquery.outer_ref_columns.clone();
    let equal = cell.eq(from_outside(&among.expr, inputs, &mut outer)?);
    let is_nullable = match inputs {
        [input] => among.expr.nullable(input)? || rows.schema().field(0).is_nullable(),
        _ => true,
    };
    let condition = if is_nullable {
        equal.is_not_false()
    } else {
        equal
    };
    let rows = LogicalPlanBuilder::from(rows).filter(condition)?.build()?;
    let subquery = Subquery {
        subquery: Arc::new(rows),
        outer_ref_columns: outer,
        spans: among.subquery.spans,
    };
    Ok(Expr::Exists(Exists::new(subquery, true)))
}

/// The rows of EXISTS with a column: DataFusion (55.2) fails where it joins by rows without any.
fn with_column(subquery: &Subquery) -> Result<Subquery> {
    if !subquery.subquery.schema().fields().is_empty() {
        return Ok(subquery.clone());
    }
    let rows = of_any_columns(&subquery.subquery).clone();
    let rows = LogicalPlanBuilder::from(rows)
        .project([lit(true)])?
        .build()?;
    Ok(Subquery {
        subquery: Arc::new(rows),
        ..subquery.clone()
    })
}

/// Whether an expression has a subquery in it.
pub(super) fn has_subquery(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(subquery_of(part).is_some()))
}

/// A condition of a subquery as one of counts of rows.
pub(super) fn value(expr: Expr, inputs: &[DFSchemaRef]) -> Result<Transformed<Expr>> {
    let (value, negated) = match expr {
        Expr::Exists(Exists { subquery, negated }) => (has_rows(&subquery)?, negated),
        Expr::InSubquery(among) => (
            is_among(&among.expr, &among.subquery, inputs)?,
            among.negated,
        ),
        other => return Ok(Transformed::no(other)),
    };
    Ok(Transformed::yes(if negated { !value } else { value }))
}

fn has_rows(subquery: &Subquery) -> Result<Expr> {
    let mut rows = of_any_columns(&subquery.subquery).clone();
    if subquery.outer_ref_columns.is_empty() {
        // It is asked once, for all: the first row decides.
        rows = LogicalPlanBuilder::from(rows).limit(0, Some(1))?.build()?;
    }
    let counted = counted_rows(rows, subquery.outer_ref_columns.clone())?;
    Ok(counted.gt(lit(0_i64)))
}

fn is_among(expr: &Expr, subquery: &Subquery, inputs: &[DFSchemaRef]) -> Result<Expr> {
    let (rows, cell) = cells(expr, subquery)?;
    let mut outer = subquery.outer_ref_columns.clone();
    let sought = from_outside(expr, inputs, &mut outer)?;
    let that_are = |condition: Expr| {
        let rows = LogicalPlanBuilder::from(rows.clone());
        rows.filter(condition)?.build()
    };
    let equal = counted_rows(that_are(cell.clone().eq(sought))?, outer)?;
    let null = counted_rows(
        that_are(cell.is_null())?,
        subquery.outer_ref_columns.clone(),
    )?;
    let all = has_rows(subquery)?;
    when(equal.gt(lit(0_i64)), lit(true))
        .when(!all, lit(false))
        .when(
            expr.clone().is_null().or(null.gt(lit(0_i64))),
            lit(ScalarValue::Boolean(None)),
        )
        .otherwise(lit(false))
}

/// The rows that IN looks among for `sought`, and their only column under a name that this does not have.
fn cells(sought: &Expr, subquery: &Subquery) -> Result<(LogicalPlan, Expr)> {
    let mut rows = unordered(&subquery.subquery)?;
    if !is_correlated(subquery) {
        rows = LogicalPlanBuilder::from(rows).alias(AMONG)?.build()?;
    } else if names_any(&rows, sought)? {
        let column = Expr::from(rows.schema().qualified_field(0)).alias(AMONG);
        rows = LogicalPlanBuilder::from(rows).project([column])?.build()?;
    }
    let cell = Expr::from(rows.schema().qualified_field(0));
    Ok((rows, cell))
}

/// Whether a column of an expression is called like one of a plan or of what is under it.
fn names_any(plan: &LogicalPlan, expr: &Expr) -> Result<bool> {
    let columns = expr.column_refs();
    plan.exists(|part| {
        let is_there = |column: &&Column| part.schema().has_column(column);
        Ok(columns.iter().any(is_there))
    })
}

/// An expression of the query around, as one inside a subquery. What it takes from there is added to `outer`.
fn from_outside(expr: &Expr, inputs: &[DFSchemaRef], outer: &mut Vec<Expr>) -> Result<Expr> {
    let moved = expr.clone().transform_up(|part| {
        let Expr::Column(column) = part else {
            return Ok(Transformed::no(part));
        };
        let mut fields = inputs.iter().filter_map(|schema| {
            let (_, field) = Expr::Column(column.clone()).to_field(schema).ok()?;
            Some(field)
        });
        let Some(field) = fields.next() else {
            return Ok(Transformed::no(Expr::Column(column)));
        };
        let reference = Expr::OuterReferenceColumn(field, column);
        if !outer.contains(&reference) {
            outer.push(reference.clone());
        }
        Ok(Transformed::yes(reference))
    });
    Ok(moved?.data)
}

/// As many rows as a plan has, in whatever order, of whatever columns.
fn of_any_columns(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => of_any_columns(&sort.input),
        LogicalPlan::Projection(projection) => of_any_columns(&projection.input),
        _ => plan,
    }
}

/// The rows of a plan in whatever order.
fn unordered(plan: &LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => unordered(&sort.input),
        LogicalPlan::Projection(projection) => {
            LogicalPlanBuilder::from(unordered(&projection.input)?)
                .project(projection.expr.clone())?
                .build()
        }
        _ => Ok(plan.clone()),
    }
}

fn counted_rows(rows: LogicalPlan, outer_ref_columns: Vec<Expr>) -> Result<Expr> {
    let counted = LogicalPlanBuilder::from(rows)
        .aggregate(Vec::<Expr>::new(), vec![count(lit(1_i64))])?
        .build()?;
    Ok(Expr::ScalarSubquery(Subquery {
        subquery: Arc::new(counted),
        outer_ref_columns,
        spans: Default::default(),
    }))
}
