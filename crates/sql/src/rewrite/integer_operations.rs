//! What PostgreSQL does with integers and DataFusion does with bigints, or otherwise.
//!
//! * A function that DataFusion has for bigints only gives integers again.
//! * `to_hex` of a negative integer has the digits of its 32 bits.
//! * The sign of an integer is a subtraction.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan, lit};

/// Functions that give integers if they are given integers, and bigints in DataFusion.
const OF_INTEGERS: [&str; 2] = ["gcd", "lcm"];

/// The one of them that gives a list.
const SERIES: &str = "generate_series";

/// An expression, without its parts, with PostgreSQL's integers.
pub(super) fn of_postgresql(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    of_integers(expr, schema)
        .transform_data(|expr| Ok(hexadecimal(expr, schema)))?
        .transform_data(|expr| subtracted(expr, schema))
}

/// A plan whose types stay as they are, with the signs of integers as subtractions.
pub(super) fn with_subtractions(plan: LogicalPlan) -> Result<LogicalPlan> {
    let changed = plan.transform_up_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let changed = expr.transform_up(|expr| subtracted(expr, &schema))?;
            Ok(changed.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(changed.data)
}

/// A call that gives bigints out of integers, as integers.
fn of_integers(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::ScalarFunction(call) = &expr else {
        return Transformed::no(expr);
    };
    let integer = DataType::Int32;
    let gives = match call.func.name() {
        SERIES => DataType::new_list(integer, true),
        name if OF_INTEGERS.contains(&name) => integer,
        _ => return Transformed::no(expr),
    };
    if !call
        .args
        .iter()
        .all(|argument| is_integer(argument, schema))
    {
        return Transformed::no(expr);
    }
    Transformed::yes(Expr::Cast(Cast::new(Box::new(expr), gives)))
}

/// The digits of a negative integer are those of its 32 bits.
fn hexadecimal(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::ScalarFunction(mut call) = expr else {
        return Transformed::no(expr);
    };
    match call.args.first_mut() {
        Some(number) if call.func.name() == "to_hex" && is_integer(number, schema) => {
            let wide = Expr::Cast(Cast::new(Box::new(std::mem::take(number)), DataType::Int64));
            *number = wide & lit(i64::from(u32::MAX));
            Transformed::yes(Expr::ScalarFunction(call))
        }
        _ => Transformed::no(Expr::ScalarFunction(call)),
    }
}

fn is_integer(argument: &Expr, schema: &DFSchema) -> bool {
    matches!(
        argument.get_type(schema),
        Ok(DataType::Int16 | DataType::Int32)
    )
}

/// An integer's negative as what it is less than zero. DataFusion takes its own sign for the complement of all bits:
/// `-(a & b)` for `-a | -b`, and `a & -a` for 0.
fn subtracted(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::Negative(operand) = expr else {
        return Ok(Transformed::no(expr));
    };
    match operand.get_type(schema) {
        Ok(of) if of.is_signed_integer() => {
            let zero = Expr::Literal(ScalarValue::new_zero(&of)?, None);
            Ok(Transformed::yes(zero - *operand))
        }
        _ => Ok(Transformed::no(Expr::Negative(operand))),
    }
}
