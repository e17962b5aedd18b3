//! Values of which one is taken have one type: the branches of a CASE, the arguments of `coalesce`, `greatest` and `least`.
//!
//! 1. Values of types that do not go together are refused (42804). DataFusion makes texts or numbers of them.
//! 2. Quoted literals are read as the type of the others.
//! 3. Numbers and moments are cast to their common type. DataFusion takes a numeric for wider than a double precision, and
//!    until it has found a type, what is around sees that of the first value.
//! 4. Texts are of the type of the first of them that is no literal, `varchar` or `uuid` as well as `text`.
//!
//! A CASE looks at its ELSE first, as PostgreSQL does.
//!
//! Does not: arrays, rows and bytes, which are left to DataFusion.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Case, ScalarFunction};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, ScalarUDF};

use super::operand_types::unmatched;
use crate::error::SqlError;
use crate::functions::common_type::NAMES;
use crate::functions::literals::{is_text, typed};
use crate::functions::text_in::TextIn;
use crate::pg_type;
use crate::type_agreement::{as_field, common, common_text, is_untyped, known};

/// An expression, without its parts, whose values have one type if it takes one of several.
pub(super) fn agreed(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (what, values) = match &expr {
        Expr::Case(case) => ("CASE".to_owned(), branches(case)),
        Expr::ScalarFunction(call) if NAMES.contains(&call.name()) => {
            (call.name().to_uppercase(), call.args.iter().collect())
        }
        _ => return Ok(Transformed::no(expr)),
    };
    refuse(&what, &values, schema)?;
    let typed_values = values.iter().filter(|value| !is_untyped(value));
    let fields = typed_values.map(|value| Ok(value.to_field(schema)?.1));
    // The type of an untyped parameter is not known yet.
    let Ok(fields) = fields.collect::<Result<Vec<FieldRef>>>() else {
        return Ok(Transformed::no(expr));
    };
    let has_literals = values.iter().any(|value| is_text(value));
    let types: Vec<DataType> = fields
        .iter()
        .map(|field| field.data_type().clone())
        .collect();
    let Some(of) = common(&types) else {
        return Ok(Transformed::no(expr));
    };
    if of.is_string() {
        return of_texts(expr, &fields);
    }
    if !has_literals && types.iter().all(|other| *other == of) {
        return Ok(Transformed::no(expr));
    }
    let example = Expr::Literal(ScalarValue::try_from(&of)?, None);
    let as_common = |value: Expr| {
        if is_text(&value) {
            return typed(value, &example, schema);
        }
        if is_untyped(&value) || value.get_type(schema)? == of {
            return Ok(value);
        }
        let field = as_field(of.clone());
        Ok(Expr::Cast(Cast::new_from_field(Box::new(value), field)))
    };
    with_values(expr, as_common)
}

/// The values of a CASE, in the order in which PostgreSQL looks at them.
fn branches(case: &Case) -> Vec<&Expr> {
    let branches = case.when_then_expr.iter().map(|(_, then)| then);
    let branches = case.else_expr.iter().chain(branches);
    branches.map(AsRef::as_ref).collect()
}

fn refuse(what: &str, values: &[&Expr], schema: &DFSchema) -> Result<(), SqlError> {
    let mut known = values.iter().filter_map(|value| known(value, schema));
    let Some(first) = known.next() else {
        return Ok(());
    };
    match known.find(|other| other.family != first.family) {
        Some(other) => Err(unmatched(what, first, other)),
        None => Ok(()),
    }
}

/// Texts of a type other than `text`, as of that type.
fn of_texts(expr: Expr, fields: &[FieldRef]) -> Result<Transformed<Expr>> {
    let Some(oid) = common_text(fields.iter()).filter(|oid| *oid != pg_type::TEXT) else {
        return Ok(Transformed::no(expr));
    };
    let example = fields.first().map(|field| {
        let column = DFSchema::from_unqualified_fields([Arc::clone(field)].into(), [].into());
        column.map(|column| (Expr::from(column.qualified_field(0)), column))
    });
    let Some((example, column)) = example.transpose()? else {
        return Ok(Transformed::no(expr));
    };
    let read = with_values(expr, |value| typed(value, &example, &column))?.data;
    let as_is = Arc::new(ScalarUDF::from(TextIn::as_is(oid)));
    let call = ScalarFunction::new_udf(as_is, vec![read]);
    Ok(Transformed::yes(Expr::ScalarFunction(call)))
}

/// An expression with others in the place of its values.
fn with_values(
    expr: Expr,
    mut change: impl FnMut(Expr) -> Result<Expr>,
) -> Result<Transformed<Expr>> {
    match expr {
        Expr::Case(mut case) => {
            let branches = case.when_then_expr.iter_mut().map(|(_, then)| then);
            for branch in branches.chain(&mut case.else_expr) {
                **branch = change(std::mem::take(branch))?;
            }
            Ok(Transformed::yes(Expr::Case(case)))
        }
        other => other.map_children(|value| Ok(Transformed::yes(change(value)?))),
    }
}
