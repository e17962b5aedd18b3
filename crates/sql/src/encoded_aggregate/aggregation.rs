//! What the aggregates of one partition have taken in so far.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Int16Array, Int32Array, Int64Array, PrimitiveArray,
    RecordBatch, RecordBatchOptions, UInt64Array,
};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, SchemaRef, UInt16Type};
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use lsm::{Form, Fragment, FragmentCells};

use super::arithmetic::{Arithmetic, Register, RegisterId};
use super::group_ids::{GroupIds, Groups};
use super::sums::{Sums, counts};

/// An aggregate and its arguments over a scan's columns.
#[derive(Clone, Debug)]
pub(super) struct Aggregate {
    pub(super) function: Arc<AggregateFunctionExpr>,
    pub(super) arguments: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) way: Way,
}

/// How an aggregate takes rows in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Counts all of them.
    Rows,
    /// Adds numbers up, where a fragment has them.
    Sums { register: RegisterId, scale: i8 },
    /// Looks at arrays.
    Arrays,
}

/// What is to be aggregated.
#[derive(Debug)]
pub(super) struct Aggregation {
    /// The scan's columns.
    pub(super) schema: SchemaRef,
    /// What the states are: columns of groups, then of aggregates.
    pub(super) result: SchemaRef,
    pub(super) group_by: Vec<usize>,
    pub(super) aggregates: Vec<Aggregate>,
    pub(super) arithmetic: Arithmetic,
    /// In which form each of the scan's columns is wanted.
    pub(super) forms: Vec<Form>,
}

/// The groups of a partition and their states.
pub(super) struct States {
    aggregation: Arc<Aggregation>,
    groups: Groups,
    states: Vec<State>,
    /// Of each register.
    sums: Vec<Sums>,
    rows: usize,
}

struct State {
    accumulator: Box<dyn GroupsAccumulator>,
    counts: Vec<i64>,
}

impl States {
    pub(super) fn new(aggregation: Arc<Aggregation>) -> Result<Self> {
        let types = aggregation.group_by.iter();
        let types = types.map(|&column| aggregation.schema.field(column).data_type().clone());
        let mut states = Self {
            groups: Groups::new(types.collect()),
            states: Vec::new(),
            sums: Vec::new(),
            rows: 0,
            aggregation,
        };
        states.clear()?;
        Ok(states)
    }

    fn clear(&mut self) -> Result<()> {
        let state = |aggregate: &Aggregate| {
            Ok(State {
                accumulator: aggregate.function.create_groups_accumulator()?,
                counts: Vec::new(),
            })
        };
        let states = self.aggregation.aggregates.iter().map(state);
        self.states = states.collect::<Result<_>>()?;
        self.sums = Vec::new();
        self.rows = 0;
        Ok(())
    }

    /// How many rows are in them.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Takes a fragment's rows in; false if they have too many groups, and nothing was done.
    pub(super) fn take_in(&mut self, fragment: &Fragment) -> Result<bool> {
        let aggregation = Arc::clone(&self.aggregation);
        let keys = aggregation.group_by.iter();
        let keys: Vec<&FragmentCells> = keys.map(|&column| &fragment.columns[column]).collect();
        let Some(ids) = self.groups.ids(&keys)? else {
            return Ok(false);
        };
        self.rows += fragment.rows;
        let groups = self.groups.count();
        let counts = counts(&ids, fragment.rows, groups);
        let registers = aggregation.arithmetic.run(&fragment.columns);
        let mut arrays = Arrays::new(fragment, &aggregation.schema, &ids);
        let added = self.add_sums(&registers, &ids, &counts);
        for (aggregate, state) in aggregation.aggregates.iter().zip(&mut self.states) {
            match aggregate.way {
                Way::Rows => {
                    state.counts.resize(groups, 0);
                    for (count, rows) in state.counts.iter_mut().zip(&counts) {
                        *count += *rows as i64;
                    }
                }
                Way::Sums { register, .. } if added[register.0] => {}
                _ => arrays.give(aggregate, state.accumulator.as_mut(), groups)?,
            }
        }
        Ok(true)
    }

    /// Adds up the registers that aggregates ask for; which of them could be.
    fn add_sums(
        &mut self,
        registers: &[Option<Register<'_>>],
        ids: &GroupIds,
        counts: &[u64],
    ) -> Vec<bool> {
        self.sums.resize_with(registers.len(), Sums::default);
        let mut added = vec![false; registers.len()];
        for aggregate in &self.aggregation.aggregates {
            if let Way::Sums { register, .. } = aggregate.way
                && let Some(numbers) = &registers[register.0]
                && !added[register.0]
            {
                added[register.0] = self.sums[register.0].add(numbers, ids, counts);
            }
        }
        added
    }

    /// The states of all groups, which are forgotten.
    pub(super) fn emit(&mut self) -> Result<RecordBatch> {
        let groups = self.groups.count();
        let mut columns = self.groups.take()?;
        let all: Vec<usize> = (0..groups).collect();
        let aggregation = Arc::clone(&self.aggregation);
        for (aggregate, state) in aggregation.aggregates.iter().zip(&mut self.states) {
            let accumulator = &mut state.accumulator;
            match aggregate.way {
                Way::Rows => {
                    let counts: ArrayRef =
                        Arc::new(Int64Array::from(std::mem::take(&mut state.counts)));
                    accumulator.merge_batch(&[counts], &all, groups)?;
                }
                Way::Sums { register, scale } => {
                    if let Some(sums) = self.sums.get_mut(register.0) {
                        let state = sum_state(sums, scale, groups)?;
                        accumulator.merge_batch(&state, &all, groups)?;
                    }
                }
                Way::Arrays => {}
            }
            columns.extend(accumulator.state(EmitTo::All)?);
        }
        self.clear()?;
        let options = RecordBatchOptions::new().with_row_count(Some(groups));
        let schema = Arc::clone(&aggregation.result);
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }
}

/// Sums as the state of a sum or average.
fn sum_state(sums: &mut Sums, scale: i8, groups: usize) -> Result<Vec<ArrayRef>> {
    sums.sums.resize(groups, 0);
    sums.counts.resize(groups, 0);
    let values: PrimitiveArray<Decimal128Type> = sums.sums.iter().copied().map(Some).collect();
    let values = values.with_data_type(DataType::Decimal128(38, scale));
    let counts = UInt64Array::from(sums.counts.clone());
    Ok(vec![Arc::new(values), Arc::new(counts)])
}

/// A fragment as arrays, which are made when they are first asked for.
struct Arrays<'a> {
    fragment: &'a Fragment,
    schema: &'a SchemaRef,
    ids: &'a GroupIds,
    batch: Option<RecordBatch>,
    groups: Option<Vec<usize>>,
}

impl<'a> Arrays<'a> {
    fn new(fragment: &'a Fragment, schema: &'a SchemaRef, ids: &'a GroupIds) -> Self {
        Self {
            fragment,
            schema,
            ids,
            batch: None,
            groups: None,
        }
    }

    /// Gives all rows to an accumulator.
    fn give(
        &mut self,
        aggregate: &Aggregate,
        accumulator: &mut dyn GroupsAccumulator,
        groups: usize,
    ) -> Result<()> {
        let rows = self.fragment.rows;
        if self.batch.is_none() {
            self.batch = Some(batch(self.fragment, self.schema)?);
        }
        let ids = self.groups.get_or_insert_with(|| match self.ids {
            GroupIds::All(group) => vec![*group; rows],
            GroupIds::Each(ids) => ids.iter().copied().map(usize::from).collect(),
        });
        let batch = self.batch.as_ref().expect("it was made above");
        let arguments = aggregate.arguments.iter();
        let arguments = arguments.map(|argument| argument.evaluate(batch)?.into_array(rows));
        let arguments: Vec<ArrayRef> = arguments.collect::<Result<_>>()?;
        accumulator.update_batch(&arguments, ids, None, groups)
    }
}

/// A fragment's rows as arrays.
pub(super) fn batch(fragment: &Fragment, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = fragment.columns.iter().zip(schema.fields());
    let columns = columns.map(|(cells, field)| array(cells, field.data_type()));
    let options = RecordBatchOptions::new().with_row_count(Some(fragment.rows));
    let columns = columns.collect::<Result<_>>()?;
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}

fn array(cells: &FragmentCells, data_type: &DataType) -> Result<ArrayRef> {
    let numbers = match cells {
        FragmentCells::Array(array) => return Ok(Arc::clone(array)),
        FragmentCells::Codes { cells, codes } => {
            let codes = PrimitiveArray::<UInt16Type>::from(codes.clone());
            return Ok(take(cells, &codes, None)?);
        }
        FragmentCells::Integers(numbers) => numbers.iter(),
    };
    Ok(match data_type {
        DataType::Int16 => Arc::new(numbers.map(|&it| it as i16).collect::<Int16Array>()),
        DataType::Int32 => Arc::new(numbers.map(|&it| it as i32).collect::<Int32Array>()),
        DataType::Date32 => Arc::new(Date32Array::from_iter_values(numbers.map(|&it| it as i32))),
        DataType::Int64 => Arc::new(numbers.copied().collect::<Int64Array>()),
        _ => {
            let numbers = numbers.map(|&number| i128::from(number));
            let decimals: Decimal128Array = numbers.map(Some).collect();
            Arc::new(decimals.with_data_type(data_type.clone()))
        }
    })
}
