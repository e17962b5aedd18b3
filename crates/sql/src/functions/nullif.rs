//! `nullif` compares as `=` does: -0 is 0, and intervals are as long as each other. DataFusion's compares
//! bit by bit. The result is of the first operand's type, not of the one that both are compared in.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, ScalarUDF, when};

use super::intervals::Span;

/// Puts a CASE in its place, where equal values may have other bits.
#[derive(Debug)]
pub(crate) struct NullifRewrite {
    span: Arc<ScalarUDF>,
}

impl NullifRewrite {
    pub(crate) fn new() -> Self {
        Self {
            span: Arc::new(ScalarUDF::from(Span::new())),
        }
    }

    /// Whether two operands are equal, if bits do not tell.
    fn equal(&self, left: &Expr, right: &Expr, schema: &DFSchema) -> Option<Expr> {
        let is = |what: fn(&DataType) -> bool, operand: &Expr| {
            operand.get_type(schema).is_ok_and(|of| what(&of))
        };
        let is_interval = |operand| is(|of| matches!(of, DataType::Interval(_)), operand);
        if is(DataType::is_floating, left) || is(DataType::is_floating, right) {
            return Some(left.clone().eq(right.clone()));
        }
        if is_interval(left) && is_interval(right) {
            let span = |operand: &Expr| self.span.call(vec![operand.clone()]);
            return Some(span(left).eq(span(right)));
        }
        None
    }
}

impl FunctionRewrite for NullifRewrite {
    fn name(&self) -> &str {
        "nullif"
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
        // A CASE computes the first operand twice.
        let equal = match left.is_volatile() {
            true => None,
            false => self.equal(left, right, schema),
        };
        let Some(equal) = equal else {
            let types = (left.get_type(schema), right.get_type(schema));
            return Ok(match types {
                (Ok(left), Ok(right))
                    if left != right && left.is_integer() && right.is_integer() =>
                {
                    Transformed::yes(Expr::Cast(Cast::new(Box::new(expr), left)))
                }
                _ => Transformed::no(expr),
            });
        };
        let null = ScalarValue::try_new_null(&left.get_type(schema)?)?;
        let case = when(equal, Expr::Literal(null, None)).otherwise(left.clone())?;
        Ok(Transformed::yes(case))
    }
}
