//! `width_bucket`: which of the parts of a range, or which step of thresholds, a value belongs to.
//!
//! 1. `width_bucket(operand, low, high, count)`: the range is cut into so many parts of one width, from 1 on; below it is 0, above it
//!    `count + 1`. The low bound belongs to the range, the high one does not. If it is `low` that is the larger one all is the other
//!    way round. Numerics are computed exactly; integers alone are floats, as in PostgreSQL.
//! 2. `width_bucket(operand, thresholds)`: how many of the thresholds, which ascend, are not above the operand.
//!
//! Does not: columns of arrays as thresholds, which are texts here.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{
    Array, ArrayRef, DynComparator, Float64Array, Int32Array, make_comparator,
};
use datafusion::arrow::compute::{SortOptions, cast};
use datafusion::arrow::datatypes::{
    DataType, Decimal256Type, DecimalType, Float64Type, Int32Type, i256,
};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::binary::comparison_coercion;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::constant_call::computed;
use crate::error::{SqlError, code};

/// An integer as a numeric.
const INTEGER: DataType = DataType::Decimal128(20, 0);

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct WidthBucket {
    signature: Signature,
}

impl WidthBucket {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for WidthBucket {
    fn name(&self) -> &str {
        "width_bucket"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let coerced = match arguments {
            [range @ .., count] if range.len() == 3 => in_range(range, count),
            [operand, DataType::List(threshold)] => {
                let common = match operand {
                    DataType::Null => Some(threshold.data_type().clone()),
                    operand => comparison_coercion(operand, threshold.data_type()),
                };
                common.map(|common| vec![common.clone(), DataType::new_list(common, true)])
            }
            _ => None,
        };
        coerced.ok_or_else(|| SqlError::undefined_function(self.name(), arguments).into())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int32)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| {
            let buckets = match args.args.as_slice() {
                [operand, thresholds] => steps(&operand.to_array(rows)?, thresholds)?,
                [range @ .., count] => {
                    let range = range.iter().map(|argument| argument.to_array(rows));
                    parts(&range.collect::<Result<Vec<_>>>()?, &count.to_array(rows)?)?
                }
                [] => return internal_err!("width_bucket of nothing"),
            };
            Ok(Arc::new(buckets))
        })
    }
}

/// The types in which an operand, its bounds and the count are taken: numerics if one is, and none a float.
fn in_range(range: &[DataType], count: &DataType) -> Option<Vec<DataType>> {
    let is_number = |of: &DataType| of.is_numeric() || of.is_null();
    if !range.iter().all(is_number) || !(count.is_integer() || count.is_null()) {
        return None;
    }
    let exact = range.iter().any(DataType::is_decimal) && !range.iter().any(DataType::is_floating);
    let coerced = range.iter().map(|of| match exact {
        false => DataType::Float64,
        true if of.is_decimal() => of.clone(),
        true => INTEGER,
    });
    Some(coerced.chain([DataType::Int32]).collect())
}

/// The buckets of operands in ranges: the operand, the two bounds, and the counts.
fn parts(range: &[ArrayRef], counts: &ArrayRef) -> Result<Int32Array> {
    let [operands, lows, highs] = range else {
        return internal_err!("a range has two bounds");
    };
    let counts = counts.as_primitive::<Int32Type>();
    if operands.data_type().is_floating() {
        let [operands, lows, highs]: [&Float64Array; 3] =
            [operands, lows, highs].map(|numbers| numbers.as_primitive::<Float64Type>());
        let rows = operands.iter().zip(lows).zip(highs).zip(counts);
        let buckets = rows.map(|(((operand, low), high), count)| {
            let (Some(operand), Some(low)) = (operand, low) else {
                return Ok(None);
            };
            let (Some(high), Some(count)) = (high, count) else {
                return Ok(None);
            };
            float_part(operand, low, high, count).map(Some)
        });
        return Ok(buckets.collect::<Result<_, SqlError>>()?);
    }
    let scale = range.iter().map(scale).max();
    let of = DataType::Decimal256(Decimal256Type::MAX_PRECISION, scale.unwrap_or(0));
    let [operands, lows, highs] = [operands, lows, highs].map(|numbers| cast(numbers, &of));
    let (operands, lows, highs) = (operands?, lows?, highs?);
    let operands = operands.as_primitive::<Decimal256Type>().iter();
    let rows = operands
        .zip(lows.as_primitive::<Decimal256Type>())
        .zip(highs.as_primitive::<Decimal256Type>())
        .zip(counts);
    let buckets = rows.map(|(((operand, low), high), count)| {
        let (Some(operand), Some(low)) = (operand, low) else {
            return Ok(None);
        };
        let (Some(high), Some(count)) = (high, count) else {
            return Ok(None);
        };
        exact_part(operand, low, high, count).map(Some)
    });
    Ok(buckets.collect::<Result<_, SqlError>>()?)
}

fn scale(numbers: &ArrayRef) -> i8 {
    match numbers.data_type() {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    }
}

fn wrong(message: &str) -> SqlError {
    SqlError::new(code::INVALID_ARGUMENT_FOR_WIDTH_BUCKET, message)
}

fn out_of_range() -> SqlError {
    SqlError::new(code::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range")
}

fn check_count(count: i32) -> Result<(), SqlError> {
    match count {
        ..=0 => Err(wrong("count must be greater than zero")),
        _ => Ok(()),
    }
}

/// Below the range, above it (as its bucket), or `None` in it. `order` is that of the bounds.
fn outside(
    order: Option<Ordering>,
    below: bool,
    above: bool,
    count: i32,
) -> Result<Option<i32>, SqlError> {
    match order {
        Some(Ordering::Equal) | None => Err(wrong("lower bound cannot equal upper bound")),
        _ if below => Ok(Some(0)),
        _ if above => count.checked_add(1).map(Some).ok_or_else(out_of_range),
        _ => Ok(None),
    }
}

fn float_part(operand: f64, low: f64, high: f64, count: i32) -> Result<i32, SqlError> {
    check_count(count)?;
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return Err(wrong("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(wrong("lower and upper bounds must be finite"));
    }
    let order = low.partial_cmp(&high);
    let (below, above) = match order {
        Some(Ordering::Less) => (operand < low, operand >= high),
        _ => (operand > low, operand <= high),
    };
    if let Some(bucket) = outside(order, below, above, count)? {
        return Ok(bucket);
    }
    // Of bounds the other way round both differences have the other sign, and the quotient is the same. It is rounded as PostgreSQL
    // rounds it; where the differences are too large it has no number either.
    let bucket = f64::from(count) * (operand - low) / (high - low) + 1.0;
    if !bucket.is_finite() {
        return Err(out_of_range());
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is not above the count by more than one"
    )]
    let bucket = bucket as i32;
    Ok(bucket)
}

/// Of numbers of one scale.
fn exact_part(operand: i256, low: i256, high: i256, count: i32) -> Result<i32, SqlError> {
    check_count(count)?;
    let order = low.cmp(&high);
    let (below, above) = match order {
        Ordering::Less => (operand < low, operand >= high),
        _ => (operand > low, operand <= high),
    };
    if let Some(bucket) = outside(Some(order), below, above, count)? {
        return Ok(bucket);
    }
    let width = high.checked_sub(low);
    let share = operand.checked_sub(low);
    let share = share.and_then(|share| share.checked_mul(i256::from(count)));
    let before = share
        .zip(width)
        .and_then(|(share, width)| share.checked_div(width));
    let before = before
        .and_then(i256::to_i128)
        .and_then(|before| i32::try_from(before).ok());
    before.map(|before| before + 1).ok_or_else(out_of_range)
}

/// The buckets of operands among thresholds.
fn steps(operands: &ArrayRef, thresholds: &ColumnarValue) -> Result<Int32Array> {
    let (lists, is_fixed) = match thresholds {
        ColumnarValue::Scalar(list) => (list.to_array()?, true),
        ColumnarValue::Array(lists) => (Arc::clone(lists), false),
    };
    let lists = lists.as_list::<i32>();
    if lists.value_type().is_list() {
        let message = "thresholds must be one-dimensional array";
        return Err(SqlError::new(code::ARRAY_SUBSCRIPT_ERROR, message).into());
    }
    let has_nulls = lists.values().null_count() > 0;
    let compare = make_comparator(operands, lists.values(), SortOptions::default())?;
    let buckets = (0..operands.len()).map(|row| {
        let list = if is_fixed { 0 } else { row };
        if operands.is_null(row) || lists.is_null(list) {
            return Ok(None);
        }
        let offsets = lists.value_offsets();
        let ends = [offsets[list], offsets[list + 1]].map(usize::try_from);
        let [Ok(begin), Ok(end)] = ends else {
            return Err(out_of_range());
        };
        if has_nulls && lists.values().slice(begin, end - begin).null_count() > 0 {
            let message = "thresholds array must not contain NULLs";
            return Err(SqlError::new(code::NULL_VALUE_NOT_ALLOWED, message));
        }
        let bucket = not_above(&compare, row, begin, end);
        i32::try_from(bucket).map(Some).map_err(|_| out_of_range())
    });
    Ok(buckets.collect::<Result<_, SqlError>>()?)
}

/// How many of the thresholds at these places are not above the operand.
fn not_above(compare: &DynComparator, operand: usize, begin: usize, end: usize) -> usize {
    let (mut left, mut right) = (begin, end);
    while left < right {
        let middle = usize::midpoint(left, right);
        match compare(operand, middle) {
            Ordering::Less => right = middle,
            _ => left = middle + 1,
        }
    }
    left - begin
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::ListArray;
    use datafusion::common::ScalarValue;

    use super::*;

    #[test]
    fn numerics_are_cut_exactly() {
        let bucket = |operand: i128, low: i128, high: i128, count| {
            let [operand, low, high] = [operand, low, high].map(i256::from_i128);
            exact_part(operand, low, high, count).map_err(|error| error.message)
        };
        assert_eq!(bucket(5350, 24, 10_060, 5), Ok(3));
        assert_eq!(bucket(10_060, 24, 10_060, 5), Ok(6));
        assert_eq!(bucket(0, 24, 10_060, 5), Ok(0));
        assert_eq!(bucket(30, 100, 0, 4), Ok(3));
        assert_eq!(bucket(0, 100, 0, 4), Ok(5));
        assert_eq!(bucket(110, 100, 0, 4), Ok(0));
        let error = |message: &str| Err(message.to_owned());
        assert_eq!(
            bucket(1, 1, 1, 5),
            error("lower bound cannot equal upper bound")
        );
        assert_eq!(bucket(1, 0, 2, 0), error("count must be greater than zero"));
        assert_eq!(bucket(1, 0, 1, i32::MAX), error("integer out of range"));
    }

    #[test]
    fn floats_may_have_no_end() {
        let bucket = |operand, low, high, count| {
            float_part(operand, low, high, count).map_err(|error| error.message)
        };
        assert_eq!(bucket(5.35, 0.024, 10.06, 5), Ok(3));
        assert_eq!(bucket(5.0, 10.0, 0.0, 5), Ok(3));
        assert_eq!(bucket(f64::INFINITY, 0.0, 2.0, 3), Ok(4));
        assert_eq!(bucket(0.7, 0.0, 1.0, 10), Ok(8));
        assert_eq!(
            bucket(f64::NAN, 0.0, 2.0, 3),
            Err("operand, lower bound, and upper bound cannot be NaN".to_owned())
        );
        assert_eq!(
            bucket(1.0, f64::NEG_INFINITY, 2.0, 3),
            Err("lower and upper bounds must be finite".to_owned())
        );
    }

    #[test]
    fn thresholds_count_up_to_the_operand() {
        let operands: ArrayRef = Arc::new(Int32Array::from(vec![Some(5), Some(10), None, Some(0)]));
        let thresholds = [1, 3, 4, 10].map(Some);
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(thresholds)]);
        let list = ColumnarValue::Scalar(ScalarValue::List(Arc::new(list)));
        let buckets = steps(&operands, &list).expect("thresholds");
        assert_eq!(
            buckets,
            Int32Array::from(vec![Some(3), Some(4), None, Some(0)])
        );
        let nothing = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None])]);
        let nothing = ColumnarValue::Scalar(ScalarValue::List(Arc::new(nothing)));
        let error = SqlError::from(steps(&operands, &nothing).expect_err("a NULL"));
        assert_eq!(error.message, "thresholds array must not contain NULLs");
    }
}
