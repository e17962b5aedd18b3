//! The operator: notes the keys of what passes.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::{Stream, StreamExt};

use super::JoinKeys;

/// Hands on the rows of its input, which is a join's first side.
pub(super) struct JoinKeysExec {
    input: Arc<dyn ExecutionPlan>,
    /// By column of the join: its place in the input, if it is noted.
    places: Arc<[Option<usize>]>,
    keys: Arc<JoinKeys>,
}

impl JoinKeysExec {
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        places: Arc<[Option<usize>]>,
        keys: Arc<JoinKeys>,
    ) -> Self {
        Self {
            input,
            places,
            keys,
        }
    }
}

impl fmt::Debug for JoinKeysExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinKeysExec")
            .field("places", &self.places)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for JoinKeysExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.schema();
        let names = self.places.iter().flatten();
        let names: Vec<_> = names
            .map(|&place| schema.field(place).name().as_str())
            .collect();
        write!(f, "JoinKeysExec: columns=[{}]", names.join(", "))
    }
}

impl ExecutionPlan for JoinKeysExec {
    fn name(&self) -> &str {
        "JoinKeysExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.swap_remove(0);
        let partitions =
            |plan: &Arc<dyn ExecutionPlan>| plan.output_partitioning().partition_count();
        // What is known is kept by partition.
        if partitions(&input) != partitions(&self.input) {
            return Ok(input);
        }
        Ok(Arc::new(Self::new(
            input,
            Arc::clone(&self.places),
            Arc::clone(&self.keys),
        )))
    }

    /// The part of a recursive query that is run again sees other rows: its scans must not be told of the keys that
    /// there were before.
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::clone(&self.input))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        Ok(Box::pin(Noting {
            input: self.input.execute(partition, Arc::clone(&context))?,
            places: Arc::clone(&self.places),
            cells: vec![Vec::new(); self.places.len()],
            keys: Arc::clone(&self.keys),
            partition,
            pool: Arc::clone(context.memory_pool()),
        }))
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&inputs[0]))
    }
}

/// One partition of the rows. The cells that it keeps are those of batches that the join keeps as well.
struct Noting {
    input: SendableRecordBatchStream,
    places: Arc<[Option<usize>]>,
    cells: Vec<Vec<ArrayRef>>,
    keys: Arc<JoinKeys>,
    partition: usize,
    pool: Arc<dyn MemoryPool>,
}

impl Stream for Noting {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let next = ready!(this.input.poll_next_unpin(context));
        match &next {
            Some(Ok(batch)) => {
                for (cells, place) in this.cells.iter_mut().zip(this.places.iter()) {
                    cells.extend(place.map(|place| Arc::clone(batch.column(place))));
                }
            }
            Some(Err(_)) => {}
            None => {
                let cells = std::mem::take(&mut this.cells);
                this.keys.end(this.partition, cells, &this.pool);
            }
        }
        Poll::Ready(next)
    }
}

impl RecordBatchStream for Noting {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
