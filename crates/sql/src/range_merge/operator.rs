//! The operator: reads partitions ahead, and gives their rows in one order.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::StreamExt;
use futures::stream::try_unfold;

use super::slices::Slices;

/// Batches that a partition is ahead at most: a range that others read waits for its turn in memory.
const BATCHES_AHEAD: usize = 16;

/// Gives the rows of a scan's partitions in one order.
pub(super) struct RangeMergeExec {
    /// The operator whose place it takes: a [`SortPreservingMergeExec`].
    replaced: Arc<dyn ExecutionPlan>,
    metrics: ExecutionPlanMetricsSet,
}

impl RangeMergeExec {
    /// Takes the place of a [`SortPreservingMergeExec`].
    pub(super) fn new(replaced: Arc<dyn ExecutionPlan>) -> Self {
        Self {
            replaced,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl fmt::Debug for RangeMergeExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeMergeExec")
            .field("replaced", &self.replaced)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for RangeMergeExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // By what it orders is what the operator in whose place it is says of itself.
        write!(f, "RangeMergeExec: ")?;
        self.replaced.fmt_as(format, f)
    }
}

impl ExecutionPlan for RangeMergeExec {
    fn name(&self) -> &str {
        "RangeMergeExec"
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
        Ok(Arc::new(Self::new(replaced)))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(replaced) = self.replaced.downcast_ref::<SortPreservingMergeExec>() else {
            return internal_err!("it takes the place of a merge");
        };
        let input = replaced.input();
        let partitions = input.output_partitioning().partition_count();
        // Who wants a few rows does not want more to be read meanwhile.
        let batches_ahead = match replaced.fetch() {
            Some(_) => 1,
            None => BATCHES_AHEAD,
        };
        let streams = (0..partitions).map(|partition| {
            let batches = input.execute(partition, Arc::clone(&context))?;
            Ok(read_ahead(batches, batches_ahead))
        });
        let merge = Merge {
            streams: streams.collect::<Result<_>>()?,
            slices: Slices::new(replaced.expr().clone(), &input.schema(), partitions)?,
            rows_left: replaced.fetch().unwrap_or(usize::MAX),
            metrics: BaselineMetrics::new(&self.metrics, partition),
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            try_unfold(merge, Merge::next),
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn fetch(&self) -> Option<usize> {
        self.replaced.fetch()
    }
}

/// The same batches, read by a task of their own, so many ahead at most. The task ends with the stream.
fn read_ahead(mut batches: SendableRecordBatchStream, ahead: usize) -> SendableRecordBatchStream {
    let mut builder = RecordBatchReceiverStream::builder(batches.schema(), ahead);
    let sender = builder.tx();
    builder.spawn(async move {
        while let Some(batch) = batches.next().await {
            let is_last = batch.is_err();
            // Nobody wants it any more: the query has ended.
            if sender.send(batch).await.is_err() || is_last {
                break;
            }
        }
        Ok(())
    });
    builder.build()
}

/// A merge under way.
struct Merge {
    streams: Vec<SendableRecordBatchStream>,
    slices: Slices,
    rows_left: usize,
    metrics: BaselineMetrics,
}

impl Merge {
    /// The next rows, and the merge.
    async fn next(mut self) -> Result<Option<(RecordBatch, Self)>> {
        if self.rows_left == 0 {
            return Ok(None);
        }
        while let Some(partition) = self.slices.unknown() {
            let batch = self.streams[partition].next().await.transpose()?;
            self.slices.add(partition, batch)?;
        }
        let timer = self.metrics.elapsed_compute().timer();
        let slice = self.slices.next()?;
        timer.done();
        let Some(slice) = slice else {
            return Ok(None);
        };
        let slice = slice.slice(0, slice.num_rows().min(self.rows_left));
        self.rows_left -= slice.num_rows();
        self.metrics.record_output(slice.num_rows());
        Ok(Some((slice, self)))
    }
}
