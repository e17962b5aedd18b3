//! Checks the conditions of a scan on its rows.
//!
//! 1. *Sift*, on encoded cells: ranges of numbers and times are compared as they are packed, conditions
//!    about one text are asked of a page's distinct texts where it has them. Then column by column: which rows
//!    have keys that a join looks for ([`crate::join_keys`]).
//! 2. *Check*, on decoded cells: the other conditions are asked about the rows that are left.
//!
//! Conditions of a `where` have to hold of every row that the scan gives. Dynamic ones only save work, so
//! they are left alone for a while when they let nearly everything pass.
//!
//! Invariant: a condition that may fail is only asked about rows for which those before it hold.

use std::ops::Bound;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions,
};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr,
    Literal, NotExpr,
};
use lsm::{EncodedRows, RowTest, Sifted};
use types::{Value, ValueRange};

use super::column_range::ColumnRange;
use super::read_error::ReadError;
use super::row_filters::RowFilters;
use crate::join_keys::{JoinKeys, KeySet};

/// A dynamic filter that lets more of a batch pass than this is left alone for a while.
const USEFUL_PASS_SHARE: f64 = 0.8;
/// For so many batches.
const BATCHES_LEFT_ALONE: u32 = 16;

/// If fewer than one in so many rows are still wanted, a condition is asked about a copy of those.
const WORTH_SELECTING: usize = 8;

/// Checks conditions on batch after batch of one scan: first, where that is possible, those that encoded
/// cells can answer, then the others on the rows that are left.
#[derive(Debug)]
pub(super) struct RowCheck {
    ranges: Vec<ColumnRange>,
    conditions: Vec<Condition>,
    /// The conditions that are left for [`Self::check`] to ask, and the columns that they mention.
    left: Vec<usize>,
    checked: Vec<usize>,
}

#[derive(Debug)]
struct Condition {
    /// About `columns` alone.
    expression: Arc<dyn PhysicalExpr>,
    /// Places in [`RowFilters::columns`].
    columns: Vec<usize>,
    schema: SchemaRef,
    /// No cell makes it fail, so that it may be asked about any.
    never_fails: bool,
    /// It is about a text column alone.
    is_about_text: bool,
    /// Only saves work.
    is_dynamic: bool,
    /// The join that it comes from, and for each of that join's columns its place among `columns`.
    join_keys: Option<(Arc<JoinKeys>, Vec<usize>)>,
    /// Whether the join's keys have let most rows of the last batch pass, or are not known.
    keys_let_pass: bool,
    /// Batches for which it is not asked.
    left_alone: u32,
}

impl Condition {
    fn new(
        expression: &Arc<dyn PhysicalExpr>,
        join_keys: Option<&Arc<JoinKeys>>,
        schema: &Schema,
    ) -> Result<Self> {
        let mut columns: Vec<usize> = Vec::new();
        let moved = Arc::clone(expression).transform_up(|part| {
            let Some(column) = part.downcast_ref::<Column>() else {
                return Ok(Transformed::no(part));
            };
            let known = columns.iter().position(|&known| known == column.index());
            let place = known.unwrap_or_else(|| {
                columns.push(column.index());
                columns.len() - 1
            });
            let moved: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), place));
            Ok(Transformed::yes(moved))
        });
        let moved = moved.data()?;
        let schema = schema.project(&columns)?;
        let never_fails = never_fails(expression);
        let is_text = schema.fields().iter().map(|field| field.data_type());
        Ok(Self {
            is_about_text: never_fails && is_text.eq([&DataType::Utf8]),
            is_dynamic: expression.is::<DynamicFilterPhysicalExpr>(),
            join_keys: join_keys.and_then(|keys| Some((Arc::clone(keys), places(&moved)?))),
            expression: moved,
            columns,
            schema: Arc::new(schema),
            never_fails,
            keys_let_pass: true,
            left_alone: 0,
        })
    }

    /// Leaves out rows of which it does not hold, as far as encoded cells and known keys tell. Whether they have told of
    /// all.
    fn sift(&mut self, rows: &EncodedRows<'_>, wanted: &mut Wanted) -> Result<bool, ReadError> {
        if self.columns.is_empty() {
            let all = BooleanBuffer::new_set(rows.rows());
            wanted.narrow(&self.holds(Vec::new(), &all)?);
            return Ok(true);
        }
        if let Some(holds) = of_text(self, rows)? {
            wanted.narrow(&holds);
            return Ok(true);
        }
        self.sift_keys(rows, wanted)
    }

    /// Leaves out rows that have other keys than the join looks for. Whether all others have those.
    fn sift_keys(
        &mut self,
        rows: &EncodedRows<'_>,
        wanted: &mut Wanted,
    ) -> Result<bool, ReadError> {
        let before = wanted.count;
        let mut all_told = self.decisive_keys().is_some();
        for (column, keys) in self.known_keys() {
            let column = self.columns[column];
            wanted.narrow(&rows.in_range(column, range(keys))?);
            if wanted.are_many() {
                wanted.narrow(&rows.with_cells(column, |cells| keys.contained(cells))?);
            } else {
                all_told = false;
            }
        }
        self.keys_let_pass = lets_pass(wanted.count, before);
        if all_told && self.keys_let_pass {
            self.left_alone = BATCHES_LEFT_ALONE;
        }
        Ok(all_told || wanted.count == 0)
    }

    /// Places among `columns` and the keys that the join looks for there, as far as they are known by now.
    fn known_keys(&self) -> impl Iterator<Item = (usize, &KeySet)> {
        let sets = self.join_keys.iter().filter_map(|(keys, places)| {
            let sets = keys.sets()?.iter();
            Some(places.iter().zip(sets))
        });
        let pairs = sets.flatten();
        pairs.filter_map(|(place, set)| Some((*place, set.as_ref()?)))
    }

    /// The same, if it says nothing else.
    fn decisive_keys(&self) -> Option<(usize, &KeySet)> {
        let (_, places) = self.join_keys.as_ref()?;
        self.known_keys().next().filter(|_| places.len() == 1)
    }

    /// For which rows with these cells it holds; asked about the `wanted` ones only, where it may fail.
    fn holds(&self, columns: Vec<ArrayRef>, wanted: &BooleanBuffer) -> Result<BooleanBuffer> {
        if let Some((column, keys)) = self.decisive_keys() {
            return Ok(keys.contained(&columns[column]));
        }
        let rows = wanted.len();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        let wanted_rows = wanted.count_set_bits();
        let ask_all = match self.never_fails {
            true => wanted_rows * WORTH_SELECTING > rows,
            false => wanted_rows == rows,
        };
        let value = match ask_all {
            true => self.expression.evaluate(&batch)?,
            false => {
                let selection = BooleanArray::new(wanted.clone(), None);
                self.expression.evaluate_selection(&batch, &selection)?
            }
        };
        holds(value, rows)
    }
}

impl RowCheck {
    pub(super) fn new(filters: &RowFilters) -> Result<Self> {
        let mut check = Self {
            ranges: Vec::new(),
            conditions: Vec::new(),
            left: Vec::new(),
            checked: Vec::new(),
        };
        let schema = filters.schema();
        for (condition, join_keys) in filters.conditions().iter().zip(filters.join_keys()) {
            match ColumnRange::of(condition.as_ref(), &schema) {
                Some(range) => check.add_range(range),
                None => {
                    let condition = Condition::new(condition, join_keys.as_ref(), &schema)?;
                    check.conditions.push(condition);
                }
            }
        }
        Ok(check)
    }

    fn add_range(&mut self, mut range: ColumnRange) {
        for known in &mut self.ranges {
            match known.take_in(range) {
                Ok(()) => return,
                Err(other) => range = other,
            }
        }
        self.ranges.push(range);
    }
}

impl RowTest for RowCheck {
    type Error = ReadError;

    fn sift(&mut self, rows: &EncodedRows<'_>) -> Result<Sifted, ReadError> {
        self.left.clear();
        self.checked.clear();
        let mut wanted = Wanted::all(rows.rows());
        for &ColumnRange { column, range } in &self.ranges {
            wanted.narrow(&rows.in_range(column, range)?);
            if wanted.count == 0 {
                return Ok(wanted.sifted(&[]));
            }
        }
        for (index, condition) in self.conditions.iter_mut().enumerate() {
            if condition.left_alone > 0 {
                condition.left_alone -= 1;
                continue;
            }
            if !condition.sift(rows, &mut wanted)? {
                self.left.push(index);
                let is_new = |column: &&usize| !self.checked.contains(column);
                let new: Vec<usize> = condition.columns.iter().filter(is_new).copied().collect();
                self.checked.extend(new);
            }
            if wanted.count == 0 {
                return Ok(wanted.sifted(&[]));
            }
        }
        Ok(wanted.sifted(&self.checked))
    }

    fn check(&mut self, columns: &[ArrayRef], rows: usize) -> Result<BooleanBuffer, ReadError> {
        let mut wanted = BooleanBuffer::new_set(rows);
        for &index in &self.left {
            let condition = &mut self.conditions[index];
            let cells = condition.columns.iter().map(|column| {
                let place = self.checked.iter().position(|checked| checked == column);
                Arc::clone(&columns[place.expect("sifting has named it")])
            });
            let holds = condition.holds(cells.collect(), &wanted)?;
            let lets_pass = condition.keys_let_pass && lets_pass(holds.count_set_bits(), rows);
            if condition.is_dynamic && lets_pass {
                condition.left_alone = BATCHES_LEFT_ALONE;
            }
            wanted = &wanted & &holds;
            if wanted.count_set_bits() == 0 {
                break;
            }
        }
        Ok(wanted)
    }
}

/// The rows of a batch that may be wanted.
struct Wanted {
    /// `None`: all of them.
    rows: Option<BooleanBuffer>,
    count: usize,
    of: usize,
}

impl Wanted {
    fn all(rows: usize) -> Self {
        Self {
            rows: None,
            count: rows,
            of: rows,
        }
    }

    /// Leaves out those whose bit is not set.
    fn narrow(&mut self, holds: &BooleanBuffer) {
        let narrowed = match &self.rows {
            Some(rows) => rows & holds,
            None => holds.clone(),
        };
        self.count = narrowed.count_set_bits();
        self.rows = Some(narrowed);
    }

    /// Whether they are so many that a condition is asked about all rows.
    fn are_many(&self) -> bool {
        self.count * WORTH_SELECTING > self.of
    }

    fn sifted(self, checked: &[usize]) -> Sifted {
        Sifted {
            rows: self.rows,
            checked: checked.to_vec(),
        }
    }
}

/// For which rows a condition about a text column holds, if distinct cells can be asked.
fn of_text(
    condition: &Condition,
    rows: &EncodedRows<'_>,
) -> Result<Option<BooleanBuffer>, ReadError> {
    if !condition.is_about_text {
        return Ok(None);
    }
    rows.with_text(condition.columns[0], &mut |cells| {
        let all = BooleanBuffer::new_set(cells.len());
        Ok(condition.holds(vec![Arc::clone(cells)], &all)?)
    })
}

/// Operators that have a value for any operands.
const NEVER_FAILS: [Operator; 10] = [
    Operator::Eq,
    Operator::NotEq,
    Operator::Lt,
    Operator::LtEq,
    Operator::Gt,
    Operator::GtEq,
    Operator::IsDistinctFrom,
    Operator::IsNotDistinctFrom,
    Operator::And,
    Operator::Or,
];

/// Whether a condition has a value for whatever cells, because all its parts do.
fn never_fails(condition: &Arc<dyn PhysicalExpr>) -> bool {
    let may_fail = condition.exists(|part| {
        let binary = part.downcast_ref::<BinaryExpr>();
        let compares = binary.is_some_and(|binary| NEVER_FAILS.contains(binary.op()));
        let is_known = compares
            || part.is::<Column>()
            || part.is::<Literal>()
            || part.is::<InListExpr>()
            || part.is::<IsNullExpr>()
            || part.is::<IsNotNullExpr>()
            || part.is::<LikeExpr>()
            || part.is::<NotExpr>();
        Ok(!is_known)
    });
    may_fail.is_ok_and(|may_fail| !may_fail)
}

fn lets_pass(passed: usize, rows: usize) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "rows of a batch")]
    let (passed, rows) = (passed as f64, rows as f64);
    passed > USEFUL_PASS_SHARE * rows
}

/// Between which values keys lie.
fn range(keys: &KeySet) -> ValueRange<'static> {
    let (first, last) = keys.ends();
    ValueRange {
        low: Bound::Included(Value::Int(first)),
        high: Bound::Included(Value::Int(last)),
    }
}

/// The columns of a condition's children, if they are nothing else.
fn places(condition: &Arc<dyn PhysicalExpr>) -> Option<Vec<usize>> {
    let children = condition.children().into_iter();
    let place = |child: &Arc<dyn PhysicalExpr>| child.downcast_ref::<Column>().map(Column::index);
    children.map(place).collect()
}

/// NULL does not hold.
fn holds(value: ColumnarValue, rows: usize) -> Result<BooleanBuffer> {
    match value {
        ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))) => Ok(BooleanBuffer::new_set(rows)),
        ColumnarValue::Scalar(ScalarValue::Boolean(_)) => Ok(BooleanBuffer::new_unset(rows)),
        ColumnarValue::Array(array) if array.as_boolean_opt().is_some() => {
            Ok(is_true(array.as_boolean()))
        }
        _ => internal_err!("a condition has to be true or false"),
    }
}

fn is_true(array: &BooleanArray) -> BooleanBuffer {
    match array.nulls() {
        Some(nulls) => array.values() & nulls.inner(),
        None => array.values().clone(),
    }
}
