//! Numbers of documents, computed with as PostgreSQL computes with numerics.
//!
//! A number is what it is written as: `1.50` has two digits behind the point. It has at most 76 digits here; what has more is out of
//! range (22003).

use std::cmp::Ordering;

use datafusion::arrow::array::ArrowNativeTypeOp;
use datafusion::arrow::datatypes::i256;
use datafusion::arrow::error::ArrowError;

use super::syntax::Operation;
use crate::error::{SqlError, code};
use crate::functions::quotient::{digits_after_point, quotient};

/// Decimal digits that 256 bits hold.
const DIGITS_MAX: usize = 76;

/// A number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// All digits.
    digits: i256,
    /// How many of them are behind the point.
    scale: u8,
}

impl Number {
    /// A number as JSON and SQL write one.
    pub(super) fn parse(text: &str) -> Result<Self, SqlError> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse().map_err(|_| overflow())?),
            None => (text, 0_i32),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let behind = i32::try_from(fraction.len()).map_err(|_| overflow())?;
        let scale = behind.checked_sub(exponent).ok_or_else(overflow)?;
        let zeros = usize::try_from(-scale.min(0)).map_err(|_| overflow())?;
        let (sign, whole) = match whole.strip_prefix('-') {
            Some(whole) => ("-", whole),
            None => ("", whole),
        };
        let written = format!("{whole}{fraction}");
        let significant = written.trim_start_matches('0');
        if significant.len() + zeros > DIGITS_MAX {
            return Err(overflow());
        }
        let written = format!("{sign}0{significant}{}", "0".repeat(zeros));
        let digits = i256::from_string(&written).ok_or_else(overflow)?;
        Self::new(digits, scale.max(0))
    }

    /// A double precision, as PostgreSQL makes a numeric of it: fifteen digits.
    pub(super) fn from_double(value: f64) -> Result<Self, SqlError> {
        let written = format!("{value:.14e}");
        let (mantissa, exponent) = written.split_once('e').ok_or_else(overflow)?;
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        Self::parse(&format!("{mantissa}e{exponent}"))
    }

    fn new(digits: i256, scale: i32) -> Result<Self, SqlError> {
        let scale = u8::try_from(scale).map_err(|_| overflow())?;
        match usize::from(scale) <= DIGITS_MAX {
            true => Ok(Self { digits, scale }),
            false => Err(overflow()),
        }
    }

    /// The number as PostgreSQL writes it.
    pub(super) fn text(self) -> String {
        let digits = self.digits.to_string();
        let scale = usize::from(self.scale);
        if scale == 0 {
            return digits;
        }
        let (sign, digits) = match digits.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", digits.as_str()),
        };
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        format!("{sign}{whole}.{fraction}")
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        match (
            self.scaled(other.scale.max(self.scale)),
            other.scaled(self.scale.max(other.scale)),
        ) {
            (Ok(left), Ok(right)) => left.cmp(&right),
            // One of them has more digits before the point than the other can have.
            (Err(_), _) => self.digits.cmp(&i256::ZERO),
            (_, Err(_)) => i256::ZERO.cmp(&other.digits),
        }
    }

    /// The digits with so many behind the point.
    fn scaled(self, scale: u8) -> Result<i256, ArrowError> {
        let power = i256::from_i128(10).pow_checked(u32::from(scale - self.scale))?;
        self.digits.mul_checked(power)
    }

    pub(super) fn computed(self, operation: Operation, other: Self) -> Result<Self, SqlError> {
        let wider = self.scale.max(other.scale);
        let sides = || {
            let sides = self
                .scaled(wider)
                .and_then(|left| Ok((left, other.scaled(wider)?)));
            sides.map_err(unfit)
        };
        let (digits, scale) = match operation {
            Operation::Add => {
                let (left, right) = sides()?;
                (left.add_checked(right), i32::from(wider))
            }
            Operation::Subtract => {
                let (left, right) = sides()?;
                (left.sub_checked(right), i32::from(wider))
            }
            Operation::Multiply => (
                self.digits.mul_checked(other.digits),
                i32::from(self.scale) + i32::from(other.scale),
            ),
            Operation::Divide => return self.divided(other),
            Operation::Modulo => {
                let (left, right) = sides()?;
                (left.mod_checked(right), i32::from(wider))
            }
        };
        Self::new(digits.map_err(unfit)?, scale)
    }

    fn divided(self, divisor: Self) -> Result<Self, SqlError> {
        let operand = |number: Self| {
            let scale = i8::try_from(number.scale).expect("at most 76");
            (number.digits, scale)
        };
        let (dividend, divisor) = (operand(self), operand(divisor));
        if divisor.0 == i256::ZERO {
            return Err(unfit(ArrowError::DivideByZero));
        }
        let scale = digits_after_point(dividend, divisor);
        let digits = i8::try_from(scale).map_err(|_| overflow())?;
        let digits = quotient(dividend, divisor, digits).map_err(unfit)?;
        Self::new(digits, scale)
    }

    pub(super) fn negated(self) -> Self {
        Self {
            digits: self.digits.wrapping_neg(),
            ..self
        }
    }

    pub(super) fn absolute(self) -> Self {
        Self {
            digits: self.digits.wrapping_abs(),
            ..self
        }
    }

    /// The greatest integer that is not greater.
    pub(super) fn floor(self) -> Self {
        self.whole(|digits, rest| match rest.is_negative() {
            true => digits.wrapping_sub(i256::ONE),
            false => digits,
        })
    }

    /// The least integer that is not less.
    pub(super) fn ceiling(self) -> Self {
        self.whole(|digits, rest| match rest > i256::ZERO {
            true => digits.wrapping_add(i256::ONE),
            false => digits,
        })
    }

    /// The integer towards zero, if it is a place in an array.
    pub(super) fn place(self) -> Option<i64> {
        let whole = self.whole(|digits, _| digits).digits.to_i128()?;
        i32::try_from(whole).ok().map(i64::from)
    }

    /// What `of` makes of the digits before the point and of those behind it.
    fn whole(self, of: impl FnOnce(i256, i256) -> i256) -> Self {
        let power = i256::from_i128(10).wrapping_pow(u32::from(self.scale));
        let digits = self.digits.wrapping_div(power);
        Self {
            digits: of(digits, self.digits.wrapping_rem(power)),
            scale: 0,
        }
    }
}

fn overflow() -> SqlError {
    let message = format!("a number of a document has more than {DIGITS_MAX} digits");
    SqlError::new(code::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

fn unfit(error: ArrowError) -> SqlError {
    match error {
        ArrowError::DivideByZero => SqlError::new(code::DIVISION_BY_ZERO, "division by zero"),
        _ => overflow(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).expect("is a number")
    }

    #[test]
    fn numbers_are_written_as_numerics_are() {
        for (text, expected) in [
            ("1.50", "1.50"),
            ("-0.05", "-0.05"),
            ("0", "0"),
            (".5", "0.5"),
            ("1.", "1"),
            ("12e2", "1200"),
            ("1.25e1", "12.5"),
            ("5e-3", "0.005"),
        ] {
            assert_eq!(number(text).text(), expected, "{text}");
        }
        assert!(Number::parse(&"9".repeat(77)).is_err());
    }

    #[test]
    fn results_have_the_digits_of_postgresql() {
        for (left, operation, right, expected) in [
            ("1.50", Operation::Add, "2", "3.50"),
            ("1", Operation::Subtract, "0.25", "0.75"),
            ("1.5", Operation::Multiply, "1.5", "2.25"),
            ("1", Operation::Divide, "3", "0.33333333333333333333"),
            ("10", Operation::Divide, "4", "2.5000000000000000"),
            ("-7.5", Operation::Modulo, "2", "-1.5"),
        ] {
            let computed = number(left).computed(operation, number(right));
            assert_eq!(computed.expect("fits").text(), expected, "{left} {right}");
        }
        let error = number("1").computed(Operation::Divide, number("0.0"));
        assert_eq!(error.expect_err("x / 0").code, code::DIVISION_BY_ZERO);
    }

    #[test]
    fn numbers_compare_by_value() {
        let huge = "9".repeat(76);
        for (left, right, expected) in [
            ("1.50", "1.5", Ordering::Equal),
            ("2", "10", Ordering::Less),
            ("-2", "-10", Ordering::Greater),
            (huge.as_str(), "0.5", Ordering::Greater),
            ("0.5", huge.as_str(), Ordering::Less),
        ] {
            assert_eq!(
                number(left).compare(number(right)),
                expected,
                "{left} {right}"
            );
        }
    }

    #[test]
    fn parts_before_the_point_are_rounded_as_asked() {
        for (text, floor, ceiling) in [("-1.5", "-2", "-1"), ("1.5", "1", "2"), ("3.0", "3", "3")] {
            assert_eq!(number(text).floor().text(), floor);
            assert_eq!(number(text).ceiling().text(), ceiling);
        }
        assert_eq!(number("-1.9").place(), Some(-1));
        assert_eq!(number("3000000000").place(), None);
        assert_eq!(Number::from_double(0.1 + 0.2).expect("fits").text(), "0.3");
        assert_eq!(
            Number::from_double(-1.5e-7).expect("fits").text(),
            "-0.00000015"
        );
    }
}
