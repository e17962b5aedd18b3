//! Division of decimals with the digits that PostgreSQL's numeric gives.
//!
//! PostgreSQL picks the digits after the point for every single quotient: at least 16
//! significant ones, estimated from the operands' leading base-10000 digits, and not fewer than
//! either operand has. The result here has one scale a column, so the quotient is rounded to
//! PostgreSQL's digits and then filled with zeros: the same number, printed longer. Quotients
//! so small that PostgreSQL would give more digits than the column has keep the column's.

use datafusion::arrow::array::ArrowNativeTypeOp;
use datafusion::arrow::datatypes::{DataType, i256};
use datafusion::arrow::error::ArrowError;

/// Digits after the point of a quotient, unless an operand has more.
const SCALE: i8 = 20;
/// Significant digits that PostgreSQL gives at least.
const SIGNIFICANT_DIGITS: i32 = 16;
/// Decimal digits in one of PostgreSQL's numeric digits.
const GROUP: i32 = 4;
const DECIMAL128_DIGITS: i16 = 38;
const DECIMAL256_DIGITS: i16 = 76;

/// A decimal's digits in all and after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digits {
    pub(crate) precision: u8,
    pub(crate) scale: i8,
}

impl Digits {
    /// The digits of a decimal type or of an integer type's values.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        let (precision, scale) = match data_type {
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale) => (*precision, *scale),
            DataType::Int8 | DataType::UInt8 => (3, 0),
            DataType::Int16 | DataType::UInt16 => (5, 0),
            DataType::Int32 | DataType::UInt32 => (10, 0),
            DataType::Int64 | DataType::UInt64 => (20, 0),
            _ => return None,
        };
        Some(Self { precision, scale })
    }

    /// The decimal type with these digits.
    pub(crate) fn decimal(self) -> DataType {
        if i16::from(self.precision) <= DECIMAL128_DIGITS {
            DataType::Decimal128(self.precision, self.scale)
        } else {
            DataType::Decimal256(self.precision, self.scale)
        }
    }
}

/// The type of a quotient: wide enough for the largest one of operands with these digits.
pub(crate) fn quotient_type(dividend: Digits, divisor: Digits) -> DataType {
    let before_point =
        i16::from(dividend.precision) - i16::from(dividend.scale) + i16::from(divisor.scale);
    let scale = SCALE.max(dividend.scale).max(divisor.scale);
    if before_point + i16::from(scale) <= DECIMAL128_DIGITS {
        return DataType::Decimal128(38, scale);
    }
    let room = (DECIMAL256_DIGITS - before_point).max(i16::from(SCALE));
    DataType::Decimal256(76, scale.min(i8::try_from(room).unwrap_or(scale)))
}

/// `dividend / divisor` (unscaled numbers with their scales) as an unscaled number of `scale`.
pub(crate) fn quotient(
    (dividend, dividend_scale): (i256, i8),
    (divisor, divisor_scale): (i256, i8),
    scale: i8,
) -> Result<i256, ArrowError> {
    if divisor == i256::ZERO {
        return Err(ArrowError::DivideByZero);
    }
    let digits = digits_after_point((dividend, dividend_scale), (divisor, divisor_scale));
    let digits = digits.min(i32::from(scale));
    let shift = digits - i32::from(dividend_scale) + i32::from(divisor_scale);
    let rounded = if shift >= 0 {
        divide_rounded(dividend.mul_checked(power_of_ten(shift)?)?, divisor)?
    } else {
        divide_rounded(dividend, divisor.mul_checked(power_of_ten(-shift)?)?)?
    };
    rounded.mul_checked(power_of_ten(i32::from(scale) - digits)?)
}

/// The digits after the point that PostgreSQL gives the quotient (`select_div_scale`).
pub(crate) fn digits_after_point(dividend: (i256, i8), divisor: (i256, i8)) -> i32 {
    let (dividend_weight, dividend_first) = leading_group(dividend);
    let (divisor_weight, divisor_first) = leading_group(divisor);
    let mut weight = dividend_weight - divisor_weight;
    if dividend_first <= divisor_first {
        weight -= 1;
    }
    (SIGNIFICANT_DIGITS - weight * GROUP)
        .max(i32::from(dividend.1))
        .max(i32::from(divisor.1))
        .max(0)
}

/// The first base-10000 digit that is not zero, and its weight: 0 for the one before the point.
fn leading_group((value, scale): (i256, i8)) -> (i32, u32) {
    let text = value.to_string();
    let digits = text.trim_start_matches('-');
    if digits == "0" {
        return (0, 0);
    }
    let scale = i32::from(scale);
    let padding = (GROUP - scale.rem_euclid(GROUP)) % GROUP;
    let length = i32::try_from(digits.len()).expect("at most 77 digits") + padding;
    let groups = (length + GROUP - 1) / GROUP;
    let first_length = length - (groups - 1) * GROUP;
    let first = digits.bytes().chain(std::iter::repeat(b'0'));
    let first = first.take(usize::try_from(first_length).expect("1 to 4"));
    let first = first.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
    (groups - 1 - (scale + padding) / GROUP, first)
}

/// Half is rounded away from zero.
fn divide_rounded(dividend: i256, divisor: i256) -> Result<i256, ArrowError> {
    let (quotient, rest) = match (dividend.to_i128(), divisor.to_i128()) {
        (Some(dividend), Some(divisor)) if divisor != -1 => (
            i256::from_i128(dividend / divisor),
            i256::from_i128(dividend % divisor),
        ),
        _ => (
            dividend.div_checked(divisor)?,
            dividend.mod_checked(divisor)?,
        ),
    };
    let rest = rest.wrapping_abs();
    if rest < divisor.wrapping_abs().sub_checked(rest)? {
        return Ok(quotient);
    }
    let away = if dividend.is_negative() == divisor.is_negative() {
        i256::ONE
    } else {
        i256::MINUS_ONE
    };
    quotient.add_checked(away)
}

fn power_of_ten(exponent: i32) -> Result<i256, ArrowError> {
    let exponent = u32::try_from(exponent).expect("a scale difference is made positive before");
    match 10_i128.checked_pow(exponent) {
        Some(power) => Ok(i256::from_i128(power)),
        None => i256::from_i128(10).pow_checked(exponent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values are PostgreSQL's own.
    #[test]
    fn digits_are_those_of_postgresql() {
        let cases: &[(i128, i8, i128, i8, &str)] = &[
            (1, 0, 3, 0, "0.33333333333333333333"),
            (2, 0, 3, 0, "0.66666666666666666667"),
            (10, 0, 3, 0, "3.33333333333333330000"),
            (100_000, 0, 3, 0, "33333.33333333333300000000"),
            (-7, 0, 2, 0, "-3.50000000000000000000"),
            (150, 2, 700, 2, "0.21428571428571428571"),
            (3_774_200, 2, 14_788_761, 4, "25.52073158799442360000"),
            (0, 2, 5, 0, "0.00000000000000000000"),
        ];
        for &(dividend, dividend_scale, divisor, divisor_scale, expected) in cases {
            let result = quotient(
                (i256::from_i128(dividend), dividend_scale),
                (i256::from_i128(divisor), divisor_scale),
                SCALE,
            )
            .expect("no overflow");
            let expected: i128 = expected.replace('.', "").parse().expect("digits");
            assert_eq!(result, i256::from_i128(expected), "{dividend}/{divisor}");
        }
    }

    #[test]
    fn the_type_is_wide_where_the_operands_are() {
        let money = Digits {
            precision: 15,
            scale: 2,
        };
        assert_eq!(quotient_type(money, money), DataType::Decimal128(38, 20));
        let wide = Digits {
            precision: 38,
            scale: 4,
        };
        assert_eq!(quotient_type(wide, wide), DataType::Decimal256(76, 20));
    }

    #[test]
    fn division_by_zero_is_an_error() {
        let zero = quotient((i256::ONE, 0), (i256::ZERO, 0), 20);
        assert!(matches!(zero, Err(ArrowError::DivideByZero)));
    }
}
