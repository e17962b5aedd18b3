//! `trunc`, `ceil` and `floor` of a numeric: no more digits than asked for; `round` of a float:
//! half to even.
//!
//! DataFusion keeps the argument's digits and sets them to zero, and fails if the number above
//! has a digit more than the argument's type; PostgreSQL takes the digits away.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, ScalarUDF};

use super::quotient::Digits;
use super::round_to_even::RoundToEven;

const DECIMAL256_DIGITS: u8 = 76;

/// Takes the zeros away, and rounds floats to even.
#[derive(Debug)]
pub(crate) struct WholeRewrite {
    round_to_even: Arc<ScalarUDF>,
}

impl WholeRewrite {
    pub(crate) fn new() -> Self {
        Self {
            round_to_even: Arc::new(ScalarUDF::from(RoundToEven::new())),
        }
    }
}

impl FunctionRewrite for WholeRewrite {
    fn name(&self) -> &str {
        "whole_numbers"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(mut function) = expr else {
            return Ok(Transformed::no(expr));
        };
        if function.func.name() == "round"
            && let [number] = function.args.as_slice()
            && number.get_type(schema).is_ok_and(|of| of.is_floating())
        {
            function.func = self.round_to_even.clone();
            return Ok(Transformed::yes(Expr::ScalarFunction(function)));
        }
        let Some((argument, kept)) = digits(&function, schema) else {
            return Ok(Transformed::no(Expr::ScalarFunction(function)));
        };
        let precision = argument.precision.saturating_add(1).min(DECIMAL256_DIGITS);
        let roomy = Digits {
            precision,
            scale: argument.scale,
        };
        let result = Digits {
            precision,
            scale: kept,
        };
        let number = function.args.remove(0);
        function.args.insert(0, cast(number, roomy));
        Ok(Transformed::yes(cast(
            Expr::ScalarFunction(function),
            result,
        )))
    }
}

fn cast(expr: Expr, digits: Digits) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), digits.decimal()))
}

/// The digits of a numeric argument, and how many after the point the call keeps, if fewer.
fn digits(function: &ScalarFunction, schema: &DFSchema) -> Option<(Digits, i8)> {
    let kept = match (function.func.name(), function.args.as_slice()) {
        ("ceil" | "floor" | "trunc", [_]) => 0,
        ("trunc", [_, Expr::Literal(ScalarValue::Int32(Some(digits)), _)]) => {
            i8::try_from((*digits).max(0)).ok()?
        }
        _ => return None,
    };
    let argument = function.args.first()?.get_type(schema).ok()?;
    let argument = Digits::of(&argument).filter(|_| argument.is_decimal())?;
    (kept < argument.scale).then_some((argument, kept))
}
