//! Numbers as PostgreSQL prints and sends them.
//!
//! Floats: the shortest digits that read back as the same value, with PostgreSQL's own three
//! choices: a decimal that lies exactly half way to a neighbour does not count as reading back
//! (1e23 prints as 9.999999999999999e+22), of two equally near ones the even one is taken, and
//! exponents begin at 1e15 (double) or 1e6 (real) and below 1e-4.
//!
//! Numerics: text with exactly `scale` digits after the point; binary as base-10000 digits.

use std::fmt::{self, Write};

use super::EncodeError;

/// Decimal exponent from which a double is printed in scientific notation.
const FLOAT8_EXPONENT: i32 = 15;
/// The same for a real.
const FLOAT4_EXPONENT: i32 = 6;

/// A finite, positive float as `mantissa * 2^exponent`, and whether the next smaller float is
/// only half as far away as the next larger one.
#[derive(Clone, Copy)]
struct Parts {
    mantissa: u64,
    exponent: i32,
    lower_is_nearer: bool,
}

/// Prints a double.
pub fn write_float8(value: f64, out: &mut impl Write) -> fmt::Result {
    if let Some(name) = special(value) {
        return out.write_str(name);
    }
    let bits = value.abs().to_bits();
    let (fraction, biased) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
    let parts = parts(fraction, biased, 52, 1075);
    let fits = |text: &str| text.parse() == Ok(value.abs());
    let digits = shortest(value.abs(), parts, fits);
    layout(value.is_sign_negative(), &digits, FLOAT8_EXPONENT, out)
}

/// Prints a real.
pub fn write_float4(value: f32, out: &mut impl Write) -> fmt::Result {
    if let Some(name) = special(f64::from(value)) {
        return out.write_str(name);
    }
    let bits = value.abs().to_bits();
    let (fraction, biased) = (u64::from(bits & ((1 << 23) - 1)), (bits >> 23) as i32);
    let parts = parts(fraction, biased, 23, 150);
    let fits = |text: &str| text.parse() == Ok(value.abs());
    let digits = shortest(value.abs(), parts, fits);
    layout(value.is_sign_negative(), &digits, FLOAT4_EXPONENT, out)
}

impl Parts {
    /// Whether the value can lie exactly half way between two decimals of at most 17 digits:
    /// then its own decimal expansion has at most 18, which bounds its binary fraction.
    fn may_tie(self) -> bool {
        const FRACTION_BITS_MAX: i32 = 25;
        self.exponent + self.mantissa.trailing_zeros() as i32 >= -FRACTION_BITS_MAX
    }
}

fn special(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value == f64::INFINITY {
        Some("Infinity")
    } else if value == f64::NEG_INFINITY {
        Some("-Infinity")
    } else {
        None
    }
}

fn parts(fraction: u64, biased: i32, fraction_bits: u32, bias: i32) -> Parts {
    if biased == 0 {
        return Parts {
            mantissa: fraction,
            exponent: 1 - bias,
            lower_is_nearer: false,
        };
    }
    Parts {
        mantissa: fraction | (1 << fraction_bits),
        exponent: biased - bias,
        lower_is_nearer: fraction == 0 && biased > 1,
    }
}

/// Significant digits without a point, and the power of ten of the first one.
struct Digits {
    digits: String,
    exponent: i32,
}

impl Digits {
    /// From Rust's `{:e}` form, such as `1.25e-7`.
    fn parse(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits = mantissa.replace('.', "");
        let trimmed = digits.trim_end_matches('0');
        let digits = if trimmed.is_empty() { "0" } else { trimmed };
        Self {
            digits: digits.to_owned(),
            exponent: exponent.parse().unwrap_or(0),
        }
    }

    /// Whether this decimal is exactly half way between the float and one of its neighbours.
    fn is_half_way(&self, float: Parts) -> bool {
        let Ok(digits) = self.digits.parse::<u64>() else {
            return false;
        };
        let power = self.exponent - (self.digits.len() as i32 - 1);
        let upper = (2 * float.mantissa + 1, float.exponent - 1);
        let lower = if float.lower_is_nearer {
            (4 * float.mantissa - 1, float.exponent - 2)
        } else {
            ((2 * float.mantissa).saturating_sub(1), float.exponent - 1)
        };
        equal(digits, power, upper) || equal(digits, power, lower)
    }
}

/// Whether `digits * 10^power == odd * 2^exponent`, `odd` being odd.
fn equal(digits: u64, power: i32, (odd, exponent): (u64, i32)) -> bool {
    if digits == 0 {
        return false;
    }
    let five = |base: u64| {
        5_u128
            .checked_pow(power.unsigned_abs())
            .and_then(|f| f.checked_mul(u128::from(base)))
    };
    let (left, right) = if power >= 0 {
        (five(digits), Some(u128::from(odd)))
    } else {
        (Some(u128::from(digits)), five(odd))
    };
    let (Some(left), Some(right)) = (left, right) else {
        return false;
    };
    let twos = left.trailing_zeros();
    left >> twos == right && power + twos as i32 == exponent
}

fn shortest<F>(value: F, parts: Parts, fits: impl Fn(&str) -> bool) -> Digits
where
    F: fmt::LowerExp + Copy,
{
    let first = Digits::parse(&format!("{value:e}"));
    if !first.is_half_way(parts) {
        return if parts.may_tie() {
            rounded_to_even(value, first, fits)
        } else {
            first
        };
    }
    for precision in 0..17 {
        let text = format!("{value:.precision$e}");
        let digits = Digits::parse(&text);
        if fits(&text) && !digits.is_half_way(parts) {
            return digits;
        }
    }
    first
}

/// Of two decimals of the same length that are equally near, Rust takes the larger one,
/// PostgreSQL the even one.
fn rounded_to_even<F>(value: F, first: Digits, fits: impl Fn(&str) -> bool) -> Digits
where
    F: fmt::LowerExp + Copy,
{
    let precision = first.digits.len() - 1;
    let text = format!("{value:.precision$e}");
    if fits(&text) {
        Digits::parse(&text)
    } else {
        first
    }
}

fn layout(
    negative: bool,
    Digits { digits, exponent }: &Digits,
    scientific_from: i32,
    out: &mut impl Write,
) -> fmt::Result {
    if negative {
        out.write_char('-')?;
    }
    let (exponent, length) = (*exponent, digits.len() as i32);
    if !(-4..scientific_from).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if exponent < 0 { '-' } else { '+' };
        return write!(out, "{first}{point}{rest}e{sign}{:02}", exponent.abs());
    }
    if exponent < 0 {
        return write!(out, "0.{:0<1$}{digits}", "", (-exponent - 1) as usize);
    }
    if length <= exponent + 1 {
        return write!(out, "{digits}{:0<1$}", "", (exponent + 1 - length) as usize);
    }
    let (whole, fraction) = digits.split_at(exponent as usize + 1);
    write!(out, "{whole}.{fraction}")
}

/// Prints an unscaled decimal with exactly `scale` digits after the point.
pub fn write_decimal(unscaled: i128, scale: i8, out: &mut impl Write) -> fmt::Result {
    write_decimal_digits(
        unscaled < 0,
        unscaled.unsigned_abs().to_string(),
        scale,
        out,
    )
}

/// Prints decimal digits with the point `scale` digits from the end.
pub fn write_decimal_digits(
    negative: bool,
    mut digits: String,
    scale: i8,
    out: &mut impl Write,
) -> fmt::Result {
    if negative {
        out.write_char('-')?;
    }
    let Ok(scale) = usize::try_from(scale) else {
        let zeros = if digits == "0" {
            0
        } else {
            usize::from(scale.unsigned_abs())
        };
        return write!(out, "{digits}{:0<zeros$}", "");
    };
    if scale == 0 {
        return out.write_str(&digits);
    }
    if digits.len() <= scale {
        let zeros = scale + 1 - digits.len();
        digits.insert_str(0, &"0".repeat(zeros));
    }
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    write!(out, "{whole}.{fraction}")
}

const NUMERIC_POSITIVE: u16 = 0x0000;
const NUMERIC_NEGATIVE: u16 = 0x4000;
const NUMERIC_NAN: u16 = 0xC000;
const NUMERIC_INFINITY: u16 = 0xD000;
const NUMERIC_MINUS_INFINITY: u16 = 0xF000;

/// Appends the binary form of a numeric given as PostgreSQL's text.
pub fn put_numeric(text: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let special = match text {
        "NaN" => Some(NUMERIC_NAN),
        "Infinity" => Some(NUMERIC_INFINITY),
        "-Infinity" => Some(NUMERIC_MINUS_INFINITY),
        _ => None,
    };
    if let Some(sign) = special {
        return put_numeric_parts(&[], 0, sign, 0, out);
    }
    let malformed = || EncodeError::malformed("numeric", text);
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (NUMERIC_NEGATIVE, rest),
        None => (NUMERIC_POSITIVE, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty()
        || !whole
            .bytes()
            .chain(fraction.bytes())
            .all(|b| b.is_ascii_digit())
    {
        return Err(malformed());
    }
    let (groups, weight) = base_10000(whole, fraction);
    let sign = if groups.is_empty() {
        NUMERIC_POSITIVE
    } else {
        sign
    };
    let scale = u16::try_from(fraction.len()).map_err(|_| malformed())?;
    put_numeric_parts(&groups, weight, sign, scale, out)
}

fn put_numeric_parts(
    groups: &[u16],
    weight: i32,
    sign: u16,
    scale: u16,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let out_of_range = |_| EncodeError::OutOfRange {
        type_name: "numeric",
    };
    let count = u16::try_from(groups.len()).map_err(out_of_range)?;
    let weight = i16::try_from(weight).map_err(out_of_range)?;
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(&weight.to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&scale.to_be_bytes());
    for group in groups {
        out.extend_from_slice(&group.to_be_bytes());
    }
    Ok(())
}

/// The text of a binary numeric; `None` if it is not one.
pub fn numeric_text(mut bytes: &[u8]) -> Option<String> {
    use bytes::Buf;
    let count = bytes.try_get_u16().ok()?;
    let weight = i32::from(bytes.try_get_i16().ok()?);
    let sign = bytes.try_get_u16().ok()?;
    let scale = usize::from(bytes.try_get_u16().ok()?);
    if bytes.len() != 2 * usize::from(count) {
        return None;
    }
    match sign {
        NUMERIC_NAN => return Some("NaN".to_owned()),
        NUMERIC_INFINITY => return Some("Infinity".to_owned()),
        NUMERIC_MINUS_INFINITY => return Some("-Infinity".to_owned()),
        NUMERIC_POSITIVE | NUMERIC_NEGATIVE => {}
        _ => return None,
    }
    let groups: Vec<u16> = bytes
        .chunks(2)
        .map(|b| u16::from_be_bytes([b[0], b[1]]))
        .collect();
    let group = |power: i32| {
        let index = usize::try_from(weight - power).ok();
        index
            .and_then(|index| groups.get(index))
            .copied()
            .unwrap_or(0)
    };
    let mut whole: String = (0..=weight.max(0))
        .rev()
        .map(|p| format!("{:04}", group(p)))
        .collect();
    let zeros = whole.len() - whole.trim_start_matches('0').len();
    whole.drain(..zeros.min(whole.len() - 1));
    let mut fraction: String = (1..=scale.div_ceil(4))
        .map(|p| format!("{:04}", group(-(p as i32))))
        .collect();
    fraction.truncate(scale);
    // There is no negative zero. Groups beyond the scale are cut off, so the digits tell.
    let zero = [&whole, &fraction]
        .iter()
        .all(|digits| digits.bytes().all(|d| d == b'0'));
    let minus = if sign == NUMERIC_NEGATIVE && !zero {
        "-"
    } else {
        ""
    };
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{minus}{whole}{point}{fraction}"))
}

/// Cuts decimal digits into groups of four around the point: the groups without zero groups
/// at either end, and the power of 10000 of the first one.
fn base_10000(whole: &str, fraction: &str) -> (Vec<u16>, i32) {
    let value = |digits: &[u8]| digits.iter().fold(0, |v, d| v * 10 + u16::from(d - b'0'));
    let whole = whole.as_bytes();
    let head = whole.len() % 4;
    let mut groups = Vec::with_capacity((whole.len() + fraction.len()) / 4 + 2);
    if head > 0 {
        groups.push(value(&whole[..head]));
    }
    groups.extend(whole[head..].chunks(4).map(value));
    let mut weight = groups.len() as i32 - 1;
    for chunk in fraction.as_bytes().chunks(4) {
        groups.push(value(chunk) * 10_u16.pow(4 - chunk.len() as u32));
    }
    let leading = groups.iter().take_while(|&&group| group == 0).count();
    groups.drain(..leading);
    weight -= leading as i32;
    while groups.last() == Some(&0) {
        groups.pop();
    }
    if groups.is_empty() {
        weight = 0;
    }
    (groups, weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float8(value: f64) -> String {
        let mut out = String::new();
        write_float8(value, &mut out).expect("a string takes it");
        out
    }

    fn float4(value: f32) -> String {
        let mut out = String::new();
        write_float4(value, &mut out).expect("a string takes it");
        out
    }

    #[test]
    #[expect(
        clippy::excessive_precision,
        reason = "values half-way between two short texts, which is what is tested"
    )]
    fn doubles_print_as_postgresql_15_prints_them() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1e20, "1e+20"),
            (1e22, "1e+22"),
            (1e23, "9.999999999999999e+22"),
            (123456.789, "123456.789"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_993.0, "9.007199254740992e+15"),
            (82_893_732_705_733.125, "82893732705733.12"),
            (987_172_694_305_426.25, "987172694305426.2"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float8(value), expected);
        }
    }

    #[test]
    fn reals_print_as_postgresql_15_prints_them() {
        for (value, expected) in [
            (1e6, "1e+06"),
            (123_456.0, "123456"),
            (2.5, "2.5"),
            (1e-45, "1e-45"),
            (0.1, "0.1"),
            (16_777_216.0, "1.6777216e+07"),
        ] {
            assert_eq!(float4(value), expected);
        }
    }

    #[test]
    fn decimals_keep_their_scale() {
        let text = |unscaled, scale| {
            let mut out = String::new();
            write_decimal(unscaled, scale, &mut out).expect("a string takes it");
            out
        };
        assert_eq!(text(12345, 2), "123.45");
        assert_eq!(text(-5, 2), "-0.05");
        assert_eq!(text(0, 3), "0.000");
        assert_eq!(text(7, 0), "7");
        assert_eq!(text(7, -2), "700");
        assert_eq!(
            text(i128::MIN, 1),
            "-17014118346046923173168730371588410572.8"
        );
    }

    #[test]
    fn binary_numerics_have_base_10000_digits() {
        let binary = |text: &str| {
            let mut out = Vec::new();
            put_numeric(text, &mut out).expect("a numeric");
            out.chunks(2)
                .map(|b| u16::from_be_bytes([b[0], b[1]]))
                .collect::<Vec<_>>()
        };
        assert_eq!(binary("0"), [0, 0, 0, 0]);
        assert_eq!(binary("0.00"), [0, 0, 0, 2]);
        assert_eq!(binary("1.5"), [2, 0, 0, 1, 1, 5000]);
        assert_eq!(binary("-12345.678"), [3, 1, 0x4000, 3, 1, 2345, 6780]);
        assert_eq!(binary("10000"), [1, 1, 0, 0, 1]);
        assert_eq!(binary("0.00001"), [1, 0xFFFE, 0, 5, 1000]);
        assert_eq!(binary("NaN"), [0, 0, 0xC000, 0]);
        assert!(put_numeric("1e5", &mut Vec::new()).is_err());
        for text in [
            "0",
            "0.00",
            "1.5",
            "-12345.678",
            "10000",
            "0.00001",
            "NaN",
            "100000000.0001",
        ] {
            let mut out = Vec::new();
            put_numeric(text, &mut out).expect("a numeric");
            assert_eq!(numeric_text(&out).as_deref(), Some(text));
        }
        assert_eq!(numeric_text(&[0, 1, 0]), None);
    }
}
