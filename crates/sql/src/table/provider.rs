//! A table at one snapshot.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Constraint, Constraints, Result, Statistics};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use lsm::{Snapshot, Store};
use replication::projection::Projection;
use types::{TableId, TableSchema};

use super::column::{visible, visible_schema};
use super::key_range;
use super::orders::{self, Candidate, Choice};
use super::sample::Samples;
use super::scan::{ScanExec, ScanTarget};
use super::tree_key::TableTree;
use crate::error::SqlError;

/// Rows below which a scan is not spread over threads.
const ROWS_FOR_ONE_PART: u64 = 32 << 10;

/// A table as of the snapshot of one statement, or only its columns.
pub(crate) struct Table {
    pub(super) id: TableId,
    pub(super) schema: Arc<TableSchema>,
    pub(super) visible: SchemaRef,
    /// Places of the visible columns among the stored ones.
    pub(super) stored: Vec<usize>,
    constraints: Constraints,
    /// The table's own tree and those of projections that the snapshot may read.
    pub(super) trees: Vec<TableTree>,
    store: Arc<Store>,
    /// `None` when a statement is only described.
    pub(super) snapshot: Option<Arc<Snapshot>>,
    pub(super) samples: Samples,
}

impl Table {
    /// The table `id`, to be read at `snapshot`.
    pub(crate) fn new(
        store: Arc<Store>,
        id: TableId,
        schema: Arc<TableSchema>,
        snapshot: Option<Arc<Snapshot>>,
    ) -> Self {
        let stored: Vec<usize> = visible(&schema).map(|(index, _)| index).collect();
        let key: Option<Vec<usize>> = schema
            .key
            .iter()
            .map(|index| stored.iter().position(|place| place == index))
            .collect();
        let constraints = key.map_or_else(Constraints::default, |key| {
            Constraints::new_unverified(vec![Constraint::PrimaryKey(key)])
        });
        Self {
            id,
            trees: vec![TableTree::of_table(id, &schema)],
            visible: visible_schema(&schema),
            stored,
            constraints,
            schema,
            store,
            snapshot,
            samples: Samples::default(),
        }
    }

    /// The same, which has these projections.
    pub(crate) fn with_projections(mut self, projections: &[Arc<Projection>]) -> Self {
        let position = self.snapshot.as_ref().map(|snapshot| snapshot.position());
        let tree = |projection: &Arc<Projection>| {
            let id = projection.readable_at(position?)?;
            Some(TableTree::of_projection(id, projection, &self.schema))
        };
        let trees: Vec<TableTree> = projections.iter().filter_map(tree).collect();
        self.trees.extend(trees);
        self
    }

    /// About how many rows there are, if anything is known of it.
    pub(crate) fn row_estimate(&self) -> Option<u64> {
        self.store.table_stats(self.id).map(|stats| stats.versions)
    }

    /// The trees with what `filters` leave of them, the one to be read first. One that is damaged is
    /// left out, unless it is the table's own.
    fn candidates(&self, snapshot: &Snapshot, filters: &[Expr]) -> Result<Vec<Candidate>> {
        let mut candidates = Vec::new();
        for tree in &self.trees {
            match Candidate::new(snapshot, tree, filters) {
                Ok(candidate) => candidates.push(candidate),
                Err(_) if tree.projection.is_some() => {}
                Err(error) => {
                    let table = self.schema.name.to_string();
                    return Err(SqlError::from_store(&error, Some(&table)).into());
                }
            }
        }
        Ok(orders::choose(candidates))
    }

    /// Parts to be read at the same time.
    fn part_count(&self, state: &dyn Session, limit: Option<usize>) -> usize {
        let small = self
            .row_estimate()
            .is_some_and(|rows| rows <= ROWS_FOR_ONE_PART);
        match limit.is_some() || small {
            true => 1,
            false => state.config().target_partitions(),
        }
    }

    /// Whether a filter says something of the key of a tree.
    fn narrows(&self, filter: &Expr) -> bool {
        let mut trees = self.trees.iter();
        trees.any(|tree| key_range::narrows(&tree.key, filter))
    }

    fn estimate(&self, filtered: bool) -> Statistics {
        let mut statistics = Statistics::new_unknown(&self.visible);
        let Some(rows) = self
            .row_estimate()
            .and_then(|rows| usize::try_from(rows).ok())
        else {
            return statistics;
        };
        statistics.num_rows = Precision::Inexact(if filtered { rows / 5 + 1 } else { rows });
        if let [only] = self.schema.key.as_slice()
            && let Some(place) = self.stored.iter().position(|stored| stored == only)
        {
            statistics.column_statistics[place] = ColumnStatistics {
                null_count: Precision::Exact(0),
                distinct_count: statistics.num_rows,
                ..ColumnStatistics::new_unknown()
            };
        }
        statistics
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.schema.name)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for Table {
    fn schema(&self) -> SchemaRef {
        self.visible.clone()
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(self.estimate(false))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters
            .iter()
            .map(|filter| match self.narrows(filter) {
                true => TableProviderFilterPushDown::Inexact,
                false => TableProviderFilterPushDown::Unsupported,
            })
            .collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let snapshot = self.snapshot.clone().ok_or_else(|| {
            SqlError::new(
                crate::error::code::INTERNAL_ERROR,
                "a described statement was run",
            )
        })?;
        let candidates = self.candidates(&snapshot, filters)?;
        let places: Vec<usize> = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.stored.len()).collect(),
        };
        let target = ScanTarget {
            tree: candidates[0].tree.clone(),
            schema: self.schema.clone(),
            snapshot,
            stored: places.iter().map(|&place| self.stored[place]).collect(),
            batch_rows: state.config().batch_size(),
        };
        let choice = Choice::new(candidates, self.part_count(state, limit));
        let schema = Arc::new(self.visible.project(&places)?);
        let statistics = self.estimate(!filters.is_empty()).project(Some(&places));
        Ok(Arc::new(ScanExec::new(
            target, schema, choice, limit, statistics,
        )?))
    }
}
