//! Conditions that a scan checks itself, on the columns that they mention.
//!
//! The planner hands them down: those of a `where`, and those that become known while a statement
//! runs (*dynamic*): what a `limit` with an order, a `min` or a `max` has no more use for. The first
//! kind has to hold of every row that the scan gives. The second kind only saves work, so a scan asks
//! it now and then when it lets nearly everything pass.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions,
};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr};
use types::TableSchema;

/// A dynamic filter that lets more of a batch pass than this is left alone for a while.
const USEFUL_PASS_SHARE: f64 = 0.8;
/// For so many batches.
const BATCHES_LEFT_ALONE: u32 = 16;

/// Conditions, all of which have to hold.
#[derive(Clone, Debug)]
pub(super) struct RowFilters {
    /// Stored columns that they mention.
    columns: Vec<usize>,
    /// Those columns: what `conditions` are about.
    schema: SchemaRef,
    conditions: Vec<Arc<dyn PhysicalExpr>>,
}

impl RowFilters {
    /// No condition.
    pub(super) fn none() -> Self {
        Self {
            columns: Vec::new(),
            schema: Arc::new(Schema::empty()),
            conditions: Vec::new(),
        }
    }

    /// These and further conditions about the columns of `schema`, which are the `stored` ones of
    /// `table`.
    pub(super) fn with(
        &self,
        conditions: &[Arc<dyn PhysicalExpr>],
        schema: &Schema,
        stored: &[usize],
        table: &TableSchema,
    ) -> Result<Self> {
        let mut columns = self.columns.clone();
        let mut fields = self.schema.fields().to_vec();
        let mut moved = self.conditions.clone();
        for condition in conditions {
            let condition = Arc::clone(condition).transform_up(|expression| {
                let Some(column) = expression.downcast_ref::<Column>() else {
                    return Ok(Transformed::no(expression));
                };
                let mentioned = stored[column.index()];
                let known = columns.iter().position(|&known| known == mentioned);
                let place = known.unwrap_or_else(|| {
                    columns.push(mentioned);
                    // The planner may call it otherwise, and another one so.
                    let name = &table.columns[mentioned].name;
                    fields.push(Arc::new(
                        schema.field(column.index()).clone().with_name(name),
                    ));
                    columns.len() - 1
                });
                let moved: Arc<dyn PhysicalExpr> =
                    Arc::new(Column::new(fields[place].name(), place));
                Ok(Transformed::yes(moved))
            });
            moved.push(condition.data()?);
        }
        Ok(Self {
            columns,
            schema: Arc::new(Schema::new(fields)),
            conditions: moved,
        })
    }

    /// Stored columns that they mention.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Those columns, as conditions name them.
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The conditions, about [`Self::columns`].
    pub(super) fn conditions(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.conditions
    }
}

/// Checks conditions on batch after batch of one scan.
#[derive(Debug)]
pub(super) struct RowCheck {
    schema: SchemaRef,
    conditions: Vec<Condition>,
}

#[derive(Debug)]
struct Condition {
    expression: Arc<dyn PhysicalExpr>,
    /// Only saves work.
    is_dynamic: bool,
    /// Batches for which it is not asked.
    left_alone: u32,
}

impl RowCheck {
    pub(super) fn new(filters: &RowFilters) -> Self {
        let condition = |expression: &Arc<dyn PhysicalExpr>| Condition {
            expression: Arc::clone(expression),
            is_dynamic: expression.is::<DynamicFilterPhysicalExpr>(),
            left_alone: 0,
        };
        Self {
            schema: Arc::clone(&filters.schema),
            conditions: filters.conditions.iter().map(condition).collect(),
        }
    }

    /// For which of `rows` rows with these cells, in the order of [`RowFilters::columns`], all
    /// conditions hold.
    pub(super) fn wanted(&mut self, columns: Vec<ArrayRef>, rows: usize) -> Result<BooleanBuffer> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        let mut wanted = BooleanBuffer::new_set(rows);
        for condition in &mut self.conditions {
            if condition.left_alone > 0 {
                condition.left_alone -= 1;
                continue;
            }
            // Later conditions may fail for rows that earlier ones leave out.
            let value = match wanted.count_set_bits() == rows {
                true => condition.expression.evaluate(&batch)?,
                false => {
                    let selection = BooleanArray::new(wanted.clone(), None);
                    let expression = &condition.expression;
                    expression.evaluate_selection(&batch, &selection)?
                }
            };
            let holds = holds(value, rows)?;
            if condition.is_dynamic && lets_pass(&holds) {
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

fn lets_pass(holds: &BooleanBuffer) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "rows of a batch")]
    let (passed, rows) = (holds.count_set_bits() as f64, holds.len() as f64);
    passed > USEFUL_PASS_SHARE * rows
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
