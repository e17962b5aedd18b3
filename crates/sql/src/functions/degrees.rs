//! The functions of angles in degrees: `sind`, `cosd`, `tand`, `cotd`, `asind`, `acosd`, `atand` and `atan2d`.
//!
//! They are exact where a value is (`sind(30)` is 0.5): an angle is brought into the first quarter of the circle, and the value is taken in
//! proportion to the one at 30, 45 or 60 degrees, as PostgreSQL does it.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{ArrayRef, Float64Array};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::constant_call::computed;
use crate::error::{SqlError, code};

/// All of them.
pub(crate) fn functions() -> [ScalarUDF; 8] {
    [
        ("sind", Of::Angle(sine)),
        ("cosd", Of::Angle(cosine)),
        ("tand", Of::Angle(tangent)),
        ("cotd", Of::Angle(cotangent)),
        ("asind", Of::Unit(arc_sine)),
        ("acosd", Of::Unit(arc_cosine)),
        ("atand", Of::Any(|number| arc_tangent(number.atan()))),
        ("atan2d", Of::Two(|y, x| arc_tangent(y.atan2(x)))),
    ]
    .map(|(name, of)| {
        let arguments = if matches!(of, Of::Two(_)) { 2 } else { 1 };
        ScalarUDF::from(Degrees {
            name,
            of,
            signature: Signature::uniform(
                arguments,
                vec![DataType::Float64],
                Volatility::Immutable,
            ),
        })
    })
}

/// What a function is of.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// A finite angle.
    Angle(fn(f64) -> f64),
    /// A number from -1 to 1.
    Unit(fn(f64) -> f64),
    Any(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
}

/// One of the functions, which its name tells.
#[derive(Debug)]
struct Degrees {
    name: &'static str,
    of: Of,
    signature: Signature,
}

impl PartialEq for Degrees {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Degrees {}

impl std::hash::Hash for Degrees {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Degrees {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| {
            let numbers = args.args[0].to_array(rows)?;
            let numbers = numbers.as_primitive::<Float64Type>();
            let values: Float64Array = match self.of {
                Of::Angle(of) => checked(numbers, of, |angle| !angle.is_infinite())?,
                Of::Unit(of) => {
                    checked(numbers, of, |number| number.is_nan() || number.abs() <= 1.0)?
                }
                Of::Any(of) => numbers.unary(of),
                Of::Two(of) => {
                    let others = args.args[1].to_array(rows)?;
                    let pairs = numbers.iter().zip(others.as_primitive::<Float64Type>());
                    pairs.map(|(y, x)| Some(of(y?, x?))).collect()
                }
            };
            let values: ArrayRef = Arc::new(values);
            Ok(values)
        })
    }
}

fn checked(
    numbers: &Float64Array,
    of: impl Fn(f64) -> f64,
    has_value: impl Fn(f64) -> bool,
) -> Result<Float64Array, SqlError> {
    numbers.try_unary(|number| match has_value(number) {
        true => Ok(of(number)),
        false => {
            let message = "input is out of range";
            Err(SqlError::new(code::NUMERIC_VALUE_OUT_OF_RANGE, message))
        }
    })
}

/// An angle in the first half of the circle, and whether it was in the second one.
fn half(angle: f64) -> (f64, bool) {
    let angle = angle % 360.0;
    let (angle, is_negative) = (angle.abs(), angle < 0.0);
    match angle > 180.0 {
        true => (360.0 - angle, !is_negative),
        false => (angle, is_negative),
    }
}

/// An angle in the first quarter, and whether it was in the second one.
fn quarter(angle: f64) -> (f64, bool) {
    match angle > 90.0 {
        true => (180.0 - angle, true),
        false => (angle, false),
    }
}

fn signed(value: f64, is_negative: bool) -> f64 {
    if is_negative { -value } else { value }
}

fn sine(angle: f64) -> f64 {
    let (angle, is_negative) = half(angle);
    let (angle, _) = quarter(angle);
    signed(sine_of_quarter(angle), is_negative)
}

fn cosine(angle: f64) -> f64 {
    let (angle, _) = half(angle);
    let (angle, is_negative) = quarter(angle);
    signed(cosine_of_quarter(angle), is_negative)
}

fn tangent(angle: f64) -> f64 {
    let of = |angle| sine_of_quarter(angle) / cosine_of_quarter(angle);
    ratio(angle, of)
}

fn cotangent(angle: f64) -> f64 {
    let of = |angle| cosine_of_quarter(angle) / sine_of_quarter(angle);
    ratio(angle, of)
}

/// In proportion to what it is at 45 degrees. There is one zero.
fn ratio(angle: f64, of: impl Fn(f64) -> f64) -> f64 {
    let (angle, is_behind) = half(angle);
    let (angle, is_negative) = quarter(angle);
    signed(of(angle) / of(45.0), is_behind != is_negative) + 0.0
}

fn sine_of_quarter(angle: f64) -> f64 {
    match angle <= 30.0 {
        true => sine_to_30(angle),
        false => cosine_to_60(90.0 - angle),
    }
}

fn cosine_of_quarter(angle: f64) -> f64 {
    match angle <= 60.0 {
        true => cosine_to_60(angle),
        false => sine_to_30(90.0 - angle),
    }
}

fn sine_to_30(angle: f64) -> f64 {
    radians(angle).sin() / radians(30.0).sin() / 2.0
}

fn cosine_to_60(angle: f64) -> f64 {
    let of = |angle| 1.0 - radians(angle).cos();
    1.0 - of(angle) / of(60.0) / 2.0
}

/// A product with the constant, as PostgreSQL has it.
fn radians(angle: f64) -> f64 {
    const OF_DEGREE: f64 = 0.017_453_292_519_943_295;
    angle * OF_DEGREE
}

fn arc_sine(number: f64) -> f64 {
    signed(arc_sine_of_quarter(number.abs()), number < 0.0)
}

fn arc_cosine(number: f64) -> f64 {
    if number < 0.0 {
        return 90.0 + arc_sine_of_quarter(-number);
    }
    match number <= 0.5 {
        true => 90.0 - number.asin() / 0.5_f64.asin() * 30.0,
        false => number.acos() / 0.5_f64.acos() * 60.0,
    }
}

fn arc_sine_of_quarter(number: f64) -> f64 {
    match number <= 0.5 {
        true => number.asin() / 0.5_f64.asin() * 30.0,
        false => 90.0 - number.acos() / 0.5_f64.acos() * 60.0,
    }
}

fn arc_tangent(radians: f64) -> f64 {
    radians / 1.0_f64.atan() * 45.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_with_exact_values_have_them() {
        for (value, expected) in [
            (sine(30.0), 0.5),
            (sine(-210.0), 0.5),
            (sine(45.0), 0.707_106_781_186_547_5),
            (cosine(60.0), 0.5),
            (cosine(240.0), -0.5),
            (tangent(45.0), 1.0),
            (tangent(135.0), -1.0),
            (tangent(90.0), f64::INFINITY),
            (cotangent(225.0), 1.0),
            (arc_sine(-0.5), -30.0),
            (arc_cosine(0.5), 60.0),
            (arc_cosine(-1.0), 180.0),
            (arc_tangent(1.0_f64.atan()), 45.0),
        ] {
            assert_eq!(value.to_bits(), expected.to_bits(), "{value} {expected}");
        }
        assert!(tangent(180.0).is_sign_positive());
    }

    #[test]
    fn angles_without_end_are_errors() {
        let infinite = Float64Array::from(vec![f64::INFINITY]);
        let error = checked(&infinite, sine, |angle| !angle.is_infinite());
        assert_eq!(error.expect_err("infinite").code, "22003");
    }
}
