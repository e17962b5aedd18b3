//! `EXISTS (…)` and `x IN (SELECT …)` in the place of a value: in a select list, a CASE, an aggregate.
//!
//! DataFusion knows them as conditions only, which it joins by. As values they become subqueries that
//! count rows, which it knows in a select list:
//!
//! * EXISTS: whether there is any.
//! * IN: true if one is equal; else false if there are none at all; else NULL if x, or a row, is NULL; else
//!   false.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchemaRef, Result, ScalarValue, internal_err};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::Exists;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{
    Aggregate, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, lit, when,
};

/// The name of the rows that IN looks among: they may have that of a table around them.
/// No identifier has a blank unless it is quoted.
const AMONG: &str = "rows of IN";
/// The first words of the names of what is computed for an aggregate.
const COMPUTED: &str = "computed for an aggregate";

/// The plan with a value in the place of every such condition that nothing is filtered or joined by.
pub(crate) fn counted(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Projection(_) => values(plan),
        LogicalPlan::Aggregate(aggregate) => computed_below(aggregate),
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

/// What an aggregate takes of subqueries is computed by a projection below it: there DataFusion joins them.
fn computed_below(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let mut computed: Vec<Expr> = Vec::new();
    let mut compute = |expr: Expr| {
        if !has_subquery(&expr)? {
            return Ok(Transformed::no(expr));
        }
        let name = format!("{COMPUTED} {}", computed.len() + 1);
        computed.push(expr.alias(&name));
        Ok(Transformed::yes(Expr::Column(Column::from_name(name))))
    };
    let plan = LogicalPlan::Aggregate(aggregate);
    let names = NamePreserver::new(&plan);
    let plan = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let expr = match expr {
            Expr::GroupingSet(_) => Transformed::no(expr),
            expr if expr.exists(|part| Ok(matches!(part, Expr::AggregateFunction(_))))? => expr
                .transform_down(|part| match part {
                    Expr::AggregateFunction(_) => part.map_children(&mut compute),
                    part => Ok(Transformed::no(part)),
                })?,
            expr => compute(expr)?,
        };
        Ok(expr.update_data(|expr| name.restore(expr)))
    })?;
    if computed.is_empty() {
        return Ok(plan);
    }
    let LogicalPlan::Aggregate(aggregate) = plan.data else {
        return internal_err!("an aggregate is one still");
    };
    let columns = aggregate.input.schema().columns().into_iter();
    let below = LogicalPlanBuilder::from(Arc::unwrap_or_clone(aggregate.input))
        .project(columns.map(Expr::Column).chain(computed))?
        .build()?;
    let above = Aggregate::try_new(
        Arc::new(values(below)?.data),
        aggregate.group_expr,
        aggregate.aggr_expr,
    )?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(above)))
}

/// Whether an expression has a subquery in it.
pub(super) fn has_subquery(expr: &Expr) -> Result<bool> {
    expr.exists(|part| {
        Ok(matches!(
            part,
            Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_)
        ))
    })
}

/// A condition of a subquery as one of counts of rows.
pub(super) fn value(expr: Expr, inputs: &[DFSchemaRef]) -> Result<Transformed<Expr>> {
    let (value, negated) = match expr {
        Expr::Exists(Exists { subquery, negated }) => (has_rows(&subquery)?, negated),
        Expr::InSubquery(among) => match is_among(&among.expr, &among.subquery, inputs)? {
            Some(value) => (value, among.negated),
            None => return Ok(Transformed::no(Expr::InSubquery(among))),
        },
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

/// `None`: the rows are named like what is sought, and cannot be given another name because they depend on the
/// query around them. The condition between both would be one of the rows with themselves.
fn is_among(expr: &Expr, subquery: &Subquery, inputs: &[DFSchemaRef]) -> Result<Option<Expr>> {
    let mut rows = unordered(&subquery.subquery)?;
    if subquery.outer_ref_columns.is_empty() {
        rows = LogicalPlanBuilder::from(rows).alias(AMONG)?.build()?;
    } else if names_any(&rows, expr)? {
        return Ok(None);
    }
    let cell = Expr::from(rows.schema().qualified_field(0));
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
    let value = when(equal.gt(lit(0_i64)), lit(true))
        .when(!all, lit(false))
        .when(
            expr.clone().is_null().or(null.gt(lit(0_i64))),
            lit(ScalarValue::Boolean(None)),
        )
        .otherwise(lit(false))?;
    Ok(Some(value))
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
