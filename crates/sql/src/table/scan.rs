//! The operator that reads a table at a snapshot.
//!
//! One partition a range of keys. A partition opens its scan when it is first polled and then
//! takes batch after batch from it in the polling thread: queries run on threads of their own
//! (see [`crate::engine`]), so a read that waits for the disk holds up no connection, and no
//! batch changes threads.
//!
//! The rows of a partition ascend by key; where the projection starts with the key's columns
//! the planner is told.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use futures::stream;
use lsm::{KeyRange, Scan, ScanRequest, Snapshot, StoreError};
use types::{ColumnType, TableId, TableSchema};

use super::scan_metrics::{ScanMetrics, note_extent};
use crate::error::SqlError;

/// What is read.
pub(crate) struct ScanTarget {
    pub(crate) table: TableId,
    pub(crate) schema: Arc<TableSchema>,
    pub(crate) snapshot: Arc<Snapshot>,
    /// Stored columns to return.
    pub(crate) stored: Vec<usize>,
    pub(crate) batch_rows: usize,
}

/// Reads a table at a snapshot.
pub(crate) struct ScanExec {
    target: Arc<ScanTarget>,
    ranges: Vec<KeyRange>,
    limit: Option<usize>,
    statistics: Arc<Statistics>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ScanExec {
    /// A scan of `ranges` that gives `schema`. No range: no rows.
    pub(crate) fn new(
        target: ScanTarget,
        schema: SchemaRef,
        ranges: Vec<KeyRange>,
        limit: Option<usize>,
        statistics: Statistics,
    ) -> Self {
        let mut equivalence = EquivalenceProperties::new(schema.clone());
        if let Some(ordering) = key_ordering(&target, &schema) {
            equivalence.add_ordering(ordering);
        }
        let properties = PlanProperties::new(
            equivalence,
            Partitioning::UnknownPartitioning(ranges.len().max(1)),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            target: Arc::new(target),
            ranges,
            limit,
            statistics: Arc::new(statistics),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl ScanTarget {
    fn error(&self, error: &StoreError) -> SqlError {
        SqlError::from_store(error, Some(&self.schema.name.to_string()))
    }
}

impl ScanExec {
    /// Tells what all its ranges, which lie side by side, leave to be read.
    fn note_extent(&self) -> Result<()> {
        let (Some(first), Some(last)) = (self.ranges.first(), self.ranges.last()) else {
            return Ok(());
        };
        let range = KeyRange {
            start: first.start.clone(),
            end: last.end.clone(),
        };
        let target = &self.target;
        let extent = target.snapshot.extent(target.table, &range);
        note_extent(&self.metrics, extent.map_err(|error| target.error(&error))?);
        Ok(())
    }
}

/// The longest prefix of the key that is projected, as an ordering.
fn key_ordering(target: &ScanTarget, schema: &SchemaRef) -> Option<Vec<PhysicalSortExpr>> {
    let mut ordering = Vec::new();
    for &key in &target.schema.key {
        let column_type = target.schema.columns[key].column_type;
        let place = target.stored.iter().position(|&stored| stored == key);
        // Keys order floats as PostgreSQL does, which is not how Arrow compares them.
        let float = matches!(column_type, ColumnType::Float32 | ColumnType::Float64);
        let Some(place) = place.filter(|_| !float) else {
            break;
        };
        let column: Arc<dyn PhysicalExpr> =
            Arc::new(Column::new(schema.field(place).name(), place));
        ordering.push(PhysicalSortExpr::new(
            column,
            SortOptions {
                descending: false,
                nulls_first: false,
            },
        ));
    }
    (!ordering.is_empty()).then_some(ordering)
}

impl fmt::Debug for ScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanExec")
            .field("table", &self.target.schema.name)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = self
            .target
            .stored
            .iter()
            .map(|&index| self.target.schema.columns[index].name.as_str())
            .collect();
        let bounded =
            self.ranges.iter().any(|range| range.start.is_some()) || self.ranges.is_empty();
        write!(
            f,
            "ScanExec: table={}, columns=[{}], parts={}{}",
            self.target.schema.name,
            columns.join(", "),
            self.ranges.len(),
            if bounded { ", by key" } else { "" },
        )?;
        match self.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &str {
        "ScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition == 0 {
            self.note_extent()?;
        }
        let reader = Reader {
            target: self.target.clone(),
            schema: self.schema(),
            range: self.ranges.get(partition).cloned(),
            scan: None,
            left: self.limit.unwrap_or(usize::MAX),
            metrics: ScanMetrics::new(&self.metrics, partition),
        };
        let batches = stream::iter(reader);
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            batches,
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        if args.partition().is_none() || self.ranges.len() <= 1 {
            return Ok(self.statistics.clone());
        }
        let mut part = Statistics::clone(&self.statistics);
        part.num_rows = match part.num_rows.get_value() {
            Some(rows) => {
                datafusion::common::stats::Precision::Inexact(rows / self.ranges.len() + 1)
            }
            None => part.num_rows,
        };
        Ok(Arc::new(part))
    }
}

/// Reads one partition.
struct Reader {
    target: Arc<ScanTarget>,
    schema: SchemaRef,
    /// `None`: nothing to read, or read.
    range: Option<KeyRange>,
    scan: Option<Scan>,
    /// Rows still wanted.
    left: usize,
    metrics: ScanMetrics,
}

impl Reader {
    fn read(&mut self) -> Result<Option<RecordBatch>> {
        let target = self.target.clone();
        let of_table = |error| target.error(&error);
        if let Some(range) = self.range.take() {
            let request = ScanRequest {
                projection: self.target.stored.clone(),
                range,
                batch_rows: self.target.batch_rows,
            };
            self.scan = Some(
                self.target
                    .snapshot
                    .scan(self.target.table, request)
                    .map_err(of_table)?,
            );
        }
        let Some(scan) = &mut self.scan else {
            return Ok(None);
        };
        let batch = scan.next();
        self.metrics.note(scan.counts());
        let Some(batch) = batch else {
            self.scan = None;
            return Ok(None);
        };
        let batch = batch.map_err(of_table)?;
        let rows = batch.num_rows().min(self.left);
        self.left -= rows;
        if self.left == 0 {
            self.scan = None;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(
            self.schema.clone(),
            batch.columns().to_vec(),
            &options,
        )?;
        Ok(Some(batch.slice(0, rows)))
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let timer = self.metrics.baseline.elapsed_compute().clone();
        let _running = timer.timer();
        let result = self.read();
        match &result {
            Ok(Some(batch)) => self.metrics.baseline.record_output(batch.num_rows()),
            Ok(None) => self.metrics.baseline.done(),
            Err(_) => {
                self.range = None;
                self.scan = None;
            }
        }
        result.transpose()
    }
}
