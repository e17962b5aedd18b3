//! `percentile_disc`, `percentile_cont` and `mode`, with WITHIN GROUP.
//!
//! | function | of | result |
//! |---|---|---|
//! | `percentile_disc(f)` | anything that sorts | the first value that `f` of all come up to |
//! | `percentile_cont(f)` | numbers, intervals | double precision or interval, between two values where need be |
//! | `mode()` | anything that sorts | the most frequent value, the first of several |
//!
//! Of an array of fractions they give an array. NULLs do not count. DataFusion has neither the first nor the last, and its
//! `percentile_cont` knows six digits of how far it is from one value to the next.
//!
//! All values of a group are kept until its end. Intervals are sorted by their lengths. Fractions that are not constant are refused.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array, new_empty_array};
use datafusion::arrow::compute::{
    SortOptions, concat, filter, is_not_null, partition, sort_to_indices, take,
};
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Float64Type, IntervalMonthDayNanoType,
};
use datafusion::common::cast::as_float64_array;
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Signature, Volatility,
};

use super::intervals::{INTERVAL, between, spans};
use crate::error::{SqlError, code};

fn is_interval(of: &DataType) -> bool {
    matches!(of, DataType::Interval(_) | DataType::Duration(_))
}

/// Which of the functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Discrete,
    Continuous,
    Mode,
}

/// The functions.
pub(crate) fn functions() -> impl Iterator<Item = AggregateUDF> {
    let kinds = [Kind::Discrete, Kind::Continuous, Kind::Mode];
    kinds
        .into_iter()
        .map(|kind| AggregateUDF::from(OrderedSet::new(kind)))
}

/// One of the functions. Its arguments are what WITHIN GROUP sorts by and the fraction.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OrderedSet {
    kind: Kind,
    signature: Signature,
}

impl OrderedSet {
    fn new(kind: Kind) -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { kind, signature }
    }

    fn undefined(&self, arguments: &[DataType]) -> SqlError {
        let (sorted, direct) = arguments.split_at(arguments.len().min(1));
        SqlError::undefined_function(self.name(), &[direct, sorted].concat())
    }

    /// The type in which the values are kept.
    fn value_type(&self, arguments: &[DataType]) -> Result<DataType, SqlError> {
        let value = &arguments[0];
        match self.kind {
            _ if is_interval(value) => Ok(INTERVAL),
            Kind::Continuous if value.is_numeric() || value.is_null() => Ok(DataType::Float64),
            Kind::Continuous => Err(self.undefined(arguments)),
            Kind::Discrete | Kind::Mode if value.is_null() => Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                "could not determine polymorphic type because input has type unknown",
            )),
            Kind::Discrete | Kind::Mode => Ok(value.clone()),
        }
    }

    fn wanted(&self, args: &AccumulatorArgs) -> Result<Wanted> {
        let Some(fraction) = args.exprs.get(1) else {
            return Ok(Wanted::Mode);
        };
        let no_rows = RecordBatch::new_empty(Arc::new(args.schema.clone()));
        let ColumnarValue::Scalar(value) = fraction.evaluate(&no_rows)? else {
            let what = format!("{} of a fraction that is not constant", self.name());
            return Err(SqlError::not_supported(what).into());
        };
        if let ScalarValue::List(list) = &value {
            if list.is_null(0) {
                return Ok(Wanted::Null);
            }
            let fractions = list.value(0);
            let fractions = as_float64_array(&fractions)?.iter();
            let checked = fractions.map(|fraction| fraction.map(checked).transpose());
            return Ok(Wanted::Several(checked.collect::<Result<_, _>>()?));
        }
        match value.cast_to(&DataType::Float64)? {
            ScalarValue::Float64(Some(fraction)) => Ok(Wanted::One(checked(fraction)?)),
            _ => Ok(Wanted::Null),
        }
    }
}

fn checked(fraction: f64) -> Result<f64, SqlError> {
    match (0.0..=1.0).contains(&fraction) {
        true => Ok(fraction),
        false => Err(SqlError::new(
            code::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("percentile value {fraction} is not between 0 and 1"),
        )),
    }
}

/// What is asked of a group.
#[derive(Clone, Debug, PartialEq)]
enum Wanted {
    Mode,
    /// The value at a fraction.
    One(f64),
    /// Those at several; NULL at NULL.
    Several(Vec<Option<f64>>),
    /// The value at NULL.
    Null,
}

impl AggregateUDFImpl for OrderedSet {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Discrete => "percentile_disc",
            Kind::Continuous => "percentile_cont",
            Kind::Mode => "mode",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        match (self.kind, arguments) {
            (Kind::Mode, [_]) => Ok(vec![self.value_type(arguments)?]),
            (Kind::Discrete | Kind::Continuous, [_, fraction]) => match fraction {
                list if list.is_list() => {
                    let fractions = DataType::new_list(DataType::Float64, true);
                    Ok(vec![self.value_type(arguments)?, fractions])
                }
                number if number.is_numeric() || number.is_null() => {
                    Ok(vec![self.value_type(arguments)?, DataType::Float64])
                }
                _ => Err(self.undefined(arguments).into()),
            },
            _ => Err(self.undefined(arguments).into()),
        }
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let value = arguments[0].clone();
        Ok(match arguments.get(1) {
            Some(fractions) if fractions.is_list() => DataType::new_list(value, true),
            _ => value,
        })
    }

    /// The values' own, for it tells PostgreSQL's type; a description asks before the values become floats.
    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        let is_float = self.kind == Kind::Continuous && !is_interval(fields[0].data_type());
        let one = match is_float {
            true => DataType::Float64,
            false => fields[0].data_type().clone(),
        };
        let mut fractions = fields.iter().skip(1);
        if fractions.any(|of| of.data_type().is_list()) {
            let several = DataType::new_list(one, true);
            return Ok(Arc::new(Field::new(self.name(), several, true)));
        }
        if is_float {
            return Ok(Arc::new(Field::new(self.name(), one, true)));
        }
        let field = Field::clone(&fields[0])
            .with_name(self.name())
            .with_nullable(true);
        Ok(Arc::new(field))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let value = Field::new_list_field(args.input_fields[0].data_type().clone(), true);
        let name = format_state_name(args.name, "values");
        Ok(vec![Arc::new(Field::new_list(name, value, true))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let Some(order) = args.order_bys.first() else {
            let message = format!(
                "WITHIN GROUP is required for ordered-set aggregate {}",
                self.name()
            );
            return Err(SqlError::new(code::WRONG_OBJECT_TYPE, message).into());
        };
        Ok(Box::new(Values {
            kind: self.kind,
            wanted: self.wanted(&args)?,
            order: order.options,
            data_type: args.expr_fields[0].data_type().clone(),
            gives: args.return_field.data_type().clone(),
            parts: Vec::new(),
            bytes: 0,
        }))
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }

    /// The values are sorted at their end.
    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// The values of a group.
#[derive(Debug)]
struct Values {
    kind: Kind,
    wanted: Wanted,
    order: SortOptions,
    data_type: DataType,
    /// What the result is.
    gives: DataType,
    /// In the order in which they came, without NULLs.
    parts: Vec<ArrayRef>,
    bytes: usize,
}

impl Values {
    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        let values = match values.logical_null_count() {
            0 => values.clone(),
            _ => filter(values, &is_not_null(values)?)?,
        };
        if !values.is_empty() {
            self.bytes += values.to_data().get_slice_memory_size()?;
            self.parts.push(values);
        }
        Ok(())
    }

    fn all(&self) -> Result<ArrayRef> {
        let parts: Vec<&dyn Array> = self.parts.iter().map(AsRef::as_ref).collect();
        match parts.as_slice() {
            [] => Ok(new_empty_array(&self.data_type)),
            parts => Ok(concat(parts)?),
        }
    }

    /// By what values are sorted.
    fn keys(&self, values: &ArrayRef) -> Result<ArrayRef> {
        match is_interval(&self.data_type) {
            true => spans(values),
            false => Ok(values.clone()),
        }
    }

    /// The rows in the order of their values, up to a place.
    fn sorted(&self, values: &ArrayRef, places: Option<usize>) -> Result<UInt32Array> {
        Ok(sort_to_indices(
            &self.keys(values)?,
            Some(self.order),
            places,
        )?)
    }

    fn at(&self, values: &ArrayRef, fraction: f64) -> Result<ScalarValue> {
        let up_to = match self.kind {
            Kind::Continuous => None,
            _ => Some(place(values.len(), fraction) + 1),
        };
        self.at_in(values, &self.sorted(values, up_to)?, fraction)
    }

    /// The values at several fractions, in a list.
    fn several(&self, values: &ArrayRef, fractions: &[Option<f64>]) -> Result<ScalarValue> {
        let order = self.sorted(values, None)?;
        let found = fractions.iter().map(|fraction| match fraction {
            Some(fraction) => self.at_in(values, &order, *fraction),
            None => ScalarValue::try_from(&self.data_type),
        });
        let found = found.collect::<Result<Vec<_>>>()?;
        Ok(ScalarValue::List(ScalarValue::new_list_nullable(
            &found,
            &self.data_type,
        )))
    }

    fn at_in(&self, values: &ArrayRef, order: &UInt32Array, fraction: f64) -> Result<ScalarValue> {
        match self.kind {
            Kind::Continuous => self.continuous(values, order, fraction),
            _ => discrete(values, order, fraction),
        }
    }

    fn continuous(
        &self,
        values: &ArrayRef,
        order: &UInt32Array,
        fraction: f64,
    ) -> Result<ScalarValue> {
        let place = fraction * float(values.len() - 1);
        let way = place - place.floor();
        let ends = [place.floor(), place].map(|place| {
            usize::try_from(order.value(whole(place))).expect("counts rows in memory")
        });
        if is_interval(&self.data_type) {
            let intervals = values.as_primitive::<IntervalMonthDayNanoType>();
            let [low, high] = ends.map(|row| intervals.value(row));
            let value = between(low, high, way)?;
            return Ok(ScalarValue::IntervalMonthDayNano(Some(value)));
        }
        let numbers = values.as_primitive::<Float64Type>();
        let [low, high] = ends.map(|row| numbers.value(row));
        let value = match way {
            0.0 => low,
            way => low + way * (high - low),
        };
        Ok(ScalarValue::Float64(Some(value)))
    }

    /// The most frequent value.
    fn mode(&self, values: &ArrayRef) -> Result<ScalarValue> {
        let keys = self.keys(values)?;
        let order = self.sorted(values, None)?;
        let sorted = take(&keys, &order, None)?;
        let (mut most, mut place) = (0, 0);
        for equal in partition(std::slice::from_ref(&sorted))?.ranges() {
            if equal.len() > most {
                (most, place) = (equal.len(), equal.start);
            }
        }
        let row = usize::try_from(order.value(place)).expect("counts rows in memory");
        ScalarValue::try_from_array(values, row)
    }
}

/// The first value that the fraction of all come up to.
fn discrete(values: &ArrayRef, order: &UInt32Array, fraction: f64) -> Result<ScalarValue> {
    let row = order.value(place(values.len(), fraction));
    let row = usize::try_from(row).expect("counts rows in memory");
    ScalarValue::try_from_array(values, row)
}

fn place(rows: usize, fraction: f64) -> usize {
    whole(fraction * float(rows)).max(1) - 1
}

impl Accumulator for Values {
    fn update_batch(&mut self, arguments: &[ArrayRef]) -> Result<()> {
        self.push(&arguments[0])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let values = self.all()?;
        match &self.wanted {
            _ if values.is_empty() => ScalarValue::try_from(&self.gives),
            Wanted::Mode => self.mode(&values),
            Wanted::One(fraction) => self.at(&values, *fraction),
            Wanted::Several(fractions) => self.several(&values, fractions),
            Wanted::Null => ScalarValue::try_from(&self.gives),
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.parts.capacity() * size_of::<ArrayRef>() + self.bytes
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = SingleRowListArrayBuilder::new(self.all()?);
        Ok(vec![values.build_list_scalar()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for values in states[0].as_list::<i32>().iter().flatten() {
            self.push(&values)?;
        }
        Ok(())
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "as PostgreSQL does; rows in memory are fewer than 2^53"
)]
fn float(rows: usize) -> f64 {
    rows as f64
}

/// The number rounded up.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of a number of rows"
)]
fn whole(rows: f64) -> usize {
    rows.ceil() as usize
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int32Array, IntervalMonthDayNanoArray};
    use datafusion::arrow::datatypes::IntervalMonthDayNano;

    use super::*;

    /// What is asked of a kind at a fraction.
    fn wanted(kind: Kind, fraction: f64) -> Wanted {
        match kind {
            Kind::Mode => Wanted::Mode,
            _ => Wanted::One(fraction),
        }
    }

    fn of(kind: Kind, fraction: f64, descending: bool, values: &[Option<i32>]) -> ScalarValue {
        let options = SortOptions {
            descending,
            nulls_first: false,
        };
        let values: ArrayRef = Arc::new(Int32Array::from(values.to_vec()));
        let mut collected = Values {
            kind,
            wanted: wanted(kind, fraction),
            order: options,
            data_type: DataType::Int32,
            gives: DataType::Int32,
            parts: Vec::new(),
            bytes: 0,
        };
        collected.update_batch(&[values]).expect("are integers");
        let state = collected.state().expect("is a list").remove(0);
        collected.parts.clear();
        let state = state.to_array().expect("has one row");
        collected.merge_batch(&[state]).expect("is a list");
        collected.evaluate().expect("sorts")
    }

    #[test]
    fn a_discrete_percentile_is_a_value() {
        let values = [Some(4), None, Some(2), Some(1), Some(3)];
        let disc = |fraction, descending| of(Kind::Discrete, fraction, descending, &values);
        assert_eq!(disc(0.5, false), ScalarValue::Int32(Some(2)));
        assert_eq!(disc(0.5, true), ScalarValue::Int32(Some(3)));
        assert_eq!(disc(0.0, false), ScalarValue::Int32(Some(1)));
        assert_eq!(disc(1.0, false), ScalarValue::Int32(Some(4)));
        assert_eq!(
            of(Kind::Discrete, 0.5, false, &[None]),
            ScalarValue::Int32(None)
        );
    }

    #[test]
    fn intervals_are_sorted_by_their_lengths() {
        let interval = |days, hours: i64| IntervalMonthDayNano {
            months: 0,
            days,
            nanoseconds: hours * 3_600_000_000_000,
        };
        let of = |kind, fraction| {
            let intervals = [
                interval(1, 0),
                interval(0, 48),
                interval(0, 24),
                interval(0, 30),
            ];
            let intervals: IntervalMonthDayNanoArray = intervals.map(Some).into_iter().collect();
            let mut collected = Values {
                kind,
                wanted: wanted(kind, fraction),
                order: SortOptions::default(),
                data_type: INTERVAL,
                gives: INTERVAL,
                parts: vec![Arc::new(intervals)],
                bytes: 0,
            };
            match collected.evaluate().expect("sorts") {
                ScalarValue::IntervalMonthDayNano(interval) => interval,
                other => panic!("{other}"),
            }
        };
        assert_eq!(of(Kind::Discrete, 0.75), Some(interval(0, 30)));
        assert_eq!(of(Kind::Continuous, 1.0), Some(interval(0, 48)));
        assert_eq!(of(Kind::Continuous, 5.0 / 6.0), Some(interval(0, 39)));
        let most_frequent = of(Kind::Mode, 0.0).expect("there are some");
        assert!([interval(1, 0), interval(0, 24)].contains(&most_frequent));
    }

    #[test]
    fn the_mode_is_the_first_of_the_most_frequent() {
        let values = [Some(2), Some(1), None, None, None, Some(2), Some(1)];
        let mode = |descending| of(Kind::Mode, 0.0, descending, &values);
        assert_eq!(mode(false), ScalarValue::Int32(Some(1)));
        assert_eq!(mode(true), ScalarValue::Int32(Some(2)));
    }
}
