//! `nullif` of floats compares as `=` does, for which -0 is 0. DataFusion's compares bit by bit.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Expr, ExprSchemable, when};

/// Puts a CASE in its place.
#[derive(Debug)]
pub(crate) struct FloatNullifRewrite;

impl FunctionRewrite for FloatNullifRewrite {
    fn name(&self) -> &str {
        "float_nullif"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(function) = &expr else {
            return Ok(Transformed::no(expr));
        };
        let ("nullif", [left, right]) = (function.func.name(), function.args.as_slice()) else {
            return Ok(Transformed::no(expr));
        };
        let is_float = |operand: &Expr| operand.get_type(schema).is_ok_and(|of| of.is_floating());
        // A CASE computes the first operand twice.
        if left.is_volatile() || !is_float(left) && !is_float(right) {
            return Ok(Transformed::no(expr));
        }
        let null = ScalarValue::try_new_null(&left.get_type(schema)?)?;
        let same = left.clone().eq(right.clone());
        let case = when(same, Expr::Literal(null, None)).otherwise(left.clone())?;
        Ok(Transformed::yes(case))
    }
}
