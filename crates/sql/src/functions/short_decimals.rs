//! `+`, `-` and `*` on decimals whose unscaled values are short, which is nearly all there are.
//!
//! A decimal has 128 bits in memory, and Arrow's kernels check each result for overflow, which costs
//! some ten instructions and a branch a value. Where all values of both operands fit in 64 bits
//! no result can exceed 128, and one multiplication does. Whether they fit is seen in a pass of its
//! own; if not, Arrow's kernel computes, with the same results and errors.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Datum, Decimal128Array, new_empty_array};
use datafusion::arrow::buffer::{NullBuffer, ScalarBuffer};
use datafusion::arrow::compute::kernels::numeric::{add, mul, sub};
use datafusion::arrow::datatypes::{DataType, Decimal128Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::binary::BinaryTypeCoercer;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply;

use crate::error::{SqlError, code};

/// Names of the functions that compute on decimals.
pub(crate) const ADD: &str = "numeric_add";
/// See [`ADD`].
pub(crate) const SUBTRACT: &str = "numeric_sub";
/// See [`ADD`].
pub(crate) const MULTIPLY: &str = "numeric_mul";

/// The largest power of ten that fits in 64 bits is 10^18.
const SHORT_DIGITS: i8 = 18;

/// An operation on decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operation {
    Add,
    Subtract,
    Multiply,
}

impl Operation {
    fn operator(self) -> Operator {
        match self {
            Self::Add => Operator::Plus,
            Self::Subtract => Operator::Minus,
            Self::Multiply => Operator::Multiply,
        }
    }

    /// Computes with decimals of any length.
    fn any_length(self, left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Add => add(left, right),
            Self::Subtract => sub(left, right),
            Self::Multiply => mul(left, right),
        }
    }

    fn compute(self, left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
        match self.short(left, right)? {
            Some(result) => Ok(result),
            None => self.any_length(left, right),
        }
    }

    /// The result, if all values are short.
    fn short(self, left: &dyn Datum, right: &dyn Datum) -> Result<Option<ArrayRef>, ArrowError> {
        let operands = (Operand::of(left), Operand::of(right));
        let (Some(left_operand), Some(right_operand)) = operands else {
            return Ok(None);
        };
        let (left_scale, right_scale) = (left_operand.scale, right_operand.scale);
        // The operands' types say what the result's is.
        let empty = |operand: &Operand<'_>| new_empty_array(operand.data_type);
        let result_type = self.any_length(&empty(&left_operand), &empty(&right_operand))?;
        let result_type = result_type.data_type().clone();
        let scale = left_scale.max(right_scale);
        let computed = match self {
            Self::Multiply => computed(&left_operand, &right_operand, |left, right| {
                i128::from(left) * i128::from(right)
            }),
            Self::Add | Self::Subtract => {
                let factors = (factor(scale - left_scale), factor(scale - right_scale));
                let (Some(of_left), Some(of_right)) = factors else {
                    return Ok(None);
                };
                let of_right = if self == Self::Add {
                    of_right
                } else {
                    -of_right
                };
                // Both products are below 2^63 * 10^18 < 2^123.
                computed(&left_operand, &right_operand, |left, right| {
                    i128::from(left) * i128::from(of_left)
                        + i128::from(right) * i128::from(of_right)
                })
            }
        };
        let Some(values) = computed else {
            return Ok(None);
        };
        let nulls = NullBuffer::union(left_operand.nulls(), right_operand.nulls());
        let array = Decimal128Array::new(ScalarBuffer::from(values), nulls);
        Ok(Some(Arc::new(array.with_data_type(result_type))))
    }
}

/// Ten to the power of `digits`, if it is short.
fn factor(digits: i8) -> Option<i64> {
    let power = u32::try_from(digits).ok()?;
    (digits <= SHORT_DIGITS).then(|| 10_i64.pow(power))
}

/// Decimals of 128 bits, one for each row or one for all.
struct Operand<'a> {
    array: &'a Decimal128Array,
    is_scalar: bool,
    data_type: &'a DataType,
    scale: i8,
}

impl<'a> Operand<'a> {
    /// `None`: not of that type, or a NULL for all rows.
    fn of(datum: &'a dyn Datum) -> Option<Self> {
        let (array, is_scalar) = datum.get();
        let data_type = array.data_type();
        let DataType::Decimal128(_, scale) = *data_type else {
            return None;
        };
        let array = array.as_primitive::<Decimal128Type>();
        let is_known = !is_scalar || array.is_valid(0);
        is_known.then_some(Self {
            array,
            is_scalar,
            data_type,
            scale,
        })
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        self.array.nulls().filter(|_| !self.is_scalar)
    }

    fn all_short(&self) -> bool {
        let values = self.array.values().iter();
        let lost = values.fold(0, |lost, &value| lost | (i128::from(value as i64) ^ value));
        lost == 0
    }
}

/// What `operation` makes of each row; `None` if a value is not short.
fn computed(
    left: &Operand<'_>,
    right: &Operand<'_>,
    operation: impl Fn(i64, i64) -> i128,
) -> Option<Vec<i128>> {
    if !left.all_short() || !right.all_short() {
        return None;
    }
    let (lefts, rights) = (left.array.values(), right.array.values());
    Some(match (left.is_scalar, right.is_scalar) {
        (false, false) => {
            let rows = lefts.iter().zip(rights.iter());
            rows.map(|(&left, &right)| operation(left as i64, right as i64))
                .collect()
        }
        (false, true) => {
            let right = rights[0] as i64;
            let rows = lefts.iter();
            rows.map(|&left| operation(left as i64, right)).collect()
        }
        (true, _) => {
            let left = lefts[0] as i64;
            let rows = rights.iter();
            rows.map(|&right| operation(left, right as i64)).collect()
        }
    })
}

/// Computes with decimals.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ShortDecimals {
    operation: Operation,
    signature: Signature,
}

impl ShortDecimals {
    fn new(operation: Operation) -> Self {
        Self {
            operation,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for ShortDecimals {
    fn name(&self) -> &str {
        match self.operation {
            Operation::Add => ADD,
            Operation::Subtract => SUBTRACT,
            Operation::Multiply => MULTIPLY,
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let [left, right] = arguments else {
            let message = "an operator has two operands";
            return Err(SqlError::new(code::UNDEFINED_FUNCTION, message).into());
        };
        let operator = self.operation.operator();
        let coercer = BinaryTypeCoercer::new(left, &operator, right);
        let (left, right) = coercer.get_input_types()?;
        Ok(vec![left, right])
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let operator = self.operation.operator();
        BinaryTypeCoercer::new(&arguments[0], &operator, &arguments[1]).get_result_type()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        apply(&args.args[0], &args.args[1], |left, right| {
            self.operation.compute(left, right)
        })
    }
}

/// Puts these functions in the place of operators on decimals.
#[derive(Debug)]
pub(crate) struct ShortDecimalsRewrite {
    add: Arc<ScalarUDF>,
    subtract: Arc<ScalarUDF>,
    multiply: Arc<ScalarUDF>,
}

impl ShortDecimalsRewrite {
    pub(crate) fn new() -> Self {
        let function = |operation| Arc::new(ScalarUDF::from(ShortDecimals::new(operation)));
        Self {
            add: function(Operation::Add),
            subtract: function(Operation::Subtract),
            multiply: function(Operation::Multiply),
        }
    }

    fn function(&self, expression: &BinaryExpr, schema: &DFSchema) -> Option<&Arc<ScalarUDF>> {
        let function = match expression.op {
            Operator::Plus => &self.add,
            Operator::Minus => &self.subtract,
            Operator::Multiply => &self.multiply,
            _ => return None,
        };
        // A type that is not known yet (an untyped parameter) is left alone.
        let left = expression.left.get_type(schema).ok()?;
        let right = expression.right.get_type(schema).ok()?;
        let coercer = BinaryTypeCoercer::new(&left, &expression.op, &right);
        let (left, right) = coercer.get_input_types().ok()?;
        let are_decimals = [left, right]
            .iter()
            .all(|operand| matches!(operand, DataType::Decimal128(_, _)));
        are_decimals.then_some(function)
    }
}

impl FunctionRewrite for ShortDecimalsRewrite {
    fn name(&self) -> &str {
        "short_decimals"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::BinaryExpr(expression) = expr else {
            return Ok(Transformed::no(expr));
        };
        let Some(function) = self.function(&expression, schema) else {
            return Ok(Transformed::no(Expr::BinaryExpr(expression)));
        };
        let args = vec![*expression.left, *expression.right];
        let call = ScalarFunction::new_udf(Arc::clone(function), args);
        Ok(Transformed::yes(Expr::ScalarFunction(call)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimals(values: Vec<Option<i128>>, scale: i8) -> Decimal128Array {
        let array: Decimal128Array = values.into_iter().collect();
        let array = array.with_precision_and_scale(30, scale);
        array.expect("30 digits are allowed")
    }

    fn value() -> impl Strategy<Value = Option<i128>> {
        prop_oneof![
            8 => any::<i64>().prop_map(|value| Some(i128::from(value))),
            1 => Just(None),
            // One that is not short makes the whole array so.
            1 => (0..2_i128).prop_map(|bit| Some(i128::from(i64::MAX) + bit)),
        ]
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            Just(Operation::Add),
            Just(Operation::Subtract),
            Just(Operation::Multiply),
        ]
    }

    proptest! {
        #[test]
        fn results_are_those_of_the_kernels_for_any_length(
            rows in proptest::collection::vec((value(), value()), 1..20),
            (left_scale, right_scale) in (0..9_i8, 0..9_i8),
            operation in operation(),
        ) {
            let (left, right): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
            let (left, right) = (decimals(left, left_scale), decimals(right, right_scale));
            let expected = operation.any_length(&left, &right);
            let result = operation.compute(&left, &right);
            match (expected, result) {
                (Ok(expected), Ok(result)) => prop_assert_eq!(&expected, &result),
                (expected, result) => prop_assert_eq!(expected.is_err(), result.is_err()),
            }
            let scalar = datafusion::arrow::array::Scalar::new(right.slice(0, 1));
            let expected = operation.any_length(&left, &scalar);
            let result = operation.compute(&left, &scalar);
            match (expected, result) {
                (Ok(expected), Ok(result)) => prop_assert_eq!(&expected, &result),
                (expected, result) => prop_assert_eq!(expected.is_err(), result.is_err()),
            }
        }
    }
}
