//! The columns of UNION, INTERSECT and EXCEPT have one type, and a quoted literal among them is read as that type.
//!
//! DataFusion makes texts of all where one is a text: `select 'a' union select 1` had two rows, and is an error. It takes a
//! numeric for wider than a double precision, and gives INTERSECT and EXCEPT the types of their left sides.
//!
//! 1. Types that do not go together are refused (42804).
//! 2. A column of one side that is a literal, beside one of another type, is cast to it.
//! 3. Numbers and moments are cast to their common type. Texts are of the first side's type.
//!
//! INTERSECT and EXCEPT are semi and anti joins of rows in which NULL equals NULL, over DISTINCT unless they are of ALL rows.
//! Their columns are cast below it.
//!
//! Does not: help what is planned before, around the union (`sum` of such a column is one of texts, and refused).

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::logical_plan::{
    Distinct, Join, JoinType, Projection, SubqueryAlias, Union,
};
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, ScalarUDF};

use crate::error::{SqlError, code};
use crate::functions::literals::is_text;
use crate::functions::text_in::TextIn;
use crate::pg_type;
use crate::type_agreement::{Family, as_field, common, common_text, text_types_differ};

/// What becomes of a column of all sides.
enum Wanted {
    /// It stays.
    AsIs,
    /// It is cast where it has another type, its literals read as the field's type.
    Cast(FieldRef),
    /// It is text, known to be of this type.
    Text(u32),
}

/// The plan whose sets of rows have columns of one type, or of types that DataFusion brings together.
pub(crate) fn agreed(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut has_changed = false;
    let plan = plan.transform_up_with_subqueries(|plan| {
        let plan = match plan {
            LogicalPlan::Union(union) => of_union(union)?,
            LogicalPlan::Join(join) if join.null_equality == NullEquality::NullEqualsNull => {
                of_join(join)?
            }
            // What is above knows the types anew.
            other if has_changed => Transformed::yes(other.recompute_schema()?),
            other => Transformed::no(other),
        };
        has_changed |= plan.transformed;
        Ok(plan)
    })?;
    Ok(plan.data)
}

fn of_union(union: Union) -> Result<Transformed<LogicalPlan>> {
    let wanted = wanted(&union.inputs, "UNION")?;
    let is_as_it_was = wanted.iter().all(|of| matches!(of, Wanted::AsIs));
    if is_as_it_was {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let inputs = union.inputs.into_iter();
    let inputs = inputs.map(|input| converted(read_as(input, &wanted)?, &wanted));
    let inputs = inputs.collect::<Result<_>>()?;
    let union = Union::try_new_with_loose_types(inputs)?;
    Ok(Transformed::yes(LogicalPlan::Union(union)))
}

fn of_join(join: Join) -> Result<Transformed<LogicalPlan>> {
    let what = match join.join_type {
        JoinType::LeftSemi => "INTERSECT",
        JoinType::LeftAnti => "EXCEPT",
        _ => return Ok(Transformed::no(LogicalPlan::Join(join))),
    };
    let wanted = wanted(&[Arc::clone(&join.left), Arc::clone(&join.right)], what)?;
    // Without ALL the left side's DISTINCT belongs to the operation: what is told apart are values of the common type.
    let left = match join.left.as_ref() {
        LogicalPlan::Distinct(Distinct::All(rows)) => {
            let rows = converted(read_as(Arc::clone(rows), &wanted)?, &wanted)?;
            Arc::new(LogicalPlan::Distinct(Distinct::All(rows)))
        }
        _ => converted(read_as(join.left, &wanted)?, &wanted)?,
    };
    // Even if nothing is cast here a side may have got other types from what is below.
    let join = Join::try_new(
        left,
        converted(read_as(join.right, &wanted)?, &wanted)?,
        join.on,
        join.filter,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    Ok(Transformed::yes(LogicalPlan::Join(join)))
}

/// What becomes of each column of the sides of an operation.
fn wanted(inputs: &[Arc<LogicalPlan>], what: &str) -> Result<Vec<Wanted>, SqlError> {
    let columns = inputs
        .first()
        .map_or(0, |input| input.schema().fields().len());
    let columns = (0..columns).map(|column| of_column(inputs, column, what));
    columns.collect()
}

fn of_column(inputs: &[Arc<LogicalPlan>], column: usize, what: &str) -> Result<Wanted, SqlError> {
    let typed = inputs.iter().filter(|input| !is_literal(input, column));
    let fields = typed.map(|input| input.schema().field(column));
    let fields = fields.filter(|field| !field.data_type().is_null());
    let fields: Vec<&FieldRef> = fields.collect();
    let Some(first) = fields.first() else {
        return Ok(Wanted::AsIs);
    };
    for field in &fields {
        if !may_meet(first.data_type(), field.data_type()) {
            let [left, right] = [first, field].map(|field| pg_type::field_oid(field));
            return Err(unmatched(what, left, right));
        }
    }
    if first.data_type().is_string() {
        let common = common_text(fields.iter().copied());
        let common = common.filter(|_| text_types_differ(&fields));
        return Ok(common.map_or(Wanted::AsIs, Wanted::Text));
    }
    let types: Vec<DataType> = fields
        .iter()
        .map(|field| field.data_type().clone())
        .collect();
    let of = common(&types).unwrap_or_else(|| types[0].clone());
    let are_of_one = types.iter().all(|other| *other == of) && types.len() == inputs.len();
    let is_cast = !are_of_one && Family::of(&of).is_some();
    Ok(match is_cast || has_literals(inputs, column) {
        true => Wanted::Cast(as_field(of)),
        false => Wanted::AsIs,
    })
}

fn has_literals(inputs: &[Arc<LogicalPlan>], column: usize) -> bool {
    inputs.iter().any(|input| is_literal(input, column))
}

/// Types of which nothing is known here are left to DataFusion.
fn may_meet(left: &DataType, right: &DataType) -> bool {
    match (Family::of(left), Family::of(right)) {
        (None, None) => true,
        (Some(Family::Text), None) | (None, Some(Family::Text)) => false,
        (Some(left), Some(right)) => left == right,
        _ => true,
    }
}

/// Two types, by their ids, that have no common one.
pub(super) fn mismatch(left: u32, right: u32) -> SqlError {
    unmatched("UNION", left, right)
}

fn unmatched(what: &str, left: u32, right: u32) -> SqlError {
    let [left, right] = [left, right].map(|oid| pg_type::names(oid).0);
    let message = format!("{what} types {left} and {right} cannot be matched");
    SqlError::new(code::DATATYPE_MISMATCH, message)
}

/// Whether a column of a side is a quoted literal, or one in all parts of a union: rows of a list of values are such.
pub(super) fn is_literal(input: &LogicalPlan, column: usize) -> bool {
    match input {
        LogicalPlan::Projection(projection) => is_text(without_name(&projection.expr[column])),
        LogicalPlan::Union(union) => union.inputs.iter().all(|input| is_literal(input, column)),
        LogicalPlan::Distinct(Distinct::All(input)) => is_literal(input, column),
        LogicalPlan::SubqueryAlias(named) => is_literal(&named.input, column),
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
fn read_as(input: Arc<LogicalPlan>, wanted: &[Wanted]) -> Result<Arc<LogicalPlan>> {
    let mut columns = wanted.iter().enumerate();
    let is_read = |(column, of): (usize, &Wanted)| {
        matches!(of, Wanted::Cast(_)) && is_literal(&input, column)
    };
    if !columns.any(is_read) {
        return Ok(input);
    }
    let plan = match Arc::unwrap_or_clone(input) {
        LogicalPlan::Projection(projection) => {
            let columns = projection.expr.into_iter().zip(wanted);
            let exprs = columns.map(|(expr, of)| match of {
                Wanted::Cast(of) if is_text(without_name(&expr)) => {
                    let name = expr.schema_name().to_string();
                    let literal = Box::new(without_name(&expr).clone());
                    Expr::Cast(Cast::new_from_field(literal, Arc::clone(of))).alias(name)
                }
                _ => expr,
            });
            LogicalPlan::Projection(Projection::try_new(exprs.collect(), projection.input)?)
        }
        LogicalPlan::Union(union) => {
            let inputs = union.inputs.into_iter();
            let inputs = inputs.map(|input| read_as(input, wanted));
            let inputs = inputs.collect::<Result<_>>()?;
            LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?)
        }
        LogicalPlan::Distinct(Distinct::All(input)) => {
            LogicalPlan::Distinct(Distinct::All(read_as(input, wanted)?))
        }
        LogicalPlan::SubqueryAlias(named) => {
            let input = read_as(named.input, wanted)?;
            LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(input, named.alias)?)
        }
        other => other,
    };
    Ok(Arc::new(plan))
}

/// A side whose columns of other types are converted.
fn converted(input: Arc<LogicalPlan>, wanted: &[Wanted]) -> Result<Arc<LogicalPlan>> {
    let is_other = |(field, of): (&FieldRef, &Wanted)| match of {
        Wanted::AsIs => false,
        Wanted::Cast(of) => field.data_type() != of.data_type(),
        Wanted::Text(_) => field.data_type().is_string(),
    };
    let fields = input.schema().fields().iter();
    if !fields.zip(wanted).any(is_other) {
        return Ok(input);
    }
    let columns = input.schema().iter().zip(wanted);
    let columns = columns.map(|((qualifier, field), of)| {
        let column = Expr::from((qualifier, field));
        if !is_other((field, of)) {
            return column;
        }
        let converted = match of {
            Wanted::AsIs => return column,
            Wanted::Cast(of) => Expr::Cast(Cast::new_from_field(Box::new(column), Arc::clone(of))),
            Wanted::Text(oid) => {
                let as_is = Arc::new(ScalarUDF::from(TextIn::as_is(*oid)));
                Expr::ScalarFunction(ScalarFunction::new_udf(as_is, vec![column]))
            }
        };
        converted.alias_qualified(qualifier.cloned(), field.name())
    });
    let columns = columns.collect();
    let projection = Projection::try_new(columns, input)?;
    Ok(Arc::new(LogicalPlan::Projection(projection)))
}
