//! The operator: the first phase of an aggregate over a scan.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, RecordBatchStream,
};
use futures::{Stream, StreamExt};
use lsm::Fragment;

use super::aggregation::{Aggregation, States, batch};
use crate::table::fragments::Fragments;
use crate::table::scan::ScanExec;
use crate::table::turns::InTurns;

/// After so many reads the thread looks what else there is to do: whether the statement was cancelled,
/// above all.
const READS_AT_ONCE: usize = 16;

/// If there are too many groups among so many rows, the partition is read again from its beginning for the
/// operator that was replaced, which gets whole batches of the scan.
const EARLY_ROWS: usize = 64 << 10;

/// Computes the first phase of an aggregate on encoded cells.
pub(super) struct EncodedAggregateExec {
    /// The operator whose place it takes; goes on where there are too many groups.
    replaced: Arc<dyn ExecutionPlan>,
    scan: Arc<dyn ExecutionPlan>,
    aggregation: Arc<Aggregation>,
    metrics: ExecutionPlanMetricsSet,
}

impl EncodedAggregateExec {
    /// Takes the place of `replaced`, which stands above `scan`.
    pub(super) fn new(
        replaced: Arc<dyn ExecutionPlan>,
        scan: Arc<dyn ExecutionPlan>,
        aggregation: Aggregation,
    ) -> Self {
        Self {
            replaced,
            scan,
            aggregation: Arc::new(aggregation),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl fmt::Debug for EncodedAggregateExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncodedAggregateExec")
            .field("scan", &self.scan)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for EncodedAggregateExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What it computes is what the operator in whose place it is says of itself.
        write!(f, "EncodedAggregateExec: ")?;
        self.replaced.fmt_as(format, f)
    }
}

impl ExecutionPlan for EncodedAggregateExec {
    fn name(&self) -> &str {
        "EncodedAggregateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.replaced.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.scan]
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
        let [scan] = children.as_slice() else {
            return internal_err!("an aggregate has one input");
        };
        Ok(Arc::new(Self {
            replaced: above(&self.replaced, scan)?,
            scan: Arc::clone(scan),
            aggregation: Arc::clone(&self.aggregation),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(scan) = self.scan.downcast_ref::<ScanExec>() else {
            return above(&self.replaced, &self.scan)?.execute(partition, context);
        };
        let fragments = scan.fragments(partition, self.aggregation.forms.clone())?;
        let states = States::new(Arc::clone(&self.aggregation))?;
        Ok(Box::pin(EncodedStream {
            replaced: Arc::clone(&self.replaced),
            aggregation: Arc::clone(&self.aggregation),
            context,
            stage: Stage::Encoded(Box::new((fragments, states))),
            metrics: BaselineMetrics::new(&self.metrics, partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The replaced operator, and the one between it and the scan, above another leaf.
fn above(
    replaced: &Arc<dyn ExecutionPlan>,
    leaf: &Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    if replaced.children().is_empty() {
        return Ok(Arc::clone(leaf));
    }
    let children = replaced.children().into_iter();
    let children = children.map(|child| above(child, leaf));
    let children = children.collect::<Result<_>>()?;
    replace_children_if_necessary(Arc::clone(replaced), children)
}

/// A partition's states.
struct EncodedStream {
    replaced: Arc<dyn ExecutionPlan>,
    aggregation: Arc<Aggregation>,
    context: Arc<TaskContext>,
    stage: Stage,
    metrics: BaselineMetrics,
}

enum Stage {
    Encoded(Box<(Fragments, States)>),
    /// There were too many groups.
    Replaced(SendableRecordBatchStream),
    Ended,
}

/// What came of some reads.
enum Step {
    /// There may be more.
    Going,
    /// Some fragments are left that have too many groups.
    TooManyGroups(Vec<Fragment>),
    Done,
}

impl EncodedStream {
    fn step(fragments: &mut Fragments, states: &mut States) -> Result<Step> {
        for _ in 0..READS_AT_ONCE {
            let Some(next) = fragments.next() else {
                return Ok(Step::Done);
            };
            let next = next?;
            for (index, fragment) in next.iter().enumerate() {
                if !states.take_in(fragment)? {
                    return Ok(Step::TooManyGroups(next[index..].to_vec()));
                }
            }
        }
        Ok(Step::Going)
    }

    /// The replaced operator over what it is given instead of its scan.
    fn replaced_over(&self, rows: SendableRecordBatchStream) -> Result<SendableRecordBatchStream> {
        let schema = rows.schema();
        let partitions: Vec<Arc<dyn PartitionStream>> = vec![Arc::new(Rows {
            schema: Arc::clone(&schema),
            stream: Mutex::new(Some(rows)),
        })];
        let leaf = StreamingTableExec::try_new(schema, partitions, None, Vec::new(), false, None)?;
        let leaf: Arc<dyn ExecutionPlan> = Arc::new(leaf);
        above(&self.replaced, &leaf)?.execute(0, Arc::clone(&self.context))
    }

    /// What is left to be read, in batches.
    fn rest(&self, left: Vec<Fragment>, fragments: Fragments) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.aggregation.schema);
        let rest = std::iter::once(Ok(left)).chain(fragments);
        let batches = rest.map(move |fragments| together(&fragments?, &schema));
        let schema = Arc::clone(&self.aggregation.schema);
        Box::pin(RecordBatchStreamAdapter::new(schema, InTurns::new(batches)))
    }

    /// The next states; `None`: ask again.
    fn next_states(&mut self) -> Result<Option<RecordBatch>> {
        let Stage::Encoded(encoded) = &mut self.stage else {
            return Ok(None);
        };
        let (fragments, states) = encoded.as_mut();
        let step = Self::step(fragments, states)?;
        if matches!(step, Step::Going) {
            return Ok(None);
        }
        let rows = states.rows();
        let is_early = rows < EARLY_ROWS && matches!(step, Step::TooManyGroups(_));
        let emitted = match is_early || rows == 0 {
            true => None,
            false => Some(states.emit()?),
        };
        let Stage::Encoded(encoded) = mem::replace(&mut self.stage, Stage::Ended) else {
            unreachable!("it was so above");
        };
        if let Step::TooManyGroups(left) = step {
            let rows = match is_early {
                true => encoded.0.into_batches(Arc::clone(&self.aggregation.schema)),
                false => self.rest(left, encoded.0),
            };
            self.stage = Stage::Replaced(self.replaced_over(rows)?);
        }
        Ok(emitted)
    }
}

impl Stream for EncodedStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut self.stage {
            Stage::Encoded(_) => {}
            Stage::Replaced(stream) => return stream.poll_next_unpin(context),
            Stage::Ended => return Poll::Ready(None),
        }
        let timer = self.metrics.elapsed_compute().clone();
        let _running = timer.timer();
        match self.next_states() {
            Ok(Some(states)) => {
                self.metrics.record_output(states.num_rows());
                Poll::Ready(Some(Ok(states)))
            }
            Ok(None) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Err(error) => {
                self.stage = Stage::Ended;
                Poll::Ready(Some(Err(error)))
            }
        }
    }
}

impl RecordBatchStream for EncodedStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.aggregation.result)
    }
}

/// Rows of a partition, once.
struct Rows {
    schema: SchemaRef,
    stream: Mutex<Option<SendableRecordBatchStream>>,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").finish_non_exhaustive()
    }
}

impl PartitionStream for Rows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let stream = self.stream.lock().map(|mut stream| stream.take());
        stream.ok().flatten().expect("it is asked for once")
    }
}

/// Some fragments as one batch: who gets it pays for each batch, not only for rows.
fn together(fragments: &[Fragment], schema: &SchemaRef) -> Result<RecordBatch> {
    let batches = fragments.iter().map(|fragment| batch(fragment, schema));
    let batches: Vec<RecordBatch> = batches.collect::<Result<_>>()?;
    Ok(concat_batches(schema, &batches)?)
}
