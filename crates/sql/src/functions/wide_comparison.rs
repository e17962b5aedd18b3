//! Comparisons of decimals that have no common type: of a number with 76 digits before the point and one with 20 behind it.
//!
//! DataFusion compares two decimals in a type that holds both, which may need more than the 76 digits that there are. Here
//! the parts before the point are compared first, then those behind it, in the wider scale of both; a function tells
//! -1, 0 or 1, and the operator compares that with zero.
//!
//! Does not: IS DISTINCT FROM, which has to tell NULL from NULL; two operands of one type, which needs no other.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, Decimal256Array, Int32Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal256Type, i256};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, lit,
};

use super::literals::is_comparison;
use super::quotient::Digits;

/// Digits of the widest decimal.
const MOST_DIGITS: i16 = 76;

/// Puts the function in the place of such comparisons.
#[derive(Debug)]
pub(crate) struct WideComparisonRewrite {
    order: Arc<ScalarUDF>,
}

impl WideComparisonRewrite {
    pub(crate) fn new() -> Self {
        Self {
            order: Arc::new(ScalarUDF::from(DecimalOrder::new())),
        }
    }
}

impl FunctionRewrite for WideComparisonRewrite {
    fn name(&self) -> &str {
        "wide_comparison"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = &expr else {
            return Ok(Transformed::no(expr));
        };
        let tells_nulls = matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
        if !is_comparison(*op) || tells_nulls {
            return Ok(Transformed::no(expr));
        }
        // The type of an untyped parameter is not known yet.
        let (Ok(of_left), Ok(of_right)) = (left.get_type(schema), right.get_type(schema)) else {
            return Ok(Transformed::no(expr));
        };
        if !is_too_wide(&of_left, &of_right) {
            return Ok(Transformed::no(expr));
        }
        let order = self.order.call(vec![*left.clone(), *right.clone()]);
        let comparison = BinaryExpr::new(Box::new(order), *op, Box::new(lit(0_i32)));
        Ok(Transformed::yes(Expr::BinaryExpr(comparison)))
    }
}

/// Whether numbers of two types, of which one is a decimal, need more digits than there are.
fn is_too_wide(left: &DataType, right: &DataType) -> bool {
    if left == right || !(left.is_decimal() || right.is_decimal()) {
        return false;
    }
    let (Some(left), Some(right)) = (Digits::of(left), Digits::of(right)) else {
        return false;
    };
    let before_point = |of: Digits| i16::from(of.precision) - i16::from(of.scale);
    let before = before_point(left).max(before_point(right));
    before + i16::from(left.scale.max(right.scale)) > MOST_DIGITS
}

/// Tells how two numbers are ordered: -1, 0 or 1.
#[derive(Debug, PartialEq, Eq, Hash)]
struct DecimalOrder {
    signature: Signature,
}

impl DecimalOrder {
    fn new() -> Self {
        Self {
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for DecimalOrder {
    fn name(&self) -> &str {
        "decimal_order"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int32)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (left, left_scale) = widest(&args.args[0].to_array(args.number_rows)?)?;
        let (right, right_scale) = widest(&args.args[1].to_array(args.number_rows)?)?;
        let rows = 0..args.number_rows;
        let orders = rows.map(|row| {
            let is_null = left.is_null(row) || right.is_null(row);
            let order = || {
                order(
                    (left.value(row), left_scale),
                    (right.value(row), right_scale),
                )
            };
            (!is_null).then(|| order() as i32)
        });
        let orders: ArrayRef = Arc::new(orders.collect::<Int32Array>());
        Ok(ColumnarValue::Array(orders))
    }
}

/// Numbers in the widest type with their own scale.
fn widest(numbers: &ArrayRef) -> Result<(Decimal256Array, i8)> {
    let scale = Digits::of(numbers.data_type()).map_or(0, |digits| digits.scale);
    let numbers = cast(numbers, &DataType::Decimal256(76, scale))?;
    Ok((numbers.as_primitive::<Decimal256Type>().clone(), scale))
}

/// The order of two unscaled numbers with their scales.
fn order((left, left_scale): (i256, i8), (right, right_scale): (i256, i8)) -> Ordering {
    let scale = left_scale.max(right_scale);
    let parts = |number: i256, of: i8| {
        let one = ten_to(of);
        let behind_point = number.wrapping_rem(one);
        let before_point = number.wrapping_div(one);
        (before_point, behind_point.wrapping_mul(ten_to(scale - of)))
    };
    parts(left, left_scale).cmp(&parts(right, right_scale))
}

fn ten_to(exponent: i8) -> i256 {
    i256::from_i128(10).pow_wrapping(u32::from(exponent.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_without_a_common_type_are_ordered() {
        let large = ten_to(75);
        for (left, right, expected) in [
            ((large, 0), (i256::from_i128(1), 38), Ordering::Greater),
            ((i256::from_i128(2), 0), (ten_to(60), 60), Ordering::Greater),
            ((i256::from_i128(1), 0), (ten_to(60), 60), Ordering::Equal),
            (
                (i256::ZERO, 0),
                (i256::from_i128(-5), 38),
                Ordering::Greater,
            ),
            (
                (i256::from_i128(-5), 1),
                (i256::from_i128(-4), 1),
                Ordering::Less,
            ),
            ((large.wrapping_neg(), 0), (i256::ZERO, 70), Ordering::Less),
        ] {
            assert_eq!(order(left, right), expected, "{left:?} {right:?}");
        }
    }

    #[test]
    fn only_what_has_no_common_type_is_too_wide() {
        let wide = DataType::Decimal256(76, 0);
        assert!(is_too_wide(&wide, &DataType::Decimal128(38, 20)));
        assert!(!is_too_wide(&wide, &DataType::Int32));
        assert!(!is_too_wide(&wide, &wide));
        let narrow = DataType::Decimal128(38, 20);
        assert!(!is_too_wide(&narrow, &DataType::Int64));
        assert!(!is_too_wide(&narrow, &DataType::Float64));
    }
}
