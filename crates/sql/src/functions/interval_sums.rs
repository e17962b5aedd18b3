//! Sums and averages of intervals, one a group.
//!
//! A group has its sums of months, days and nanoseconds, in which no number of rows in memory overflows, and the number of its
//! summands; no summand means NULL. Only what comes out has to be an interval: DataFusion's own sum wraps around once the times of day
//! come to 292 years, which 214,000 rows of twelve hours do. An average is the sum divided as `interval / number` is. The partial
//! state is the four columns.
//!
//! Does not: different values only (`avg(DISTINCT …)` beside other aggregates), which is refused.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Int64Array, IntervalMonthDayNanoArray,
    UInt64Array,
};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Field, FieldRef, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, UInt64Type,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::intervals::{carried, out_of_range};
use crate::error::SqlError;

/// The type of a sum of nanoseconds.
const NANOSECONDS: DataType = DataType::Decimal128(38, 0);

/// The columns of the partial state of an aggregate of this name.
pub(crate) fn state_fields(name: &str) -> Vec<FieldRef> {
    let columns = [
        ("months", DataType::Int64),
        ("days", DataType::Int64),
        ("nanoseconds", NANOSECONDS),
        ("count", DataType::UInt64),
    ];
    let columns = columns.into_iter();
    let fields = columns.map(|(column, of)| {
        let name = format_state_name(name, column);
        Arc::new(Field::new(name, of, false))
    });
    fields.collect()
}

/// What is made of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Sum,
    Average,
}

/// The sum of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    months: i64,
    days: i64,
    nanoseconds: i128,
    count: u64,
}

impl Sum {
    fn of(interval: IntervalMonthDayNano) -> Self {
        Self {
            months: i64::from(interval.months),
            days: i64::from(interval.days),
            nanoseconds: i128::from(interval.nanoseconds),
            count: 1,
        }
    }

    fn add(&mut self, other: Self) {
        self.months += other.months;
        self.days += other.days;
        self.nanoseconds += other.nanoseconds;
        self.count += other.count;
    }

    fn subtract(&mut self, other: Self) {
        self.months -= other.months;
        self.days -= other.days;
        self.nanoseconds -= other.nanoseconds;
        self.count -= other.count;
    }

    fn finished(self, outcome: Outcome) -> Result<Option<IntervalMonthDayNano>, SqlError> {
        if self.count == 0 {
            return Ok(None);
        }
        let interval = match outcome {
            Outcome::Sum => self.interval(),
            Outcome::Average => self.average(),
        };
        interval.map(Some).ok_or_else(out_of_range)
    }

    fn interval(self) -> Option<IntervalMonthDayNano> {
        Some(IntervalMonthDayNano {
            months: self.months.try_into().ok()?,
            days: self.days.try_into().ok()?,
            nanoseconds: self.nanoseconds.try_into().ok()?,
        })
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "as PostgreSQL's; the quotient keeps 53 bits"
    )]
    fn average(self) -> Option<IntervalMonthDayNano> {
        let count = self.count as f64;
        carried(
            self.months as f64 / count,
            self.days as f64 / count,
            self.nanoseconds as f64 / 1_000.0 / count,
        )
    }
}

/// Sums by group. As a plain accumulator it has the one group 0.
#[derive(Debug)]
pub(crate) struct IntervalSums {
    sums: Vec<Sum>,
    outcome: Outcome,
}

impl IntervalSums {
    /// No groups.
    pub(crate) fn new(outcome: Outcome) -> Self {
        let sums = Vec::new();
        Self { sums, outcome }
    }

    fn resize(&mut self, groups: usize) {
        self.sums
            .resize(groups.max(self.sums.len()), Sum::default());
    }

    fn finished(&self, sums: Vec<Sum>) -> Result<ArrayRef> {
        let intervals = sums.into_iter().map(|sum| sum.finished(self.outcome));
        let intervals: IntervalMonthDayNanoArray = intervals.collect::<Result<_, SqlError>>()?;
        Ok(Arc::new(intervals))
    }
}

fn state_arrays(sums: &[Sum]) -> Result<Vec<ArrayRef>> {
    let months: Int64Array = sums.iter().map(|sum| Some(sum.months)).collect();
    let days: Int64Array = sums.iter().map(|sum| Some(sum.days)).collect();
    let nanoseconds: Decimal128Array = sums.iter().map(|sum| Some(sum.nanoseconds)).collect();
    let counts: UInt64Array = sums.iter().map(|sum| Some(sum.count)).collect();
    Ok(vec![
        Arc::new(months),
        Arc::new(days),
        Arc::new(nanoseconds.with_precision_and_scale(38, 0)?),
        Arc::new(counts),
    ])
}

/// The sums in partial states.
fn in_states(states: &[ArrayRef]) -> impl Iterator<Item = Sum> {
    let months = states[0].as_primitive::<Int64Type>().values().iter();
    let days = states[1].as_primitive::<Int64Type>().values().iter();
    let nanoseconds = states[2].as_primitive::<Decimal128Type>().values().iter();
    let counts = states[3].as_primitive::<UInt64Type>().values().iter();
    let rows = months.zip(days).zip(nanoseconds).zip(counts);
    rows.map(|(((&months, &days), &nanoseconds), &count)| Sum {
        months,
        days,
        nanoseconds,
        count,
    })
}

/// What each row adds; nothing if it is NULL or not wanted.
fn summands(values: &ArrayRef, filter: Option<&BooleanArray>) -> impl Iterator<Item = Sum> {
    let intervals = values.as_primitive::<IntervalMonthDayNanoType>().iter();
    intervals.enumerate().map(move |(row, interval)| {
        let wanted = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        interval.filter(|_| wanted).map(Sum::of).unwrap_or_default()
    })
}

impl GroupsAccumulator for IntervalSums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        for (&group, summand) in group_indices.iter().zip(summands(&values[0], filter)) {
            self.sums[group].add(summand);
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = emit_to.take_needed(&mut self.sums);
        self.finished(sums)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        state_arrays(&emit_to.take_needed(&mut self.sums))
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        for (&group, sum) in group_indices.iter().zip(in_states(values)) {
            self.sums[group].add(sum);
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        state_arrays(&summands(&values[0], filter).collect::<Vec<_>>())
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<Sum>()
    }
}

impl Accumulator for IntervalSums {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.resize(1);
        summands(&values[0], None).for_each(|summand| self.sums[0].add(summand));
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.resize(1);
        summands(&values[0], None).for_each(|summand| self.sums[0].subtract(summand));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.resize(1);
        let finished = self.sums[0].finished(self.outcome)?;
        Ok(ScalarValue::IntervalMonthDayNano(finished))
    }

    fn size(&self) -> usize {
        size_of_val(self) + GroupsAccumulator::size(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.resize(1);
        let state = state_arrays(&self.sums)?;
        let state = state.iter();
        state
            .map(|array| ScalarValue::try_from_array(array, 0))
            .collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.resize(1);
        in_states(states).for_each(|sum| self.sums[0].add(sum));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;

    fn interval(months: i32, days: i32, hours: i64) -> IntervalMonthDayNano {
        IntervalMonthDayNano {
            months,
            days,
            nanoseconds: hours * HOUR,
        }
    }

    fn array(intervals: &[Option<IntervalMonthDayNano>]) -> ArrayRef {
        Arc::new(
            intervals
                .iter()
                .copied()
                .collect::<IntervalMonthDayNanoArray>(),
        )
    }

    /// By group, through partial states.
    fn grouped(outcome: Outcome, values: &ArrayRef, groups: &[usize]) -> Result<ArrayRef> {
        let wanted = BooleanArray::from(vec![true; values.len()]);
        let mut first = IntervalSums::new(outcome);
        let mut last = IntervalSums::new(outcome);
        let groups_count = groups.iter().max().map_or(0, |most| most + 1);
        let summed = std::slice::from_ref(values);
        GroupsAccumulator::update_batch(&mut first, summed, groups, Some(&wanted), groups_count)?;
        let state = GroupsAccumulator::state(&mut first, EmitTo::All)?;
        let places: Vec<usize> = (0..groups_count).collect();
        GroupsAccumulator::merge_batch(&mut last, &state, &places, groups_count)?;
        GroupsAccumulator::evaluate(&mut last, EmitTo::All)
    }

    #[test]
    fn sums_are_kept_by_part_and_averages_carried_down() {
        let values = array(&[
            Some(interval(1, 2, 3)),
            Some(interval(0, 1, 0)),
            None,
            Some(interval(0, 2, 0)),
            None,
        ]);
        let groups = [0, 1, 1, 1, 2];
        let sums = grouped(Outcome::Sum, &values, &groups).expect("are small");
        let expected = [Some(interval(1, 2, 3)), Some(interval(0, 3, 0)), None];
        assert_eq!(&sums, &array(&expected));
        let averages = grouped(Outcome::Average, &values, &groups).expect("are small");
        let expected = [Some(interval(1, 2, 3)), Some(interval(0, 1, 12)), None];
        assert_eq!(&averages, &array(&expected));
    }

    /// 24 hours a row and 292 years of them; what comes out matters, not what it is made of.
    #[test]
    fn what_is_no_interval_is_an_error_and_its_average_one() {
        let values = array(&[
            Some(interval(0, 0, 2_000_000)),
            Some(interval(0, 0, 2_000_000)),
        ]);
        let sum = grouped(Outcome::Sum, &values, &[0, 0]).expect_err("456 years of hours");
        assert!(sum.to_string().contains("interval out of range"), "{sum}");
        let average = grouped(Outcome::Average, &values, &[0, 0]).expect("is one of them");
        assert_eq!(&average, &array(&[Some(interval(0, 0, 2_000_000))]));
    }

    #[test]
    fn a_window_gives_back_what_leaves_it() {
        let mut window = IntervalSums::new(Outcome::Average);
        let values = [interval(0, 1, 0), interval(0, 3, 0)].map(Some);
        Accumulator::update_batch(&mut window, &[array(&values)]).expect("are small");
        window
            .retract_batch(&[array(&values[..1])])
            .expect("was there");
        let average = Accumulator::evaluate(&mut window).expect("is small");
        let expected = Some(interval(0, 3, 0));
        assert_eq!(average, ScalarValue::IntervalMonthDayNano(expected));
        window
            .retract_batch(&[array(&values[1..])])
            .expect("was there");
        let none = Accumulator::evaluate(&mut window).expect("is NULL");
        assert_eq!(none, ScalarValue::IntervalMonthDayNano(None));
    }
}
