//! Sums of smallint, integer and real, kept in 64 bits. Those of real become real again at the
//! end.
//!
//! The widening happens here and not by coercing the argument: the planner coerces a subquery's
//! arguments twice, and an argument that was widened to bigint the first time would be summed
//! as numeric, which is what `sum(bigint)` is, the second time.

use std::mem::size_of;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

/// An accumulator of 64-bit numbers that is given shorter ones.
#[derive(Debug)]
pub(crate) struct Widened<A: ?Sized> {
    sums: Box<A>,
    result: DataType,
}

impl<A: ?Sized> Widened<A> {
    /// Gives sums of type `result`.
    pub(crate) fn new(sums: Box<A>, result: DataType) -> Self {
        Self { sums, result }
    }
}

/// The type of 64 bits in which sums of this type are kept; `None` for types that are summed as
/// they are.
pub(crate) fn wide(argument: &DataType) -> Option<DataType> {
    match argument {
        DataType::Int16 | DataType::Int32 => Some(DataType::Int64),
        DataType::Float32 => Some(DataType::Float64),
        _ => None,
    }
}

/// The type of a sum that is kept in 64 bits.
pub(crate) fn sum_of(argument: &DataType) -> Option<DataType> {
    match argument {
        DataType::Float32 => Some(DataType::Float32),
        other => wide(other),
    }
}

fn widen(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let widened = values.iter().map(|array| match wide(array.data_type()) {
        Some(wide) => cast(array, &wide),
        None => Ok(array.clone()),
    });
    Ok(widened.collect::<Result<_, _>>()?)
}

impl Accumulator for Widened<dyn Accumulator> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sums.update_batch(&widen(values)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sums.retract_batch(&widen(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.sums.supports_retract_batch()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.sums.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.sums.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.sums.evaluate()?.cast_to(&self.result)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.sums.size()
    }
}

impl GroupsAccumulator for Widened<dyn GroupsAccumulator> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        self.sums
            .update_batch(&widen(values)?, group_indices, filter, groups)
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        group_indices: &[usize],
        groups: usize,
    ) -> Result<()> {
        self.sums.merge_batch(states, group_indices, groups)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.sums.convert_to_state(&widen(values)?, filter)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.sums.state(emit_to)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(cast(&self.sums.evaluate(emit_to)?, &self.result)?)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.sums.size()
    }
}
