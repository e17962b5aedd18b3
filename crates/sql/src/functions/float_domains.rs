//! `exp`, `ln`, `log`, `log10`, `sqrt` and `power`, which are errors where they have no value.
//!
//! A logarithm of zero or less, a root of less than zero, and what a power does not have are errors of their own; a
//! value that is too large is out of range. The values are DataFusion's.

use std::sync::Arc;

use datafusion::arrow::array::Float64Array;
use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Float64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use crate::error::{SqlError, code};

/// The functions that are checked.
pub(crate) const NAMES: [&str; 6] = ["exp", "ln", "log", "log10", "sqrt", "power"];

/// A function of floats that notices where it has no value.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct InDomain {
    inner: Arc<ScalarUDF>,
}

impl InDomain {
    pub(crate) fn new(inner: Arc<ScalarUDF>) -> Self {
        Self { inner }
    }
}

impl ScalarUDFImpl for InDomain {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arguments)
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arguments)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let numbers = Numbers::of(&args.args, rows)?;
        self.check_arguments(&numbers)?;
        let result = self.inner.invoke_with_args(args)?;
        if matches!(self.name(), "exp" | "power") {
            check_result(&numbers, &floats(&result, rows)?)?;
        }
        Ok(result)
    }
}

/// The arguments of one call.
struct Numbers {
    first: Float64Array,
    second: Option<Float64Array>,
}

impl Numbers {
    fn of(args: &[ColumnarValue], rows: usize) -> Result<Self> {
        let second = args.get(1).map(|second| floats(second, rows));
        Ok(Self {
            first: floats(&args[0], rows)?,
            second: second.transpose()?,
        })
    }

    /// Those of each row, the first one for the second where there is none. `None`: one is NULL.
    fn rows(&self) -> impl Iterator<Item = Option<(f64, f64)>> {
        let second = self.second.as_ref().unwrap_or(&self.first);
        self.first
            .iter()
            .zip(second)
            .map(|(first, second)| Some((first?, second?)))
    }
}

impl InDomain {
    fn check_arguments(&self, numbers: &Numbers) -> Result<(), SqlError> {
        for (first, second) in numbers.rows().flatten() {
            match self.name() {
                "sqrt" if first < 0.0 => {
                    let message = "cannot take square root of a negative number";
                    return Err(SqlError::new(code::INVALID_ARGUMENT_FOR_POWER, message));
                }
                "power" => check_power(first, second)?,
                "ln" | "log" | "log10" => {
                    check_logarithm(first)?;
                    check_logarithm(second)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn check_logarithm(number: f64) -> Result<(), SqlError> {
    let message = if number == 0.0 {
        "cannot take logarithm of zero"
    } else if number < 0.0 {
        "cannot take logarithm of a negative number"
    } else {
        return Ok(());
    };
    Err(SqlError::new(code::INVALID_ARGUMENT_FOR_LOG, message))
}

fn check_power(base: f64, exponent: f64) -> Result<(), SqlError> {
    let message = if base == 0.0 && exponent < 0.0 {
        "zero raised to a negative power is undefined"
    } else if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        "a negative number raised to a non-integer power yields a complex result"
    } else {
        return Ok(());
    };
    Err(SqlError::new(code::INVALID_ARGUMENT_FOR_POWER, message))
}

/// What is infinite, or nothing, of finite numbers has run over, or under: `exp(-1000)` is an error in PostgreSQL, too.
fn check_result(numbers: &Numbers, results: &Float64Array) -> Result<(), SqlError> {
    for (numbers, result) in numbers.rows().zip(results) {
        let (Some((first, second)), Some(result)) = (numbers, result) else {
            continue;
        };
        // A power of zero is zero; exp(0) is one.
        let is_exact = result.is_normal() || first == 0.0;
        if is_exact || !first.is_finite() || !second.is_finite() {
            continue;
        }
        let message = match result {
            0.0 => "value out of range: underflow",
            result if result.is_infinite() => "value out of range: overflow",
            _ => continue,
        };
        return Err(SqlError::new(code::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    Ok(())
}

fn floats(numbers: &ColumnarValue, rows: usize) -> Result<Float64Array> {
    let numbers = cast(&numbers.to_array(rows)?, &DataType::Float64)?;
    Ok(numbers.as_primitive::<Float64Type>().clone())
}
