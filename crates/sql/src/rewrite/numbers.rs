//! Integer literals in PostgreSQL's types.
//!
//! PostgreSQL takes a number without a point for an integer if it fits, else for a bigint, else
//! for a numeric. DataFusion takes every one for a bigint, or for an unsigned number. The pass
//! goes over a plan from its leaves up: it replaces literals and lets every node, and every
//! reference from a subquery to the query around it, know the types anew.
//!
//! It runs before values take the places of parameters, which have types of their own. LIMIT and
//! OFFSET are bigints whatever is written; their parameters learn it here. The terms of a
//! recursive query keep their types, on which they have agreed before.
//!
//! As types are those of PostgreSQL here for the first time, expressions that depend on them are looked at on the way up: what it
//! refuses ([`operand_types`]), what it does with integers ([`integer_operations`]), quotients ([`division`]), values that it brings
//! together ([`chosen_values`]), and intervals ([`interval_lengths`]). Of a recursive query only the signs of integers are.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ExprSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunction, Placeholder};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{Limit, Subquery, Union};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use super::{chosen_values, integer_operations, interval_lengths, operand_types};
use crate::functions::division;

/// The most digits of a literal with an exponent that is written out.
const DECIMAL128_DIGITS: u8 = 38;

/// The plan with PostgreSQL's types of literals.
pub(crate) fn typed(plan: LogicalPlan) -> Result<LogicalPlan> {
    node(plan, &[])
}

/// A node and what is under it; `around`: the columns of the queries around it, outermost first.
fn node(plan: LogicalPlan, around: &[DFSchema]) -> Result<LogicalPlan> {
    if matches!(plan, LogicalPlan::RecursiveQuery(_)) {
        return integer_operations::with_subtractions(plan);
    }
    let plan = plan
        .map_children(|input| node(input, around).map(Transformed::yes))?
        .data;
    if let LogicalPlan::Limit(limit) = plan {
        return Ok(LogicalPlan::Limit(counted(limit)));
    }
    let schema = merge_schema(&plan.inputs());
    let mut inside = around.to_vec();
    inside.push(schema.clone());
    let names = NamePreserver::new(&plan);
    let plan = plan
        .map_subqueries(|subquery| within(subquery, &inside))?
        .data;
    let whole = |expr: Expr| {
        let name = names.save(&expr);
        let typed = expr.transform_down(|expr| Ok(one(expr, around)))?.data;
        let typed = typed.transform_up(|expr| settled(expr, &schema))?;
        Ok(typed.update_data(|expr| name.restore(expr)))
    };
    let plan = plan
        .map_expressions(|expr| match expr {
            // Each of its expressions is a column by its own name.
            Expr::GroupingSet(_) => expr.map_children(whole),
            expr => whole(expr),
        })?
        .data;
    operand_types::checked_node(&plan)?;
    match plan {
        LogicalPlan::Values(values) => LogicalPlanBuilder::values(values.values)?.build(),
        // Its own recomputation keeps the types that it had.
        LogicalPlan::Union(union) => {
            let union = Union::try_new_with_loose_types(union.inputs)?;
            Ok(LogicalPlan::Union(union))
        }
        LogicalPlan::Sort(sort) => Ok(LogicalPlan::Sort(interval_lengths::sorted(sort))),
        plan => plan.recompute_schema(),
    }
}

/// A subquery in an expression.
fn within(plan: LogicalPlan, around: &[DFSchema]) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Subquery(subquery) = plan else {
        return Ok(Transformed::no(plan));
    };
    let inner = node(Arc::unwrap_or_clone(subquery.subquery), around)?;
    let references = subquery.outer_ref_columns.into_iter();
    Ok(Transformed::yes(LogicalPlan::Subquery(Subquery {
        subquery: Arc::new(inner),
        outer_ref_columns: references.map(|expr| one(expr, around).data).collect(),
        spans: subquery.spans,
    })))
}

/// One expression without its parts.
fn one(expr: Expr, around: &[DFSchema]) -> Transformed<Expr> {
    match expr {
        Expr::Literal(value, metadata) => match literal(&value) {
            Some(value) => Transformed::yes(Expr::Literal(value, metadata)),
            None => Transformed::no(Expr::Literal(value, metadata)),
        },
        Expr::OuterReferenceColumn(field, column) => {
            let now = around
                .iter()
                .rev()
                .find_map(|schema| schema.field_from_column(&column).ok().cloned());
            Transformed::yes(Expr::OuterReferenceColumn(now.unwrap_or(field), column))
        }
        // The planner knows `count(*)` by its literal.
        Expr::AggregateFunction(call) if counts_rows(&call) => {
            let expr = Expr::AggregateFunction(call);
            Transformed::new(expr, false, TreeNodeRecursion::Jump)
        }
        other => Transformed::no(other),
    }
}

/// One expression whose parts have their types.
fn settled(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    operand_types::checked(&expr, schema)?;
    integer_operations::of_postgresql(expr, schema)?
        .transform_data(|expr| Ok(division::exact(expr, schema)))?
        .transform_data(|expr| chosen_values::agreed(expr, schema))?
        .transform_data(|expr| interval_lengths::compared(expr, schema))
}

fn counts_rows(call: &AggregateFunction) -> bool {
    call.func.name() == "count" && matches!(call.params.args.as_slice(), [Expr::Literal(..)])
}

/// The literal in PostgreSQL's type, if it has another.
fn literal(value: &ScalarValue) -> Option<ScalarValue> {
    match value {
        // The least integer is a bigint: PostgreSQL sees the number before its sign.
        ScalarValue::Int64(Some(number)) => i32::try_from(*number)
            .ok()
            .filter(|&number| number != i32::MIN)
            .map(|number| ScalarValue::Int32(Some(number))),
        ScalarValue::UInt64(Some(number)) => {
            Some(ScalarValue::Decimal128(Some(i128::from(*number)), 20, 0))
        }
        ScalarValue::Decimal128(Some(digits), precision, scale) if *scale < 0 => {
            let zeros = scale.unsigned_abs();
            let precision = precision
                .checked_add(zeros)
                .filter(|&precision| precision <= DECIMAL128_DIGITS)?;
            let number = digits.checked_mul(10_i128.pow(u32::from(zeros)))?;
            Some(ScalarValue::Decimal128(Some(number), precision, 0))
        }
        _ => None,
    }
}

/// LIMIT and OFFSET with the type of their parameters.
fn counted(limit: Limit) -> Limit {
    let bigint = |expr: Box<Expr>| match *expr {
        Expr::Placeholder(Placeholder { id, field: None }) => {
            let field = Arc::new(Field::new("", DataType::Int64, true));
            Box::new(Expr::Placeholder(Placeholder::new_with_field(
                id,
                Some(field),
            )))
        }
        other => Box::new(other),
    };
    Limit {
        skip: limit.skip.map(bigint),
        fetch: limit.fetch.map(bigint),
        input: limit.input,
    }
}
