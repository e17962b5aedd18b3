//! Exact decimal numbers, with PostgreSQL's rules for scales.
//!
//! A number has 38 digits at most. What needs more is an error, never rounded silently.

use std::cmp::Ordering;
use std::fmt;

use oltp::Rejection;

/// Digits at most.
pub const DIGITS_MAX: u8 = 38;
/// Significant digits that a quotient has at least.
const QUOTIENT_DIGITS: i32 = 16;
/// PostgreSQL counts a number's digits in groups of four.
const GROUP_DIGITS: i32 = 4;

/// A number: `unscaled` divided by ten to the power of `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numeric {
    /// All digits.
    pub unscaled: i128,
    /// How many of them are behind the point.
    pub scale: u8,
}

/// Ten to a power; `None` beyond 38.
fn power(exponent: u32) -> Option<i128> {
    10i128.checked_pow(exponent)
}

fn too_long() -> Rejection {
    Rejection::new("22003", "numeric value out of range")
        .with_detail(format!("A number may have {DIGITS_MAX} digits."))
}

fn checked(unscaled: Option<i128>, scale: u8) -> Result<Numeric, Rejection> {
    let most = power(DIGITS_MAX.into()).expect("38 digits fit");
    match unscaled {
        Some(unscaled) if unscaled.unsigned_abs() < most.unsigned_abs() => {
            Ok(Numeric { unscaled, scale })
        }
        _ => Err(too_long()),
    }
}

/// A quotient of whole numbers, halves away from zero.
fn divide_rounded(dividend: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    let is_half = rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
    let sign = dividend.signum() * divisor.signum();
    quotient + if is_half && rest != 0 { sign } else { 0 }
}

impl Numeric {
    /// A whole number.
    pub fn of_int(int: i64) -> Self {
        Self {
            unscaled: int.into(),
            scale: 0,
        }
    }

    /// Both numbers with the larger scale of the two.
    fn aligned(self, other: Self) -> Option<(i128, i128, u8)> {
        let scale = self.scale.max(other.scale);
        let lift = |number: Self| {
            let factor = power(u32::from(scale - number.scale))?;
            number.unscaled.checked_mul(factor)
        };
        Some((lift(self)?, lift(other)?, scale))
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Result<Self, Rejection> {
        let (a, b, scale) = self.aligned(other).ok_or_else(too_long)?;
        checked(a.checked_add(b), scale)
    }

    /// The difference.
    pub fn minus(self, other: Self) -> Result<Self, Rejection> {
        self.plus(other.negate())
    }

    /// The number with the other sign.
    pub fn negate(self) -> Self {
        Self {
            unscaled: -self.unscaled,
            ..self
        }
    }

    /// The product. It has the scales of both, unless these are more than a number has digits.
    pub fn multiply(self, other: Self) -> Result<Self, Rejection> {
        let (mut a, mut b) = (self, other);
        // PostgreSQL would keep them all.
        while a.scale + b.scale > DIGITS_MAX {
            let longer = if a.scale >= b.scale { &mut a } else { &mut b };
            *longer = longer.rescale(longer.scale - 1)?;
        }
        checked(a.unscaled.checked_mul(b.unscaled), a.scale + b.scale)
    }

    /// The quotient, with as many digits as PostgreSQL gives it.
    pub fn divide(self, other: Self) -> Result<Self, Rejection> {
        if other.unscaled == 0 {
            return Err(Rejection::new("22012", "division by zero"));
        }
        let scale = self.quotient_scale(other);
        let lifted = i32::from(scale) + i32::from(other.scale) - i32::from(self.scale);
        let (mut dividend, mut divisor) = (self.unscaled, other.unscaled);
        let factor = power(lifted.unsigned_abs()).ok_or_else(too_long)?;
        if lifted < 0 {
            divisor = divisor.checked_mul(factor).ok_or_else(too_long)?;
        } else if let Some(product) = dividend.checked_mul(factor) {
            dividend = product;
        } else {
            return long_division(dividend, divisor, lifted as u32, scale);
        }
        checked(Some(divide_rounded(dividend, divisor)), scale)
    }

    fn quotient_scale(self, other: Self) -> u8 {
        let (weight, first) = self.leading_group();
        let (other_weight, other_first) = other.leading_group();
        let weight = weight - other_weight - i32::from(first <= other_first);
        let digits = QUOTIENT_DIGITS - weight * GROUP_DIGITS;
        let scales = i32::from(self.scale.max(other.scale));
        digits.max(scales).clamp(0, DIGITS_MAX.into()) as u8
    }

    /// The place of the first group of four digits that is not zero, counted from the point, and the group.
    fn leading_group(self) -> (i32, u128) {
        let digits = self.unscaled.unsigned_abs();
        if digits == 0 {
            return (0, 0);
        }
        // The place of the first digit: 0 is that of the ones.
        let first = digits.ilog10() as i32 - i32::from(self.scale);
        let weight = first.div_euclid(GROUP_DIGITS);
        let place_of_last = weight * GROUP_DIGITS + i32::from(self.scale);
        let group = match power(place_of_last.unsigned_abs()) {
            Some(factor) if place_of_last >= 0 => digits / factor.unsigned_abs(),
            Some(factor) => digits.saturating_mul(factor.unsigned_abs()),
            None => digits,
        };
        (weight, group)
    }

    /// What is left when the quotient is a whole number, with the sign of the dividend.
    pub fn remainder(self, other: Self) -> Result<Self, Rejection> {
        if other.unscaled == 0 {
            return Err(Rejection::new("22012", "division by zero"));
        }
        let (a, b, scale) = self.aligned(other).ok_or_else(too_long)?;
        checked(Some(a % b), scale)
    }

    /// Which is larger.
    pub fn order(self, other: Self) -> Ordering {
        if let Some((a, b, _)) = self.aligned(other) {
            return a.cmp(&b);
        }
        let parts = |number: Self| {
            let factor = power(number.scale.into()).expect("a scale has 38 digits at most");
            let (whole, rest) = (number.unscaled / factor, number.unscaled % factor);
            let lift = power(u32::from(DIGITS_MAX - number.scale)).expect("at most 38");
            (whole, rest * lift)
        };
        parts(self).cmp(&parts(other))
    }

    /// With so many digits behind the point, rounded.
    pub fn rescale(self, scale: u8) -> Result<Self, Rejection> {
        if scale >= self.scale {
            let factor = power(u32::from(scale - self.scale)).ok_or_else(too_long)?;
            return checked(self.unscaled.checked_mul(factor), scale);
        }
        let divisor = power(u32::from(self.scale - scale)).expect("a scale has 38 digits at most");
        Ok(Self {
            unscaled: divide_rounded(self.unscaled, divisor),
            scale,
        })
    }

    /// The same number with so many digits behind the point; `None` when it has more.
    pub fn exactly(self, scale: u8) -> Option<Self> {
        let rescaled = self.rescale(scale).ok()?;
        (rescaled.order(self) == Ordering::Equal).then_some(rescaled)
    }

    /// As a value of `numeric(precision, scale)`.
    pub fn fit(self, precision: u8, scale: u8) -> Result<Self, Rejection> {
        let overflow = || {
            let most = precision - scale;
            Rejection::new("22003", "numeric field overflow").with_detail(format!(
                "A field with precision {precision}, scale {scale} must round to an absolute value less than \
                 10^{most}."
            ))
        };
        let fitted = self.rescale(scale).map_err(|_| overflow())?;
        let bound = power(precision.into()).map(i128::unsigned_abs);
        match bound {
            Some(bound) if fitted.unscaled.unsigned_abs() >= bound => Err(overflow()),
            _ => Ok(fitted),
        }
    }

    /// Rounded to a whole number; `None` when it is too large.
    pub fn to_int(self) -> Option<i64> {
        i64::try_from(self.rescale(0).ok()?.unscaled).ok()
    }

    /// The nearest float.
    pub fn to_double(self) -> f64 {
        // By way of its digits: they are rounded once.
        self.to_string().parse().expect("digits are a float")
    }

    /// From digits with a sign, a point and an exponent; `None` for anything else.
    pub fn parse(text: &str) -> Option<Result<Self, Rejection>> {
        let text = text.trim();
        let (sign, digits) = match text.as_bytes().first()? {
            b'-' => (-1, &text[1..]),
            b'+' => (1, &text[1..]),
            _ => (1, text),
        };
        let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (digits, 0),
        };
        let (whole, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = || whole.bytes().chain(behind.bytes());
        if all().next().is_none() || !all().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let add = |sum: Option<i128>, byte: u8| {
            let digit = i128::from(byte - b'0');
            sum?.checked_mul(10)?.checked_add(digit)
        };
        let unscaled = all().fold(Some(0), add);
        let scale = behind.len() as i64 - i64::from(exponent);
        let number = || {
            let unscaled = unscaled?.checked_mul(sign)?;
            if scale >= 0 {
                return Some((unscaled, u8::try_from(scale).ok()?));
            }
            let factor = power(u32::try_from(-scale).ok()?)?;
            Some((unscaled.checked_mul(factor)?, 0))
        };
        Some(match number() {
            Some((unscaled, scale)) if scale <= DIGITS_MAX => checked(Some(unscaled), scale),
            _ => Err(too_long()),
        })
    }
}

/// Digit by digit, for a dividend that has no room for all the digits of the quotient.
fn long_division(
    dividend: i128,
    divisor: i128,
    digits: u32,
    scale: u8,
) -> Result<Numeric, Rejection> {
    let (mut quotient, mut rest) = (Some(dividend / divisor), dividend % divisor);
    for _ in 0..digits {
        let lifted = rest.checked_mul(10).ok_or_else(too_long)?;
        quotient = quotient.and_then(|q| q.checked_mul(10)?.checked_add(lifted / divisor));
        rest = lifted % divisor;
    }
    let is_half = rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
    let sign = dividend.signum() * divisor.signum();
    let rounded = quotient.and_then(|q| q.checked_add(if is_half { sign } else { 0 }));
    checked(rounded, scale)
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.unscaled < 0 { "-" } else { "" };
        let scale = usize::from(self.scale);
        let digits = format!("{:0>1$}", self.unscaled.unsigned_abs(), scale + 1);
        let (whole, behind) = digits.split_at(digits.len() - scale);
        if behind.is_empty() {
            write!(f, "{sign}{whole}")
        } else {
            write!(f, "{sign}{whole}.{behind}")
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Numeric {
        let parsed = Numeric::parse(text).expect("a number");
        parsed.expect("a short number")
    }

    fn text(result: Result<Numeric, Rejection>) -> String {
        result.map_or_else(|error| error.code.to_owned(), |number| number.to_string())
    }

    /// What PostgreSQL 15 answers.
    #[test]
    fn quotients_have_postgresqls_scales() {
        for (a, b, quotient) in [
            ("1", "3", "0.33333333333333333333"),
            ("2", "3", "0.66666666666666666667"),
            ("10", "4", "2.5000000000000000"),
            ("1.00", "7", "0.14285714285714285714"),
            ("-1", "3", "-0.33333333333333333333"),
            ("100000", "3", "33333.333333333333"),
            ("0", "5", "0.00000000000000000000"),
            ("12345.67", "0.01", "1234567.000000000000"),
        ] {
            assert_eq!(text(number(a).divide(number(b))), quotient, "{a} / {b}");
        }
        assert_eq!(text(number("1").divide(number("0.0"))), "22012");
    }

    #[test]
    fn numbers_are_read_and_written() {
        for same in ["0", "-0.5", "123.4500", "0.00"] {
            assert_eq!(number(same).to_string(), same);
        }
        assert_eq!(number("1.5e2").to_string(), "150");
        assert_eq!(number("15e-3").to_string(), "0.015");
        assert_eq!(number(" +7. ").to_string(), "7");
        for wrong in ["", ".", "x", "1x", "--1", "1e", "NaN"] {
            assert!(Numeric::parse(wrong).is_none(), "{wrong}");
        }
        let long = Numeric::parse(&"9".repeat(39)).expect("digits");
        assert_eq!(long.expect_err("too long").code, "22003");
    }

    #[test]
    fn fields_round_and_overflow() {
        assert_eq!(text(number("1.005").fit(5, 2)), "1.01");
        assert_eq!(text(number("-1.005").fit(5, 2)), "-1.01");
        assert_eq!(text(number("999.994").fit(5, 2)), "999.99");
        assert_eq!(text(number("999.995").fit(5, 2)), "22003");
        assert_eq!(number("2.50").exactly(1), Some(number("2.5")));
        assert_eq!(number("2.55").exactly(1), None);
    }

    #[test]
    fn what_has_too_many_digits_is_refused() {
        let large = number(&"9".repeat(38));
        assert_eq!(text(large.plus(number("1"))), "22003");
        assert_eq!(text(large.multiply(large)), "22003");
        assert!(large.order(number("0.5")).is_gt());
        assert!(number("-0.5").order(large.negate()).is_gt());
    }

    proptest! {
        #[test]
        fn arithmetic_is_that_of_whole_numbers(
            a in -1_000_000_000i64..1_000_000_000, b in -1_000_000_000i64..1_000_000_000,
            s in 0u8..6, t in 0u8..6,
        ) {
            let (x, y) = (Numeric { unscaled: a.into(), scale: s }, Numeric { unscaled: b.into(), scale: t });
            // In millionths everything is a whole number.
            let whole = |n: Numeric| n.unscaled * 10i128.pow(u32::from(6 - n.scale));
            prop_assert_eq!(whole(x.plus(y).expect("short")), whole(x) + whole(y));
            prop_assert_eq!(whole(x.minus(y).expect("short")), whole(x) - whole(y));
            prop_assert_eq!(x.order(y), whole(x).cmp(&whole(y)));
            prop_assert_eq!(x.multiply(y).expect("short").unscaled, i128::from(a) * i128::from(b));
            if b != 0 {
                prop_assert_eq!(whole(x.remainder(y).expect("short")), whole(x) % whole(y));
                let quotient = x.divide(y).expect("short");
                let error = quotient.multiply(y).and_then(|back| back.minus(x)).expect("short");
                // What is lost is at most half a unit of the quotient's last digit, times the divisor.
                let unit = 0.1f64.powi(quotient.scale.into());
                let most = 0.5001 * unit * y.to_double().abs();
                prop_assert!(error.to_double().abs() <= most, "{} of {}", error, most);
            }
        }
    }
}
