//! Intervals are compared by their lengths, also where the planner of operators does not look.
//!
//! DataFusion compares months, then days, then times: `1 day` and `24 hours` differ. Their lengths ([`Span`]) take the place of
//! intervals in
//!
//! * IS DISTINCT FROM, IN a list, BETWEEN, and CASE of one that is looked for;
//! * ORDER BY, of windows too unless their frame counts in intervals;
//! * `min` and `max`, as the first value in the order of lengths.
//!
//! Does not: GROUP BY, DISTINCT, IN a subquery, `greatest`, `least`, `min` and `max` of windows.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::{
    AggregateFunction, AggregateFunctionParams, Case, WindowFunction,
};
use datafusion::logical_expr::logical_plan::Sort;
use datafusion::logical_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, Operator, ScalarUDF, SortExpr, WindowFrame,
    WindowFrameBound, WindowFrameUnits,
};

use crate::functions::intervals::Span;
use crate::functions::literals::{is_text, typed};
use crate::type_agreement::is_untyped;

/// An expression, without its parts, that compares intervals by their lengths.
pub(super) fn compared(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::AggregateFunction(call) if is_extreme(&call, schema) => {
            Ok(Transformed::yes(first_by_length(call)))
        }
        Expr::WindowFunction(mut window) => {
            let has_changed = order_window(&mut window, schema);
            let expr = Expr::WindowFunction(window);
            Ok(Transformed::new_transformed(expr, has_changed))
        }
        expr => of_operands(expr, schema),
    }
}

/// A node that sorts intervals by their lengths.
pub(super) fn sorted(mut sort: Sort) -> Sort {
    let schema = Arc::clone(sort.input.schema());
    order(&mut sort.expr, &schema);
    sort
}

fn of_operands(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Some(example) = interval_among(&operands(&expr), schema).cloned() else {
        return Ok(Transformed::no(expr));
    };
    let as_length = |operand: Expr| typed_as(operand, &example, schema).map(length);
    match expr {
        Expr::Case(mut case) => {
            let choices = case.when_then_expr.iter_mut().map(|(when, _)| when);
            for operand in case.expr.iter_mut().chain(choices) {
                **operand = as_length(std::mem::take(operand))?;
            }
            Ok(Transformed::yes(Expr::Case(case)))
        }
        other => other.map_children(|operand| Ok(Transformed::yes(as_length(operand)?))),
    }
}

/// What an expression compares.
fn operands(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::IsDistinctFrom | Operator::IsNotDistinctFrom,
            right,
        }) => vec![left, right],
        Expr::Between(range) => vec![&range.expr, &range.low, &range.high],
        Expr::InList(among) => std::iter::once(&*among.expr).chain(&among.list).collect(),
        Expr::Case(Case {
            expr: Some(sought),
            when_then_expr,
            ..
        }) => {
            let choices = when_then_expr.iter().map(|(when, _)| &**when);
            std::iter::once(&**sought).chain(choices).collect()
        }
        _ => Vec::new(),
    }
}

/// One of the operands, if they are intervals, or take their type from it.
fn interval_among<'a>(operands: &[&'a Expr], schema: &DFSchema) -> Option<&'a Expr> {
    let mut typed = operands.iter().filter(|operand| !is_untyped(operand));
    let first = typed.next()?;
    let mut all = std::iter::once(first).chain(typed);
    all.all(|operand| is_interval(operand, schema))
        .then_some(*first)
}

fn is_interval(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Interval(_)))
}

fn typed_as(operand: Expr, example: &Expr, schema: &DFSchema) -> Result<Expr> {
    if is_text(&operand) {
        return typed(operand, example, schema);
    }
    if is_untyped(&operand) {
        let interval = DataType::Interval(IntervalUnit::MonthDayNano);
        return Ok(Expr::Cast(Cast::new(Box::new(operand), interval)));
    }
    Ok(operand)
}

fn length(interval: Expr) -> Expr {
    ScalarUDF::from(Span::new()).call(vec![interval])
}

fn order(sorts: &mut [SortExpr], schema: &DFSchema) -> bool {
    let of_intervals = sorts
        .iter_mut()
        .filter(|sort| is_interval(&sort.expr, schema));
    let mut has_changed = false;
    for sort in of_intervals {
        sort.expr = length(std::mem::take(&mut sort.expr));
        has_changed = true;
    }
    has_changed
}

fn order_window(window: &mut WindowFunction, schema: &DFSchema) -> bool {
    !counts_in_values(&window.params.window_frame) && order(&mut window.params.order_by, schema)
}

/// Whether a frame reaches as far as a value tells.
fn counts_in_values(frame: &WindowFrame) -> bool {
    let is_value = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(value) | WindowFrameBound::Following(value) => !value.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    let is_range = frame.units == WindowFrameUnits::Range;
    is_range && (is_value(&frame.start_bound) || is_value(&frame.end_bound))
}

/// Whether an aggregate gives the least or greatest of intervals.
fn is_extreme(call: &AggregateFunction, schema: &DFSchema) -> bool {
    let is_named = ["min", "max"].contains(&call.func.name());
    is_named && matches!(call.params.args.as_slice(), [arg] if is_interval(arg, schema))
}

fn first_by_length(call: AggregateFunction) -> Expr {
    let ascending = call.func.name() == "min";
    let lengths = call.params.args.iter().cloned().map(length);
    let order_by = lengths
        .map(|length| length.sort(ascending, false))
        .collect();
    Expr::AggregateFunction(AggregateFunction {
        func: first_value_udaf(),
        params: AggregateFunctionParams {
            distinct: false,
            order_by,
            ..call.params
        },
    })
}
