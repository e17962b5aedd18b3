//! `to_char` with PostgreSQL's patterns.
//!
//! Templates of [moments and intervals](moment_template) and of [numbers](number_template) are cut into pieces once; each value is then
//! written piece by piece.

mod moment_template;
pub(super) mod number_template;

use std::fmt::Write;
use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef, StringBuilder};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Float32Type, Float64Type, Int64Type, IntervalMonthDayNanoType,
    TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use moment_template::MomentTemplate;
use number_template::NumberTemplate;

use super::constant_call::computed;
use super::intervals::INTERVAL;
use crate::error::SqlError;

const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// Digits that the two floating types keep (`FLT_DIG` and `DBL_DIG`): more are not shown.
const FLOAT32_DIGITS: usize = 6;
const FLOAT64_DIGITS: usize = 15;

/// Writes moments, intervals and numbers.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ToChar {
    signature: Signature,
}

impl ToChar {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Stable),
        }
    }
}

impl ScalarUDFImpl for ToChar {
    fn name(&self) -> &str {
        "to_char"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let value = match arguments {
            [
                DataType::Date32 | DataType::Timestamp(..) | DataType::Null,
                _,
            ] => TIMESTAMP,
            [number, _] if number.is_integer() => DataType::Int64,
            [
                DataType::Decimal128(..) | DataType::Float32 | DataType::Float64,
                _,
            ] => arguments[0].clone(),
            [number, _] if number.is_numeric() => DataType::Float64,
            [DataType::Interval(_) | DataType::Duration(_), _] => INTERVAL,
            _ => return Err(SqlError::undefined_function(self.name(), arguments).into()),
        };
        Ok(vec![value, DataType::Utf8])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| {
            let values = args.args[0].to_array(rows)?;
            match values.data_type() {
                DataType::Timestamp(..) => {
                    let templates = Templates::new(&args.args[1], template_of_moment)?;
                    Ok(moments(&values, &templates))
                }
                DataType::Interval(_) => {
                    let templates = Templates::new(&args.args[1], template_of_moment)?;
                    intervals(&values, &templates)
                }
                _ => {
                    let template = |text: &str| NumberTemplate::new(text).map(Some);
                    let templates = Templates::new(&args.args[1], template)?;
                    numbers(&values, &templates)
                }
            }
        })
    }
}

/// The templates of a batch.
enum Templates<T> {
    /// One for all rows.
    One(Option<T>),
    Each(Vec<Option<T>>),
}

impl<T> Templates<T> {
    fn new(
        texts: &ColumnarValue,
        cut: impl Fn(&str) -> Result<Option<T>, SqlError>,
    ) -> Result<Self> {
        let cut = |text: Option<&str>| text.map_or(Ok(None), &cut);
        Ok(match texts {
            ColumnarValue::Scalar(text) => Self::One(cut(text.try_as_str().flatten())?),
            ColumnarValue::Array(texts) => {
                let templates = texts.as_string::<i32>().iter().map(cut);
                Self::Each(templates.collect::<Result<_, SqlError>>()?)
            }
        })
    }

    fn of(&self, row: usize) -> Option<&T> {
        match self {
            Self::One(template) => template.as_ref(),
            Self::Each(templates) => templates[row].as_ref(),
        }
    }
}

/// No template writes nothing: the text is NULL.
fn template_of_moment(text: &str) -> Result<Option<MomentTemplate>, SqlError> {
    Ok((!text.is_empty()).then(|| MomentTemplate::new(text)))
}

fn intervals(values: &ArrayRef, templates: &Templates<MomentTemplate>) -> Result<ArrayRef> {
    let mut texts = StringBuilder::new();
    let mut text = String::new();
    let intervals = values.as_primitive::<IntervalMonthDayNanoType>();
    for (row, interval) in intervals.iter().enumerate() {
        let (Some(interval), Some(template)) = (interval, templates.of(row)) else {
            texts.append_null();
            continue;
        };
        text.clear();
        template.write_interval(interval, &mut text)?;
        texts.append_value(&text);
    }
    Ok(Arc::new(texts.finish()))
}

/// NULL and the infinities have no text.
fn moments(moments: &ArrayRef, templates: &Templates<MomentTemplate>) -> ArrayRef {
    let moments = moments.as_primitive::<TimestampMicrosecondType>();
    let mut texts = StringBuilder::new();
    let mut text = String::new();
    for (row, micros) in moments.iter().enumerate() {
        let finite = micros.filter(|&micros| micros != i64::MAX && micros != i64::MIN);
        match (finite, templates.of(row)) {
            (Some(micros), Some(template)) => {
                text.clear();
                template.write(micros, &mut text);
                texts.append_value(&text);
            }
            _ => texts.append_null(),
        }
    }
    Arc::new(texts.finish())
}

fn numbers(values: &ArrayRef, templates: &Templates<NumberTemplate>) -> Result<ArrayRef> {
    let mut texts = StringBuilder::new();
    let (mut digits, mut text) = (String::new(), String::new());
    for row in 0..values.len() {
        let template = templates.of(row).filter(|_| values.is_valid(row));
        let Some(template) = template else {
            texts.append_null();
            continue;
        };
        digits.clear();
        text.clear();
        let is_negative = write_digits(values, row, template.places_behind(), &mut digits)?;
        template.write(is_negative, &digits, &mut text);
        texts.append_value(&text);
    }
    Ok(Arc::new(texts.finish()))
}

/// Appends the digits of a number's size with so many places behind the point, and tells whether it is negative.
fn write_digits(values: &ArrayRef, row: usize, places: usize, out: &mut String) -> Result<bool> {
    match values.data_type() {
        DataType::Int64 => {
            let number = values.as_primitive::<Int64Type>().value(row);
            Ok(exact_digits(i128::from(number), 0, places, out))
        }
        DataType::Decimal128(_, scale) => {
            let number = values.as_primitive::<Decimal128Type>().value(row);
            Ok(exact_digits(number, *scale, places, out))
        }
        DataType::Float32 => {
            let number = f64::from(values.as_primitive::<Float32Type>().value(row));
            Ok(float_digits(number, FLOAT32_DIGITS, places, out))
        }
        DataType::Float64 => {
            let number = values.as_primitive::<Float64Type>().value(row);
            Ok(float_digits(number, FLOAT64_DIGITS, places, out))
        }
        other => internal_err!("to_char of {other}"),
    }
}

/// Half a unit of the last place is rounded away from zero.
fn exact_digits(number: i128, scale: i8, places: usize, out: &mut String) -> bool {
    let scale = usize::try_from(scale).unwrap_or(0);
    let mut size = number.unsigned_abs();
    let kept = scale.min(places);
    if let Some(unit) = u32::try_from(scale - kept)
        .ok()
        .and_then(|power| 10_u128.checked_pow(power))
    {
        // The remainder is below the unit, so that twice of it fits where the unit does.
        size = size / unit + u128::from(size % unit >= unit.div_ceil(2) && unit > 1);
    }
    let digits = format!("{size:0>width$}", width = kept + 1);
    let (whole, fraction) = digits.split_at(digits.len() - kept);
    out.push_str(whole);
    if places > 0 {
        out.push('.');
        out.push_str(fraction);
        out.extend(std::iter::repeat_n('0', places - kept));
    }
    number < 0 && size != 0
}

/// A float has no digits behind those that it keeps.
fn float_digits(number: f64, digits_max: usize, places: usize, out: &mut String) -> bool {
    let size = number.abs();
    if !size.is_finite() {
        out.push_str(if size.is_nan() { "NaN" } else { "Infinity" });
        return number == f64::NEG_INFINITY;
    }
    let whole = format!("{size:.0}").len();
    let places = places.min(digits_max.saturating_sub(whole));
    write!(out, "{size:.places$}").expect("a string can be written");
    number.is_sign_negative()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: i128, scale: i8, template: &str) -> String {
        let template = NumberTemplate::new(template).expect(template);
        let (mut digits, mut text) = (String::new(), String::new());
        let is_negative = exact_digits(number, scale, template.places_behind(), &mut digits);
        template.write(is_negative, &digits, &mut text);
        text
    }

    /// Numbers, digits behind their points, templates, and what PostgreSQL 15 makes of them.
    const NUMBERS: [(i128, i8, &str, &str); 84] = [
        (10, 2, "9", " 0"),
        (-1, 2, "99", "  0"),
        (21, 0, "999", "  21"),
        (10, 2, "9999", "    0"),
        (10, 2, "9,999", "     0"),
        (-1234567, 0, "999,999", "-###,###"),
        (4, 1, "FM999,999,990", "0"),
        (1002, 0, "0", " #"),
        (-1250, 2, "00", "-13"),
        (21, 0, "000", " 021"),
        (15, 1, "9.9", " 1.5"),
        (3, 0, "9.99", " 3.00"),
        (-999, 3, "99.99", " -1.00"),
        (100, 2, "FM99.99", "1."),
        (-5, 0, "FM99.90", "-5.00"),
        (0, 0, "FM90.99", "0."),
        (123, 0, "0.00", " #.##"),
        (-5, 0, "FM0.00", "-5.00"),
        (10, 2, "999.99", "    .10"),
        (99995, 2, "S999", "+###"),
        (1005, 3, "S999.9", "  +1.0"),
        (1002, 0, "999S", "###+"),
        (-1250, 2, "999.99S", " 12.50-"),
        (-5, 1, "FM999S", "1-"),
        (12345, 0, "MI999", " ###"),
        (12, 0, "999MI", " 12 "),
        (123, 0, "FM999MI", "123"),
        (-123, 0, "999PR", "<123>"),
        (995, 3, "FM999PR", "1"),
        (4, 1, "999.99PR", "    .40 "),
        (99995, 2, "PL999", "+ ###"),
        (99995, 2, "999PL", " ###+"),
        (99995, 2, "SG999", "+###"),
        (-999, 3, "999SG", "  1-"),
        (-999, 3, "L999", "   -1"),
        (12345, 0, "999TH", " ###"),
        (12345, 0, "999th", " ###"),
        (123450000, 4, "FM999th", "###"),
        (-123, 0, "0999", "-0123"),
        (-123, 0, "90999", " -0123"),
        (1, 2, "09.90", " 00.01"),
        (3, 0, "FM9.9", "3."),
        (100, 2, "FM9.0", "1.0"),
        (4, 1, "9990.00", "    0.40"),
        (1002, 0, "FM9990.0099", "1002.00"),
        (1234, 0, "\"n:\"999", "n: ###"),
        (1005, 3, "999 \"x\"", "   1 x"),
        (1, 2, "$999,999.00", "$        .01"),
        (11, 0, "FM$999,999.00", "$11.00"),
        (3, 0, "9G999D99", "     3.00"),
        (-5, 0, "S0", "-5"),
        (3, 0, "S9", "+3"),
        (21, 0, ".99", " .##"),
        (99995, 2, "FM.99", ".##"),
        (-1234567, 0, "S.99", ".##-"),
        (99995, 2, ".9", " .#"),
        (-4, 1, "0.9", "-0.4"),
        (-123, 0, "S0.9", "-#.#"),
        (123450000, 4, "S9,999", "+#,###"),
        (3, 0, "FM", ""),
        (995, 3, "B999", "   1"),
        (-999, 3, "999%", "  -1%"),
        (100, 2, "FM999%", "1%"),
        (21, 0, "FM999999999", "21"),
        (-1, 2, "FM9,999,999.99", "-.01"),
        (995, 3, "9,9,9", "     1"),
        (100, 2, "0,0", " 0,1"),
        (123, 0, "0,9,9.9", " 1,2,3.0"),
        (1, 2, "FM0,0", "0,0"),
        (3, 0, "FMS99.99", "+3."),
        (12, 0, "FM99.99S", "12.+"),
        (1005, 3, "FMPL99", "+1"),
        (11, 0, "SG99.9", "+11.0"),
        (-4, 1, "99.9SG", "  .4-"),
        (1234, 0, "99.9MI", "##.# "),
        (995, 3, "FM99.9MI", "1."),
        (1, 2, "99.9PL", "   .0+"),
        (1, 2, "-9,", "- 0,"),
        (3, 0, "MIL", "  "),
        (21, 0, "PLth0", "+ #"),
        (1, 2, ",90  ", "   0  "),
        (-1250, 2, "0099G", "-0013,"),
        (-1, 2, ",,FM", ""),
        (-1234567, 0, "Gth$-", " $-"),
    ];

    #[test]
    fn numbers_go_into_templates() {
        for (number, scale, template, expected) in NUMBERS {
            assert_eq!(
                of(number, scale, template),
                expected,
                "{number}e-{scale} {template}"
            );
        }
    }

    #[test]
    fn templates_that_say_two_things_are_refused() {
        for (template, code) in [
            ("9.9.9", "42601"),
            ("SMI9", "42601"),
            ("9EEEE", "0A000"),
            ("9PR9", "42601"),
        ] {
            assert_eq!(
                NumberTemplate::new(template).expect_err(template).code,
                code,
                "{template}"
            );
        }
    }
}
