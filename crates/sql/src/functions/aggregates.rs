//! `sum` and `avg` with PostgreSQL's results, exact and checked.
//!
//! | argument | sum | avg |
//! |---|---|---|
//! | smallint, integer | bigint | numeric |
//! | bigint | numeric | numeric |
//! | numeric | numeric | numeric |
//! | real | real | double precision |
//! | double precision | double precision | double precision |
//! | interval | interval | interval |
//!
//! DataFusion would wrap sums around silently and round averages to four more digits than
//! their argument has; of intervals it has no average.

use std::sync::Arc;

use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, DecimalType, Field, FieldRef, i256,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::functions_aggregate::average::Avg;
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};

use super::decimal_sums::{DecimalSums, DistinctDecimals, Outcome};
use super::interval_sums::{self, IntervalSums};
use super::intervals::INTERVAL;
use super::quotient::{Digits, quotient_type};
use super::short_sums;
use super::widened::{Widened, sum_of, wide};
use crate::error::SqlError;

/// The name of `sum` in plans.
pub(crate) const SUM: &str = "exact_sum";
/// The name of `avg` in plans.
pub(crate) const AVERAGE: &str = "exact_avg";

/// What is made of a decimal sum and the number of its summands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Sum,
    Average,
}

/// `sum` or `avg`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExactAggregate {
    kind: Kind,
    /// What it is called by.
    aliases: Vec<String>,
    signature: Signature,
    sum: Sum,
    avg: Avg,
}

impl ExactAggregate {
    pub(crate) fn sum() -> Self {
        Self::new(Kind::Sum)
    }

    pub(crate) fn avg() -> Self {
        Self::new(Kind::Average)
    }

    fn new(kind: Kind) -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        let name = match kind {
            Kind::Sum => "sum",
            Kind::Average => "avg",
        };
        Self {
            kind,
            aliases: vec![name.to_owned()],
            signature,
            sum: Sum::new(),
            avg: Avg::new(),
        }
    }

    /// DataFusion's own, for arguments other than decimals and intervals.
    fn inexact(&self) -> &dyn AggregateUDFImpl {
        match self.kind {
            Kind::Sum => &self.sum,
            Kind::Average => &self.avg,
        }
    }

    fn undefined(&self, arguments: &[DataType]) -> SqlError {
        SqlError::undefined_function(&self.aliases[0], arguments)
    }

    fn of_intervals(&self) -> IntervalSums {
        IntervalSums::new(match self.kind {
            Kind::Sum => interval_sums::Outcome::Sum,
            Kind::Average => interval_sums::Outcome::Average,
        })
    }

    fn outcome(&self, result: &DataType) -> Outcome {
        match self.kind {
            Kind::Sum => Outcome::Sum,
            Kind::Average => Outcome::Average(Digits::of(result).map_or(0, |digits| digits.scale)),
        }
    }
}

/// The same for sums of the type `wide`.
fn widened(args: AccumulatorArgs<'_>, wide: DataType) -> AccumulatorArgs<'_> {
    let return_field = retyped(&args.return_field, wide);
    AccumulatorArgs {
        return_field,
        ..args
    }
}

fn retyped(field: &FieldRef, data_type: DataType) -> FieldRef {
    Arc::new(Field::clone(field).with_data_type(data_type))
}

/// The type in which sums of decimals are kept.
fn sum_type(argument: &DataType) -> Option<DataType> {
    match argument {
        DataType::Decimal128(_, scale) => Some(DataType::Decimal128(38, *scale)),
        DataType::Decimal256(_, scale) => Some(DataType::Decimal256(76, *scale)),
        _ => None,
    }
}

impl AggregateUDFImpl for ExactAggregate {
    /// Not what it is called by: DataFusion takes a sum of sums for the sum of all where it knows
    /// a `sum`, but here the sum of bigints is a numeric.
    fn name(&self) -> &str {
        match self.kind {
            Kind::Sum => SUM,
            Kind::Average => AVERAGE,
        }
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let [argument] = arguments else {
            return Err(self.undefined(arguments).into());
        };
        Ok(vec![match (self.kind, argument) {
            (_, DataType::Decimal128(..) | DataType::Decimal256(..)) => argument.clone(),
            (Kind::Sum, short) if wide(short).is_some() => argument.clone(),
            (_, number) if number.is_decimal() || number.is_integer() => {
                Digits::of(argument).map_or_else(|| argument.clone(), Digits::decimal)
            }
            (_, DataType::Null) => DataType::Float64,
            (_, number) if number.is_floating() => DataType::Float64,
            (_, DataType::Interval(_) | DataType::Duration(_)) => INTERVAL,
            _ => return Err(self.undefined(arguments).into()),
        }])
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        if arguments[0] == INTERVAL {
            return Ok(INTERVAL);
        }
        if let Some(sum) = sum_of(&arguments[0]) {
            return Ok(sum);
        }
        match (
            self.kind,
            Digits::of(&arguments[0]).filter(|_| arguments[0].is_decimal()),
        ) {
            (Kind::Sum, Some(digits)) => {
                let most = if digits.precision > 38 { 76 } else { 38 };
                let precision = digits.precision.saturating_add(10).min(most);
                Ok(Digits {
                    precision,
                    ..digits
                }
                .decimal())
            }
            (Kind::Average, Some(digits)) => Ok(quotient_type(
                digits,
                Digits {
                    precision: 1,
                    scale: 0,
                },
            )),
            (_, None) => self.inexact().return_type(arguments),
        }
    }

    fn state_fields(&self, mut args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if *args.input_fields[0].data_type() == INTERVAL {
            return Ok(interval_sums::state_fields(args.name));
        }
        if let Some(wide) = wide(args.input_fields[0].data_type()) {
            args.return_field = retyped(&args.return_field, wide);
        }
        let Some(sum) = sum_type(args.input_fields[0].data_type()) else {
            return self.inexact().state_fields(args);
        };
        if args.is_distinct {
            let values = Field::new_list_field(sum, true);
            return Ok(vec![Arc::new(Field::new_list(
                format_state_name(args.name, "values"),
                values,
                false,
            ))]);
        }
        Ok(vec![
            Arc::new(Field::new(format_state_name(args.name, "sum"), sum, true)),
            Arc::new(Field::new(
                format_state_name(args.name, "count"),
                DataType::UInt64,
                false,
            )),
        ])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let result = args.return_field.data_type().clone();
        let outcome = self.outcome(&result);
        match (args.expr_fields[0].data_type(), args.is_distinct) {
            (DataType::Decimal128(_, scale), false) => Ok(Box::new(
                DecimalSums::<Decimal128Type>::new(*scale, outcome, result),
            )),
            (DataType::Decimal256(_, scale), false) => Ok(Box::new(
                DecimalSums::<Decimal256Type>::new(*scale, outcome, result),
            )),
            (DataType::Decimal128(_, scale), true) => {
                Ok(Box::new(DistinctDecimals::<Decimal128Type>::new(
                    *scale, outcome, result,
                )))
            }
            (DataType::Decimal256(_, scale), true) => {
                Ok(Box::new(DistinctDecimals::<Decimal256Type>::new(
                    *scale, outcome, result,
                )))
            }
            (&INTERVAL, false) => Ok(Box::new(self.of_intervals())),
            (&INTERVAL, true) => {
                let what = format!(
                    "{}(DISTINCT interval) beside other aggregates",
                    self.aliases[0]
                );
                Err(SqlError::not_supported(what).into())
            }
            (argument, _) => match wide(argument) {
                Some(wide) => {
                    let sums = self.inexact().accumulator(widened(args, wide))?;
                    Ok(Box::new(Widened::new(sums, result)))
                }
                None => self.inexact().accumulator(args),
            },
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let argument = args.expr_fields[0].data_type();
        if argument.is_decimal() || *argument == INTERVAL {
            return self.accumulator(args);
        }
        let Some(wide) = wide(argument) else {
            return self.inexact().create_sliding_accumulator(args);
        };
        let result = args.return_field.data_type().clone();
        let args = widened(args, wide);
        let sums = self.inexact().create_sliding_accumulator(args)?;
        Ok(Box::new(Widened::new(sums, result)))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        match args.expr_fields[0].data_type() {
            DataType::Decimal128(..) | DataType::Decimal256(..) | &INTERVAL => !args.is_distinct,
            argument => match wide(argument) {
                Some(wide) => self
                    .inexact()
                    .groups_accumulator_supported(widened(args, wide)),
                None => self.inexact().groups_accumulator_supported(args),
            },
        }
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let result = args.return_field.data_type().clone();
        let outcome = self.outcome(&result);
        match args.expr_fields[0].data_type() {
            DataType::Decimal128(_, scale) => Ok(Box::new(DecimalSums::<Decimal128Type>::new(
                *scale, outcome, result,
            ))),
            DataType::Decimal256(_, scale) => Ok(Box::new(DecimalSums::<Decimal256Type>::new(
                *scale, outcome, result,
            ))),
            &INTERVAL => Ok(Box::new(self.of_intervals())),
            argument => match wide(argument) {
                Some(wide) => {
                    let args = widened(args, wide);
                    let sums = self.inexact().create_groups_accumulator(args)?;
                    Ok(Box::new(Widened::new(sums, result)))
                }
                None => self.inexact().create_groups_accumulator(args),
            },
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// A decimal type in which sums are kept.
pub(crate) trait SumType: DecimalType {
    /// The type with these digits.
    fn data_type(scale: i8) -> DataType;
    /// The same number in 256 bits.
    fn widen(value: Self::Native) -> i256;

    /// Adds each value to its group's sum, and one to its count, if that can be done faster than one by
    /// one; whether it was done.
    fn add_short(
        _sums: &mut [Self::Native],
        _counts: &mut [u64],
        _groups: &[usize],
        _values: &[Self::Native],
    ) -> Result<bool, ArrowError> {
        Ok(false)
    }
}

impl SumType for Decimal128Type {
    fn data_type(scale: i8) -> DataType {
        DataType::Decimal128(38, scale)
    }

    fn widen(value: i128) -> i256 {
        i256::from_i128(value)
    }

    fn add_short(
        sums: &mut [i128],
        counts: &mut [u64],
        groups: &[usize],
        values: &[i128],
    ) -> Result<bool, ArrowError> {
        short_sums::add(sums, counts, groups, values)
    }
}

impl SumType for Decimal256Type {
    fn data_type(scale: i8) -> DataType {
        DataType::Decimal256(76, scale)
    }

    fn widen(value: i256) -> i256 {
        value
    }
}
