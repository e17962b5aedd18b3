//! The operator: numbers rows batch by batch.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;

use super::changes::Changes;
use super::counts::{Count, Counts};

/// What is counted, over rows that are ordered by partition, then by the order of the window.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) partition_by: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) order_by: Vec<Arc<dyn PhysicalExpr>>,
    /// A column each, behind those of the input.
    pub(super) counts: Vec<Count>,
}

/// Numbers the rows of its input.
pub(super) struct NumberingExec {
    /// The operator whose place it takes.
    replaced: Arc<dyn ExecutionPlan>,
    window: Arc<Window>,
    metrics: ExecutionPlanMetricsSet,
}

impl NumberingExec {
    /// Takes the place of `replaced`, which has one input.
    pub(super) fn new(replaced: Arc<dyn ExecutionPlan>, window: Arc<Window>) -> Self {
        Self {
            replaced,
            window,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl fmt::Debug for NumberingExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NumberingExec")
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for NumberingExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What it computes is what the operator in whose place it is says of itself.
        write!(f, "NumberingExec: ")?;
        self.replaced.fmt_as(format, f)
    }
}

impl ExecutionPlan for NumberingExec {
    fn name(&self) -> &str {
        "NumberingExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.replaced.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.replaced.children()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.replaced.maintains_input_order()
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.replaced.apply_expressions(visit)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = replace_children_if_necessary(Arc::clone(&self.replaced), children)?;
        Ok(Arc::new(Self::new(replaced, Arc::clone(&self.window))))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let [input] = self.replaced.children()[..] else {
            return internal_err!("a window has one input");
        };
        let batches = input.execute(partition, context)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut numbering = Numbering {
            window: Arc::clone(&self.window),
            partitions: Changes::default(),
            peers: Changes::default(),
            counts: Counts::default(),
        };
        let schema = self.schema();
        let numbered = batches.map(move |batch| {
            let batch = batch?;
            let timer = metrics.elapsed_compute().timer();
            let mut columns = batch.columns().to_vec();
            columns.extend(numbering.columns(&batch)?);
            timer.done();
            let numbered = RecordBatch::try_new(Arc::clone(&schema), columns)?;
            metrics.record_output(numbered.num_rows());
            Ok(numbered)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            numbered,
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// How far the rows of one part have been numbered.
struct Numbering {
    window: Arc<Window>,
    partitions: Changes,
    peers: Changes,
    counts: Counts,
}

impl Numbering {
    /// The columns of counts of the next rows.
    fn columns(&mut self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let rows = batch.num_rows();
        let cells = |expressions: &[Arc<dyn PhysicalExpr>]| {
            let cells = expressions.iter();
            let cells = cells.map(|expression| expression.evaluate(batch)?.into_array(rows));
            cells.collect::<Result<Vec<ArrayRef>>>()
        };
        let window = &self.window;
        let partitions = self.partitions.of(&cells(&window.partition_by)?, rows)?;
        let peers = match window.counts.iter().any(|count| count.needs_peers()) {
            true => self.peers.of(&cells(&window.order_by)?, rows)?,
            false => BooleanBuffer::new_unset(rows),
        };
        let (numbered, last) = self.counts.number(&window.counts, &partitions, &peers);
        self.counts = last;
        let columns = numbered.into_iter();
        Ok(columns.map(|column| Arc::new(column) as ArrayRef).collect())
    }
}
