//! How many rows parts of a plan give, as far as it can be told before they run.
//!
//! * A replicated table knows about how many rows it has, and what conditions on it leave is sampled
//!   ([`Table::sampled_share`]).
//! * A join that covers a key of one side finds at most one row there: of all pairs, one in as many as
//!   that side has rows before its conditions ([`Estimate::total`]).
//! * For the rest there are shares that are as good as any.
//!
//! Of a table that the source does not have, nothing is known: it counts as one of [`UNKNOWN_ROWS`].

use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::{Column, Dependency, JoinType};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, Join, LogicalPlan, TableScan};

use crate::table::provider::Table;

/// The share of rows that an unknown condition lets pass.
const UNKNOWN_SHARE: f64 = 0.2;
/// The share of rows that have a value of their own in columns that are no key.
const DISTINCT_SHARE: f64 = 0.1;
/// Rows that an aggregation makes of one.
const GROUPED_SHARE: f64 = 0.25;

/// The rows of a table of which nothing is known.
const UNKNOWN_ROWS: f64 = 1_000.0;

/// Rows of a part of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) rows: f64,
    /// As if it had no conditions.
    pub(super) total: f64,
}

impl Estimate {
    fn all(rows: f64) -> Self {
        Self { rows, total: rows }
    }
}

/// One side of a join.
pub(super) struct Side<'a> {
    pub(super) estimate: Estimate,
    /// Columns that a row of the side has alone, key by key.
    pub(super) keys: &'a [Vec<Column>],
    /// What the join says is equal to something of the other side.
    pub(super) equal: &'a [&'a Expr],
}

/// The rows of `plan`.
pub(super) fn estimate(plan: &LogicalPlan) -> Estimate {
    match plan {
        LogicalPlan::TableScan(scan) => of_scan(scan, &[]),
        LogicalPlan::Filter(filter) => {
            let conditions = split_conjunction(&filter.predicate);
            if let Some(scan) = scan_below(&filter.input) {
                return of_scan(scan, &conditions);
            }
            let input = estimate(&filter.input);
            Estimate {
                rows: input.rows * UNKNOWN_SHARE,
                ..input
            }
        }
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => Estimate::all(1.0),
        LogicalPlan::Aggregate(aggregate) => {
            let input = estimate(&aggregate.input);
            Estimate::all((input.rows * GROUPED_SHARE).max(1.0))
        }
        LogicalPlan::Join(join) => of_join(join),
        LogicalPlan::Union(union) => {
            let rows = union.inputs.iter().map(|input| estimate(input).rows);
            Estimate::all(rows.sum())
        }
        LogicalPlan::EmptyRelation(empty) => {
            Estimate::all(if empty.produce_one_row { 1.0 } else { 0.0 })
        }
        #[expect(clippy::cast_precision_loss, reason = "rows of a statement's text")]
        LogicalPlan::Values(values) => Estimate::all(values.values.len() as f64),
        other => match other.inputs().as_slice() {
            [input] => estimate(input),
            _ => Estimate::all(UNKNOWN_ROWS),
        },
    }
}

/// The keys of `plan`'s rows.
pub(super) fn keys(plan: &LogicalPlan) -> Vec<Vec<Column>> {
    let schema = plan.schema();
    let columns = schema.columns();
    let dependencies = schema.functional_dependencies().iter();
    let single = dependencies.filter(|dependency| {
        dependency.mode == Dependency::Single
            && !dependency.nullable
            && dependency.target_indices.len() == columns.len()
    });
    let named = single.map(|dependency| {
        let places = dependency.source_indices.iter();
        places.map(|&place| columns[place].clone()).collect()
    });
    named.collect()
}

/// In how many values the rows of `sides`, which a join connects, differ in what it says is equal.
pub(super) fn distinct(sides: &[Side<'_>]) -> f64 {
    let of_keys = sides.iter().filter_map(Side::key_total).reduce(f64::max);
    let totals = sides.iter().map(|side| side.estimate.total);
    let largest = totals.fold(1.0, f64::max);
    of_keys.unwrap_or(largest * DISTINCT_SHARE).max(1.0)
}

impl Side<'_> {
    /// Of how many rows at most one can match, if it is one.
    pub(super) fn key_total(&self) -> Option<f64> {
        let is_equal = |column: &Column| {
            let mut equal = self.equal.iter();
            equal.any(|expression| matches!(expression, Expr::Column(known) if known == column))
        };
        let has_key = self.keys.iter().any(|key| key.iter().all(is_equal));
        has_key.then_some(self.estimate.total)
    }
}

fn of_join(join: &Join) -> Estimate {
    let (left, right) = (estimate(&join.left), estimate(&join.right));
    let (left_keys, right_keys) = (keys(&join.left), keys(&join.right));
    let (left_equal, right_equal): (Vec<&Expr>, Vec<&Expr>) =
        join.on.iter().map(|(left, right)| (left, right)).unzip();
    let sides = [
        Side {
            estimate: left,
            keys: &left_keys,
            equal: &left_equal,
        },
        Side {
            estimate: right,
            keys: &right_keys,
            equal: &right_equal,
        },
    ];
    let inner = left.rows * right.rows / distinct(&sides);
    let rows = match join.join_type {
        JoinType::Inner => inner,
        JoinType::Left => inner.max(left.rows),
        JoinType::Right => inner.max(right.rows),
        JoinType::Full => inner.max(left.rows + right.rows),
        JoinType::LeftMark => left.rows,
        JoinType::RightMark => right.rows,
        JoinType::LeftSemi => left.rows.min(inner),
        JoinType::RightSemi => right.rows.min(inner),
        JoinType::LeftAnti => left.rows / 2.0,
        JoinType::RightAnti => right.rows / 2.0,
    };
    Estimate {
        rows,
        total: left.total.max(right.total),
    }
}

/// The table of which `plan` only gives other names.
fn scan_below(plan: &LogicalPlan) -> Option<&TableScan> {
    match plan {
        LogicalPlan::TableScan(scan) => Some(scan),
        LogicalPlan::SubqueryAlias(alias) => scan_below(&alias.input),
        _ => None,
    }
}

fn of_scan(scan: &TableScan, conditions: &[&Expr]) -> Estimate {
    let mut all: Vec<Expr> = scan.filters.clone();
    let is_new = |condition: &&&Expr| !scan.filters.contains(condition);
    let new = conditions.iter().filter(is_new);
    all.extend(new.map(|&condition| condition.clone()));
    let (total, share) = known_of(scan, &all).unwrap_or((UNKNOWN_ROWS, None));
    let share = share.unwrap_or(if all.is_empty() { 1.0 } else { UNKNOWN_SHARE });
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let fetched = scan.fetch.map_or(f64::INFINITY, |fetch| fetch as f64);
    Estimate {
        rows: (total * share).min(fetched),
        total,
    }
}

/// The rows of a replicated table, and the share of them for which `conditions` hold, if it can be told.
fn known_of(scan: &TableScan, conditions: &[Expr]) -> Option<(f64, Option<f64>)> {
    let provider = source_as_provider(&scan.source).ok()?;
    let table = provider.downcast_ref::<Table>()?;
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let total = table.row_estimate()? as f64;
    Some((total, table.sampled_share(conditions)))
}
