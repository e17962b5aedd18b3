//! `+`, `-` and `*` on integers: an error on overflow instead of DataFusion's wrapping around.
//!
//! The result has the wider of the operands' types, as in PostgreSQL.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Datum};
use datafusion::arrow::compute::kernels::numeric::{add, mul, sub};
use datafusion::arrow::datatypes::DataType;
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
use datafusion::physical_expr_common::datum::apply;

use crate::error::{SqlError, code};

/// An operation on integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operation {
    Add,
    Subtract,
    Multiply,
}

impl Operation {
    fn kernel(self) -> fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Add => add,
            Self::Subtract => sub,
            Self::Multiply => mul,
        }
    }
}

/// Computes with integers and notices overflow.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    operation: Operation,
    signature: Signature,
}

impl Checked {
    fn new(operation: Operation) -> Self {
        Self {
            operation,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

/// The wider of two integer types.
fn wider<'a>(left: &'a DataType, right: &'a DataType) -> &'a DataType {
    if left.primitive_width() >= right.primitive_width() {
        left
    } else {
        right
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.operation {
            Operation::Add => "int_add",
            Operation::Subtract => "int_sub",
            Operation::Multiply => "int_mul",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        match arguments {
            [left, right] => Ok(vec![wider(left, right).clone(); 2]),
            _ => {
                Err(SqlError::new(code::UNDEFINED_FUNCTION, "an operator has two operands").into())
            }
        }
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(wider(&arguments[0], &arguments[1]).clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let result = apply(&args.args[0], &args.args[1], self.operation.kernel());
        result.map_err(|error| match error.find_root() {
            datafusion::common::DataFusionError::ArrowError(inner, _)
                if matches!(**inner, ArrowError::ArithmeticOverflow(_)) =>
            {
                out_of_range(args.return_field.data_type()).into()
            }
            _ => error,
        })
    }
}

fn out_of_range(data_type: &DataType) -> SqlError {
    let name = match data_type {
        DataType::Int16 => "smallint",
        DataType::Int32 => "integer",
        _ => "bigint",
    };
    SqlError::new(
        code::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("{name} out of range"),
    )
}

/// Puts checked functions in the place of operators on integers.
#[derive(Debug)]
pub(crate) struct CheckedRewrite {
    add: Arc<ScalarUDF>,
    subtract: Arc<ScalarUDF>,
    multiply: Arc<ScalarUDF>,
}

impl CheckedRewrite {
    pub(crate) fn new() -> Self {
        let function = |operation| Arc::new(ScalarUDF::from(Checked::new(operation)));
        Self {
            add: function(Operation::Add),
            subtract: function(Operation::Subtract),
            multiply: function(Operation::Multiply),
        }
    }
}

impl FunctionRewrite for CheckedRewrite {
    fn name(&self) -> &str {
        "checked_integers"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else {
            return Ok(Transformed::no(expr));
        };
        let function = match op {
            Operator::Plus => &self.add,
            Operator::Minus => &self.subtract,
            Operator::Multiply => &self.multiply,
            _ => {
                return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr {
                    left,
                    op,
                    right,
                })));
            }
        };
        // A type that is not known yet (an untyped parameter) is left alone.
        let types = left.get_type(schema).ok().zip(right.get_type(schema).ok());
        if !types.is_some_and(|(left, right)| is_signed(&left) && is_signed(&right)) {
            return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr {
                left,
                op,
                right,
            })));
        }
        let args = vec![*left, *right];
        Ok(Transformed::yes(Expr::ScalarFunction(
            ScalarFunction::new_udf(function.clone(), args),
        )))
    }
}

fn is_signed(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Int16 | DataType::Int32 | DataType::Int64
    )
}
