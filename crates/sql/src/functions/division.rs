//! `/` on decimals: PostgreSQL's digits instead of DataFusion's four more than the dividend's.
//!
//! [`exact`] turns a division with a decimal on one side, and a decimal or an integer on the
//! other, into the function [`Division`]: where types are settled, as what is around (a CASE, a
//! UNION) goes by the quotient's type, and once more before types are coerced, when parameters
//! have theirs. Integers divide integers and floats divide anything as DataFusion does it, which
//! is how PostgreSQL does it.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, Decimal256Array, PrimitiveArray,
};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, i256};
use datafusion::arrow::error::ArrowError;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};

use super::quotient::{Digits, quotient, quotient_type};
use crate::error::{SqlError, code};

/// Divides decimals.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Division {
    signature: Signature,
}

impl Division {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Division {
    fn name(&self) -> &str {
        "numeric_div"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments
            .iter()
            .map(Digits::of)
            .collect::<Option<Vec<_>>>()
            .as_deref()
        {
            Some(&[dividend, divisor]) => Ok(quotient_type(dividend, divisor)),
            _ => Err(SqlError::new(
                code::UNDEFINED_FUNCTION,
                format!(
                    "operator does not exist: {} / {}",
                    arguments[0], arguments[1]
                ),
            )
            .into()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalars = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if scalars { 1 } else { args.number_rows };
        let dividend = Cells::new(&args.args[0], rows)?;
        let divisor = Cells::new(&args.args[1], rows)?;
        let quotients = divide(&dividend, &divisor, rows, args.return_field.data_type())?;
        if scalars {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                &quotients, 0,
            )?));
        }
        Ok(ColumnarValue::Array(quotients))
    }
}

/// The cells of an operand.
struct Cells {
    array: ArrayRef,
    scale: i8,
    /// One cell stands for all rows.
    single: bool,
}

impl Cells {
    fn new(value: &ColumnarValue, rows: usize) -> Result<Self> {
        let single = matches!(value, ColumnarValue::Scalar(_));
        let array = value.to_array(if single { 1 } else { rows })?;
        let digits = Digits::of(array.data_type()).ok_or_else(|| {
            SqlError::new(
                code::INTERNAL_ERROR,
                "the operands of a division are numbers",
            )
        })?;
        let wide = DataType::Decimal256(76, digits.scale);
        let array = match array.data_type() {
            DataType::Decimal128(..) | DataType::Decimal256(..) => array,
            _ => datafusion::arrow::compute::cast(&array, &wide)?,
        };
        Ok(Self {
            array,
            scale: digits.scale,
            single,
        })
    }

    /// The cell of a row as an unscaled number.
    fn get(&self, row: usize) -> Option<i256> {
        let row = if self.single { 0 } else { row };
        if self.array.is_null(row) {
            return None;
        }
        Some(match self.array.data_type() {
            DataType::Decimal128(..) => {
                i256::from_i128(self.array.as_primitive::<Decimal128Type>().value(row))
            }
            _ => self.array.as_primitive::<Decimal256Type>().value(row),
        })
    }
}

fn divide(
    dividend: &Cells,
    divisor: &Cells,
    rows: usize,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let (DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale)) =
        *data_type
    else {
        return Err(SqlError::new(code::INTERNAL_ERROR, "a quotient is a decimal").into());
    };
    let cell = |row: usize| match (dividend.get(row), divisor.get(row)) {
        (Some(a), Some(b)) => quotient((a, dividend.scale), (b, divisor.scale), scale).map(Some),
        _ => Ok(None),
    };
    if matches!(data_type, DataType::Decimal256(..)) {
        let array: Decimal256Array = collect(rows, cell)?;
        return Ok(Arc::new(array.with_precision_and_scale(precision, scale)?));
    }
    let narrow = |row: usize| match cell(row)? {
        Some(value) => value.to_i128().map(Some).ok_or_else(overflow),
        None => Ok(None),
    };
    let array: Decimal128Array = collect(rows, narrow)?;
    Ok(Arc::new(array.with_precision_and_scale(precision, scale)?))
}

fn collect<T: ArrowPrimitiveType>(
    rows: usize,
    cell: impl Fn(usize) -> Result<Option<T::Native>, ArrowError>,
) -> Result<PrimitiveArray<T>, ArrowError> {
    (0..rows).map(cell).collect()
}

fn overflow() -> ArrowError {
    ArrowError::ArithmeticOverflow("a quotient has more than 38 digits".to_owned())
}

/// Puts [`Division`] in the place of `/` on decimals.
#[derive(Debug)]
pub(crate) struct DivisionRewrite;

impl FunctionRewrite for DivisionRewrite {
    fn name(&self) -> &str {
        "numeric_division"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        Ok(exact(expr, schema))
    }
}

/// An expression, without its parts: a quotient of decimals by [`Division`], a product of more digits than 128 bits
/// hold in 256.
pub(crate) fn exact(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else {
        return Transformed::no(expr);
    };
    let as_it_was = |left, right| Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }));
    if !matches!(op, Operator::Divide | Operator::Multiply) {
        return as_it_was(left, right);
    }
    // A type that is not known yet (an untyped parameter) is left to the coercion of types.
    let types = left.get_type(schema).ok().zip(right.get_type(schema).ok());
    let exact = types.filter(|(left, right)| is_exact(left) && is_exact(right));
    match (op, exact) {
        (Operator::Divide, Some((left_type, right_type)))
            if left_type.is_decimal() || right_type.is_decimal() =>
        {
            let args = vec![with_few_digits(*left), with_few_digits(*right)];
            let division = Arc::new(ScalarUDF::from(Division::new()));
            let call = ScalarFunction::new_udf(division, args);
            Transformed::yes(Expr::ScalarFunction(call))
        }
        (Operator::Multiply, Some((left_type, right_type)))
            if scales_add_up(&left_type, &right_type) =>
        {
            let wide = |expr: Box<Expr>, data_type: &DataType| match Digits::of(data_type) {
                Some(digits) => Box::new(Expr::Cast(Cast::new(
                    expr,
                    DataType::Decimal256(76, digits.scale),
                ))),
                None => expr,
            };
            let (left, right) = (wide(left, &left_type), wide(right, &right_type));
            Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
        }
        _ => as_it_was(left, right),
    }
}

fn is_exact(data_type: &DataType) -> bool {
    data_type.is_decimal() || data_type.is_integer()
}

/// Whether a product has more digits after the point than 128 bits hold.
fn scales_add_up(left: &DataType, right: &DataType) -> bool {
    matches!(
        (left, right),
        (DataType::Decimal128(_, left), DataType::Decimal128(_, right)) if left + right > 38
    )
}

/// An integer literal as a decimal with no more digits than it has, so that the quotient's type
/// is not wider than needed.
fn with_few_digits(expr: Expr) -> Expr {
    let Expr::Literal(value, metadata) = &expr else {
        return expr;
    };
    let (ScalarValue::Int64(Some(_)) | ScalarValue::Int32(Some(_))) = value else {
        return expr;
    };
    let digits = value.to_string().trim_start_matches('-').len();
    let precision = u8::try_from(digits).unwrap_or(20);
    match value.cast_to(&DataType::Decimal128(precision, 0)) {
        Ok(value) => Expr::Literal(value, metadata.clone()),
        Err(_) => expr,
    }
}
