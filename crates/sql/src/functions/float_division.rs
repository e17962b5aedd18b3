//! `/` on floats: an error on division by zero instead of infinity, and on overflow.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use datafusion::arrow::compute::try_binary;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};

use super::constant_call::computed;
use crate::error::{SqlError, code};

/// Divides floats.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FloatDivision {
    signature: Signature,
}

impl ScalarUDFImpl for FloatDivision {
    fn name(&self) -> &str {
        "float_div"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let both_short = arguments
            .iter()
            .all(|argument| *argument == DataType::Float32);
        let wanted = if both_short {
            DataType::Float32
        } else {
            DataType::Float64
        };
        Ok(vec![wanted; arguments.len()])
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| {
            let (left, right) = (args.args[0].to_array(rows)?, args.args[1].to_array(rows)?);
            Ok(match left.data_type() {
                DataType::Float32 => Arc::new(divide::<Float32Type>(&left, &right, |a, b| {
                    (a / b, b == 0.0 && !a.is_nan(), a.is_finite())
                })?),
                _ => Arc::new(divide::<Float64Type>(&left, &right, |a, b| {
                    (a / b, b == 0.0 && !a.is_nan(), a.is_finite())
                })?),
            })
        })
    }
}

/// `one` gives the quotient, whether the divisor must not be, and whether the dividend is finite.
fn divide<T: ArrowPrimitiveType>(
    left: &ArrayRef,
    right: &ArrayRef,
    one: impl Fn(T::Native, T::Native) -> (T::Native, bool, bool),
) -> Result<PrimitiveArray<T>>
where
    T::Native: Into<f64>,
{
    let (left, right) = (left.as_primitive::<T>(), right.as_primitive::<T>());
    let quotients = try_binary(left, right, |a, b| match one(a, b) {
        (_, true, _) => Err(ArrowError::DivideByZero),
        (quotient, _, true) if quotient.into().is_infinite() => {
            Err(ArrowError::ArithmeticOverflow(String::new()))
        }
        (quotient, ..) => Ok(quotient),
    });
    quotients.map_err(|error| match error {
        ArrowError::ArithmeticOverflow(_) => SqlError::new(
            code::NUMERIC_VALUE_OUT_OF_RANGE,
            "value out of range: overflow",
        )
        .into(),
        other => other.into(),
    })
}

/// Puts the checked division in the place of `/` where a float takes part.
#[derive(Debug)]
pub(crate) struct FloatDivisionRewrite {
    function: Arc<ScalarUDF>,
}

impl FloatDivisionRewrite {
    pub(crate) fn new() -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self {
            function: Arc::new(ScalarUDF::from(FloatDivision { signature })),
        }
    }
}

impl FunctionRewrite for FloatDivisionRewrite {
    fn name(&self) -> &str {
        "checked_float_division"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Divide,
            right,
        }) = expr
        else {
            return Ok(Transformed::no(expr));
        };
        let types = left.get_type(schema).ok().zip(right.get_type(schema).ok());
        let of_floats = types.is_some_and(|(left, right)| {
            left.is_numeric() && right.is_numeric() && (left.is_floating() || right.is_floating())
        });
        if !of_floats {
            return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::Divide,
                right,
            })));
        }
        let call = ScalarFunction::new_udf(self.function.clone(), vec![*left, *right]);
        Ok(Transformed::yes(Expr::ScalarFunction(call)))
    }
}
