//! The columns of UNION have one type, and a quoted literal among them is read as that type.
//!
//! DataFusion makes texts of all where one is a text: `select 'a' union select 1` had two rows, and is an error.
//!
//! 1. A column of one side that is a literal, beside one of another type, is cast to it.
//! 2. A text beside what is none is refused, as is a boolean beside a number (42804).
//! 3. What is left is DataFusion's: two types of numbers, or of times, have a common one.
//!
//! Does not: help what is planned before, around the union (`sum` of such a column is one of texts, and refused); INTERSECT and EXCEPT, whose columns are compared as `=` compares them.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::logical_plan::{Projection, Union};
use datafusion::logical_expr::{Cast, Expr, LogicalPlan};

use crate::error::{SqlError, code};
use crate::functions::literals::is_text;
use crate::pg_type;

/// The plan whose unions have columns of one type, or of types that DataFusion brings together.
pub(crate) fn agreed(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut has_changed = false;
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Union(union) => {
            let union = of_union(union)?;
            has_changed |= union.transformed;
            Ok(union)
        }
        // What is above knows the types anew.
        other if has_changed => Ok(Transformed::yes(other.recompute_schema()?)),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

fn of_union(union: Union) -> Result<Transformed<LogicalPlan>> {
    let columns = union.schema.fields().len();
    let of_columns = (0..columns).map(|column| common(&union.inputs, column));
    let of_columns: Vec<Option<DataType>> = of_columns.collect::<Result<_, SqlError>>()?;
    if of_columns.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let inputs = union.inputs.into_iter();
    let inputs = inputs.map(|input| read_as(input, &of_columns));
    let inputs = inputs.collect::<Result<_>>()?;
    let union = Union::try_new_with_loose_types(inputs)?;
    Ok(Transformed::yes(LogicalPlan::Union(union)))
}

/// The type as which the literals of a column are to be read, if another side has one.
fn common(inputs: &[Arc<LogicalPlan>], column: usize) -> Result<Option<DataType>, SqlError> {
    let typed = inputs.iter().filter(|input| !is_literal(input, column));
    let fields = typed.map(|input| input.schema().field(column));
    let fields = fields.filter(|field| !field.data_type().is_null());
    let fields: Vec<&FieldRef> = fields.collect();
    for pair in fields.windows(2) {
        if !may_meet(pair[0].data_type(), pair[1].data_type()) {
            let [left, right] = [pair[0], pair[1]].map(|field| pg_type::field_oid(field));
            return Err(mismatch(left, right));
        }
    }
    let has_literals = inputs.iter().any(|input| is_literal(input, column));
    let types = fields.first().map(|field| field.data_type().clone());
    Ok(types.filter(|of| has_literals && !of.is_string()))
}

fn may_meet(left: &DataType, right: &DataType) -> bool {
    let is_boolean = |of: &DataType| *of == DataType::Boolean;
    left.is_string() == right.is_string() && is_boolean(left) == is_boolean(right)
}

/// Two types, by their ids, that have no common one.
pub(super) fn mismatch(left: u32, right: u32) -> SqlError {
    let [left, right] = [left, right].map(|oid| pg_type::names(oid).0);
    let message = format!("UNION types {left} and {right} cannot be matched");
    SqlError::new(code::DATATYPE_MISMATCH, message)
}

/// Whether a column of a side is a quoted literal, or one in all parts of a union: rows of a list of values are such.
pub(super) fn is_literal(input: &LogicalPlan, column: usize) -> bool {
    match input {
        LogicalPlan::Projection(projection) => is_text(without_name(&projection.expr[column])),
        LogicalPlan::Union(union) => union.inputs.iter().all(|input| is_literal(input, column)),
        _ => false,
    }
}

fn without_name(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => &alias.expr,
        expr => expr,
    }
}

/// A side whose literals have these types.
fn read_as(input: Arc<LogicalPlan>, types: &[Option<DataType>]) -> Result<Arc<LogicalPlan>> {
    if !(0..types.len()).any(|column| types[column].is_some() && is_literal(&input, column)) {
        return Ok(input);
    }
    let projection = match Arc::unwrap_or_clone(input) {
        LogicalPlan::Projection(projection) => projection,
        LogicalPlan::Union(union) => {
            let inputs = union.inputs.into_iter();
            let inputs = inputs.map(|input| read_as(input, types));
            let inputs = inputs.collect::<Result<_>>()?;
            let union = Union::try_new_with_loose_types(inputs)?;
            return Ok(Arc::new(LogicalPlan::Union(union)));
        }
        other => return Ok(Arc::new(other)),
    };
    let columns = projection.expr.into_iter().zip(types);
    let exprs = columns.map(|(expr, of)| match of {
        Some(of) if is_text(without_name(&expr)) => {
            let name = expr.schema_name().to_string();
            let literal = without_name(&expr).clone();
            Expr::Cast(Cast::new(Box::new(literal), of.clone())).alias(name)
        }
        _ => expr,
    });
    let projection = Projection::try_new(exprs.collect(), projection.input)?;
    Ok(Arc::new(LogicalPlan::Projection(projection)))
}
