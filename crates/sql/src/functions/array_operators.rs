//! Operators on columns of arrays: `tags @> ARRAY['a']`, `a && b`, `a || 'x'`.
//!
//! A column of arrays is a text here, so that DataFusion would look for an operator of texts. The operand becomes a list
//! ([`ArrayOf`]), and a literal beside it, other than in `||`, an array of the same type. `&&`, which DataFusion does not know, is a
//! function.

use std::sync::Arc;

use datafusion::arrow::datatypes::Field;
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::{DFSchema, Result};
use datafusion::functions_nested::expr_fn::array_has_any;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::array_of::ArrayOf;
use super::literals::is_text;
use crate::pg_type;

/// Makes lists of operands.
#[derive(Debug)]
pub(crate) struct ArrayOperators {
    array_of: Arc<ScalarUDF>,
}

impl ArrayOperators {
    pub(crate) fn new() -> Self {
        Self {
            array_of: Arc::new(ScalarUDF::from(ArrayOf::new())),
        }
    }

    fn list(&self, operand: Expr) -> Expr {
        let function = Arc::clone(&self.array_of);
        Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![operand]))
    }

    /// An operand as a list, if it is a column of arrays, or a literal beside one.
    fn operand(
        &self,
        operand: Expr,
        own: Option<&Field>,
        other: Option<&Field>,
        op: &BinaryOperator,
    ) -> Expr {
        if own.is_some() {
            return self.list(operand);
        }
        match (operand, other) {
            (Expr::Literal(text, None), Some(array))
                if *op != BinaryOperator::StringConcat
                    && is_text(&Expr::Literal(text.clone(), None)) =>
            {
                let metadata = FieldMetadata::from(array.metadata().clone());
                self.list(Expr::Literal(text, Some(metadata)))
            }
            (operand, _) => operand,
        }
    }
}

impl ExprPlanner for ArrayOperators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = expr;
        let (left_array, right_array) = (array(&left, schema), array(&right, schema));
        let (left, right) = match is_of_arrays(&op) {
            true => (
                self.operand(left, left_array.as_deref(), right_array.as_deref(), &op),
                self.operand(right, right_array.as_deref(), left_array.as_deref(), &op),
            ),
            false => (left, right),
        };
        if op == BinaryOperator::PGOverlap && is_list(&left, schema) && is_list(&right, schema) {
            return Ok(PlannerResult::Planned(array_has_any(left, right)));
        }
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }
}

fn is_list(expr: &Expr, schema: &DFSchema) -> bool {
    let of = expr.get_type(schema);
    of.is_ok_and(|of| of.is_list())
}

fn is_of_arrays(op: &BinaryOperator) -> bool {
    use BinaryOperator::{ArrowAt, AtArrow, PGOverlap, StringConcat};
    matches!(op, ArrowAt | AtArrow | PGOverlap | StringConcat)
}

/// The field of an expression that is an array, but no list.
fn array(expr: &Expr, schema: &DFSchema) -> Option<Arc<Field>> {
    let (_, field) = expr.to_field(schema).ok()?;
    let is_array = field.data_type().is_string() && pg_type::is_array(pg_type::field_oid(&field));
    is_array.then_some(field)
}
