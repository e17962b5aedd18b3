//! The operator: gives the rows of a plan that is run for several operators.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, Statistics, exec_datafusion_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::future::{BoxFuture, FutureExt, Shared};
use futures::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;

/// The rows of equal plans, once one of these has been asked for any.
#[derive(Default)]
pub(super) struct SharedRows {
    collecting: Mutex<Option<Collecting>>,
}

/// Goes on as long as any of the operators asks, and ends with the statement's plan.
type Collecting = Shared<BoxFuture<'static, Result<Arc<Rows>, Arc<DataFusionError>>>>;

/// A whole result.
struct Rows {
    batches: Vec<RecordBatch>,
    /// What they take, until they are dropped.
    _memory: Vec<MemoryReservation>,
}

impl SharedRows {
    /// What `input` gives, or what another operator's did: the first that comes has its own run.
    fn of(&self, input: &Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) -> Collecting {
        let mut collecting = self.collecting.lock();
        let first = || {
            let rows = Rows::collect(Arc::clone(input), Arc::clone(context));
            rows.map(|rows| rows.map(Arc::new).map_err(Arc::new))
                .boxed()
                .shared()
        };
        collecting.get_or_insert_with(first).clone()
    }
}

impl Rows {
    /// Runs the plan, all partitions at once.
    async fn collect(plan: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Result<Self> {
        let partitions = 0..plan.output_partitioning().partition_count();
        let tasks = partitions.map(|partition| {
            let rows = plan.execute(partition, Arc::clone(&context))?;
            let memory = MemoryConsumer::new("SharedExec").register(context.memory_pool());
            Ok(SpawnedTask::spawn(collect_partition(rows, memory)))
        });
        let tasks = tasks.collect::<Result<Vec<_>>>()?;
        let mut collected = Self {
            batches: Vec::new(),
            _memory: Vec::with_capacity(tasks.len()),
        };
        for task in tasks {
            let ended = task.join().await;
            let (batches, memory) = ended
                .map_err(|error| exec_datafusion_err!("a partition ended early: {error}"))??;
            collected.batches.extend(batches);
            collected._memory.push(memory);
        }
        Ok(collected)
    }
}

async fn collect_partition(
    mut rows: SendableRecordBatchStream,
    memory: MemoryReservation,
) -> Result<(Vec<RecordBatch>, MemoryReservation)> {
    let mut batches = Vec::new();
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        memory.try_grow(batch.get_array_memory_size())?;
        batches.push(batch);
    }
    Ok((batches, memory))
}

/// One use of a plan that has several.
pub(super) struct SharedExec {
    input: Arc<dyn ExecutionPlan>,
    /// That of the plan, to be shown.
    number: usize,
    rows: Arc<SharedRows>,
    properties: Arc<PlanProperties>,
}

impl SharedExec {
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        number: usize,
        partitions: usize,
        rows: Arc<SharedRows>,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            input,
            number,
            rows,
            properties: Arc::new(properties),
        }
    }

    fn partitions(&self) -> usize {
        self.properties.output_partitioning().partition_count()
    }
}

impl fmt::Debug for SharedExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedExec")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for SharedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedExec: {}", self.number)
    }
}

impl ExecutionPlan for SharedExec {
    fn name(&self) -> &str {
        "SharedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
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
        Ok(Arc::new(Self::new(
            children.swap_remove(0),
            self.number,
            self.partitions(),
            Arc::clone(&self.rows),
        )))
    }

    /// Each partition has every so manieth batch of the result.
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (rows, partitions) = (self.rows.of(&self.input, &context), self.partitions());
        let batches = rows.map(move |rows| {
            let rows = rows.map_err(DataFusionError::Shared)?;
            let places = (partition..rows.batches.len()).step_by(partitions);
            let batches = places.map(move |place| Ok(rows.batches[place].clone()));
            Ok::<_, DataFusionError>(stream::iter(batches))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            batches.into_stream().try_flatten(),
        )))
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&inputs[0]))
    }
}
