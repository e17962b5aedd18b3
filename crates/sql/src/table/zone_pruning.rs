//! Conditions asked about the bounds of neighbouring pages: may a row within them be wanted?
//!
//! Ranges of one column are compared with its bounds as they are. Other conditions are evaluated on arrays of
//! bounds, which takes tens of microseconds for each segment of a tree.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::datatypes::{DataType, Schema, TimeUnit};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, TryCastExpr};
use datafusion::physical_expr::utils::conjunction;
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use lsm::{ZoneFilter, Zones};

use super::column_range::ColumnRange;
use super::row_filters::RowFilters;

/// The conditions of a scan as they are when it is opened.
pub(super) struct ZonePruning {
    ranges: Vec<ColumnRange>,
    /// What the others say of bounds.
    predicate: Option<Arc<PruningPredicate>>,
    filters: RowFilters,
}

impl ZonePruning {
    pub(super) fn new(filters: &RowFilters) -> Self {
        let schema = filters.schema();
        // Dynamic ones as they are now.
        let current = |condition: &Arc<dyn PhysicalExpr>| {
            let current = snapshot_physical_expr(Arc::clone(condition)).ok()?;
            keeps_order(&current, &schema).then_some(current)
        };
        let conditions = filters.conditions().iter().filter_map(current);
        let mut ranges = Vec::new();
        let mut others = Vec::new();
        for condition in conditions {
            match ColumnRange::of(condition.as_ref(), &schema) {
                Some(range) => ranges.push(range),
                None => others.push(condition),
            }
        }
        Self {
            ranges,
            predicate: predicate(others, filters),
            filters: filters.clone(),
        }
    }
}

/// What conditions say of bounds; those that cannot be asked about them rule nothing out.
fn predicate(
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    filters: &RowFilters,
) -> Option<Arc<PruningPredicate>> {
    if conditions.is_empty() {
        return None;
    }
    let builder = PruningPredicateBuilder::new().with_file_schema(filters.schema());
    builder.build(conjunction(conditions))
}

/// Whether all casts in a condition give larger cells for larger ones: bounds go through them as cells
/// do. A timestamp's time of the day, for one, does not.
fn keeps_order(condition: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    let loses_order = condition.exists(|expression| {
        let cast = expression.downcast_ref::<CastExpr>();
        let cast = cast.map(|cast| (cast.expr(), cast.cast_type()));
        let other = expression.downcast_ref::<TryCastExpr>();
        let other = other.map(|cast| (cast.expr(), cast.cast_type()));
        let Some((from, to)) = cast.or(other) else {
            return Ok(false);
        };
        Ok(!is_monotone(&from.data_type(schema)?, to))
    });
    loses_order.is_ok_and(|loses_order| !loses_order)
}

fn is_monotone(from: &DataType, to: &DataType) -> bool {
    let is_day = |kind: &DataType| {
        matches!(
            kind,
            DataType::Date32 | DataType::Timestamp(TimeUnit::Microsecond, _)
        )
    };
    from == to || from.is_numeric() && to.is_numeric() || is_day(from) && is_day(to)
}

impl ZoneFilter for ZonePruning {
    fn may_have_wanted(&self, zones: &Zones) -> Vec<bool> {
        let mut wanted = vec![true; zones.count()];
        for &ColumnRange { column, range } in &self.ranges {
            zones.narrow(self.filters.columns()[column], range, &mut wanted);
        }
        if let Some(predicate) = &self.predicate
            && wanted.contains(&true)
        {
            let bounds = Bounds {
                zones,
                filters: &self.filters,
            };
            // Conditions that fail on bounds rule nothing out, either.
            let others = predicate.prune(&bounds).unwrap_or_default();
            for (wanted, other) in wanted.iter_mut().zip(others) {
                *wanted &= other;
            }
        }
        wanted
    }
}

/// The bounds of zones under the names that conditions use.
struct Bounds<'a> {
    zones: &'a Zones,
    filters: &'a RowFilters,
}

impl Bounds<'_> {
    fn stored(&self, column: &Column) -> Option<usize> {
        let place = self.filters.schema().index_of(column.name()).ok()?;
        Some(self.filters.columns()[place])
    }
}

impl PruningStatistics for Bounds<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.zones.min(self.stored(column)?)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.zones.max(self.stored(column)?)
    }

    fn num_containers(&self) -> usize {
        self.zones.count()
    }

    fn null_counts(&self, _: &Column) -> Option<ArrayRef> {
        None
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        None
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
