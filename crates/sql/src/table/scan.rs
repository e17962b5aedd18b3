//! The operator that reads a table at a snapshot.
//!
//! One partition a range of keys, or ranges that the partitions share ([`super::partition_ranges`]). A partition opens
//! a scan when it is first polled and then takes batch after batch from it in the polling thread: queries run on threads of their own
//! (see [`crate::engine`]), so a read that waits for the disk holds up no connection, and no
//! batch changes threads. It lets others have the thread from time to time ([`super::turns`]).
//!
//! The rows of a partition ascend by key; where the projection starts with the key's columns
//! the planner is told. Conditions that the planner hands down are checked here
//! ([`super::row_filters`]), and columns that nobody above wants are not given.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, SplitPoint, Statistics};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    EquivalenceProperties, PhysicalExpr, PhysicalSortExpr, RangePartitioning,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    apply_expression_roots,
};
use lsm::{Form, KeyRange, ScanRequest, Snapshot, StoreError};
use types::TableSchema;

use super::fragments::Fragments;
use super::orders::Choice;
use super::partition_ranges::{PartitionRanges, SharedRanges};
use super::parts::Parts;
use super::read_error::ReadError;
use super::reader::Reader;
use super::row_filters::RowFilters;
use super::scan_metrics::{ScanMetrics, note_extent};
use super::tree_key::{TableTree, TreeKey};
use super::turns::InTurns;
use crate::error::SqlError;
use crate::join_keys::JoinKeys;

/// What is read.
#[derive(Clone)]
pub(crate) struct ScanTarget {
    pub(crate) tree: TableTree,
    /// The table's schema.
    pub(crate) schema: Arc<TableSchema>,
    pub(crate) snapshot: Arc<Snapshot>,
    /// Stored columns to return.
    pub(crate) stored: Vec<usize>,
    pub(crate) batch_rows: usize,
}

/// Reads a table at a snapshot.
pub(crate) struct ScanExec {
    target: Arc<ScanTarget>,
    /// What could be read instead, as long as that is not settled.
    choice: Option<Choice>,
    parts: Parts,
    /// What the partitions take instead of a part each.
    shared: Option<SharedRanges>,
    filters: RowFilters,
    limit: Option<usize>,
    statistics: Arc<Statistics>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ScanExec {
    /// A scan of what was chosen that gives `schema`.
    pub(crate) fn new(
        target: ScanTarget,
        schema: SchemaRef,
        choice: Choice,
        limit: Option<usize>,
        statistics: Statistics,
    ) -> Result<Self> {
        let filters = RowFilters::none();
        let parts = choice.cut(&target.snapshot);
        let parts = parts.map_err(|error| target.error(&error))?;
        let target = Arc::new(target);
        let scan = Self::with_filters(target, schema, parts, filters, limit, statistics);
        let choice = (choice.candidates.len() > 1).then_some(choice);
        Ok(Self { choice, ..scan })
    }

    /// The same rows from a tree whose key suits, where there is one that is worth it.
    pub(crate) fn in_order(&self, suits: impl Fn(&TreeKey) -> bool) -> Result<Option<Self>> {
        let is_settled = self.limit.is_some() || !self.filters.conditions().is_empty();
        let choice = self.choice.as_ref().filter(|_| !is_settled);
        let Some(choice) = choice.and_then(|choice| choice.in_order(suits)) else {
            return Ok(None);
        };
        let target = ScanTarget {
            tree: choice.chosen().tree.clone(),
            ..ScanTarget::clone(&self.target)
        };
        let (schema, statistics) = (self.schema(), Statistics::clone(&self.statistics));
        Self::new(target, schema, choice, None, statistics).map(Some)
    }

    /// The place among the table's stored columns of a column that the scan gives.
    pub(crate) fn stored(&self, place: usize) -> usize {
        self.target.stored[place]
    }

    /// Whether it gives some rows only because they are enough.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// The same rows, spread over the partitions as they come to it; `None` where that is not worth it. For
    /// who does not mind which partition has a row.
    pub(crate) fn sharing(&self) -> Result<Option<Self>> {
        self.with_shared_ranges(SharedRanges::falling)
    }

    /// The same for who wants the rows of all partitions in the order of the key: what is read at the same time lies
    /// close together. `None` as well where ranges are not shared: somebody relies on which partition has a row.
    pub(crate) fn in_turns(&self) -> Result<Option<Self>> {
        match self.shared {
            Some(_) => self.with_shared_ranges(SharedRanges::even),
            None => Ok(None),
        }
    }

    fn with_shared_ranges(
        &self,
        share: impl FnOnce(&[KeyRange], usize) -> SharedRanges,
    ) -> Result<Option<Self>> {
        let target = &self.target;
        let small = self.parts.cut_small(&target.snapshot, target.tree.id);
        let Some(small) = small.map_err(|error| target.error(&error))? else {
            return Ok(None);
        };
        let scan = Self::with_filters(
            target.clone(),
            self.schema(),
            self.parts.clone(),
            self.filters.clone(),
            self.limit,
            Statistics::clone(&self.statistics),
        );
        let partitions = self.parts.ranges.len();
        let properties = PlanProperties::clone(&scan.properties)
            .with_partitioning(Partitioning::UnknownPartitioning(partitions));
        Ok(Some(Self {
            shared: Some(share(&small, partitions)),
            properties: Arc::new(properties),
            ..scan
        }))
    }

    /// The same scan, told of the keys of joins whose filters it checks; they are found by the filter's identity. `None`,
    /// if there are none.
    pub(crate) fn with_join_keys(
        &self,
        find: impl Fn(u64) -> Option<Arc<JoinKeys>>,
    ) -> Option<Self> {
        let filters = self.filters.with_join_keys(find)?;
        Some(Self::with_filters(
            self.target.clone(),
            self.schema(),
            self.parts.clone(),
            filters,
            self.limit,
            Statistics::clone(&self.statistics),
        ))
    }

    /// What a partition reads in an execution.
    fn ranges(&self, partition: usize) -> PartitionRanges {
        match &self.shared {
            Some(shared) => shared.of_partition(partition),
            None => PartitionRanges::own(self.parts.ranges.get(partition).cloned()),
        }
    }

    /// One of its partitions in fragments, the columns in these forms.
    ///
    /// # Panics
    /// When it is limited.
    pub(crate) fn fragments(&self, partition: usize, forms: Vec<Form>) -> Result<Fragments> {
        assert!(!self.is_limited(), "fragments are not counted");
        if partition == 0 {
            self.note_extent()?;
        }
        Ok(Fragments::new(
            self.target.clone(),
            self.ranges(partition),
            &self.filters,
            forms,
            ScanMetrics::new(&self.metrics, partition),
        ))
    }

    fn with_filters(
        target: Arc<ScanTarget>,
        schema: SchemaRef,
        parts: Parts,
        filters: RowFilters,
        limit: Option<usize>,
        statistics: Statistics,
    ) -> Self {
        let mut equivalence = EquivalenceProperties::new(schema.clone());
        if let Some(ordering) = key_ordering(&target, &schema) {
            equivalence.add_ordering(ordering);
        }
        let properties = PlanProperties::new(
            equivalence,
            partitioning(&target, &schema, &parts),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Self {
            target,
            choice: None,
            parts,
            shared: None,
            filters,
            limit,
            statistics: Arc::new(statistics),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl ScanTarget {
    /// What is asked of a range.
    pub(super) fn request(&self, range: KeyRange) -> ScanRequest {
        ScanRequest {
            projection: self.stored.clone(),
            range,
            batch_rows: self.batch_rows,
        }
    }

    pub(super) fn error(&self, error: &StoreError) -> SqlError {
        SqlError::from_store(error, Some(&self.schema.name.to_string()))
    }

    pub(super) fn read_error(&self, error: ReadError) -> DataFusionError {
        match error {
            ReadError::Store(error) => self.error(&error).into(),
            ReadError::Condition(error) => error,
        }
    }
}

impl ScanExec {
    /// Tells what all its ranges, which lie side by side, leave to be read.
    fn note_extent(&self) -> Result<()> {
        let Some(range) = self.parts.bounds() else {
            return Ok(());
        };
        let target = &self.target;
        let extent = target.snapshot.extent(target.tree.id, &range);
        note_extent(&self.metrics, extent.map_err(|error| target.error(&error))?);
        Ok(())
    }
}

/// The longest prefix of the key that is projected, as an ordering.
fn key_ordering(target: &ScanTarget, schema: &SchemaRef) -> Option<Vec<PhysicalSortExpr>> {
    let mut ordering = Vec::new();
    for key in target.tree.key.ordering() {
        let Some(place) = target.stored.iter().position(|&stored| stored == key) else {
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

/// How rows are spread over the parts, as far as the projection shows it.
fn partitioning(target: &ScanTarget, schema: &SchemaRef, parts: &Parts) -> Partitioning {
    let count = parts.ranges.len().max(1);
    let by_first_column = || -> Option<Partitioning> {
        let starts = parts.starts.as_ref().filter(|_| count > 1)?;
        let first = key_ordering(target, schema)?.into_iter().next()?;
        let splits = starts
            .iter()
            .map(|start| SplitPoint::new(vec![start.clone()]));
        let range = RangePartitioning::try_new([first].into(), splits.collect());
        Some(Partitioning::Range(range.ok()?))
    };
    by_first_column().unwrap_or(Partitioning::UnknownPartitioning(count))
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
        let projection = self.target.tree.projection.as_ref();
        let projection = projection.map(|name| format!(", projection={name}"));
        let bounded = self.parts.ranges.iter().any(|range| range.start.is_some())
            || self.parts.ranges.is_empty();
        write!(
            f,
            "ScanExec: table={}{}, columns=[{}], parts={}{}{}",
            self.target.schema.name,
            projection.unwrap_or_default(),
            columns.join(", "),
            self.parts.ranges.len(),
            if self.shared.is_some() { " shared" } else { "" },
            if bounded { ", by key" } else { "" },
        )?;
        if let [first, others @ ..] = self.filters.conditions() {
            write!(f, ", where={first}")?;
            others
                .iter()
                .try_for_each(|condition| write!(f, " AND {condition}"))?;
        }
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
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.filters.conditions(), visit)
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        handed_down: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let conditions = handed_down.parent_filters.into_iter();
        let conditions: Vec<_> = conditions.map(|condition| condition.filter).collect();
        // A limit counts rows before conditions from above.
        if conditions.is_empty() || self.limit.is_some() {
            let refused = vec![PushedDown::No; conditions.len()];
            return Ok(FilterPushdownPropagation::with_parent_pushdown_result(
                refused,
            ));
        }
        let filters = self.filters.with(
            &conditions,
            &self.schema(),
            &self.target.stored,
            &self.target.schema,
        )?;
        let scan: Arc<dyn ExecutionPlan> = Arc::new(Self::with_filters(
            self.target.clone(),
            self.schema(),
            self.parts.clone(),
            filters,
            None,
            Statistics::clone(&self.statistics),
        ));
        let taken = vec![PushedDown::Yes; conditions.len()];
        let taken = FilterPushdownPropagation::with_parent_pushdown_result(taken);
        Ok(taken.with_updated_node(scan))
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let place = |projected: &ProjectionExpr| {
            let column = projected.expr.downcast_ref::<Column>();
            column.map(Column::index)
        };
        let places: Option<Vec<usize>> = projection.expr().iter().map(place).collect();
        let Some(places) = places else {
            return Ok(None);
        };
        // The planner knows of columns that are there twice that they are equal; a scan tells it of one.
        let distinct: HashSet<&usize> = places.iter().collect();
        if distinct.len() < places.len() {
            return Ok(None);
        }
        let target = ScanTarget {
            stored: places
                .iter()
                .map(|&place| self.target.stored[place])
                .collect(),
            ..ScanTarget::clone(&self.target)
        };
        Ok(Some(Arc::new(Self::with_filters(
            Arc::new(target),
            projection.schema(),
            self.parts.clone(),
            self.filters.clone(),
            self.limit,
            Statistics::clone(&self.statistics).project(Some(&places)),
        ))))
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
        let reader = Reader::new(
            self.target.clone(),
            self.schema(),
            self.ranges(partition),
            &self.filters,
            self.limit,
            ScanMetrics::new(&self.metrics, partition),
        );
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            InTurns::new(reader),
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
        if args.partition().is_none() || self.parts.ranges.len() <= 1 {
            return Ok(self.statistics.clone());
        }
        let mut part = Statistics::clone(&self.statistics);
        part.num_rows = match part.num_rows.get_value() {
            Some(rows) => {
                datafusion::common::stats::Precision::Inexact(rows / self.parts.ranges.len() + 1)
            }
            None => part.num_rows,
        };
        Ok(Arc::new(part))
    }
}
