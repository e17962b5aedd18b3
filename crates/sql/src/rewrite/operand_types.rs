//! Operands of types that PostgreSQL refuses.
//!
//! DataFusion makes one type of two where it can: it compares a text with a number as texts or numbers, a date with a
//! number as the number of its day, and takes any number for a condition. PostgreSQL has no such operators:
//!
//! | | |
//! |---|---|
//! | `text = 1`, `text IN (1, 2)`, `day BETWEEN 1 AND 2`, `CASE text WHEN 1 …` | `operator does not exist` (42883) |
//! | `1 AND b`, `CASE WHEN 1 THEN …` | `argument of AND must be type boolean` (42804) |
//! | `max(boolean)` | `function max(boolean) does not exist` (42883) |
//! | `WHERE rank() OVER () = 1` | `window functions are not allowed in WHERE` (42P20) |
//!
//! A quoted literal is of the other operand's type, and fits any.
//!
//! Does not: complain where a type is not sure ([`known`]); look at rows and arrays, or into recursive queries; tell USING from ON
//! (PostgreSQL's code there is 42804).

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, NullEquality};
use datafusion::logical_expr::expr::{Case, InList, WindowFunctionDefinition};
use datafusion::logical_expr::logical_plan::Join;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};

use crate::error::{SqlError, code};
use crate::functions::literals::is_comparison;
use crate::type_agreement::{Family, Known, known};

const HINT: &str = "No operator matches the given name and argument types. \
     You might need to add explicit type casts.";

/// Aggregates of values that have an order, in PostgreSQL all but booleans.
const OF_ORDERED: [&str; 2] = ["max", "min"];

/// Refuses what an expression, without its parts, is not allowed to take. `schema`: the columns that it names.
pub(super) fn checked(expr: &Expr, schema: &DFSchema) -> Result<(), SqlError> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            compared(left, symbol(*op), right, schema)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if matches!(op, Operator::And | Operator::Or) =>
        {
            let what = op.to_string();
            condition(left, &what, schema)?;
            condition(right, &what, schema)
        }
        Expr::Not(operand) => condition(operand, "NOT", schema),
        Expr::Between(between) => within_range(between, schema),
        Expr::InList(among) => within_list(among, schema),
        Expr::InSubquery(among) => {
            let symbol = if among.negated { "<>" } else { "=" };
            let cell = among.subquery.subquery.schema().fields().first();
            let cell = cell.and_then(Known::of_field);
            comparable(known(&among.expr, schema), symbol, cell)
        }
        Expr::SetComparison(among) => {
            let cell = among.subquery.subquery.schema().fields().first();
            let cell = cell.and_then(Known::of_field);
            comparable(known(&among.expr, schema), symbol(among.op), cell)
        }
        Expr::Case(case) => choices(case, schema),
        Expr::ScalarFunction(call) => match (call.name(), call.args.as_slice()) {
            ("nullif", [left, right]) => compared(left, "=", right, schema),
            _ => Ok(()),
        },
        Expr::AggregateFunction(call) => ordered(call.func.name(), &call.params.args, schema),
        Expr::WindowFunction(call) => match &call.fun {
            WindowFunctionDefinition::AggregateUDF(function) => {
                ordered(function.name(), &call.params.args, schema)
            }
            WindowFunctionDefinition::WindowUDF(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The same of what a node does with expressions.
pub(super) fn checked_node(plan: &LogicalPlan) -> Result<(), SqlError> {
    match plan {
        LogicalPlan::Filter(filter) => {
            let is_of_groups = matches!(*filter.input, LogicalPlan::Aggregate(_));
            let place = if is_of_groups { "HAVING" } else { "WHERE" };
            without_windows([&filter.predicate], place)
        }
        LogicalPlan::Aggregate(aggregate) => without_windows(&aggregate.group_expr, "GROUP BY"),
        LogicalPlan::Join(join) => {
            without_windows(&join.filter, "JOIN conditions")?;
            joined(join)
        }
        _ => Ok(()),
    }
}

fn joined(join: &Join) -> Result<(), SqlError> {
    // Else it is an INTERSECT or EXCEPT.
    if join.null_equality == NullEquality::NullEqualsNull {
        return Ok(());
    }
    for (left, right) in &join.on {
        let left = known(left, join.left.schema());
        let right = known(right, join.right.schema());
        comparable(left, "=", right)?;
    }
    Ok(())
}

/// `… types … and … cannot be matched`
pub(crate) fn unmatched(what: &str, left: Known, right: Known) -> SqlError {
    let (left, right) = (left.name(), right.name());
    let message = format!("{what} types {left} and {right} cannot be matched");
    SqlError::new(code::DATATYPE_MISMATCH, message)
}

fn without_windows<'a>(
    exprs: impl IntoIterator<Item = &'a Expr>,
    place: &str,
) -> Result<(), SqlError> {
    let is_window = |part: &Expr| Ok(matches!(part, Expr::WindowFunction(_)));
    for expr in exprs {
        if expr.exists(is_window)? {
            let message = format!("window functions are not allowed in {place}");
            return Err(SqlError::new(code::WINDOWING_ERROR, message));
        }
    }
    Ok(())
}

fn symbol(op: Operator) -> &'static str {
    match op {
        Operator::NotEq => "<>",
        Operator::Lt => "<",
        Operator::LtEq => "<=",
        Operator::Gt => ">",
        Operator::GtEq => ">=",
        _ => "=",
    }
}

fn compared(left: &Expr, symbol: &str, right: &Expr, schema: &DFSchema) -> Result<(), SqlError> {
    let Some(left) = known(left, schema) else {
        return Ok(());
    };
    comparable(Some(left), symbol, known(right, schema))
}

fn comparable(left: Option<Known>, symbol: &str, right: Option<Known>) -> Result<(), SqlError> {
    let (Some(left), Some(right)) = (left, right) else {
        return Ok(());
    };
    if left.family.meets(right.family) {
        return Ok(());
    }
    let (left, right) = (left.name(), right.name());
    let message = format!("operator does not exist: {left} {symbol} {right}");
    Err(SqlError::new(code::UNDEFINED_FUNCTION, message).with_hint(HINT))
}

fn within_range(between: &Between, schema: &DFSchema) -> Result<(), SqlError> {
    let (low, high) = match between.negated {
        true => ("<", ">"),
        false => (">=", "<="),
    };
    compared(&between.expr, low, &between.low, schema)?;
    compared(&between.expr, high, &between.high, schema)
}

fn within_list(among: &InList, schema: &DFSchema) -> Result<(), SqlError> {
    let Some(sought) = known(&among.expr, schema) else {
        return Ok(());
    };
    let symbol = if among.negated { "<>" } else { "=" };
    let mut list = among.list.iter();
    list.try_for_each(|item| comparable(Some(sought), symbol, known(item, schema)))
}

fn choices(case: &Case, schema: &DFSchema) -> Result<(), SqlError> {
    let mut choices = case.when_then_expr.iter();
    match &case.expr {
        Some(sought) => {
            let sought = known(sought, schema);
            choices.try_for_each(|(when, _)| comparable(sought, "=", known(when, schema)))
        }
        None => choices.try_for_each(|(when, _)| condition(when, "CASE/WHEN", schema)),
    }
}

fn condition(operand: &Expr, what: &str, schema: &DFSchema) -> Result<(), SqlError> {
    if is_boolean(operand) {
        return Ok(());
    }
    match known(operand, schema) {
        Some(known) if known.family != Family::Boolean => {
            let message = format!(
                "argument of {what} must be type boolean, not type {}",
                known.name()
            );
            Err(SqlError::new(code::DATATYPE_MISMATCH, message))
        }
        _ => Ok(()),
    }
}

/// What is a boolean at first sight: long chains of conditions are not gone through again at each of their links.
fn is_boolean(operand: &Expr) -> bool {
    match operand {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => {
            is_comparison(*op) || matches!(op, Operator::And | Operator::Or)
        }
        Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::IsNotUnknown(_)
        | Expr::Like(_)
        | Expr::SimilarTo(_)
        | Expr::Between(_)
        | Expr::InList(_)
        | Expr::InSubquery(_)
        | Expr::Exists(_) => true,
        _ => false,
    }
}

fn ordered(name: &str, args: &[Expr], schema: &DFSchema) -> Result<(), SqlError> {
    if !OF_ORDERED.contains(&name) {
        return Ok(());
    }
    let is_boolean = |arg: &Expr| matches!(arg.get_type(schema), Ok(DataType::Boolean));
    match args.iter().any(is_boolean) {
        true => Err(SqlError::undefined_function(name, &[DataType::Boolean])),
        false => Ok(()),
    }
}
