//! How many rows of a table conditions let pass, as a few of its pages show.
//!
//! 1. What the conditions leave of the key cuts the table to a range of keys.
//! 2. That range is cut into [`SPOTS`] parts, and the first rows of each are read.
//! 3. The conditions are evaluated on these rows.
//!
//! The planner has no other knowledge of how values are spread: nothing is gathered while rows are
//! written, and a sample also answers for conditions that no histogram knows. It costs some
//! page reads a table, so the planner only asks where several tables are joined.

use std::collections::HashMap;
use std::sync::Mutex;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{ColumnarValue, Expr};
use datafusion::physical_expr::create_physical_expr;
use lsm::{KeyRange, ScanRequest, Snapshot};

use super::key_range::{self, Narrowed, intersect};
use super::provider::Table;
use crate::error::SqlError;

/// Parts of the table of which the first rows are read.
const SPOTS: usize = 16;
/// Rows that are read of each.
const SPOT_ROWS: usize = 256;

/// Shares by the conditions' text, as one statement is planned in several passes.
#[derive(Debug, Default)]
pub(super) struct Samples(Mutex<HashMap<String, Option<f64>>>);

impl Table {
    /// The share of this table's rows for which all `conditions` hold, 0 to 1; `None` where that
    /// cannot be told before the statement runs.
    pub(crate) fn sampled_share(&self, conditions: &[Expr]) -> Option<f64> {
        let Some(condition) = conjunction(conditions.iter().cloned()) else {
            return Some(1.0);
        };
        let condition = without_qualifiers(condition).ok()?;
        let name = condition.to_string();
        if let Some(known) = self.samples.known(&name) {
            return known;
        }
        // A condition that fails for a row that is read here may never see that row later.
        let share = self.share(&condition).unwrap_or(None);
        self.samples.remember(name, share);
        share
    }

    fn share(&self, condition: &Expr) -> Result<Option<f64>> {
        let Some(snapshot) = &self.snapshot else {
            return Ok(None);
        };
        let range = match key_range::key_range(&self.trees[0].key, std::slice::from_ref(condition))
        {
            Narrowed::Nothing => return Ok(Some(0.0)),
            Narrowed::Range(range) => range,
        };
        let of_range = self.range_share(snapshot, &range)?;
        let (mut rows, mut holding) = (0, 0);
        for batch in self.spots(snapshot, &range, condition)? {
            rows += batch.num_rows();
            holding += count_holding(condition, &batch)?;
        }
        Ok(Some(of_range * share_of_sample(holding, rows)))
    }

    /// The share of the table's pages that a range of keys leaves.
    fn range_share(&self, snapshot: &Snapshot, range: &KeyRange) -> Result<f64> {
        let extent = snapshot.extent(self.id, range);
        let extent = extent.map_err(|error| self.store_error(&error))?;
        #[expect(clippy::cast_precision_loss, reason = "pages of a table")]
        let share = (extent.pages - extent.pages_skipped) as f64 / extent.pages as f64;
        Ok(if extent.pages == 0 { 1.0 } else { share })
    }

    /// The first rows of parts of `range`, with the columns that `condition` mentions.
    fn spots(
        &self,
        snapshot: &Snapshot,
        range: &KeyRange,
        condition: &Expr,
    ) -> Result<Vec<RecordBatch>> {
        let mentioned = condition.column_refs();
        let places: Vec<usize> = mentioned
            .iter()
            .map(|column| self.visible.index_of(column.name()))
            .collect::<Result<_, _>>()?;
        let cuts = snapshot.split(self.id, SPOTS);
        let cuts = cuts.map_err(|error| self.store_error(&error))?;
        let parts: Vec<KeyRange> = cuts
            .iter()
            .filter_map(|cut| intersect(cut, range))
            .collect();
        let rows_each = (SPOTS * SPOT_ROWS).div_ceil(parts.len().max(1));
        let schema = std::sync::Arc::new(self.visible.project(&places)?);
        let mut batches = Vec::new();
        for part in parts {
            let request = ScanRequest {
                projection: places.iter().map(|&place| self.stored[place]).collect(),
                range: part,
                batch_rows: rows_each,
            };
            let first = snapshot
                .scan(self.id, request)
                .and_then(|mut scan| scan.next().transpose());
            if let Some(batch) = first.map_err(|error| self.store_error(&error))? {
                batches.push(super::reader::with_schema(&batch, &schema)?);
            }
        }
        Ok(batches)
    }

    fn store_error(&self, error: &lsm::StoreError) -> SqlError {
        SqlError::from_store(error, Some(&self.schema.name.to_string()))
    }
}

impl Samples {
    fn known(&self, condition: &str) -> Option<Option<f64>> {
        let shares = self.0.lock().expect("nothing panics while it is held");
        shares.get(condition).copied()
    }

    fn remember(&self, condition: String, share: Option<f64>) {
        let mut shares = self.0.lock().expect("nothing panics while it is held");
        shares.insert(condition, share);
    }
}

/// What a sample says of all rows. That no row of it, or each, was found does not say that there is
/// none, or no other.
fn share_of_sample(holding: usize, rows: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "rows of a sample")]
    let (holding, rows) = (holding as f64, rows as f64);
    match rows > 0.0 {
        true => holding.max(0.5) / rows.max(1.0),
        false => 0.0,
    }
}

fn count_holding(condition: &Expr, batch: &RecordBatch) -> Result<usize> {
    let schema = DFSchema::try_from(batch.schema())?;
    let (properties, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    let condition = create_physical_expr(condition, &schema, &properties, &context)?;
    Ok(match condition.evaluate(batch)? {
        ColumnarValue::Array(holds) => match holds.as_boolean_opt() {
            Some(holds) => holds.true_count(),
            None => batch.num_rows(),
        },
        ColumnarValue::Scalar(value) => match value {
            datafusion::common::ScalarValue::Boolean(Some(true)) => batch.num_rows(),
            _ => 0,
        },
    })
}

fn without_qualifiers(condition: Expr) -> Result<Expr> {
    let strip = |expression: Expr| match expression {
        Expr::Column(column) => Ok(Transformed::yes(Expr::Column(Column::new_unqualified(
            column.name,
        )))),
        other => Ok(Transformed::no(other)),
    };
    condition.transform_up(strip).data()
}
