//! Sums of decimals, one a group, that notice overflow.
//!
//! A group has a sum and the number of its summands; no summand means NULL. What comes out is
//! the sum itself or the sum divided by the number. The partial state is both columns.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, AsArray, BooleanArray, Decimal128Array, Decimal256Array,
    ListArray, PrimitiveArray, UInt64Array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{DataType, Field, UInt64Type, i256};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::aggregates::SumType;
use super::quotient::quotient;
use crate::error::{SqlError, code};

/// What is made of a sum.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    /// The sum.
    Sum,
    /// The average, with this scale.
    Average(i8),
}

/// Sums by group. As a plain accumulator it has the one group 0.
pub(crate) struct DecimalSums<T: SumType> {
    sums: Vec<T::Native>,
    counts: Vec<u64>,
    scale: i8,
    outcome: Outcome,
    result: DataType,
}

impl<T: SumType> DecimalSums<T> {
    /// No groups. Summands have `scale`; `result` is the type of what comes out.
    pub(crate) fn new(scale: i8, outcome: Outcome, result: DataType) -> Self {
        Self {
            sums: Vec::new(),
            counts: Vec::new(),
            scale,
            outcome,
            result,
        }
    }

    fn resize(&mut self, groups: usize) {
        self.sums
            .resize(groups.max(self.sums.len()), T::Native::default());
        self.counts.resize(groups.max(self.counts.len()), 0);
    }

    fn add(&mut self, group: usize, value: T::Native, count: u64) -> Result<(), ArrowError> {
        self.sums[group] = self.sums[group].add_checked(value)?;
        self.counts[group] += count;
        Ok(())
    }

    /// Takes the first groups, or all.
    fn take(&mut self, emit_to: EmitTo) -> (Vec<T::Native>, Vec<u64>) {
        (
            emit_to.take_needed(&mut self.sums),
            emit_to.take_needed(&mut self.counts),
        )
    }

    fn finished(&self, sums: &[T::Native], counts: &[u64]) -> Result<ArrayRef> {
        let cells = sums.iter().zip(counts).map(|(&sum, &count)| {
            if count == 0 {
                Ok(None)
            } else {
                self.finish_one(T::widen(sum), count).map(Some)
            }
        });
        let cells: Vec<Option<i256>> = cells.collect::<Result<_, ArrowError>>()?;
        decimals(cells, &self.result)
    }

    fn finish_one(&self, sum: i256, count: u64) -> Result<i256, ArrowError> {
        match self.outcome {
            Outcome::Sum => Ok(sum),
            Outcome::Average(scale) => quotient(
                (sum, self.scale),
                (i256::from_i128(i128::from(count)), 0),
                scale,
            ),
        }
    }

    fn state_arrays(&self, sums: Vec<T::Native>, counts: Vec<u64>) -> Vec<ArrayRef> {
        let sums = PrimitiveArray::<T>::new(ScalarBuffer::from(sums), None);
        let sums = sums.with_data_type(T::data_type(self.scale));
        vec![Arc::new(sums), Arc::new(UInt64Array::from(counts))]
    }
}

/// Unscaled numbers as an array of a decimal type, none with more digits than it has.
fn decimals(cells: Vec<Option<i256>>, data_type: &DataType) -> Result<ArrayRef> {
    match *data_type {
        DataType::Decimal128(precision, scale) => {
            let narrow = |cell: Option<i256>| match cell.map(i256::to_i128) {
                Some(None) => Err(ArrowError::ArithmeticOverflow(
                    "more than 38 digits".to_owned(),
                )),
                Some(value) => Ok(value),
                None => Ok(None),
            };
            let array: Decimal128Array = cells.into_iter().map(narrow).collect::<Result<_, _>>()?;
            array.validate_decimal_precision(precision)?;
            Ok(Arc::new(array.with_precision_and_scale(precision, scale)?))
        }
        DataType::Decimal256(precision, scale) => {
            let array: Decimal256Array = cells.into_iter().collect();
            array.validate_decimal_precision(precision)?;
            Ok(Arc::new(array.with_precision_and_scale(precision, scale)?))
        }
        _ => Err(SqlError::new(code::INTERNAL_ERROR, "a sum of decimals is a decimal").into()),
    }
}

impl<T: SumType> GroupsAccumulator for DecimalSums<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        let values = values[0].as_primitive::<T>();
        if values.null_count() == 0 && filter.is_none() {
            let (sums, counts) = (&mut self.sums, &mut self.counts);
            if T::add_short(sums, counts, group_indices, values.values())? {
                return Ok(());
            }
            for (&group, &value) in group_indices.iter().zip(values.values()) {
                self.add(group, value, 1)?;
            }
            return Ok(());
        }
        for (row, &group) in group_indices.iter().enumerate() {
            let wanted = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if wanted && values.is_valid(row) {
                self.add(group, values.value(row), 1)?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (sums, counts) = self.take(emit_to);
        self.finished(&sums, &counts)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (sums, counts) = self.take(emit_to);
        Ok(self.state_arrays(sums, counts))
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        let (sums, counts) = (
            values[0].as_primitive::<T>(),
            values[1].as_primitive::<UInt64Type>(),
        );
        for (row, &group) in group_indices.iter().enumerate() {
            self.add(group, sums.value(row), counts.value(row))?;
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let values = values[0].as_primitive::<T>();
        let wanted = |row: usize| {
            values.is_valid(row)
                && filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
        };
        let counts: Vec<u64> = (0..values.len())
            .map(|row| u64::from(wanted(row)))
            .collect();
        let sums = counts.iter().zip(values.values());
        let sums = sums.map(|(&count, &value)| {
            if count == 0 {
                T::Native::default()
            } else {
                value
            }
        });
        Ok(self.state_arrays(sums.collect(), counts))
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<T::Native>() + self.counts.capacity() * size_of::<u64>()
    }
}

impl<T: SumType> fmt::Debug for DecimalSums<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecimalSums")
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

impl<T: SumType> Accumulator for DecimalSums<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.resize(1);
        for value in values[0].as_primitive::<T>().iter().flatten() {
            self.add(0, value, 1)?;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.resize(1);
        ScalarValue::try_from_array(&self.finished(&self.sums, &self.counts)?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + GroupsAccumulator::size(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.resize(1);
        let state = self.state_arrays(self.sums.clone(), self.counts.clone());
        state
            .iter()
            .map(|array| ScalarValue::try_from_array(array, 0))
            .collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.resize(1);
        let (sums, counts) = (
            states[0].as_primitive::<T>(),
            states[1].as_primitive::<UInt64Type>(),
        );
        for row in 0..sums.len() {
            self.add(0, sums.value(row), counts.value(row))?;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.resize(1);
        for value in values[0].as_primitive::<T>().iter().flatten() {
            self.sums[0] = self.sums[0].sub_checked(value)?;
            self.counts[0] -= 1;
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }
}

/// The different values of one group, summed at the end.
pub(crate) struct DistinctDecimals<T: SumType> {
    values: HashSet<i256>,
    sums: DecimalSums<T>,
}

impl<T: SumType> DistinctDecimals<T> {
    /// No values. See [`DecimalSums::new`].
    pub(crate) fn new(scale: i8, outcome: Outcome, result: DataType) -> Self {
        Self {
            values: HashSet::new(),
            sums: DecimalSums::new(scale, outcome, result),
        }
    }
}

impl<T: SumType> fmt::Debug for DistinctDecimals<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistinctDecimals")
            .field("values", &self.values.len())
            .finish_non_exhaustive()
    }
}

impl<T: SumType> Accumulator for DistinctDecimals<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values
            .extend(values[0].as_primitive::<T>().iter().flatten().map(T::widen));
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut total = i256::ZERO;
        for &value in &self.values {
            total = total.add_checked(value)?;
        }
        let count = self.values.len() as u64;
        let cell = if count == 0 {
            None
        } else {
            Some(self.sums.finish_one(total, count)?)
        };
        ScalarValue::try_from_array(&decimals(vec![cell], &self.sums.result)?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<i256>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let data_type = T::data_type(self.sums.scale);
        let values = decimals(self.values.iter().copied().map(Some).collect(), &data_type)?;
        let offsets = OffsetBuffer::from_lengths([values.len()]);
        let item = Arc::new(Field::new_list_field(data_type, true));
        let list = ListArray::try_new(item, offsets, values, None::<NullBuffer>)?;
        Ok(vec![ScalarValue::List(Arc::new(list))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for values in states[0].as_list::<i32>().iter().flatten() {
            self.update_batch(&[values])?;
        }
        Ok(())
    }
}
