//! `to_number(text, template)`: the number in a text, the inverse of `to_char`.
//!
//! In PostgreSQL each number has as many digits behind the point as its text. A column has one scale here: that of the number where both
//! arguments are constant, else that of the template if this is, which [`ToNumberRewrite`] finds out. Shorter numbers are filled with
//! zeros.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{ArrayRef, Decimal128Array};
use datafusion::arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::constant_call::computed;
use super::to_char::number_template::{Number, NumberTemplate};
use super::types::UNCONSTRAINED_SCALE;
use crate::error::{SqlError, code};

const NAME: &str = "to_number";

/// The function, for results of one scale.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ToNumber {
    scale: i8,
    signature: Signature,
}

impl ToNumber {
    /// For templates that are not known.
    pub(crate) fn new() -> Self {
        Self::with_scale(UNCONSTRAINED_SCALE)
    }

    fn with_scale(scale: i8) -> Self {
        Self {
            scale,
            signature: Signature::uniform(2, vec![DataType::Utf8], Volatility::Immutable),
        }
    }

    /// A number with the digits of the column.
    fn scaled(&self, number: Number) -> Result<i128, SqlError> {
        let overflow = || SqlError::new(code::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow");
        let places = i32::try_from(number.places).map_err(|_| overflow())?;
        let more = i32::from(self.scale) - places;
        let power = 10_i128
            .checked_pow(more.unsigned_abs())
            .ok_or_else(overflow)?;
        match more {
            0.. => number.digits.checked_mul(power).ok_or_else(overflow),
            _ => Ok(number.digits / power),
        }
    }

    fn numbers(&self, texts: &ArrayRef, templates: &ColumnarValue) -> Result<ArrayRef> {
        let texts = texts.as_string::<i32>();
        let numbers: Decimal128Array = match templates {
            ColumnarValue::Scalar(template) => {
                let template = template.try_as_str().flatten();
                let template = template.map_or(Ok(None), cut)?;
                let numbers = texts
                    .iter()
                    .map(|text| self.number(text, template.as_ref()));
                numbers.collect::<Result<_, SqlError>>()?
            }
            ColumnarValue::Array(templates) => {
                let pairs = texts.iter().zip(templates.as_string::<i32>());
                let numbers = pairs.map(|(text, template)| {
                    let template = template.map_or(Ok(None), cut)?;
                    self.number(text, template.as_ref())
                });
                numbers.collect::<Result<_, SqlError>>()?
            }
        };
        let numbers = numbers.with_precision_and_scale(DECIMAL128_MAX_PRECISION, self.scale)?;
        Ok(Arc::new(numbers))
    }

    fn number(
        &self,
        text: Option<&str>,
        template: Option<&NumberTemplate>,
    ) -> Result<Option<i128>, SqlError> {
        let (Some(text), Some(template)) = (text, template) else {
            return Ok(None);
        };
        self.scaled(template.read(text)?).map(Some)
    }
}

/// No template reads nothing: the number is NULL.
fn cut(template: &str) -> Result<Option<NumberTemplate>, SqlError> {
    let there = (!template.is_empty()).then_some(template);
    there.map(NumberTemplate::for_reading).transpose()
}

impl ScalarUDFImpl for ToNumber {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Decimal128(DECIMAL128_MAX_PRECISION, self.scale))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| {
            self.numbers(&args.args[0].to_array(rows)?, &args.args[1])
        })
    }
}

/// Gives the function the scale of its results, as far as it is known.
#[derive(Debug)]
pub(crate) struct ToNumberRewrite;

impl FunctionRewrite for ToNumberRewrite {
    fn name(&self) -> &str {
        "to_number_scale"
    }

    fn rewrite(&self, expr: Expr, _: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(mut function) = expr else {
            return Ok(Transformed::no(expr));
        };
        let scale = match function.args.as_slice() {
            [text, template] if function.func.name() == NAME => scale(text, template),
            _ => None,
        };
        let Some(scale) = scale else {
            return Ok(Transformed::no(Expr::ScalarFunction(function)));
        };
        function.func = Arc::new(ScalarUDF::from(ToNumber::with_scale(scale)));
        Ok(Transformed::yes(Expr::ScalarFunction(function)))
    }
}

/// The scale of what is read by a constant template. What is wrong with it, or with the text, is told when it is read.
fn scale(text: &Expr, template: &Expr) -> Option<i8> {
    let constant = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Some(text.clone()),
        _ => None,
    };
    let template = cut(&constant(template)?).ok().flatten()?;
    let number = constant(text).and_then(|text| template.read(&text).ok());
    let places = number.map_or(template.places_max(), |number| number.places);
    i8::try_from(places).ok()
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::lit;

    use super::*;

    #[test]
    fn constants_tell_the_scale() {
        assert_eq!(scale(&lit("12.5"), &lit("99.999")), Some(1));
        assert_eq!(scale(&lit("nothing"), &lit("99.999")), Some(3));
        assert_eq!(scale(&lit("12"), &lit("9EEEE")), None);
    }

    #[test]
    fn numbers_are_filled_up_to_the_scale() {
        let number = |scale, digits, places| {
            let number = Number { digits, places };
            ToNumber::with_scale(scale)
                .scaled(number)
                .map_err(|error| error.code)
        };
        assert_eq!(number(3, -125, 1), Ok(-12_500));
        assert_eq!(number(1, 1_234, 3), Ok(12));
        assert_eq!(number(37, 100, 0), Err("22003"));
    }
}
